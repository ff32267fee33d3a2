"""Ladder reading: which chains are, or can be put, in inescapable atari.

An exact AND/OR search on the two-liberty game, with the bounds of KataGo's reader so that network
inputs agree with it. Positions on the search path are snapshots in the caller's memory.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import chain_liberties, is_legal, neighbor_offset, place
from engine.board.layout import COLOR, HEAD, HEADER, HEIGHT, KO_POINT, LIBERTIES, NEXT, SIZE, STRIDE, WIDTH, Board
from engine.color import EMPTY, WALL
from engine.jit import kernel
from engine.vertex import NO_POINT

MAX_MOVES = 25_000
"""Moves played in one search after which it is given up as "not captured"."""


class LadderScratch(NamedTuple):
    """Working memory: one board, move list and position in it for each ply."""

    boards: NDArray[np.int16]  # [plies, ROWS, n]
    moves: NDArray[np.int16]  # [plies, n]
    counts: NDArray[np.int16]  # [plies]
    next_move: NDArray[np.int16]  # [plies]
    liberties: NDArray[np.int16]  # [n]


def new_ladder_scratch(board: Board) -> LadderScratch:
    """Return the working memory of `find_ladders` for boards of this size."""
    plies = int(board[HEADER, WIDTH]) * int(board[HEADER, HEIGHT]) * 3 // 2 + 2
    rows, n = board.shape
    return LadderScratch(
        boards=np.empty((plies, rows, n), dtype=np.int16),
        moves=np.empty((plies, n), dtype=np.int16),
        counts=np.empty(plies, dtype=np.int16),
        next_move=np.empty(plies, dtype=np.int16),
        liberties=np.empty(n, dtype=np.int16),
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
def _defender_moves(board: Board, head: int, moves: NDArray[np.int16], liberties: NDArray[np.int16]) -> int:
    """List captures of attackers in atari, then the chain's own liberty; return how many, without repeats."""
    stride = board[HEADER, STRIDE]
    attacker = 3 - board[COLOR, head]
    count = 0
    stone = head
    while True:
        for direction in range(4):
            neighbor = stone + neighbor_offset(direction, stride)
            if board[COLOR, neighbor] != attacker or board[LIBERTIES, board[HEAD, neighbor]] != 1:
                continue
            chain_liberties(board, board[HEAD, neighbor], liberties)
            count = _add_new(moves, count, liberties[0])
        stone = board[NEXT, stone]
        if stone == head:
            break
    chain_liberties(board, head, liberties)
    return _add_new(moves, count, liberties[0])


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
def _liberties_after(board: Board, point: int, color: int, work: Board) -> int:
    """Return the liberties that a stone on an empty point would have; work: a board to try it on."""
    work[:, :] = board
    place(work, point, color)
    return work[LIBERTIES, work[HEAD, point]] if work[COLOR, point] == color else 0


@kernel
def _promise(board: Board, point: int, defender: int) -> int:
    """Return how promising an attacking move is: it should take the defender's larger outlet."""
    stride = board[HEADER, STRIDE]
    value = 2 * _empty_neighbors(board, point)
    for direction in range(4):
        neighbor = point + neighbor_offset(direction, stride)
        if board[COLOR, neighbor] == defender:
            liberties = board[LIBERTIES, board[HEAD, neighbor]]
            if liberties > 1:
                value += 2 * liberties - 3
    return value


_ESCAPED, _CAPTURED, _OPEN = range(3)


@kernel
def _attacker_moves(
    board: Board, head: int, moves: NDArray[np.int16], liberties: NDArray[np.int16], work: Board
) -> int:
    """List the attacker's tries on a chain with two liberties, best first; 0 if escaped, -1 if captured."""
    defender = board[COLOR, head]
    attacker = 3 - defender
    chain_liberties(board, head, liberties)
    a, b = liberties[0], liberties[1]
    empty_a, empty_b = _empty_neighbors(board, a), _empty_neighbors(board, b)
    if empty_a == 0 and empty_b == 0 and _is_ko_capture(board, a, attacker) and _is_ko_capture(board, b, attacker):
        # Two kos: whichever the defender fills, the attacker takes the other.
        gains = _liberties_after(board, a, defender, work) > 2 or _liberties_after(board, b, defender, work) > 2
        if not gains and not _has_attacker_in_atari(board, head):
            return -1
    step = abs(a - b)
    if step != 1 and step != board[HEADER, STRIDE]:
        if empty_a >= 3 and empty_b >= 3:
            return 0
        if empty_a >= 3 or empty_b >= 3:
            moves[0] = a if empty_a >= 3 else b
            return 1
    a_first = _promise(board, a, defender) >= _promise(board, b, defender)
    moves[0], moves[1] = (a, b) if a_first else (b, a)
    return 2


