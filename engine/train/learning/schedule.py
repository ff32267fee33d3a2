"""Learning rate schedules: warm-up, then cosine, step, constant or KL-adaptive."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from engine.train.learning.train_config import TrainConfig

KL_FACTOR = 1.5
KL_BOUNDS = (0.1, 10.0)


def warmup_factor(step: int, warmup: int) -> float:
    """Return the factor that rises linearly over the first `warmup` steps, from 1 / warmup at step 0 to 1."""
    return min(1.0, (step + 1) / warmup) if warmup > 0 else 1.0


def cosine_factor(progress: float, final: float) -> float:
    """Return the factor that falls from 1 to `final` along half a cosine period (Loshchilov and Hutter 2017)."""
    return final + (1.0 - final) * 0.5 * (1.0 + math.cos(math.pi * min(max(progress, 0.0), 1.0)))


def step_factor(progress: float, steps: Sequence[float], factor: float) -> float:
    """Return factor^n, where n counts the fractions `steps` of the run that have been reached."""
    return factor ** bisect_right(sorted(steps), progress)


@dataclass
class KlAdaptive:
    """A learning rate factor that adapts to the change of the policy in a step, as in AlphaZero_Gomoku.

    It is divided by KL_FACTOR if KL(before, after) is more than twice the target, and multiplied by it if below half
    the target, within KL_BOUNDS.
    """

    target: float
    factor: float = 1.0

    def observe(self, kl: float) -> None:
        """Adapt to the KL divergence of a step, in nats."""
        low, high = KL_BOUNDS
        if kl > 2.0 * self.target:
            self.factor = max(low, self.factor / KL_FACTOR)
        elif kl < 0.5 * self.target:
            self.factor = min(high, self.factor * KL_FACTOR)


class Schedule:
    """The learning rate schedule of a run."""

    def __init__(self, config: TrainConfig) -> None:
        self._config, self._adaptive = config, KlAdaptive(config.kl_target)

    def rate(self, step: int, progress: float) -> float:
        """Return the learning rate of a step, counted from 0. progress: the finished share of the run, 0 to 1."""
        config = self._config
        match config.schedule:
            case "cosine":
                factor = cosine_factor(progress, config.final_rate)
            case "step":
                factor = step_factor(progress, config.rate_steps, config.rate_factor)
            case "constant":
                factor = 1.0
            case "kl":
                factor = self._adaptive.factor
            case _:
                assert_never(config.schedule)
        return config.learning_rate * warmup_factor(step, config.warmup) * factor

    def wants_kl(self, step: int) -> bool:
        """True if the KL divergence of this step must be measured; never during the warm-up."""
        # The low rates of a warm-up hardly change the policy: counted, they raised the factor to its bound of 10.
        config = self._config
        return config.schedule == "kl" and step >= config.warmup and step % config.kl_every == 0

    def observe(self, kl: float) -> None:
        """Record the KL divergence of a step, in nats."""
        self._adaptive.observe(kl)

    @property
    def factor(self) -> float:
        """The current factor of the KL-adaptive schedule, for `restore`."""
        return self._adaptive.factor

    def restore(self, factor: float) -> None:
        """Set the factor of the KL-adaptive schedule."""
        self._adaptive.factor = factor
