"""Reads ladders: finds chains that are, or can be put, in inescapable atari.

An exact AND/OR search of the two-liberty game, with the limits of KataGo's reader so that network inputs agree with it.
Moves are played on a copy of the board and taken back.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import copy_row, is_legal, neighbor_offset, point_at
from engine.board.layout import COLOR, HEAD, HEADER, HEIGHT, KO_POINT, LIBERTIES, NEXT, SIZE, STRIDE, WIDTH, Board
from engine.board.tactics import last_liberty
from engine.board.undo import new_journal, take_back, try_stone
from engine.color import EMPTY, WALL
from engine.native.jit import kernel
from engine.vertex import NO_POINT

MAX_MOVES = 25_000
"""Number of moves after which a search is given up as "not captured"."""


class LadderScratch(NamedTuple):
    """Working memory: the moves of each ply of a search, and the journal that takes them back."""

    plies: NDArray[np.int16]  # [plies, n]: end of the moves, index of the next one, then the moves
    journal: NDArray[np.int16]  # see `engine.board.undo`


def new_ladder_scratch(board: Board) -> LadderScratch:
    """Allocate the working memory of `find_ladders` for boards of this size."""
    # As in KataGo: recaptures may make a ladder longer than the board has points.
    plies = int(board[HEADER, WIDTH]) * int(board[HEADER, HEIGHT]) * 3 // 2 + 1
    return LadderScratch(
        plies=np.empty((plies, board.shape[1]), dtype=np.int16),
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
    """Return a lower and an upper bound for the liberties of the chain after a move of `color`."""
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
def _list_defender_moves(board: Board, head: int, plies: NDArray[np.int16], ply: int) -> int:
    """List the captures of attackers in atari, then the chain's only liberty; return the last. No move is repeated."""
    stride = board[HEADER, STRIDE]
    attacker = 3 - board[COLOR, head]
    plies[ply, _END] = _FIRST
    liberty = NO_POINT
    stone = head
    while True:
        for direction in range(4):
            neighbor = stone + neighbor_offset(direction, stride)
            color = board[COLOR, neighbor]
            if color == EMPTY:
                liberty = neighbor
            elif color == attacker and board[LIBERTIES, board[HEAD, neighbor]] == 1:
                _add_new(plies, ply, last_liberty(board, board[HEAD, neighbor]))
        stone = board[NEXT, stone]
        if stone == head:
            _add_new(plies, ply, liberty)
            return plies[ply, plies[ply, _END] - 1]


@kernel
def _add_new(plies: NDArray[np.int16], ply: int, move: int) -> None:
    end = plies[ply, _END]
    for i in range(_FIRST, end):
        if plies[ply, i] == move:
            return
    plies[ply, end] = move
    plies[ply, _END] = end + 1


@kernel
def _two_liberties(board: Board, head: int) -> tuple[int, int]:
    """Return the liberties of a chain with two, in the order in which its stones meet them."""
    stride = board[HEADER, STRIDE]
    first = NO_POINT
    stone = head
    while True:
        for direction in range(4):
            point = stone + neighbor_offset(direction, stride)
            if board[COLOR, point] == EMPTY and point != first:
                if first != NO_POINT:
                    return first, point
                first = point
        stone = board[NEXT, stone]


@kernel
def _is_ko_capture(board: Board, point: int, color: int) -> bool:
    """True if a move of `color` captures one stone and has only enemy stones and the edge around it."""
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
        take_back(board, journal, after)
        if gains:
            return False
    return not _has_attacker_in_atari(board, head)


@kernel
def _promise(board: Board, point: int, defender: int) -> int:
    """Return how well a defender's stone would be connected; the attacker should play at the better outlet first."""
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
def _escapes_by(board: Board, head: int, point: int, attack: int) -> bool:
    """True if filling one liberty of a chain, after an attack on the other, gives it three liberties.

    May wrongly return False if the attack captures something.
    """
    stride = board[HEADER, STRIDE]
    defender = board[COLOR, head]
    first, second = attack, attack
    for direction in range(4):
        neighbor = point + neighbor_offset(direction, stride)
        color = board[COLOR, neighbor]
        if color == EMPTY and neighbor != attack and neighbor != first and neighbor != second:
            if second != attack:
                return True
            first, second = neighbor, first
        elif color == defender and board[HEAD, neighbor] != head:
            # Two of a friendly chain's liberties may be the point and the attack, so five leave at least three.
            if board[LIBERTIES, board[HEAD, neighbor]] >= 5:
                return True
            stone = neighbor
            while True:
                for side in range(4):
                    liberty = stone + neighbor_offset(side, stride)
                    if (
                        board[COLOR, liberty] == EMPTY
                        and liberty != point
                        and liberty != attack
                        and liberty != first
                        and liberty != second
                    ):
                        if second != attack:
                            return True
                        first, second = liberty, first
                stone = board[NEXT, stone]
                if stone == neighbor:
                    break
    return False


_ESCAPED, _CAPTURED, _OPEN = range(3)
_END, _NEXT, _FIRST = range(3)
"""Columns of a ply's row."""


