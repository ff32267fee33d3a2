"""Captures in one move are found by play-outs alone, vital points by a network; the drawn problems are sound."""

from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from engine.evaluators.rollout import RolloutEvaluator
from engine.netfile.network import Computing, make_evaluator
from engine.netfile.options import DEFAULT_NETWORK
from engine.search.params import ROLLOUT_PARAMS, SearchParams
from engine.solve.problems import Problem, read_problems
from engine.solve.solver import Solver
from tests.solve.captures import KILL, LIVE, ONE, TWO, capture_problems
from weights.registry import load


@pytest.fixture
def problems(tmp_path: Path) -> list[Problem]:
    return read_problems(capture_problems(tmp_path / "captures.jsonl"))


def test_every_capture_in_one_is_found_and_is_one(problems: list[Problem]) -> None:
    assert Counter(each.kind for each in problems) == {ONE: 8, TWO: 5, LIVE: 6, KILL: 6}
    solver = Solver(RolloutEvaluator(1), ROLLOUT_PARAMS, (1, 100), framed=True)
    for each in problems:
        captured = [each.game().play(each.to_play, vertex) for vertex in each.correct]
        assert all((stones > 0) == (each.kind == ONE) for stones in captured), each.name
        if each.kind == ONE:
            assert solver.solve(each).solved == (True, True), each.name
    solver.close()


def test_captures_and_vital_points_are_found_by_the_default_network(problems: list[Problem]) -> None:
    with closing(make_evaluator(load(DEFAULT_NETWORK), Computing(precision="fp32", threads=1))) as evaluator:
        solver = Solver(evaluator, SearchParams(), (1, 100), framed=True)
        missed = [each.name for each in problems if each.kind != TWO and solver.solve(each).solved != (True, True)]
        solver.close()
    assert missed == []
