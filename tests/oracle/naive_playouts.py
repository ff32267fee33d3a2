"""Forced playouts and the pruning of policy targets, one playout at a time as the paper tells it.

Wu, "Accelerating self-play learning in Go" (2019), section 3.2. Utilities are in the view of the side to move.
"""

import math


def exploration_value(utility: float, prior: float, weight: float, scale: float) -> float:
    """Return what chooses a move: its utility plus what its prior is worth after so many playouts."""
    return utility + scale * prior / (1.0 + weight)


def forced_playouts(prior: float, total: float, factor: float) -> float:
    """Return how many playouts a move that was tried gets at least."""
    return math.sqrt(factor * prior * total)


def pruned_target(
    visits: list[int], priors: list[float], utilities: list[float], scale: float, factor: float
) -> list[float]:
    """Return playouts without those that were only forced, each taken off in steps of a thousandth.

    A move other than the most visited loses up to its forced playouts as long as its value stays below that of the
    most visited; a move that is left with one playout or less loses that, too.
    """
    best = visits.index(max(visits))
    bar = exploration_value(utilities[best], priors[best], visits[best], scale)
    total = sum(visits)
    kept = []
    for index, count in enumerate(visits):
        weight, least = float(count), count - forced_playouts(priors[index], total, factor)
        if index != best:
            while weight - 0.001 >= max(least, 0.0):
                if exploration_value(utilities[index], priors[index], weight - 0.001, scale) > bar:
                    break
                weight -= 0.001
            weight = weight if weight > 1.0 else 0.0
        kept.append(weight)
    return kept
