"""Encodes stones by the liberties of their chain, forbidden points, the last two moves, komi and passes.

Planes 1..6 partition the stones. Plane 7 marks the empty points that repetition forbids to the side to move (simple ko
and superko), plane 8 those that are forbidden as suicide. Only moves on the board have planes: a pass leaves its plane
empty and sets a global.
"""

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import is_legal, point_at, row_column
from engine.board.layout import COLOR, HEAD, HEADER, KO_POINT, LIBERTIES
from engine.color import EMPTY
from engine.encoders.base import Encoder, Inputs
from engine.evaluation.evaluation import black_value
from engine.evaluation.positions import PositionBatch
from engine.native.jit import kernel
from engine.vertex import NO_POINT, PASS

ON_BOARD, OWN_1, ENEMY_1, KO, SUICIDE, LAST = 0, 1, 4, 7, 8, 9
KOMI_SCALE = 15.0
"""Komi plus bonuses, in points, at which the komi input is 1."""


# More than 8 parameters: six fields of a `PositionBatch`, which as a Python object no kernel can take, and the outputs.
@kernel
def encode_liberties(
    boards: NDArray[np.int16],
    moves: NDArray[np.int16],
    to_play: NDArray[np.int8],
    legal: NDArray[np.bool_],
    suicide: bool,
    white_bonus: NDArray[np.float32],
    count: int,
    planes: Inputs,
    globals_: Inputs,
) -> None:
    """Write planes [B, 11, height, width] and globals [B, 3] of rows 0..count-1."""
    height, width = planes.shape[2], planes.shape[3]
    for i in range(count):
        board, own = boards[i], to_play[i]
        planes[i, ON_BOARD] = 1.0
        # The buffer still has the previous batch; every plane but the first is sparse.
        planes[i, OWN_1:] = 0.0
        index = 0
        for row in range(height):
            for column in range(width):
                vertex = point_at(row, column, width)
                color = board[COLOR, vertex]
                if color != EMPTY:
                    first = OWN_1 if color == own else ENEMY_1
                    planes[i, first + min(board[LIBERTIES, board[HEAD, vertex]], 3) - 1, row, column] = 1.0
                elif not legal[i, index]:
                    # An illegal point that the stones would allow can only be forbidden by repetition.
                    repeats = vertex == board[HEADER, KO_POINT] or is_legal(board, vertex, own, suicide)
                    planes[i, KO if repeats else SUICIDE, row, column] = 1.0
                index += 1
        for age in range(2):
            move = moves[i, age]
            if move != NO_POINT and move != PASS:
                row, column = row_column(move, width)
                planes[i, LAST + age, row, column] = 1.0
            globals_[i, 1 + age] = 1.0 if move == PASS else 0.0
        globals_[i, 0] = -black_value(white_bonus[i], own) / KOMI_SCALE


def write(positions: PositionBatch, count: int, planes: Inputs, globals_: Inputs, scratch: None) -> None:
    """Write the inputs of rows 0..count-1; planes after the eleventh become zero."""
    encode_liberties(
        positions.boards,
        positions.moves,
        positions.to_play,
        positions.legal,
        positions.rules.suicide,
        positions.white_bonus,
        count,
        planes,
        globals_,
    )


ENCODER = Encoder(
    name="liberties",
    plane_names=(
        "on board",
        *(f"{side} stones, {liberties} liberties" for side in ("own", "enemy") for liberties in ("1", "2", "3+")),
        "repetition",
        "suicide",
        "last move",
        "move before it",
    ),
    global_names=("komi for the side to move / 15", "last move was a pass", "move before it was a pass"),
    write=write,
)
