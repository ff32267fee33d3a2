"""The loss of a batch, by part and by sample.

Policy and reply are cross entropies over all moves, legal or not, as in KataGo: the network also learns legality, so
that a search masks out next to no probability. All targets are for the side to move. Every part has a weight in each
sample; heads that a network lacks are left out.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from engine.nets.spec import NetSpec, Scales, Score, ValueHead, ValueKind
from engine.train.data.samples import TARGETS
from engine.train.learning.auxiliary import OUTCOMES, Auxiliary
from engine.train.learning.network import Predictions, result_kind
from engine.train.learning.optimism import (
    Expected,
    Found,
    optimism,
    score_error_loss,
    squared_errors,
    value_error_loss,
)
from engine.train.learning.train_config import TrainConfig

POLICY, REPLY, OUTCOME, SCORE, OWNERSHIP = map(TARGETS.index, ("policy", "reply", "outcome", "score", "ownership"))
MEAN_DELTA, LEAD_DELTA = 12.0, 8.0
"""Errors in points from which the score losses grow linearly, as in KataGo."""
LEAST_POLICY = 1e-7
LEAST_STDEV = 0.5
"""Minimum deviation in points: a known score is still uncertain, because scores come in whole points."""


class Targets(NamedTuple):
    """The targets of `engine.train.data.samples.Samples` as tensors; float32, ownership in -1..1.

    policy, reply: [B, area + 1]. outcome: [B, 3]. score: [B]. ownership: [B, area]. weights: [B, 5].
    later: [B, HORIZONS, 4]. importance: [B], the importance weights of the samples.
    """

    policy: Tensor
    reply: Tensor
    outcome: Tensor
    score: Tensor
    ownership: Tensor
    weights: Tensor
    later: Tensor
    importance: Tensor


class Loss(NamedTuple):
    """The loss of a batch.

    total: the minimized value, the mean over the batch of the weighted sum of the parts.
    parts: the unweighted mean of each part over the samples with its target, detached; NaN without such samples.
    per_sample: [B], the weighted sum without importance weights, detached.
    """

    total: Tensor
    parts: Mapping[str, Tensor]
    per_sample: Tensor


def loss(predictions: Predictions, targets: Targets, spec: NetSpec, config: TrainConfig) -> Loss:
    """Return the loss of a batch with the configured weights."""
    parts = _parts(predictions, targets, spec, config)
    per_sample = torch.zeros_like(targets.score)
    means = {}
    for name, (factor, weights, each) in parts.items():
        per_sample = per_sample + factor * weights * each
        means[name] = ((weights * each).sum() / weights.sum()).detach()
    return Loss((targets.importance * per_sample).mean(), means, per_sample.detach())


_Parts = dict[str, tuple[float, Tensor, Tensor]]
"""The parts of the loss by name: weight in the loss, weights [B] of the samples, losses [B]."""


def _parts(predictions: Predictions, targets: Targets, spec: NetSpec, config: TrainConfig) -> _Parts:
    outputs, scores = predictions.outputs, outputs_by_score(predictions, spec)
    policy, reply, outcome, score, owner = targets.weights.unbind(1)
    parts: _Parts = {
        "policy": (config.policy_weight, policy, cross_entropy(outputs.policy[:, 0], targets.policy)),
        "value": (config.value_weight, outcome, value_loss(outputs.result, targets.outcome, result_kind(spec))),
        "reply": (config.reply_weight, reply, cross_entropy(predictions.reply, targets.reply)),
    }
    if spec.has_ownership:
        ownership = ownership_loss(outputs.ownership, targets.ownership)
        parts["ownership"] = (config.ownership_weight, owner, ownership)
    mean = scores.get(Score.MEAN, scores.get(Score.BOARD_MEAN))
    if mean is not None:
        # Huber: in a collapsed game the score can be off by a hundred points, which would dominate a squared error.
        parts["score_mean"] = (config.score_mean_weight, score, _huber(mean, targets.score, MEAN_DELTA))
    if Score.LEAD in scores:
        parts["lead"] = (config.lead_weight, score, _huber(scores[Score.LEAD], targets.score, LEAD_DELTA))
    if Score.STDEV in scores and mean is not None:
        likelihood = stdev_loss(mean, scores[Score.STDEV], targets.score)
        parts["score_stdev"] = (config.score_stdev_weight, score, likelihood)
    expected = Expected(
        values(outputs.result, result_kind(spec)),
        None if mean is None else mean.detach(),
        scores[Score.STDEV].detach() if Score.STDEV in scores else None,
    )
    near = _near_parts(predictions, targets, spec, config, expected)
    return parts | near | _auxiliary_parts(predictions.auxiliary, targets, config)


def _near_parts(
    predictions: Predictions, targets: Targets, spec: NetSpec, config: TrainConfig, expected: Expected
) -> _Parts:
    """Return the parts of the outputs about the near future that the network has."""
    outputs, (policy, _, outcome, score, _) = predictions.outputs, targets.weights.unbind(1)
    near = targets.later[:, -1]
    known = outcome * (near[:, :OUTCOMES].sum(1) > 0)
    found = Found(near, known, targets.outcome, targets.score, outcome, score)
    errors, parts = squared_errors(outputs.score, spec), _Parts()
    if Score.VALUE_ERROR in errors:
        each = value_error_loss(errors[Score.VALUE_ERROR], expected, found)
        parts["value_error"] = (config.value_error_weight, known, each)
    if Score.SCORE_ERROR in errors and expected.mean is not None:
        each = score_error_loss(errors[Score.SCORE_ERROR], expected.mean, found)
        parts["score_error"] = (config.score_error_weight, known, each)
    if spec.policy.optimistic:
        weights = policy * optimism(expected, errors, found)
        each = cross_entropy(outputs.policy[:, spec.policy.optimistic], targets.policy)
        parts["optimistic_policy"] = (config.optimistic_policy_weight, weights, each)
    return parts


def _auxiliary_parts(found: Auxiliary, targets: Targets, config: TrainConfig) -> _Parts:
    """Return the parts of the auxiliary heads that exist."""
    policy, reply, outcome, score, _ = targets.weights.unbind(1)
    parts: _Parts = {}
    if found.soft.shape[1]:
        weight = config.soft_policy_weight
        parts["soft_policy"] = (weight, policy, cross_entropy(found.soft, softened(targets.policy)))
        softer = cross_entropy(found.soft_reply, softened(targets.reply))
        parts["soft_reply"] = (weight * config.reply_weight, reply, softer)
    if found.distribution.shape[1]:
        each = distribution_loss(found.distribution, targets.score)
        parts["score_distribution"] = (config.score_distribution_weight, score, each)
    if found.short_values.shape[1]:
        # All zeros where the later values are unknown.
        known = outcome * (targets.later[:, 0, :OUTCOMES].sum(1) > 0)
        values, scores = targets.later[:, :, :OUTCOMES], targets.later[:, :, OUTCOMES]
        logits = found.short_values.view_as(values)
        divergence = -(values * logits.log_softmax(2)).sum((1, 2)) + torch.special.xlogy(values, values).sum((1, 2))
        parts["short_value"] = (config.short_value_weight, known, divergence)
        parts["short_score"] = (config.short_score_weight, known, _huber(found.short_scores, scores, MEAN_DELTA).sum(1))
    return parts


def softened(policy: Tensor) -> Tensor:
    """Return a policy target [B, moves] to the power 1/4, scaled to sum 1: more about the moves with few visits.

    The least value before the power, 1e-7, is KataGo's.
    """
    soft = (policy + LEAST_POLICY).pow(0.25)
    return soft / soft.sum(1, keepdim=True)


def distribution_loss(logits: Tensor, score: Tensor) -> Tensor:
    """Return the loss [B] of a score distribution [B, entries] against the score [B] in points, as in KataGo.

    The sum of the cross entropy and of the squared differences of the cumulative distributions. A score between two
    entries, which are half points apart from whole ones, is shared by them.
    """
    entries = logits.shape[1]
    place = (score + (entries - 1) / 2).clamp(0, entries - 1)
    lower = place.floor().long()
    share = place - lower
    target = torch.zeros_like(logits)
    target.scatter_(1, lower[:, None], (1 - share)[:, None])
    target.scatter_add_(1, (lower + 1).clamp(max=entries - 1)[:, None], share[:, None])
    gap = logits.softmax(1).cumsum(1) - target.cumsum(1)
    return cross_entropy(logits, target) + gap.square().sum(1)


def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Return the cross entropy [B] of logits [B, moves] with a target distribution."""
    return -(target * logits.float().log_softmax(1)).sum(1)


