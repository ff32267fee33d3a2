"""Ladder reading: which chains are, or can be put, in inescapable atari.

An exact AND/OR search on the two-liberty game, with the bounds of KataGo's reader so that network
inputs agree with it. Moves are played on a copy of the board and taken back.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import chain_liberties, is_legal, neighbor_offset
from engine.board.layout import COLOR, HEAD, HEADER, HEIGHT, KO_POINT, LIBERTIES, NEXT, SIZE, STRIDE, WIDTH, Board
from engine.board.tactics import last_liberty
from engine.board.undo import new_journal, take_back, try_stone
from engine.color import EMPTY, WALL
from engine.jit import kernel
from engine.vertex import NO_POINT

MAX_MOVES = 25_000
"""Moves played in one search at which it is given up as "not captured"."""


class LadderScratch(NamedTuple):
    """Working memory: the moves of each ply of a search, and what takes them back."""

    moves: NDArray[np.int16]  # [plies, n]
    plies: NDArray[np.int32]  # [plies, 3]: how many moves, which is next, entries of the journal before it
    journal: NDArray[np.int16]  # see `engine.board.undo`


def new_ladder_scratch(board: Board) -> LadderScratch:
    """Return the working memory of `find_ladders` for boards of this size."""
    plies = int(board[HEADER, WIDTH]) * int(board[HEADER, HEIGHT]) * 3 // 2 + 1
    return LadderScratch(
        moves=np.empty((plies, board.shape[1]), dtype=np.int16),
        plies=np.empty((plies, 3), dtype=np.int32),
        journal=new_journal(board, plies + 1),
    )


@kernel
def _empty_neighbors(board: Board, point: int) -> int:
    stride = board[HEADER, STRIDE]
    count = 0
    for direction in range(4):
        count += board[COLOR, point + neighbor_offset(direction, stride)] == EMPTY
    return count


@kernel
def _liberty_bounds(board: Board, point: int, color: int) -> tuple[int, int]:
    """Return bounds of the liberties of the chain that a move of `color` makes, counted per direction."""
    stride = board[HEADER, STRIDE]
    empty, capture_directions, best_friend, upper = 0, 0, 0, 0
    for direction in range(4):
        neighbor = point + neighbor_offset(direction, stride)
        neighbor_color = board[COLOR, neighbor]
        if neighbor_color == EMPTY:
            empty += 1
        elif neighbor_color == color:
            gained = board[LIBERTIES, board[HEAD, neighbor]] - 1
            best_friend = max(best_friend, gained)
            upper += gained
        elif neighbor_color == 3 - color and board[LIBERTIES, board[HEAD, neighbor]] == 1:
            capture_directions += 1
            upper += board[SIZE, board[HEAD, neighbor]]
    return capture_directions + max(empty, best_friend), upper + empty


@kernel
def _defender_moves(board: Board, head: int, moves: NDArray[np.int16]) -> int:
    """List captures of attackers in atari, then the chain's only liberty; return how many, without repeats."""
    stride = board[HEADER, STRIDE]
    attacker = 3 - board[COLOR, head]
    count, liberty = 0, NO_POINT
    stone = head
    while True:
        for direction in range(4):
            neighbor = stone + neighbor_offset(direction, stride)
            color = board[COLOR, neighbor]
            if color == EMPTY:
                liberty = neighbor
            elif color == attacker and board[LIBERTIES, board[HEAD, neighbor]] == 1:
                count = _add_new(moves, count, last_liberty(board, board[HEAD, neighbor]))
        stone = board[NEXT, stone]
        if stone == head:
            return _add_new(moves, count, liberty)


@kernel
def _add_new(moves: NDArray[np.int16], count: int, move: int) -> int:
    for i in range(count):
        if moves[i] == move:
            return count
    moves[count] = move
    return count + 1


@kernel
def _is_ko_capture(board: Board, point: int, color: int) -> bool:
    """True if a move of `color` takes one stone and nothing but enemy stones and edge surround it."""
    stride = board[HEADER, STRIDE]
    captured = 0
    for direction in range(4):
        neighbor = point + neighbor_offset(direction, stride)
        neighbor_color = board[COLOR, neighbor]
        if neighbor_color != 3 - color and neighbor_color != WALL:
            return False
        if neighbor_color != WALL and board[LIBERTIES, board[HEAD, neighbor]] == 1:
            if captured > 0 or board[SIZE, board[HEAD, neighbor]] != 1:
                return False
            captured += 1
    return captured == 1


