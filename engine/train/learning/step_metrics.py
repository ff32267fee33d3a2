"""Accumulates the metrics of steps on the device, so that no step waits for a transfer."""

import math
import time
from collections.abc import Mapping

import torch
from torch import Tensor

from engine.nets.spec import NetSpec
from engine.train.learning.loss import OUTCOME, POLICY, Loss, Targets, policy_figures, values
from engine.train.learning.network import Predictions, result_kind
from engine.train.learning.train_config import TrainConfig

_LEAST_VARIANCE = 1e-9
# Parts of the loss whose targets self-play records only if it is told to.
_NEAR_FUTURE = ("short_value", "short_score", "value_error", "score_error")


class StepMetrics:
    """Accumulates metrics step by step; `take` returns their means and starts over.

    loss and its parts by their names in `engine.train.learning.loss`; accuracy (top-1), entropy and kl (target to
    policy, nats) of the policy; explained_variance of the value; gradient_norm before clipping; samples_per_s, and
    data_wait, the share of time that the loop waited for batches. A step without targets of a kind is left out of
    that kind's mean.
    """

    def __init__(self, spec: NetSpec) -> None:
        self._kind = result_kind(spec)
        self._begin()

    def _begin(self) -> None:
        self._steps: list[Tensor] = []
        self._moments: list[Tensor] = []
        self._names: list[str] = []
        self._samples, self._waited, self._since = 0, 0.0, time.perf_counter()

    def add(
        self, predictions: Predictions, targets: Targets, result: Loss, norm: Tensor, samples: int, waited: float
    ) -> None:
        """Add a step. norm: of the gradient. samples: in the step. waited: seconds that the loop waited for them."""
        figures: dict[str, Tensor] = {"loss": result.total.detach(), **result.parts}
        figures |= policy_figures(predictions.outputs.policy[:, 0], targets.policy, targets.weights[:, POLICY])
        figures["gradient_norm"] = norm.detach()
        self._names = list(figures)
        self._steps.append(torch.stack([each.float() for each in figures.values()]))
        known = targets.weights[:, OUTCOME] > 0
        value = targets.outcome[:, 0] - targets.outcome[:, 1]
        rest = value - values(predictions.outputs.result, self._kind)
        # Sums instead of values: the variance is over all samples of the steps, not a mean over batches.
        moments = (known, value * known, value.square() * known, rest * known, rest.square() * known)
        self._moments.append(torch.stack([each.sum(dtype=torch.float64) for each in moments]))
        self._samples, self._waited = self._samples + samples, self._waited + waited

    def take(self) -> dict[str, float]:
        """Return the means over the steps since the last call; NaN for metrics that no step had."""
        # The only transfer from the device: it waits for all steps of the interval at once.
        rows = torch.stack(self._steps).double()
        present = ~rows.isnan()
        means = torch.where(present, rows, 0.0).sum(0) / present.sum(0)
        figures = dict(zip(self._names, means.tolist(), strict=True))
        # Not the NaN-tolerant mean: a single step that is not finite must show.
        norms = rows[:, self._names.index("gradient_norm")]
        figures["gradient_norm"] = float(norms.mean())
        figures["explained_variance"] = explained_variance(torch.stack(self._moments).sum(0).tolist())
        passed = time.perf_counter() - self._since
        figures |= {"samples_per_s": self._samples / passed, "data_wait": self._waited / passed}
        self._begin()
        return figures


def without_targets(figures: Mapping[str, float], config: TrainConfig) -> list[str]:
    """Return a line for each weight of the loss that was set, but whose target no sample of these means has.

    figures: of `StepMetrics.take`. Weights with their defaults are for whatever targets there are.
    """
    usual, found = TrainConfig(), []
    for name, mean in figures.items():
        weight = getattr(config, f"{name}_weight", 0.0)
        if math.isnan(mean) and weight not in (0.0, getattr(usual, f"{name}_weight", 0.0)):
            hint = " (self-play records it with records_later)" if name in _NEAR_FUTURE else ""
            found.append(f"{name}_weight is {weight:g}, but no sample so far has its target{hint}")
    return found


def explained_variance(moments: list[float]) -> float:
    """Return 1 - Var(target - prediction) / Var(target), NaN if the targets do not vary.

    moments: count, sum and sum of squares of the targets, sum and sum of squares of the differences.
    """
    count, total, squares, off, off_squares = moments
    if count == 0:
        return math.nan
    variance = squares / count - (total / count) ** 2
    rest = off_squares / count - (off / count) ** 2
    return 1.0 - rest / variance if variance > _LEAST_VARIANCE else math.nan


def format_metrics(figures: Mapping[str, float], *names: str) -> str:
    """Format the named metrics for a progress line, without those that are unknown."""
    known = [name for name in names if math.isfinite(figures.get(name, math.nan))]
    return ", ".join(f"{name.replace('_', ' ')} {figures[name]:.3g}" for name in known)
