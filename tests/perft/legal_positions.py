"""Counts the legal positions of small boards with the board kernels themselves.

Known numbers: J. Tromp and G. Farneback, "Combinatorics of Go" (2007).
"""

import numba
import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import add_stone
from engine.board.layout import COLOR, HEAD, LIBERTIES, Board, new_board
from engine.color import EMPTY, WHITE
from engine.vertex import points

KNOWN = {
    (1, 1): 1,
    (2, 1): 5,
    (3, 1): 15,
    (1, 4): 41,
    (5, 1): 113,
    (2, 2): 57,
    (3, 2): 489,
    (2, 4): 4_125,
    (5, 2): 35_117,
    (3, 3): 12_675,
    (4, 3): 321_689,
    (3, 5): 8_180_343,
    (4, 4): 24_318_165,
}
"""Legal positions by (width, height)."""


def count_legal_positions(width: int, height: int) -> int:
    """Return the number of ways to fill a board so that every chain has a liberty."""
    area = width * height
    boards = np.stack([new_board(width, height)] * (area + 1))
    places = np.array(points(width, height), dtype=np.int64)
    return int(_count(boards, places, np.full(area + 1, -1, dtype=np.int64)))


@numba.njit
def _count(boards: NDArray[np.int16], places: NDArray[np.int64], chosen: NDArray[np.int64]) -> int:
    """Fill the points in order, each with nothing, Black and White in turn.

    boards: [area + 1, ROWS, n], one snapshot for each point filled. chosen: [area + 1], the color
    tried last at each point, -1 before the first.
    """
    depth, count = 0, 0
    while depth >= 0:
        if depth == len(places):
            count += _every_chain_breathes(boards[depth], places)
            depth -= 1
        elif chosen[depth] == WHITE:
            chosen[depth] = -1
            depth -= 1
        else:
            chosen[depth] += 1
            boards[depth + 1] = boards[depth]
            if chosen[depth] != EMPTY:
                add_stone(boards[depth + 1], places[depth], chosen[depth])
            depth += 1
    return count


@numba.njit
def _every_chain_breathes(board: Board, places: NDArray[np.int64]) -> bool:
    for point in places:
        if board[COLOR, point] != EMPTY and board[LIBERTIES, board[HEAD, point]] == 0:
            return False
    return True
