"""Losses of what KataGo's newer networks say of the near future: an optimistic policy, and how wrong the values are.

Without them these outputs, which a search uses, would only drift while the trunk learns. The formulas are those of
KataGo's training (python/katago/train/metrics_pytorch.py); where it compares the near future with short-term heads that
network files do not have, this compares it with value and score.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from engine.nets.heads import LINEAR_SCORE_ERROR
from engine.nets.spec import ErrorForm, NetSpec, Score, ValueHead

VALUE_DELTA, SCORE_DELTA = 0.4, 100.0
"""Differences of squared errors from which the losses grow linearly."""
LEAST_VALUE_ERROR, LEAST_SCORE_ERROR = 1e-8, 1e-4
"""Squared errors that always remain."""
_EXCESS, _SLOPE = 1.5, 3.0
"""Deviations by which a side does better than expected where a position counts half, and how fast that rises."""
_LEAST_VALUE_VARIANCE, _LEAST_SCORE_VARIANCE = 1e-4, 0.25
"""Added to variances, which may be next to nothing."""


class Expected(NamedTuple):
    """What a network expects of B positions, detached, each [B] or None where the network does not say it.

    value: P(win) - P(loss). mean, stdev: of the score, in points.
    """

    value: Tensor
    mean: Tensor | None
    stdev: Tensor | None


class Found(NamedTuple):
    """What came of them. near: [B, 4], P(win), P(loss), P(no result) and score; known: [B], 0 where `near` is unknown.

    outcome: [B, 3] of the game; score: [B] in points. has_outcome, has_score: [B], 0 where they are unknown.
    """

    near: Tensor
    known: Tensor
    outcome: Tensor
    score: Tensor
    has_outcome: Tensor
    has_score: Tensor

    @property
    def near_value(self) -> Tensor:
        """P(win) - P(loss) of the near future, [B]."""
        return self.near[:, 0] - self.near[:, 1]


def squared_errors(raw: Tensor, spec: NetSpec) -> dict[Score, Tensor]:
    """Return the squares [B] of the short-term errors that a network expects, of its raw scores [B, S]."""
    head = spec.value
    if not isinstance(head, ValueHead):
        return {}
    scales = {Score.VALUE_ERROR: head.scales.value_error, Score.SCORE_ERROR: head.scales.score_error}
    return {
        score: _squared(raw[:, index].float(), scales[score], head.error_form, score)
        for index, score in enumerate(head.scores)
        if score in scales
    }


def _squared(x: Tensor, scale: float, form: ErrorForm, score: Score) -> Tensor:
    """Return the square of a short-term error, see `engine.nets.heads.ErrorForm`."""
    match form:
        case ErrorForm.LINEAR:
            return (nn.functional.softplus(x) * (LINEAR_SCORE_ERROR if score is Score.SCORE_ERROR else 1.0)).square()
        case ErrorForm.ROOT:
            return nn.functional.softplus(x) * scale
        case ErrorForm.SQUARED:
            return nn.functional.softplus(0.5 * x).square() * scale


def value_error_loss(squared: Tensor, expected: Expected, found: Found) -> Tensor:
    """Return the loss [B] of the squared error of the value that a network expects."""
    error = (expected.value - found.near_value).square() + LEAST_VALUE_ERROR
    return nn.functional.huber_loss(squared, error, reduction="none", delta=VALUE_DELTA)


def score_error_loss(squared: Tensor, mean: Tensor, found: Found) -> Tensor:
    """Return the loss [B] of the squared error of the score that a network expects."""
    error = (mean - found.near[:, 3]).square() + LEAST_SCORE_ERROR
    return nn.functional.huber_loss(squared, error, reduction="none", delta=SCORE_DELTA)


def optimism(expected: Expected, errors: dict[Score, Tensor], found: Found) -> Tensor:
    """Return how much the policy of each position counts for the optimistic policy: [B], 0 to 1.

    That depends on how far the near future surpassed the expectation, in the deviations that the network expects;
    where it is unknown, on the game: P(win) squared, and its score in the same way.
    """
    near, whole = torch.zeros_like(found.score), found.outcome[:, 0].square() * found.has_outcome
    if Score.VALUE_ERROR in errors:
        variance = errors[Score.VALUE_ERROR].detach() + _LEAST_VALUE_VARIANCE
        near = near + _better(found.near_value - expected.value, variance)
    if expected.mean is not None and Score.SCORE_ERROR in errors:
        variance = errors[Score.SCORE_ERROR].detach() + _LEAST_SCORE_VARIANCE
        near = near + _better(found.near[:, 3] - expected.mean, variance)
    if expected.mean is not None and expected.stdev is not None:
        variance = expected.stdev.square() + _LEAST_SCORE_VARIANCE
        whole = whole + found.has_score * _better(found.score - expected.mean, variance)
    return torch.where(found.known > 0, near, whole).clamp(0.0, 1.0)


def _better(difference: Tensor, variance: Tensor) -> Tensor:
    """Return, from 0 to 1, whether a difference is some 1.5 deviations or more."""
    return torch.sigmoid((difference / variance.sqrt() - _EXCESS) * _SLOPE)
