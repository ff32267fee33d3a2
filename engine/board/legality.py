"""Finds the legal moves of a whole board at once, except for superko."""

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import is_legal, is_suicide, point_at
from engine.board.layout import HEADER, HEIGHT, KO_POINT, TO_PLAY, WIDTH
from engine.native.jit import kernel


@kernel
def stones_allow(
    board: NDArray[np.int16],
    color: int,
    suicide: bool,
    repeatable: NDArray[np.bool_],
    legal: NDArray[np.bool_],
    doubtful: NDArray[np.bool_],
) -> int:
    """Write the points that the stones allow to a color, in policy order, and those that superko may still forbid.

    repeatable: [n], points where a stone may repeat a position without killing own stones. The simple ko binds only the
    side to move. Returns the number of doubtful points.
    """
    width, found, index = board[HEADER, WIDTH], 0, 0
    for row in range(board[HEADER, HEIGHT]):
        for column in range(width):
            point = point_at(row, column, width)
            # Out of turn, the ko point is an ordinary point.
            if point == board[HEADER, KO_POINT] and color != board[HEADER, TO_PLAY]:
                legal[index] = not is_suicide(board, point, color)
            else:
                legal[index] = is_legal(board, point, color, suicide)
            doubtful[index] = legal[index] and (repeatable[point] or (suicide and is_suicide(board, point, color)))
            found += doubtful[index]
            index += 1
    return found
