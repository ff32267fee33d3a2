"""Moves that are good or bad at first sight: pure functions of a board, a point and a color.

Recommended: capturing the largest chain in atari, saving an own chain in atari by a move off the first line that gives
it liberties, and an atari on two chains at once. Refused: filling an own eye, and self-atari without gain. They serve
as priors, as an input plane and, without a search, as moves; they never overrule a search.
"""

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import neighbor_offset, point_at, row_column
from engine.board.layout import COLOR, HEAD, HEADER, HEIGHT, LIBERTIES, SIZE, STRIDE, WIDTH, Board
from engine.board.tactics import breathes_after, chain_size_after, is_eye, puts_in_atari, saves
from engine.native.jit import kernel
from engine.vertex import NO_POINT

NO_REFLEX, CAPTURE, SAVE, DOUBLE_ATARI, OWN_EYE, SELF_ATARI = range(6)
"""The kinds of a legal move; the first that applies holds, and the last two are refused."""


@kernel
def takes(board: Board, point: int, color: int) -> int:
    """Return the number of stones that a move captures, each chain counted once."""
    stride, stones = board[HEADER, STRIDE], 0
    for direction in range(4):
        neighbor = point + neighbor_offset(direction, stride)
        if board[COLOR, neighbor] != 3 - color or board[LIBERTIES, board[HEAD, neighbor]] != 1:
            continue
        # Two neighbors may belong to one chain, which counts once.
        is_new = True
        for earlier in range(direction):
            other = point + neighbor_offset(earlier, stride)
            is_new = is_new and not (board[COLOR, other] == 3 - color and board[HEAD, other] == board[HEAD, neighbor])
        if is_new:
            stones += board[SIZE, board[HEAD, neighbor]]
    return stones


@kernel
def is_first_line(board: Board, point: int) -> bool:
    """True for points on the edge."""
    width, height = board[HEADER, WIDTH], board[HEADER, HEIGHT]
    row, column = row_column(point, width)
    return row == 0 or row == height - 1 or column == 0 or column == width - 1


@kernel
def rescues(board: Board, point: int, color: int) -> int:
    """Return the number of own stones in atari that a move off the first line gives two liberties or more."""
    return 0 if is_first_line(board, point) else saves(board, point, color)


@kernel
def attacks_two(board: Board, point: int, color: int) -> int:
    """Return the number of enemy stones that a safe move puts in atari if they belong to two chains or more, else 0."""
    stride, first, stones = board[HEADER, STRIDE], NO_POINT, 0
    is_double = False
    for direction in range(4):
        neighbor = point + neighbor_offset(direction, stride)
        if board[COLOR, neighbor] != 3 - color or board[LIBERTIES, board[HEAD, neighbor]] != 2:
            continue
        head = board[HEAD, neighbor]
        if first == NO_POINT:
            first = head
        is_double = is_double or head != first
        stones += board[SIZE, head]
    return stones if is_double and breathes_after(board, point, color) else 0


@kernel
def wastes_stones(board: Board, point: int, color: int) -> bool:
    """True if a move is self-atari, captures nothing, and is not a single stone that gives atari."""
    if takes(board, point, color) > 0 or breathes_after(board, point, color):
        return False
    return chain_size_after(board, point, color) > 1 or puts_in_atari(board, point, color) == 0


@kernel
def reflex_at(board: Board, point: int, color: int) -> int:
    """Return the kind of a legal move on an empty point: NO_REFLEX to SELF_ATARI."""
    if takes(board, point, color) > 0:
        return CAPTURE
    if rescues(board, point, color) > 0:
        return SAVE
    if attacks_two(board, point, color) > 0:
        return DOUBLE_ATARI
    if is_eye(board, point, color):
        return OWN_EYE
    return SELF_ATARI if wastes_stones(board, point, color) else NO_REFLEX


@kernel
def reflex_move(board: Board, color: int, legal: NDArray[np.bool_]) -> int:
    """Return the recommended move, NO_POINT if there is none.

    The largest capture comes before the largest rescue, and that before the largest double atari; ties are resolved in
    policy order. legal: [area + 1].
    """
    width = board[HEADER, WIDTH]
    best, best_kind, best_size = NO_POINT, DOUBLE_ATARI, 0
    for index in range(legal.shape[0] - 1):
        if not legal[index]:
            continue
        point = point_at(index // width, index % width, width)
        kind = reflex_at(board, point, color)
        if kind == CAPTURE:
            size = takes(board, point, color)
        elif kind == SAVE:
            size = rescues(board, point, color)
        elif kind == DOUBLE_ATARI:
            size = attacks_two(board, point, color)
        else:
            continue
        if kind < best_kind or (kind == best_kind and size > best_size):
            best, best_kind, best_size = point, kind, size
    return best
