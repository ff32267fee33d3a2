"""Training targets of a position: the move that was played and the game's result, for the side to move."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.color import EMPTY, for_color
from engine.vertex import policy_index

OWNERSHIP_SCALE = 127
"""The stored value of certain ownership."""


@dataclass(frozen=True, eq=False)
class FinalResult:
    """The result of a game, Black-positive.

    winner: BLACK, WHITE, EMPTY for a draw, None if the game is void. score: points including komi, None if the game
    was not counted. ownership: [area] in -1..1, points row by row from the top, None if unknown.
    """

    winner: int | None
    score: float | None = None
    ownership: NDArray[Any] | None = None

    def targets(self, color: int) -> dict[str, Any]:
        """Return the targets `outcome`, `score` and `ownership` of `SampleWriter.add` for a side to move."""
        if self.winner is None:
            outcome = (0.0, 0.0, 1.0)
        elif self.winner == EMPTY:
            outcome = (0.5, 0.5, 0.0)
        else:
            outcome = (1.0, 0.0, 0.0) if self.winner == color else (0.0, 1.0, 0.0)
        return {
            "outcome": outcome,
            "score": None if self.score is None else for_color(self.score, color),
            "ownership": None
            if self.ownership is None
            else for_color(np.asarray(self.ownership, dtype=np.float32), color),
        }


def one_hot(vertex: int, width: int, height: int) -> NDArray[np.float16]:
    """Return the policy [area + 1] that puts all probability on one vertex, which may be PASS."""
    policy = np.zeros(width * height + 1, dtype=np.float16)
    policy[policy_index(vertex, width, height)] = 1
    return policy


def checked_target(name: str, value: Any) -> Any:
    """Return a target of `SampleWriter.add` in its stored form. Raises ValueError if it is out of range."""
    if name == "score":
        if not math.isfinite(value):
            raise ValueError(f"score: expected points, got {value}")
        return float(value)
    array = np.asarray(value, dtype=np.float32)
    if name == "ownership":
        if not np.all(np.abs(array) <= 1):
            raise ValueError(f"ownership: expected values in -1..1, got {array.min()}..{array.max()}")
        return np.rint(array * OWNERSHIP_SCALE).astype(np.int8)
    total = float(array.sum())
    if not (np.all(array >= 0) and 0 < total < math.inf):
        raise ValueError(f"{name}: expected values >= 0 with a sum, got {array.min()}..{array.max()}, sum {total}")
    return array / total