def value_loss(result: Tensor, outcome: Tensor, kind: ValueKind) -> Tensor:
    """Return the loss [B] of the value head's result [B, 1..3] against P(win), P(loss), P(no result).

    For a softmax head, the cross entropy; for a tanh head, the squared error of the expected result, as in AlphaGo
    Zero. A head without "no result" uses only the other two.
    """
    if kind is ValueKind.TANH:
        return (torch.tanh(result[:, 0].float()) - (outcome[:, 0] - outcome[:, 1])).square()
    return cross_entropy(result, outcome[:, : result.shape[1]])


def ownership_loss(logits: Tensor, ownership: Tensor) -> Tensor:
    """Return the cross entropy [B] of ownership in -1..1, averaged over points; logits before tanh [B, area]."""
    chance = (1.0 + ownership) * 0.5
    # tanh(x) = 2 sigmoid(2 x) - 1, so doubled logits are those of P(own point).
    points = nn.functional.binary_cross_entropy_with_logits(2.0 * logits.float(), chance, reduction="none")
    return points.mean(1)


def stdev_loss(mean: Tensor, stdev: Tensor, score: Tensor) -> Tensor:
    """Return the negative log-likelihood [B] of the score in a normal distribution, to train only its deviation.

    Nix and Weigend 1994. The mean is detached, because it has its own loss.
    """
    variance = stdev.square() + LEAST_STDEV**2
    return 0.5 * (variance.log() + (score - mean.detach()).square() / variance)