@kernel
def _has_attacker_in_atari(board: Board, head: int) -> bool:
    stride = board[HEADER, STRIDE]
    attacker = 3 - board[COLOR, head]
    stone = head
    while True:
        for direction in range(4):
            neighbor = stone + neighbor_offset(direction, stride)
            if board[COLOR, neighbor] == attacker and board[LIBERTIES, board[HEAD, neighbor]] == 1:
                return True
        stone = board[NEXT, stone]
        if stone == head:
            return False


@kernel
def _is_double_ko(board: Board, head: int, a: int, b: int, journal: NDArray[np.int16], used: int) -> bool:
    """True if both liberties of a chain are kos: whichever the defender fills, the attacker takes the other."""
    defender = board[COLOR, head]
    if not (_is_ko_capture(board, a, 3 - defender) and _is_ko_capture(board, b, 3 - defender)):
        return False
    for point in (a, b):
        after = try_stone(board, point, defender, journal, used)
        gains = board[COLOR, point] == defender and board[LIBERTIES, board[HEAD, point]] > 2
        take_back(board, journal, after, used)
        if gains:
            return False
    return not _has_attacker_in_atari(board, head)


@kernel
def _promise(board: Board, point: int, defender: int) -> int:
    """Return how much a defender's stone would connect to; the attacker should take the larger outlet."""
    stride = board[HEADER, STRIDE]
    value = 0
    for direction in range(4):
        neighbor = point + neighbor_offset(direction, stride)
        if board[COLOR, neighbor] == defender:
            liberties = board[LIBERTIES, board[HEAD, neighbor]]
            if liberties > 1:
                value += 2 * liberties - 3
    return value


@kernel
def _escapes_by(board: Board, point: int, attack: int, defender: int) -> bool:
    """True if it is plain that a defender's stone has three liberties after the attack on the other liberty."""
    stride = board[HEADER, STRIDE]
    empty = 0
    for direction in range(4):
        neighbor = point + neighbor_offset(direction, stride)
        color = board[COLOR, neighbor]
        if color == EMPTY:
            empty += neighbor != attack
        elif color == defender and board[LIBERTIES, board[HEAD, neighbor]] >= 5:
            return True
    return empty >= 3


_ESCAPED, _CAPTURED, _OPEN = range(3)


@kernel
def _attacker_moves(board: Board, head: int, moves: NDArray[np.int16], journal: NDArray[np.int16], used: int) -> int:
    """List the attacker's tries on a chain with two liberties, best first; 0 if escaped, -1 if captured."""
    chain_liberties(board, head, moves)
    a, b = moves[0], moves[1]
    empty_a, empty_b = _empty_neighbors(board, a), _empty_neighbors(board, b)
    if empty_a == 0 and empty_b == 0 and _is_double_ko(board, head, a, b, journal, used):
        return -1
    step = abs(a - b)
    if step != 1 and step != board[HEADER, STRIDE]:
        if empty_a >= 3 and empty_b >= 3:
            return 0
        if empty_a >= 3 or empty_b >= 3:
            moves[0] = a if empty_a >= 3 else b
            return 1
    defender = board[COLOR, head]
    if 2 * empty_a + _promise(board, a, defender) < 2 * empty_b + _promise(board, b, defender):
        moves[0], moves[1] = b, a
    return 2


@kernel
def _judge(
    board: Board, stone: int, is_defender: bool, moves: NDArray[np.int16], journal: NDArray[np.int16], used: int
) -> tuple[int, int]:
    """Decide a position at once where that is possible, else list its moves; return verdict and their number."""
    head = board[HEAD, stone]
    liberties = board[LIBERTIES, head]
    if not is_defender:
        if liberties <= 1:
            return _CAPTURED, 0
        if liberties >= 3:
            return _ESCAPED, 0
        count = _attacker_moves(board, head, moves, journal, used)
        if count <= 0:
            return (_ESCAPED if count == 0 else _CAPTURED), 0
        return _OPEN, count
    if liberties >= 2 or board[HEADER, KO_POINT] != NO_POINT:
        return _ESCAPED, 0
    count = _defender_moves(board, head, moves)
    lower, upper = _liberty_bounds(board, moves[count - 1], board[COLOR, head])
    if lower >= 3:
        return _ESCAPED, 0
    if count == 1 and upper <= 1:
        return _CAPTURED, 0
    return _OPEN, count


