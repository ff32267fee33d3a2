"""Mean regrets with bootstrap intervals, for settings alone and for pairs of them on the same positions."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.apps.quality.choices import Choices
from engine.apps.quality.positions import Position
from engine.apps.quality.reference import Reference

Floats = NDArray[np.float64]
_RESAMPLES = 4_000
_PERCENTILES = (2.5, 97.5)


class Estimate(NamedTuple):
    """A mean over positions with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


def rounded(found: Mapping[str, Estimate], digits: int) -> dict[str, list[float]]:
    """Return estimates for a report in JSON."""
    return {name: [round(value, digits) for value in each] for name, each in found.items()}


class Regrets(NamedTuple):
    """What the moves of one setting lose, by position: [positions].

    winrate: in [0, 1], below the best judged move. points: below the move with the largest lead. equal: 1 where no
    judged move is better.
    """

    winrate: Floats
    points: Floats
    equal: Floats


def regrets(reference: Reference, positions: Sequence[Position], choices: Choices) -> Regrets:
    """Return the regrets of a setting's moves, which the reference has judged."""
    rows = np.empty((len(positions), 3))
    for row, position in zip(rows, positions, strict=True):
        judged = reference.values(position).values()
        value = reference.value(position, choices[position.key].vertex)
        best = max(each.winrate for each in judged)
        row[:] = best - value.winrate, max(each.lead for each in judged) - value.lead, value.winrate == best
    return Regrets(*rows.T)


def estimates(regret: Regrets, before: Regrets | None = None) -> Mapping[str, Estimate]:
    """Return the means by the names of `Regrets`, or the means of the differences from another setting.

    The positions are resampled, so a difference is a paired one.
    """
    count = len(regret.winrate)
    drawn = np.random.default_rng(1).integers(count, size=(_RESAMPLES, count)) if count else np.zeros((1, 0), np.int64)
    found = {}
    for name, values, others in zip(Regrets._fields, regret, before or [None] * len(regret), strict=True):
        values = values if others is None else values - others
        means = values[drawn].mean(axis=1) if count else np.full(1, np.nan)
        low, high = np.percentile(means, _PERCENTILES)
        found[name] = Estimate(float(values.mean()) if count else float("nan"), float(low), float(high))
    return found
