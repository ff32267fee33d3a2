"""Surprise weighting: positions whose search found other moves than the policy are learned more often, and those whose
game went on otherwise than the value had said.

KataGo, docs/KataGoMethods.md, "Policy Surprise Weighting", and cpp/program/play.cpp.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# KataGo: a quick search is recorded if it is this many times as surprising as the mean full one.
_QUICK_THRESHOLD = 1.5
# Lower bound of a prior, so that a move that the policy excludes has a finite surprise.
_LEAST_PRIOR = 1e-6
# KataGo: upper bound of the surprise of a value, and the mean of a game below which it counts for less.
_MOST_VALUE_SURPRISE, _LEAST_MEAN = 1.0, 0.01


def surprise(target: NDArray[np.float32], policy: NDArray[np.float32]) -> float:
    """Return KL(target, policy) in nats, both [area + 1]; at least 0."""
    chosen = target > 0
    ratio = target[chosen] / np.maximum(policy[chosen], _LEAST_PRIOR)
    return max(0.0, float((target[chosen] * np.log(ratio)).sum()))


def value_surprise(later: NDArray[np.float32], raw: tuple[float, float, float]) -> float:
    """Return KL(later, raw) in nats, between 0 and 1. Both are P(Black wins), P(White wins) and P(no result).

    later: of the near future, as in `later_targets`. raw: the network's.
    """
    known = later > 0
    ratio = later[known] / np.maximum(np.array(raw)[known], _LEAST_PRIOR)
    return min(max(0.0, float((later[known] * np.log(ratio)).sum())), _MOST_VALUE_SURPRISE)


def sample_weights(
    is_full: NDArray[np.bool_],
    surprises: Floats,
    share: float,
    value_surprises: Floats | None = None,
    value_share: float = 0.0,
) -> Floats:
    """Return the expected copies of each position of a game in its samples; their sum is the number of full searches.

    is_full, surprises, value_surprises: [turns]; surprise 0 for positions that must not be recorded. share,
    value_share: of the weight that follow the surprises; the rest is shared by the full searches alike. A quick search
    counts with the surprise by which it exceeds 1.5 times the mean of the full ones, and not by its value. In a game
    whose value was never surprising, value_share is smaller.
    """
    weights = is_full.astype(np.float64)
    total = weights.sum()
    if total < 1:
        return weights
    threshold = _QUICK_THRESHOLD * (weights * surprises).sum() / total
    counted = np.where(is_full, surprises, np.maximum(0.0, surprises - threshold))
    by_value = np.zeros_like(weights) if value_surprises is None else weights * value_surprises
    value_share *= min(1.0, by_value.sum() / total / _LEAST_MEAN)
    mixed = weights.copy()
    for part, each in ((share, counted), (value_share, by_value)):
        if each.sum() > 0:
            mixed += part * (total * each / each.sum() - weights)
    return mixed


def drawn_copies(weights: Floats, generator: np.random.Generator) -> NDArray[np.int64]:
    """Round each weight up or down at random, so that its mean is kept."""
    return np.floor(weights + generator.random(len(weights))).astype(np.int64)
