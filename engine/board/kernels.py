"""Plays on a board: stones, chains, captures, simple ko, suicide and the position's hash.

Owns the moves of Go on one board. Knows no history: superko, passes that end the game, and komi belong to
`engine.game`. The rules are those of KataGo's history object: a simple ko point arises when one stone is captured by a
single stone that is left with one liberty; a single-stone suicide is never legal, a larger one if the rules allow it.

Every kernel takes a board in the layout of `engine.board.layout` and vertices on the board, and allocates nothing.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine import vertex as vertices
from engine.board.layout import (
    CAPTURED_BLACK,
    COLOR,
    EMPTIES,
    EMPTY_AT,
    EMPTY_COUNT,
    HASH,
    HASH_WORDS,
    HEAD,
    HEADER,
    KO_POINT,
    LIBERTIES,
    NEXT,
    SIZE,
    STRIDE,
    TO_PLAY,
    Board,
)
from engine.color import EMPTY
from engine.native.jit import kernel
from engine.vertex import MAX_SIZE, NO_POINT, PASS, array_length

ILLEGAL = -1
Journal: TypeAlias = NDArray[np.int16] | None
"""Records the changes of moves that will be taken back, see `engine.board.undo`; None for moves that stay."""
point_at = kernel(vertices.point_at)
row_column = kernel(vertices.row_column)
"""The conversions of `engine.vertex`, compiled for kernels."""


def _zobrist_words() -> NDArray[np.int16]:
    """Return the hash words [color, vertex, HASH_WORDS], equal in every process."""
    # A fixed seed ("keima" in ASCII) makes hashes equal in every process.
    generator = np.random.Generator(np.random.PCG64(0x6B65696D61))
    size = (3, array_length(MAX_SIZE, MAX_SIZE), HASH_WORDS)
    return generator.integers(-(2**15), 2**15, size, dtype=np.int16)


ZOBRIST = _zobrist_words()


@kernel
def copy_row(source: NDArray[Any], target: NDArray[Any]) -> None:
    """Copy a row element by element: numba's slice assignment is slower to compile and to run."""
    for index in range(source.shape[0]):
        target[index] = source[index]


@kernel
def copy_board(source: Board, target: Board) -> None:
    """Copy a whole position."""
    for row in range(source.shape[0]):
        copy_row(source[row], target[row])


@kernel
def _flip_hash(board: Board, point: int, color: int) -> None:
    for word in range(HASH_WORDS):
        board[HEADER, HASH + word] ^= ZOBRIST[color, point, word]


@kernel
def zobrist(point: int, color: int) -> np.uint64:
    """Return the 64 bits that a stone contributes to the position's hash."""
    bits = np.uint64(0)
    for word in range(HASH_WORDS):
        bits |= np.uint64(np.uint16(ZOBRIST[color, point, word])) << np.uint64(16 * word)
    return bits


@kernel
def position_hash(board: Board) -> np.uint64:
    """Return a hash of the stones alone: equal boards have equal hashes."""
    bits = np.uint64(0)
    for word in range(HASH_WORDS):
        bits |= np.uint64(np.uint16(board[HEADER, HASH + word])) << np.uint64(16 * word)
    return bits


@kernel
def is_liberty_of(board: Board, point: int, head: int, color: int, stride: int) -> bool:
    """True if the chain with this head and color touches the point."""
    return (
        (board[COLOR, point - stride] == color and board[HEAD, point - stride] == head)
        or (board[COLOR, point - 1] == color and board[HEAD, point - 1] == head)
        or (board[COLOR, point + 1] == color and board[HEAD, point + 1] == head)
        or (board[COLOR, point + stride] == color and board[HEAD, point + stride] == head)
    )


@kernel
def _change(board: Board, row: int, place: int, value: int, journal: Journal, used: int) -> int:
    """Change one cell and record its old value if there is a journal; return the number of journal entries in use.

    Numba removes the branch where the journal is None, so moves that stay pay nothing for it.
    """
    if journal is not None:
        journal[used, 0] = row
        journal[used, 1] = place
        journal[used, 2] = board[row, place]
        used += 1
    board[row, place] = value
    return used


@kernel
def _merge(board: Board, head: int, other: int, journal: Journal, used: int) -> int:
    """Join two distinct chains of one color; return the number of journal entries in use.

    Walks the smaller chain and renames its stones one by one, so a liberty shared by two of them counts once: the first
    stone makes it a liberty of the joined chain.
    """
    if board[SIZE, head] < board[SIZE, other]:
        head, other = other, head
    stride, color = board[HEADER, STRIDE], board[COLOR, head]
    liberties = board[LIBERTIES, head]
    stone = other
    while True:
        for direction in range(4):
            point = stone + neighbor_offset(direction, stride)
            if board[COLOR, point] == EMPTY and not is_liberty_of(board, point, head, color, stride):
                liberties += 1
        used = _change(board, HEAD, stone, head, journal, used)
        stone = board[NEXT, stone]
        if stone == other:
            break
    used = _change(board, LIBERTIES, head, liberties, journal, used)
    used = _change(board, SIZE, head, board[SIZE, head] + board[SIZE, other], journal, used)
    # Exchanging the successors of two stones joins two circular lists.
    after_head, after_other = board[NEXT, head], board[NEXT, other]
    used = _change(board, NEXT, head, after_other, journal, used)
    return _change(board, NEXT, other, after_head, journal, used)


