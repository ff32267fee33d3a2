"""The 18 planes of Leela Zero: those of AlphaGo Zero, and one that is 1 if White is to move.

Leela Zero counts rows from the bottom; here, as everywhere in Keima, row 0 is the top row.
"""

import numpy as np

from engine.encoders import agz
from engine.encoders.base import Encoder, Inputs
from engine.evaluation.positions import PositionBatch

_BLACK_TO_MOVE = 2 * agz.TURNS


def _write(positions: PositionBatch, count: int, planes: Inputs, globals_: Inputs, scratch: None) -> None:
    agz.ENCODER.write(positions, count, planes, globals_, None)
    np.subtract(1.0, planes[:count, _BLACK_TO_MOVE], out=planes[:count, _BLACK_TO_MOVE + 1])


ENCODER = Encoder(
    name="leela",
    plane_names=(*agz.ENCODER.plane_names, "White to move"),
    global_names=(),
    write=_write,
    sees_color=True,
)
