"""One plane, the smallest possible input: 1 for own stones, -1 for enemy stones, 0 elsewhere.

Ko, history, komi and the color to play are invisible; the format is for teaching.
"""

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import point_at
from engine.encoders.base import Encoder, Inputs
from engine.evaluation.positions import PositionBatch
from engine.native.jit import kernel


@kernel
def encode_oneplane(colors: NDArray[np.int8], to_play: NDArray[np.int8], count: int, planes: Inputs) -> None:
    """Write planes [B, 1, height, width] of rows 0..count-1."""
    height, width = planes.shape[2], planes.shape[3]
    for i in range(count):
        own = to_play[i]
        for row in range(height):
            vertex = point_at(row, 0, width)
            for column in range(width):
                color = colors[i, 0, vertex + column]
                planes[i, 0, row, column] = 1.0 if color == own else -1.0 if color == 3 - own else 0.0


def _write(positions: PositionBatch, count: int, planes: Inputs, globals_: Inputs, scratch: None) -> None:
    encode_oneplane(positions.colors, positions.to_play, count, planes)


ENCODER = Encoder(name="oneplane", plane_names=("own 1, enemy -1",), global_names=(), write=_write, signed=True)