@kernel
def _judge_ply(scratch: LadderScratch, ply: int, stone: int, is_defender: bool) -> int:
    """Decide a position at once where that is possible, else list its moves."""
    board = scratch.boards[ply]
    head = board[HEAD, stone]
    liberties = board[LIBERTIES, head]
    if ply >= scratch.boards.shape[0] - 1:
        return _CAPTURED
    if not is_defender:
        if liberties <= 1:
            return _CAPTURED
        if liberties >= 3:
            return _ESCAPED
        count = _attacker_moves(board, head, scratch.moves[ply], scratch.liberties, scratch.boards[ply + 1])
        if count <= 0:
            return _ESCAPED if count == 0 else _CAPTURED
    else:
        if liberties >= 2 or board[HEADER, KO_POINT] != NO_POINT:
            return _ESCAPED
        count = _defender_moves(board, head, scratch.moves[ply], scratch.liberties)
        lower, upper = _liberty_bounds(board, scratch.moves[ply, count - 1], board[COLOR, head])
        if lower >= 3:
            return _ESCAPED
        if count == 1 and upper <= 1:
            return _CAPTURED
    scratch.counts[ply] = count
    scratch.next_move[ply] = 0
    return _OPEN


@kernel
def _is_captured(board: Board, stone: int, scratch: LadderScratch) -> bool:
    """True if the chain at a stone, in atari with its owner to move, cannot escape."""
    scratch.boards[0, :, :] = board
    scratch.boards[0, HEADER, KO_POINT] = NO_POINT
    defender = board[COLOR, stone]
    ply, played = 0, 0
    verdict = _judge_ply(scratch, 0, stone, True)
    while True:
        is_defender = ply % 2 == 0
        if verdict != _OPEN:
            if ply == 0:
                return verdict == _CAPTURED
            ply -= 1
            # The side that moved from the ply above has what it wants, or tries its next move.
            is_defender = ply % 2 == 0
            if verdict == (_ESCAPED if is_defender else _CAPTURED):
                continue
        verdict = _OPEN
        if scratch.next_move[ply] == scratch.counts[ply]:
            verdict = _CAPTURED if is_defender else _ESCAPED
            continue
        move = scratch.moves[ply, scratch.next_move[ply]]
        scratch.next_move[ply] += 1
        color = defender if is_defender else 3 - defender
        if not is_legal(scratch.boards[ply], move, color, False):
            continue
        played += 1
        if played > MAX_MOVES:
            return False
        scratch.boards[ply + 1, :, :] = scratch.boards[ply]
        ply += 1
        place(scratch.boards[ply], move, color)
        verdict = _judge_ply(scratch, ply, stone, not is_defender)


@kernel
def find_ladders(
    board: Board, scratch: LadderScratch, work: Board, laddered: NDArray[np.int8], working: NDArray[np.int8]
) -> None:
    """Find every chain in a ladder.

    laddered: [n] int8, 1 on the stones of chains that are, or can be put, in inescapable atari.
    working: [n] int8, on the points where the attacker starts a working ladder the color of the chain
        attacked (3 where chains of both colors are). work: a board of the same size.
    """
    stride, width, height = board[HEADER, STRIDE], board[HEADER, WIDTH], board[HEADER, HEIGHT]
    laddered[:] = 0
    working[:] = EMPTY
    for row in range(height):
        for column in range(width):
            stone = (row + 1) * stride + column + 1
            color = board[COLOR, stone]
            if color == EMPTY or not _is_first_stone(board, stone):
                continue
            head = board[HEAD, stone]
            found = False
            if board[LIBERTIES, head] == 1:
                found = _is_captured(board, stone, scratch)
            elif board[LIBERTIES, head] == 2:
                chain_liberties(board, head, scratch.liberties)
                first, second = scratch.liberties[0], scratch.liberties[1]
                for move in (first, second):
                    if not is_legal(board, move, 3 - color, False):
                        continue
                    work[:, :] = board
                    place(work, move, 3 - color)
                    if _is_captured(work, stone, scratch):
                        found = True
                        working[move] |= color
            if found:
                _mark_chain(board, head, laddered)


@kernel
def _is_first_stone(board: Board, stone: int) -> bool:
    """True if no stone of its chain comes earlier, row by row."""
    other = board[NEXT, stone]
    while other != stone:
        if other < stone:
            return False
        other = board[NEXT, other]
    return True


@kernel
def _mark_chain(board: Board, head: int, marks: NDArray[np.int8]) -> None:
    stone = head
    while True:
        marks[stone] = 1
        stone = board[NEXT, stone]
        if stone == head:
            return
