"""Proposes sets of parameters by Optuna's tree-structured Parzen estimator. The only module that imports Optuna.

Optuna, and not nevergrad, cmaes or scikit-optimize, weighed in November 2026: its estimator takes numbers on linear and
logarithmic scales, integers and choices in one set and looks only at the order of the losses, so that a few large ones
do no harm; a CMA-ES needs numbers alone (cmaes adds integers and choices by a margin) and many more trials than the
hundred that fit into a night; nevergrad brings pandas, scikit-learn and a Bayesian optimizer, Optuna nothing that needs
numpy anew. scikit-optimize has had no release since 2021.
"""

from collections.abc import Sequence
from typing import NamedTuple

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from engine.apps.tune.ranges import Range, Set
from engine.settings.setting import Kind

_SEED_STEP = 1_000_003


class Finished(NamedTuple):
    """A set and what it lost; less is better."""

    values: Set
    loss: float


def propose(ranges: Sequence[Range], finished: Sequence[Finished], seed: int) -> Set:
    """Return the set to try after `finished`, in whose order they count: ten at random first, then by the estimator.

    A pure function of its arguments, so that a stopped run goes on with the sets of one that was never stopped.
    Finished sets outside the ranges, such as the defaults, are left out.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=(seed * _SEED_STEP + len(finished)) & 0x7FFFFFFF)
    study = optuna.create_study(sampler=sampler, direction="minimize")
    distributions = {each.name: _distribution(each) for each in ranges}
    for each in finished:
        if all(known.has(each.values[known.name]) for known in ranges):
            study.add_trial(
                optuna.trial.create_trial(params=dict(each.values), distributions=distributions, value=each.loss)
            )
    proposed = study.ask(distributions).params
    return {each.name: each.rounded(proposed[each.name]) for each in ranges}


def _distribution(each: Range) -> BaseDistribution:
    if each.choices:
        return CategoricalDistribution(each.choices)
    if each.kind is Kind.INTEGER:
        return IntDistribution(int(each.low), int(each.high), log=each.log)
    return FloatDistribution(each.low, each.high, log=each.log)
