"""Four planes, as in the well-known AlphaZero for Gomoku: own stones, enemy stones, last move, color to play.

Plane 2 has a 1 at the last move, and is empty after a pass and before the first move; plane 3 is 1 everywhere if Black
is to move. Ko, history and komi are invisible; the format is for teaching.
"""

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import point_at, row_column
from engine.color import BLACK
from engine.encoders.base import Encoder, Inputs
from engine.evaluation.positions import PositionBatch
from engine.native.jit import kernel
from engine.vertex import NO_POINT, PASS

OWN, ENEMY, LAST, BLACK_TO_MOVE = range(4)


@kernel
def encode_gomoku(
    colors: NDArray[np.int8], moves: NDArray[np.int16], to_play: NDArray[np.int8], count: int, planes: Inputs
) -> None:
    """Write planes [B, 4, height, width] of rows 0..count-1."""
    height, width = planes.shape[2], planes.shape[3]
    for i in range(count):
        own = to_play[i]
        for row in range(height):
            vertex = point_at(row, 0, width)
            for column in range(width):
                color = colors[i, 0, vertex + column]
                planes[i, OWN, row, column] = 1.0 if color == own else 0.0
                planes[i, ENEMY, row, column] = 1.0 if color == 3 - own else 0.0
        planes[i, LAST] = 0.0
        last = moves[i, 0]
        if last != NO_POINT and last != PASS:
            row, column = row_column(last, width)
            planes[i, LAST, row, column] = 1.0
        planes[i, BLACK_TO_MOVE] = 1.0 if own == BLACK else 0.0


def _write(positions: PositionBatch, count: int, planes: Inputs, globals_: Inputs, scratch: None) -> None:
    encode_gomoku(positions.colors, positions.moves, positions.to_play, count, planes)


ENCODER = Encoder(
    name="gomoku4",
    plane_names=("own stones", "enemy stones", "last move", "Black to move"),
    global_names=(),
    write=_write,
    sees_color=True,
)
