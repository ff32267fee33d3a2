"""Builds boards from the colors of their points, without the moves that led there."""

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import add_stone, point_at
from engine.board.layout import (
    COLOR,
    EMPTIES,
    EMPTY_AT,
    EMPTY_COUNT,
    HEADER,
    HEIGHT,
    KO_POINT,
    STRIDE,
    TO_PLAY,
    WIDTH,
    Board,
)
from engine.color import EMPTY, WALL
from engine.native.jit import kernel


@kernel
def build_board(like: Board, colors: NDArray[np.int8], ko_point: int, out: Board) -> None:
    """Write the board with these colors [n]; its prisoner counts are zero.

    like: any board of the same size, which also provides the side to move. The heads of chains and the order of their
    stones may differ from those of a board that was played on.
    """
    stride, width, height = like[HEADER, STRIDE], like[HEADER, WIDTH], like[HEADER, HEIGHT]
    # `out` may hold another position: everything that is not overwritten below is cleared.
    out[HEADER, :] = 0
    out[COLOR, :] = WALL
    out[HEADER, WIDTH], out[HEADER, HEIGHT], out[HEADER, STRIDE] = width, height, stride
    out[HEADER, TO_PLAY] = like[HEADER, TO_PLAY]
    count = 0
    for row in range(height):
        for column in range(width):
            point = point_at(row, column, width)
            out[COLOR, point] = EMPTY
            out[EMPTIES, count] = point
            out[EMPTY_AT, point] = count
            count += 1
    out[HEADER, EMPTY_COUNT] = count
    for row in range(height):
        for column in range(width):
            point = point_at(row, column, width)
            if colors[point] != EMPTY:
                add_stone(out, point, colors[point])
    out[HEADER, KO_POINT] = ko_point
