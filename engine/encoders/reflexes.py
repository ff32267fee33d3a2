"""The planes of `liberties`, and one with the moves that the reflexes recommend; see `engine.board.reflexes`."""

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import point_at
from engine.board.reflexes import DOUBLE_ATARI, NO_REFLEX, reflex_at
from engine.encoders import liberties
from engine.encoders.base import Encoder, Inputs
from engine.evaluation.positions import PositionBatch
from engine.native.jit import kernel

REFLEX = liberties.ENCODER.planes


@kernel
def encode_reflexes(
    boards: NDArray[np.int16], to_play: NDArray[np.int8], legal: NDArray[np.bool_], count: int, planes: Inputs
) -> None:
    """Write plane 11 of planes [B, 12, height, width] of rows 0..count-1."""
    height, width = planes.shape[2], planes.shape[3]
    for i in range(count):
        index = 0
        for row in range(height):
            for column in range(width):
                kind = NO_REFLEX
                if legal[i, index]:
                    kind = reflex_at(boards[i], point_at(row, column, width), to_play[i])
                planes[i, REFLEX, row, column] = 1.0 if NO_REFLEX < kind <= DOUBLE_ATARI else 0.0
                index += 1


def _write(positions: PositionBatch, count: int, planes: Inputs, globals_: Inputs, scratch: None) -> None:
    liberties.write(positions, count, planes, globals_, scratch)
    encode_reflexes(positions.boards, positions.to_play, positions.legal, count, planes)


ENCODER = Encoder(
    name="reflexes",
    plane_names=(*liberties.ENCODER.plane_names, "recommended by reflex"),
    global_names=liberties.ENCODER.global_names,
    write=_write,
)
