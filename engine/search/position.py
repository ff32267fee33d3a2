"""The position under a walk of the search: what the rules allow there, and how a finished game counts.

Owns legality with superko and terminal scores inside the tree. Knows no node.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.board.area import area, independent_life
from engine.board.kernels import hash_after, is_legal, is_suicide, remove_chain
from engine.board.layout import COLOR, HEAD, HEADER, HEIGHT, STRIDE, WIDTH, Board
from engine.color import BLACK, EMPTY, WHITE
from engine.history import WHITE_TO_PLAY_KEY
from engine.jit import kernel

MAX_DEPTH = 1024
WHITE_KEY = np.uint64(WHITE_TO_PLAY_KEY)
_TAX_PER_GROUP = 2


class Root(NamedTuple):
    """The position at the root and what the rules in force make of it.

    superko: open-addressed set of forbidden keys, 0 marks a free place, length a power of two;
        length 1 when the rules know no superko.
    dead: [n] int8, color of stones at the root that players would agree to be dead when the game ends.
    color: to play at the root. cautious: the game must be won with and without the dead stones, because
        nobody has agreed yet; under territory rules they are always taken off.
    """

    board: Board
    colors: NDArray[np.int8]  # [HISTORY, n]
    moves: NDArray[np.int16]  # [HISTORY]
    superko: NDArray[np.uint64]
    occupied: NDArray[np.bool_]  # [n]
    legal: NDArray[np.bool_]  # [area + 1] at the root
    dead: NDArray[np.int8]  # [n]
    white_bonus: float
    passes: int
    button: bool
    situational: bool
    suicide: bool
    is_area: bool
    tax: int  # 0 none, 1 seki, 2 all
    color: int
    cautious: bool


class Scratch(NamedTuple):
    """Working memory of one walk."""

    board: Board
    path_vertex: NDArray[np.int16]  # [MAX_DEPTH]
    path_key: NDArray[np.uint64]  # [MAX_DEPTH]
    path_colors: NDArray[np.int8]  # [HISTORY, n], ring
    occupied: NDArray[np.bool_]  # [n]
    area: NDArray[np.int16]
    owner: NDArray[np.int8]  # [n]
    life: NDArray[np.int8]  # [n]
    groups: NDArray[np.int64]  # [3]
    amaf: NDArray[np.int8]  # [n]


@kernel
def _set_entry(key: np.uint64) -> np.uint64:
    """Return a key as it is stored: 0, the key of the empty board, marks a free place."""
    return key if key != np.uint64(0) else np.uint64(1)


@kernel
def _in_set(table: NDArray[np.uint64], key: np.uint64) -> bool:
    entry, mask = _set_entry(key), table.shape[0] - 1
    place = np.int64(entry & np.uint64(mask))
    while table[place] != np.uint64(0):
        if table[place] == entry:
            return True
        place = (place + 1) & mask
    return False


@kernel
def put_in_set(table: NDArray[np.uint64], key: np.uint64) -> None:
    """Add a key to an open-addressed set that has a free place."""
    entry, mask = _set_entry(key), table.shape[0] - 1
    place = np.int64(entry & np.uint64(mask))
    while table[place] != np.uint64(0) and table[place] != entry:
        place = (place + 1) & mask
    table[place] = entry


@kernel
def _repeats(root: Root, scratch: Scratch, depth: int, vertex: int, color: int) -> bool:
    """True if a move that the stones allow would repeat a position of the game or of the walk."""
    key = hash_after(scratch.board, vertex, color)
    if root.situational and color == BLACK:
        key ^= WHITE_KEY
    if _in_set(root.superko, key):
        return True
    for i in range(depth):
        if scratch.path_key[i] == key:
            return True
    return False


@kernel
def write_legal(root: Root, scratch: Scratch, depth: int, color: int, legal: NDArray[np.bool_]) -> None:
    """Write the moves that the rules allow at the end of a walk of `depth` moves, in policy order."""
    # Arrays are taken out of their tuples before the loop: to hand a tuple of arrays to a function costs 0.2 us.
    board, occupied, suicide = scratch.board, scratch.occupied, root.suicide
    stride, width, height = board[HEADER, STRIDE], board[HEADER, WIDTH], board[HEADER, HEIGHT]
    has_superko = root.superko.shape[0] > 1
    index = 0
    for row in range(height):
        for column in range(width):
            point = (row + 1) * stride + column + 1
            allowed = is_legal(board, point, color, suicide)
            if allowed and has_superko and (occupied[point] or (suicide and is_suicide(board, point, color))):
                allowed = not _repeats(root, scratch, depth, point, color)
            legal[index] = allowed
            index += 1
    legal[index] = True


@kernel
def _remove_dead(root: Root, board: Board) -> None:
    """Take off the stones that were dead at the root and are still there."""
    for point in range(board.shape[1]):
        color = root.dead[point]
        if color != EMPTY and board[COLOR, point] == color:
            remove_chain(board, board[HEAD, point])


@kernel
def _count(root: Root, scratch: Scratch, board: Board) -> float:
    """Return Black's area less White's under the tax in force, without bonuses."""
    owner = scratch.owner
    area(board, root.suicide, True, scratch.area, owner)
    taxed = 0.0
    if root.tax > 0:
        life = scratch.life
        independent_life(board, owner, scratch.area, scratch.groups, life)
        if root.tax == 2:
            taxed = _TAX_PER_GROUP * (scratch.groups[BLACK] - scratch.groups[WHITE])
        for point in range(owner.shape[0]):
            if life[point] == EMPTY and board[COLOR, point] <= 2:
                owner[point] = board[COLOR, point]
    balance = 0
    for point in range(owner.shape[0]):
        balance += (owner[point] == BLACK) - (owner[point] == WHITE)
    return balance - taxed


@kernel
def count_score(root: Root, scratch: Scratch, board: Board, white_bonus: float) -> float:
    """Return Black's margin of a finished position under the rules in force. May change the board.

    Under territory rules `white_bonus` holds the moves played, so prisoners are in it already.
    """
    if not root.is_area:
        _remove_dead(root, board)
        return _count(root, scratch, board) - white_bonus
    as_it_stands = _count(root, scratch, board) - white_bonus
    if not root.cautious:
        return as_it_stands
    _remove_dead(root, board)
    as_agreed = _count(root, scratch, board) - white_bonus
    return min(as_it_stands, as_agreed) if root.color == BLACK else max(as_it_stands, as_agreed)
