"""Canary positions: a trained network knows them all, and each kind of mistake shows in one of them."""

from pathlib import Path

import numpy as np
import pytest

from engine.apps.net.canaries import canaries, capturing_race, won_by_black
from engine.encoders import ENCODERS
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch
from engine.evaluators.factory import Computing, make_evaluator
from engine.evaluators.raw import NetworkFacts, RawNetwork
from engine.nets.random import random_spec
from engine.scoring import final_score
from engine.vertex import parse_vertex
from tests.evaluators.naive_backend import naive_evaluator
from tests.shared import require_shared
from weights.registry import load

NET = "nets/g170-b6c96-s175395328-d26788732.bin.gz"


class Sabotage:
    """Spoils the inputs or outputs of an evaluator in one way."""

    def __init__(self, inner: Evaluator, way: str) -> None:
        self.attributes, self._inner, self._way = inner.attributes, inner, way

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Evaluate, and do the damage."""
        symmetry = int(positions.symmetry[0])
        if self._way == "komi of the other side":
            positions.white_bonus *= -1
        if self._way == "boards not turned back" and symmetry == 1:
            positions.symmetry[0] = 0
        self._inner.evaluate(positions, count, out)
        area = positions.width * positions.height
        if self._way == "value of the other side":
            out.value *= -1
        elif self._way == "policy upside down":
            rows = out.policy[0, :area].reshape(positions.height, positions.width)
            out.policy[0, :area] = rows[::-1].reshape(area) * positions.legal[0, :area]
        elif self._way == "boards not turned back" and symmetry == 1:
            out.policy[0, 0] += np.float32(0.01)

    def close(self) -> None:
        """Leave the inner evaluator to its owner."""


def findings(path: Path, way: str) -> dict[str, bool]:
    """Return which canaries pass on 9x9 with a sabotaged evaluator."""
    spec = load(path)
    evaluator = make_evaluator(spec, Computing("torch", "fp32", 1))
    facts = NetworkFacts(str(path), spec.name, spec.version, 64, "fp32", imitates=False)
    found = {each.name: each.passed for each in canaries(RawNetwork(Sabotage(evaluator, way), facts), spec, [9])}
    evaluator.close()
    return found


def test_a_trained_network_knows_every_position() -> None:
    pytest.importorskip("torch")
    found = findings(require_shared(NET), "nothing")
    assert len(found) == 10
    assert all(found.values()), found


@pytest.mark.parametrize(
    ("way", "shown"),
    [
        ("komi of the other side", "9x9: the empty board is about even with komi 7.5"),
        ("value of the other side", "9x9: Black has won, Black to move"),
        ("policy upside down", "9x9: Black takes at F3"),
        ("boards not turned back", "9x9: the empty board looks the same from all sides"),
    ],
)
def test_each_mistake_shows(way: str, shown: str) -> None:
    pytest.importorskip("torch")
    assert not findings(require_shared(NET), way)[shown]


@pytest.mark.parametrize("side", [1, 2, 3])
def test_boards_without_room_for_the_positions_are_examined_without_them(side: int) -> None:
    spec = random_spec(1, 4, ENCODERS["katago-v7"], 1, board_sizes=(side, side))
    facts = NetworkFacts("net", spec.name, spec.version, 64, "fp32", imitates=False)
    found = list(canaries(RawNetwork(naive_evaluator(spec), facts), spec, [side]))
    assert len(found) == 2
    assert all(each.passed for each in found if "exchanging" in each.name)


@pytest.mark.parametrize("side", [9, 13, 19])
def test_the_positions_are_what_they_claim(side: int) -> None:
    assert final_score(won_by_black(side).game()) > side * side / 5
    race = capturing_race(side).game()
    assert race.play(race.to_play, parse_vertex("F3", side, side)) == 5
    exchanged = capturing_race(side).exchanged().game()
    assert exchanged.play(exchanged.to_play, parse_vertex("F3", side, side)) == 5