@kernel
def neighbor_offset(direction: int, stride: int) -> int:
    """Return the offset to one of the four neighbors: up, left, right, down."""
    if direction == 0:
        return -stride
    if direction == 1:
        return -1
    if direction == 2:
        return 1
    return stride


@kernel
def _take_empty(board: Board, point: int) -> None:
    """Remove a point from the list of empty points by moving the last one into its place."""
    count = board[HEADER, EMPTY_COUNT] - 1
    place = board[EMPTY_AT, point]
    last = board[EMPTIES, count]
    board[EMPTIES, place] = last
    board[EMPTY_AT, last] = place
    board[HEADER, EMPTY_COUNT] = count


@kernel
def _add(board: Board, point: int, color: int, journal: Journal, used: int) -> int:
    """Put a stone on an empty point, join chains and take liberties; return the number of journal entries in use."""
    stride = board[HEADER, STRIDE]
    if journal is None:
        _take_empty(board, point)
        _flip_hash(board, point, color)
    used = _change(board, COLOR, point, color, journal, used)
    used = _change(board, HEAD, point, point, journal, used)
    used = _change(board, NEXT, point, point, journal, used)
    used = _change(board, SIZE, point, 1, journal, used)
    liberties, friends = 0, 0
    seen0, seen1, seen2 = NO_POINT, NO_POINT, NO_POINT
    for direction in range(4):
        neighbor = point + neighbor_offset(direction, stride)
        neighbor_color = board[COLOR, neighbor]
        if neighbor_color == EMPTY:
            liberties += 1
        elif neighbor_color <= 2:
            head = board[HEAD, neighbor]
            if head != seen0 and head != seen1 and head != seen2:
                used = _change(board, LIBERTIES, head, board[LIBERTIES, head] - 1, journal, used)
                seen2, seen1, seen0 = seen1, seen0, head
                friends += neighbor_color == color
    used = _change(board, LIBERTIES, point, liberties, journal, used)
    # A stone that joins no chain skips the second pass over its neighbors.
    if friends > 0:
        for direction in range(4):
            neighbor = point + neighbor_offset(direction, stride)
            if board[COLOR, neighbor] == color and board[HEAD, neighbor] != board[HEAD, point]:
                used = _merge(board, board[HEAD, neighbor], board[HEAD, point], journal, used)
    return used


@kernel
def add_stone(board: Board, point: int, color: int) -> None:
    """Put a stone on an empty point, join own chains and take liberties.

    Captures nothing: chains without liberties may remain, even its own.
    """
    _add(board, point, color, None, 0)


@kernel
def _remove(board: Board, head: int, journal: Journal, used: int) -> int:
    """Remove a whole chain from the board; return the number of journal entries in use."""
    stride = board[HEADER, STRIDE]
    color = board[COLOR, head]
    count = board[HEADER, EMPTY_COUNT]
    stone = head
    while True:
        seen0, seen1, seen2 = NO_POINT, NO_POINT, NO_POINT
        for direction in range(4):
            neighbor = stone + neighbor_offset(direction, stride)
            if board[COLOR, neighbor] == 3 - color:
                other = board[HEAD, neighbor]
                if other != seen0 and other != seen1 and other != seen2:
                    used = _change(board, LIBERTIES, other, board[LIBERTIES, other] + 1, journal, used)
                    seen2, seen1, seen0 = seen1, seen0, other
        used = _change(board, COLOR, stone, EMPTY, journal, used)
        if journal is None:
            board[EMPTIES, count] = stone
            board[EMPTY_AT, stone] = count
            count += 1
            _flip_hash(board, stone, color)
        stone = board[NEXT, stone]
        if stone == head:
            break
    if journal is None:
        board[HEADER, EMPTY_COUNT] = count
        board[HEADER, CAPTURED_BLACK + color - 1] += board[SIZE, head]
    return used


@kernel
def remove_chain(board: Board, head: int) -> int:
    """Remove a whole chain from the board and return its size."""
    _remove(board, head, None, 0)
    return board[SIZE, head]


@kernel
def is_suicide(board: Board, vertex: int, color: int) -> bool:
    """True if a stone on this empty point would leave its chain without a liberty."""
    stride = board[HEADER, STRIDE]
    for direction in range(4):
        neighbor = vertex + neighbor_offset(direction, stride)
        neighbor_color = board[COLOR, neighbor]
        if neighbor_color == EMPTY:
            return False
        if neighbor_color == color:
            if board[LIBERTIES, board[HEAD, neighbor]] > 1:
                return False
        elif neighbor_color == 3 - color and board[LIBERTIES, board[HEAD, neighbor]] == 1:
            return False
    return True


