"""What the levels below the full one overlook."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.players.base import Limits
from engine.settings.levels import ATTENTION, FULL_LEVEL
from engine.vertex import PASS

_GLANCES = 5
"""Points that are seen for no reason, on average."""


def at_level(limits: Limits, level: int) -> Limits:
    """Return the limits of a move at a level from 1 to FULL_LEVEL."""
    return limits if level == FULL_LEVEL else replace(limits, visits=1, attention=ATTENTION[level - 1])


def overlooked(
    vertices: NDArray[np.int64], priors: NDArray[np.float64], attention: float, generator: np.random.Generator
) -> list[int]:
    """Return which of the moves are overlooked.

    A point is with the chance (1 - GLANCES / moves) * (1 - prior) ** attention: an attention of 1 finds a move about as
    often as its prior says that it is played. The best point is not if all would be. A pass is wherever it is not the
    best move: nobody passes because of what they do not see.
    """
    is_point = vertices != PASS
    if not is_point.any():
        return []
    chances = max(0.0, 1.0 - _GLANCES / len(vertices)) * (1.0 - np.minimum(priors, 1.0)) ** attention
    is_seen = generator.random(len(vertices)) >= chances
    best_point = np.argmax(np.where(is_point, priors, -1.0))
    is_seen[~is_point] = priors[~is_point] > priors[best_point]
    if not is_seen[is_point].any():
        is_seen[best_point] = True
    return [int(vertex) for vertex in vertices[~is_seen]]
