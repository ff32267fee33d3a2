"""Hides moves from the levels below the full one, so that they overlook some."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.players.base import Limits
from engine.settings.levels import FULL_LEVEL, VISIBILITY
from engine.vertex import PASS

# Average number of points that a level considers regardless of their priors.
RANDOMLY_SEEN = 5


def at_level(limits: Limits, level: int) -> Limits:
    """Return the limits of a move at a level from 1 to FULL_LEVEL."""
    return limits if level == FULL_LEVEL else replace(limits, visits=1, visibility=VISIBILITY[level - 1])


def choose_hidden_moves(
    vertices: NDArray[np.int64], priors: NDArray[np.float64], visibility: float, generator: np.random.Generator
) -> list[int]:
    """Return a random subset of `vertices` that a level leaves out of its search.

    A point is left out with probability (1 - RANDOMLY_SEEN / moves) * (1 - prior) ** visibility: at a visibility of
    1, a move is found about as often as its prior predicts. The best point stays if all would go. A pass is left out
    unless it is the best move, so a weak level never passes because it missed a move.
    """
    is_point = vertices != PASS
    if not is_point.any():
        return []
    chances = max(0.0, 1.0 - RANDOMLY_SEEN / len(vertices)) * (1.0 - np.minimum(priors, 1.0)) ** visibility
    is_seen = generator.random(len(vertices)) >= chances
    best_point = np.argmax(np.where(is_point, priors, -1.0))
    is_seen[~is_point] = priors[~is_point] > priors[best_point]
    if not is_seen[is_point].any():
        is_seen[best_point] = True
    return [int(vertex) for vertex in vertices[~is_seen]]
