"""An evaluator without knowledge: all sensible points have the same prior, all positions the value 0.

For tests of the search, and for measuring its speed without a network.
"""

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import point_at
from engine.board.layout import COLOR
from engine.color import EMPTY, WALL
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Attributes
from engine.evaluation.positions import PositionBatch
from engine.native.jit import kernel

PASS_PROBABILITY = 0.01
"""Prior of a pass while there are points to play; above 0, so that a search finds out that a game can end."""


@kernel
def is_own_eye(colors: NDArray[np.int16], point: int, color: int, stride: int) -> bool:
    """Return whether an empty point is a one-point eye of a color and is not false.

    All neighbors are own stones, and at most one diagonal point is the enemy's, at the edge none.
    colors: [n], the color of every vertex.
    """
    edge = 0
    for step in (-stride, -1, 1, stride):
        neighbor = colors[point + step]
        if neighbor == EMPTY or neighbor == 3 - color:
            return False
        edge += neighbor == WALL
    enemies = 0
    for step in (-stride - 1, -stride + 1, stride - 1, stride + 1):
        enemies += colors[point + step] == 3 - color
    return enemies == 0 or (enemies == 1 and edge == 0)


@kernel
def uniform_policy(
    boards: NDArray[np.int16],
    to_play: NDArray[np.int8],
    legal: NDArray[np.bool_],
    width: int,
    count: int,
    policy: NDArray[np.float32],
) -> None:
    """Write policy [B, area + 1] of rows 0..count-1: equal for all legal points that are not own eyes."""
    area = policy.shape[1] - 1
    for i in range(count):
        colors = boards[i, COLOR]
        candidates, index = 0, 0
        for row in range(area // width):
            for column in range(width):
                point = point_at(row, column, width)
                chosen = legal[i, index] and not is_own_eye(colors, point, to_play[i], width + 1)
                policy[i, index] = 1.0 if chosen else 0.0
                candidates += chosen
                index += 1
        passing = PASS_PROBABILITY if candidates else 1.0
        policy[i, area] = passing
        if candidates:
            share = (1.0 - passing) / candidates
            for index in range(area):
                policy[i, index] *= share


class UniformEvaluator:
    """Evaluates at no cost: uniform policy, value 0."""

    def __init__(self, max_batch: int = 64) -> None:
        batch = min(8, max_batch)
        self.attributes = Attributes(name="uniform", preferred_batch=batch, max_batch=max_batch, concurrent=2)

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write policy and value of rows 0..count-1."""
        uniform_policy(positions.boards, positions.to_play, positions.legal, positions.width, count, out.policy)
        out.value[:count] = 0.0

    def close(self) -> None:
        """Hold nothing that needs freeing."""