@kernel
def _list_attacker_moves(
    board: Board, head: int, plies: NDArray[np.int16], ply: int, journal: NDArray[np.int16], used: int
) -> int:
    """List the attacker's moves against a chain with two liberties, best first; return the verdict if it is known."""
    a, b = _two_liberties(board, head)
    empty_a, empty_b = _empty_neighbors(board, a), _empty_neighbors(board, b)
    if empty_a == 0 and empty_b == 0 and _is_double_ko(board, head, a, b, journal, used):
        return _CAPTURED
    step = abs(a - b)
    # With three empty neighbors the defender gains liberties there, so the attacker must play there.
    if step != 1 and step != board[HEADER, STRIDE] and (empty_a >= 3 or empty_b >= 3):
        plies[ply, _FIRST] = a if empty_a >= 3 else b
        plies[ply, _END] = _FIRST + 1
        return _ESCAPED if empty_a >= 3 and empty_b >= 3 else _OPEN
    defender = board[COLOR, head]
    # The better outlet comes first: the order decides how much is read.
    if 2 * empty_a + _promise(board, a, defender) < 2 * empty_b + _promise(board, b, defender):
        a, b = b, a
    plies[ply, _FIRST], plies[ply, _FIRST + 1], plies[ply, _END] = a, b, _FIRST + 2
    return _OPEN


@kernel
def _judge(
    board: Board,
    stone: int,
    is_defender: bool,
    plies: NDArray[np.int16],
    ply: int,
    journal: NDArray[np.int16],
    used: int,
) -> int:
    """Decide a position immediately if possible, else list its moves."""
    head = board[HEAD, stone]
    liberties = board[LIBERTIES, head]
    plies[ply, _NEXT] = _FIRST
    if not is_defender:
        if liberties <= 1:
            return _CAPTURED
        if liberties >= 3:
            return _ESCAPED
        return _list_attacker_moves(board, head, plies, ply, journal, used)
    # A ko fight may save the chain: KataGo counts that as an escape.
    if liberties >= 2 or board[HEADER, KO_POINT] != NO_POINT:
        return _ESCAPED
    last = _list_defender_moves(board, head, plies, ply)
    lower, upper = _liberty_bounds(board, last, board[COLOR, head])
    if lower >= 3:
        return _ESCAPED
    if plies[ply, _END] == _FIRST + 1 and upper <= 1:
        return _CAPTURED
    return _OPEN


@kernel
def _is_captured(board: Board, stone: int, plies: NDArray[np.int16], journal: NDArray[np.int16], used: int) -> bool:
    """True if the chain at a stone, in atari with its owner to move, cannot escape.

    used: entries of the journal in use. The board is changed and restored.
    """
    defender = board[COLOR, stone]
    ko = board[HEADER, KO_POINT]
    board[HEADER, KO_POINT] = NO_POINT
    # An explicit stack instead of recursion: MAX_MOVES and the number of plies limit the whole search.
    verdict = _judge(board, stone, True, plies, 0, journal, used)
    ply, played, is_defender = 0, 0, True
    while verdict == _OPEN or ply > 0:
        if verdict != _OPEN:
            ply -= 1
            is_defender = not is_defender
            used = take_back(board, journal, used)
            # The side that moved from the ply above is satisfied, or tries its next move.
            if verdict == (_ESCAPED if is_defender else _CAPTURED):
                continue
        verdict = _OPEN
        if plies[ply, _NEXT] == plies[ply, _END]:
            verdict = _CAPTURED if is_defender else _ESCAPED
            continue
        move = plies[ply, plies[ply, _NEXT]]
        plies[ply, _NEXT] += 1
        color = defender if is_defender else 3 - defender
        # Ladders are read without suicide under all rules, as in KataGo.
        if not is_legal(board, move, color, False):
            continue
        played += 1
        if played == MAX_MOVES:
            while ply > 0:
                used = take_back(board, journal, used)
                ply -= 1
            verdict = _ESCAPED
            continue
        used = try_stone(board, move, color, journal, used)
        ply += 1
        is_defender = not is_defender
        if ply == plies.shape[0] - 1:
            verdict = _CAPTURED
        else:
            verdict = _judge(board, stone, is_defender, plies, ply, journal, used)
    board[HEADER, KO_POINT] = ko
    return verdict == _CAPTURED


@kernel
def _copy(board: Board, work: Board) -> None:
    """Copy the rows that reading needs."""
    for row in range(SIZE + 1):
        copy_row(board[row], work[row])


@kernel
def find_ladders(
    board: Board, scratch: LadderScratch, work: Board, laddered: NDArray[np.int8], working: NDArray[np.int8]
) -> None:
    """Find every chain in a ladder.

    laddered: [n] int8, 1 on the stones of chains that are, or can be put, in inescapable atari.
    working: [n] int8, on the points where the attacker starts a working ladder, the color of the attacked chain (3 if
    chains of both colors are). work: memory shaped like the board; not a complete board afterwards.
    """
    plies, journal = scratch.plies, scratch.journal
    width, height = board[HEADER, WIDTH], board[HEADER, HEIGHT]
    _copy(board, work)
    laddered[:] = 0
    working[:] = EMPTY
    for row in range(height):
        first = point_at(row, 0, width)
        for head in range(first, first + width):
            color = work[COLOR, head]
            if color == EMPTY or work[HEAD, head] != head or work[LIBERTIES, head] > 2:
                continue
            found = False
            if work[LIBERTIES, head] == 1:
                found = _is_captured(work, head, plies, journal, 0)
            else:
                a, b = _two_liberties(work, head)
                for move, other in ((a, b), (b, a)):
                    if _escapes_by(work, head, other, move) or not is_legal(work, move, 3 - color, False):
                        continue
                    used = try_stone(work, move, 3 - color, journal, 0)
                    if _is_captured(work, head, plies, journal, used):
                        found = True
                        working[move] |= color
                    take_back(work, journal, used)
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