@kernel
def _joins(board: Board, vertex: int, color: int) -> bool:
    stride = board[HEADER, STRIDE]
    for direction in range(4):
        if board[COLOR, vertex + neighbor_offset(direction, stride)] == color:
            return True
    return False


@kernel
def is_legal(board: Board, vertex: int, color: int, suicide: bool) -> bool:
    """True if the stones allow the move: an empty point, not the simple ko point, no forbidden suicide.

    Does not check superko. PASS is legal.
    """
    if vertex == PASS:
        return True
    if board[COLOR, vertex] != EMPTY or vertex == board[HEADER, KO_POINT]:
        return False
    return not is_suicide(board, vertex, color) or (suicide and _joins(board, vertex, color))


@kernel
def put_stone(board: Board, point: int, color: int, journal: Journal, used: int) -> int:
    """Play a legal stone: capture and set the simple ko point; return the number of journal entries in use.

    With a journal (see `engine.board.undo`), only what reading needs is updated: not the hash, the list of empty points
    and the prisoners. Does not check legality and does not change the side to move.
    """
    stride = board[HEADER, STRIDE]
    enemy = 3 - color
    used = _add(board, point, color, journal, used)
    captured, last_captured, ko = 0, NO_POINT, NO_POINT
    for direction in range(4):
        neighbor = point + neighbor_offset(direction, stride)
        if board[COLOR, neighbor] == enemy and board[LIBERTIES, board[HEAD, neighbor]] == 0:
            last_captured = neighbor
            captured += board[SIZE, board[HEAD, neighbor]]
            used = _remove(board, board[HEAD, neighbor], journal, used)
    head = board[HEAD, point]
    if captured == 1 and board[SIZE, head] == 1 and board[LIBERTIES, head] == 1:
        ko = last_captured
    # A suicide, which `is_legal` has refused where the rules forbid it.
    elif captured == 0 and board[LIBERTIES, head] == 0:
        used = _remove(board, head, journal, used)
    # Usually unchanged, and each change costs a journal entry.
    if board[HEADER, KO_POINT] != ko:
        used = _change(board, HEADER, KO_POINT, ko, journal, used)
    return used


@kernel
def place(board: Board, point: int, color: int) -> int:
    """Play a legal stone: capture, set the simple ko point, change the side to move.

    Returns the number of captured stones. Does not check legality.
    """
    enemy = 3 - color
    before = board[HEADER, CAPTURED_BLACK + enemy - 1]
    put_stone(board, point, color, None, 0)
    board[HEADER, TO_PLAY] = enemy
    return board[HEADER, CAPTURED_BLACK + enemy - 1] - before


@kernel
def play(board: Board, vertex: int, color: int, suicide: bool) -> int:
    """Play a move of either color; return the number of captured stones, or ILLEGAL without changing anything.

    Does not check superko. A pass clears the simple ko point.
    """
    if vertex == PASS:
        board[HEADER, KO_POINT] = NO_POINT
        board[HEADER, TO_PLAY] = 3 - color
        return 0
    if not is_legal(board, vertex, color, suicide):
        return ILLEGAL
    return place(board, vertex, color)


@kernel
def _chain_hash(board: Board, head: int) -> np.uint64:
    color = board[COLOR, head]
    bits = np.uint64(0)
    stone = head
    while True:
        bits ^= zobrist(stone, color)
        stone = board[NEXT, stone]
        if stone == head:
            return bits


@kernel
def hash_after(board: Board, vertex: int, color: int) -> np.uint64:
    """Return the hash of the stones after a legal move, without playing it."""
    bits = position_hash(board)
    if vertex == PASS:
        return bits
    stride = board[HEADER, STRIDE]
    bits ^= zobrist(vertex, color)
    breathes = False
    seen0, seen1, seen2 = NO_POINT, NO_POINT, NO_POINT
    for direction in range(4):
        neighbor = vertex + neighbor_offset(direction, stride)
        neighbor_color = board[COLOR, neighbor]
        if neighbor_color == EMPTY:
            breathes = True
        elif neighbor_color == color:
            breathes = breathes or board[LIBERTIES, board[HEAD, neighbor]] > 1
        elif neighbor_color == 3 - color:
            head = board[HEAD, neighbor]
            if board[LIBERTIES, head] == 1:
                breathes = True
                if head != seen0 and head != seen1 and head != seen2:
                    bits ^= _chain_hash(board, head)
                    seen2, seen1, seen0 = seen1, seen0, head
    # Suicide: the new stone and the chains that it joined are removed.
    if not breathes:
        bits ^= zobrist(vertex, color)
        seen0, seen1, seen2 = NO_POINT, NO_POINT, NO_POINT
        for direction in range(4):
            neighbor = vertex + neighbor_offset(direction, stride)
            if board[COLOR, neighbor] == color:
                head = board[HEAD, neighbor]
                if head != seen0 and head != seen1 and head != seen2:
                    bits ^= _chain_hash(board, head)
                    seen2, seen1, seen0 = seen1, seen0, head
    return bits
