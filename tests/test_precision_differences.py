"""The figures of `tests.precision_differences`: none for the same evaluator, and the divergence of known policies."""

import numpy as np
import pytest

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from tests.precision_differences import differences, report
from tests.search.fakes import FakeEvaluator


class Sure(FakeEvaluator):
    """Knows one move, a value and a score."""

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the same to every row."""
        super().evaluate(positions, count, out)
        out.policy[:count] = 0.0
        out.policy[:count, 3] = 1.0
        out.value[:count], out.score[:count] = 0.5, 4.0


class Unsure(FakeEvaluator):
    """Finds two moves equally good."""

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the same to every row."""
        super().evaluate(positions, count, out)
        out.policy[:count] = 0.0
        out.policy[:count, [2, 3]] = 0.5
        out.value[:count], out.score[:count] = 0.0, 5.5


GAMES = [Game(5, 5), Game(5, 4)]


def test_an_evaluator_does_not_differ_from_itself() -> None:
    found = differences(Sure(), Sure(), GAMES)
    assert {name: values.tolist() for name, values in found.items()} == {
        "winrate": [0.0, 0.0],
        "score, points": [0.0, 0.0],
        "policy, divergence": [0.0, 0.0],
        "same best move": [1.0, 1.0],
    }


def test_differences_are_of_the_winrate_the_score_and_the_policy() -> None:
    found = differences(Sure(), Unsure(), GAMES)
    assert found["winrate"].tolist() == [0.25, 0.25]
    assert found["score, points"].tolist() == [1.5, 1.5]
    assert found["policy, divergence"] == pytest.approx([np.log(2.0)] * 2)
    assert found["same best move"].tolist() == [0.0, 0.0]


def test_the_report_has_median_the_last_hundredth_and_the_largest() -> None:
    values = np.arange(101) / 1000
    assert report({"winrate": values, "same best move": np.array([1.0, 0.0, 1.0, 1.0])}) == [
        "winrate: median 0.05, 99 % 0.099, largest 0.1",
        "same best move: 75.0 %",
    ]