def outputs_by_score(predictions: Predictions, spec: NetSpec) -> dict[Score, Tensor]:
    """Return the trained score outputs [B] in points, by their meaning."""
    head = spec.value
    if not isinstance(head, ValueHead):
        return {}
    side = (predictions.outputs.policy.shape[2] - 1) ** 0.5
    columns = predictions.outputs.score.float()
    return {
        score: _points(columns[:, index], score, head.scales, side)
        for index, score in enumerate(head.scores)
        if score in (Score.MEAN, Score.STDEV, Score.LEAD, Score.BOARD_MEAN)
    }


def _points(x: Tensor, score: Score, scales: Scales, side: float) -> Tensor:
    """Convert a raw score output to points, see `engine.nets.heads.Score`."""
    match score:
        case Score.MEAN:
            return x * scales.mean
        case Score.STDEV:
            return nn.functional.softplus(x) * scales.stdev
        case Score.LEAD:
            return x * scales.lead
        case _:
            return x * (2.0 * side)


def _huber(prediction: Tensor, target: Tensor, delta: float) -> Tensor:
    """Return Huber's loss [B]: half the square up to delta, then linear."""
    return nn.functional.huber_loss(prediction, target, reduction="none", delta=delta)


def policy_figures(logits: Tensor, target: Tensor, weights: Tensor) -> dict[str, Tensor]:
    """Return the top-1 accuracy, entropy and KL(target, policy) of a policy, as weighted means, in nats.

    logits, target: [B, moves]; weights: [B].
    """
    log_policy = logits.detach().float().log_softmax(1)
    entropy = -(log_policy.exp() * log_policy).sum(1)
    divergence = torch.special.xlogy(target, target).sum(1) - (target * log_policy).sum(1)
    right = (logits.argmax(1) == target.argmax(1)).float()
    total = weights.sum()
    figures = {"accuracy": right, "entropy": entropy, "kl": divergence}
    return {name: (weights * each).sum() / total for name, each in figures.items()}


def values(result: Tensor, kind: ValueKind) -> Tensor:
    """Return the value [B] = P(win) - P(loss) of the value head's result."""
    if kind is ValueKind.TANH:
        return torch.tanh(result[:, 0].detach().float())
    chances = result.detach().float().softmax(1)
    return chances[:, 0] - chances[:, 1]
