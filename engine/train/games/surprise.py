"""Policy surprise weighting: positions whose search found other moves than the policy are learned more often.

KataGo, docs/KataGoMethods.md, "Policy Surprise Weighting", and cpp/program/play.cpp.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# KataGo: a quick search is recorded if it is this many times as surprising as the mean full one.
_QUICK_THRESHOLD = 1.5
# Lower bound of a prior, so that a move that the policy excludes has a finite surprise.
_LEAST_PRIOR = 1e-6


def surprise(target: NDArray[np.float32], policy: NDArray[np.float32]) -> float:
    """Return KL(target, policy) in nats, both [area + 1]; at least 0."""
    chosen = target > 0
    ratio = target[chosen] / np.maximum(policy[chosen], _LEAST_PRIOR)
    return max(0.0, float((target[chosen] * np.log(ratio)).sum()))


def sample_weights(is_full: NDArray[np.bool_], surprises: Floats, share: float) -> Floats:
    """Return the expected copies of each position of a game in its samples; their sum is the number of full searches.

    is_full, surprises: [turns]; surprise 0 for positions that must not be recorded. share: of the weight that follows
    the surprise; the rest is shared by the full searches alike. A quick search counts with the surprise by which it
    exceeds 1.5 times the mean of the full ones.
    """
    weights = is_full.astype(np.float64)
    total = weights.sum()
    if total < 1:
        return weights
    threshold = _QUICK_THRESHOLD * (weights * surprises).sum() / total
    counted = np.where(is_full, surprises, np.maximum(0.0, surprises - threshold))
    if counted.sum() <= 0:
        return weights
    mixed: Floats = (1 - share) * weights + share * total * counted / counted.sum()
    return mixed


def drawn_copies(weights: Floats, generator: np.random.Generator) -> NDArray[np.int64]:
    """Round each weight up or down at random, so that its mean is kept."""
    return np.floor(weights + generator.random(len(weights))).astype(np.int64)