@kernel
def _is_captured(
    board: Board,
    stone: int,
    moves: NDArray[np.int16],
    plies: NDArray[np.int32],
    journal: NDArray[np.int16],
    start: int,
) -> bool:
    """True if the chain at a stone, in atari with its owner to move, cannot escape.

    start: entries of the journal in use. The board is changed and restored.
    """
    defender = board[COLOR, stone]
    ko = board[HEADER, KO_POINT]
    board[HEADER, KO_POINT] = NO_POINT
    verdict, count = _judge(board, stone, True, moves[0], journal, start)
    plies[0, 0], plies[0, 1] = count, 0
    ply, played, used = 0, 0, start
    while verdict == _OPEN or ply > 0:
        is_defender = ply % 2 == 0
        if verdict != _OPEN:
            ply -= 1
            take_back(board, journal, used, plies[ply, 2])
            used = plies[ply, 2]
            # The side that moved from the ply above has what it wants, or tries its next move.
            is_defender = not is_defender
            if verdict == (_ESCAPED if is_defender else _CAPTURED):
                continue
        verdict = _OPEN
        if plies[ply, 1] == plies[ply, 0]:
            verdict = _CAPTURED if is_defender else _ESCAPED
            continue
        move = moves[ply, plies[ply, 1]]
        plies[ply, 1] += 1
        color = defender if is_defender else 3 - defender
        if not is_legal(board, move, color, False):
            continue
        played += 1
        if played == MAX_MOVES:
            take_back(board, journal, used, start)
            verdict = _ESCAPED
            break
        plies[ply, 2] = used
        used = try_stone(board, move, color, journal, used)
        ply += 1
        if ply == plies.shape[0] - 1:
            verdict = _CAPTURED
            continue
        verdict, count = _judge(board, stone, not is_defender, moves[ply], journal, used)
        plies[ply, 0], plies[ply, 1] = count, 0
    board[HEADER, KO_POINT] = ko
    return verdict == _CAPTURED


@kernel
def _copy(board: Board, work: Board) -> None:
    """Copy the rows that reading needs."""
    for row in range(SIZE + 1):
        for place in range(board.shape[1]):
            work[row, place] = board[row, place]


@kernel
def find_ladders(
    board: Board, scratch: LadderScratch, work: Board, laddered: NDArray[np.int8], working: NDArray[np.int8]
) -> None:
    """Find every chain in a ladder.

    laddered: [n] int8, 1 on the stones of chains that are, or can be put, in inescapable atari.
    working: [n] int8, on the points where the attacker starts a working ladder the color of the chain
        attacked (3 where chains of both colors are). work: memory like a board of the same size, not a
        whole board afterwards.
    """
    moves, plies, journal = scratch.moves, scratch.plies, scratch.journal
    stride, width, height = board[HEADER, STRIDE], board[HEADER, WIDTH], board[HEADER, HEIGHT]
    _copy(board, work)
    laddered[:] = 0
    working[:] = EMPTY
    for row in range(1, height + 1):
        for head in range(row * stride + 1, row * stride + 1 + width):
            color = work[COLOR, head]
            if color == EMPTY or work[HEAD, head] != head or work[LIBERTIES, head] > 2:
                continue
            found = False
            if work[LIBERTIES, head] == 1:
                found = _is_captured(work, head, moves, plies, journal, 0)
            else:
                chain_liberties(work, head, moves[0])
                a, b = moves[0, 0], moves[0, 1]
                for move, other in ((a, b), (b, a)):
                    if _escapes_by(work, other, move, color) or not is_legal(work, move, 3 - color, False):
                        continue
                    used = try_stone(work, move, 3 - color, journal, 0)
                    if _is_captured(work, head, moves, plies, journal, used):
                        found = True
                        working[move] |= color
                    take_back(work, journal, used, 0)
            if found:
                _mark_chain(work, head, laddered)


@kernel
def _mark_chain(board: Board, head: int, marks: NDArray[np.int8]) -> None:
    stone = head
    while True:
        marks[stone] = 1
        stone = board[NEXT, stone]
        if stone == head:
            return
