"""The 17 planes of AlphaGo Zero: stones of eight boards and the color to play.

Planes 0..7 are the stones of the side to move now and 1..7 moves ago, planes 8..15 those of the opponent, all from the
view of the current side to move; plane 16 is 1 if Black is to move. Boards before the start of the game are all zero;
the starting board itself, with handicap stones, counts as a board.
"""

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import point_at
from engine.color import BLACK
from engine.encoders.base import Encoder, Inputs
from engine.evaluation.positions import PositionBatch
from engine.native.jit import kernel
from engine.vertex import NO_POINT

TURNS = 8


@kernel
def encode_agz(
    colors: NDArray[np.int8],
    moves: NDArray[np.int16],
    to_play: NDArray[np.int8],
    count: int,
    planes: Inputs,
) -> None:
    """Write planes [B, 17, height, width] of rows 0..count-1."""
    height, width = planes.shape[2], planes.shape[3]
    for i in range(count):
        own = to_play[i]
        for age in range(TURNS):
            # The board `age` moves ago exists if the move after it exists.
            # `colors` repeats the first board before that, where AlphaGo Zero has zeros.
            known = age == 0 or moves[i, age - 1] != NO_POINT
            for row in range(height):
                vertex = point_at(row, 0, width)
                for column in range(width):
                    color = colors[i, age, vertex + column] if known else 0
                    planes[i, age, row, column] = 1.0 if color == own else 0.0
                    planes[i, TURNS + age, row, column] = 1.0 if color == 3 - own else 0.0
        planes[i, 2 * TURNS] = 1.0 if own == BLACK else 0.0


def _write(positions: PositionBatch, count: int, planes: Inputs, globals_: Inputs, scratch: None) -> None:
    encode_agz(positions.colors, positions.moves, positions.to_play, count, planes)


ENCODER = Encoder(
    name="agz",
    plane_names=(
        *(f"own stones {age} moves ago" for age in range(TURNS)),
        *(f"enemy stones {age} moves ago" for age in range(TURNS)),
        "Black to move",
    ),
    global_names=(),
    write=_write,
    sees_color=True,
)
