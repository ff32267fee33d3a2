"""Proposed sets: within their ranges, a function of what is finished, and better than chance."""

import random

import pytest

pytest.importorskip("optuna", reason="optuna is not installed")

from engine.apps.tune.optimizer import Finished, propose
from engine.apps.tune.ranges import Range, Set
from engine.settings.setting import Kind

RANGES = (
    Range("c_puct", Kind.NUMBER, 0.25, 4.0, log=True),
    Range("root_symmetries", Kind.INTEGER, 1, 8),
    Range("uses_lcb", Kind.TRUTH, choices=(False, True)),
)


def loss(values: Set) -> float:
    """Return a stand-in for what the moves lose; 0 at the best set."""
    return abs(float(values["c_puct"]) - 1.5) + abs(float(values["root_symmetries"]) - 6) / 4 + (not values["uses_lcb"])


def tuned(trials: int, seed: int) -> list[Finished]:
    """Return the trials of a run by the stand-in."""
    finished = list[Finished]()
    for _ in range(trials):
        values = propose(RANGES, finished, seed)
        finished.append(Finished(values, loss(values)))
    return finished


def test_every_proposed_value_lies_in_its_range() -> None:
    for each in tuned(25, seed=1):
        assert all(known.has(each.values[known.name]) for known in RANGES)
        assert type(each.values["root_symmetries"]) is int
        assert type(each.values["uses_lcb"]) is bool


def test_a_run_that_was_stopped_anywhere_goes_on_with_the_same_sets() -> None:
    whole = tuned(16, seed=2)
    for stopped in (0, 5, 12, 15):
        assert propose(RANGES, whole[:stopped], 2) == whole[stopped].values


def test_another_seed_proposes_other_sets() -> None:
    assert propose(RANGES, [], 1) != propose(RANGES, [], 2)


def test_the_estimator_finds_better_sets_than_chance() -> None:
    generator = random.Random(1)
    drawn = list[float]()
    for _ in range(400):
        values: Set = {
            "c_puct": 0.25 * 16 ** generator.random(),
            "root_symmetries": generator.randint(1, 8),
            "uses_lcb": generator.random() < 0.5,
        }
        drawn.append(loss(values))
    later = [each.loss for seed in (1, 2, 3) for each in tuned(50, seed)[30:]]
    assert sorted(later)[len(later) // 2] < sorted(drawn)[len(drawn) // 6]


def test_the_default_counts_only_where_its_values_lie_in_the_ranges() -> None:
    inside = Finished({"c_puct": 1.0, "root_symmetries": 1, "uses_lcb": True}, 0.0)
    outside = Finished(inside.values | {"c_puct": 5.0}, 0.0)
    finished = tuned(12, seed=1)
    assert propose(RANGES, [inside, *finished], 1) != propose(RANGES, [outside, *finished], 1)
    assert RANGES[0].has(propose(RANGES, [outside, *finished], 1)["c_puct"])
