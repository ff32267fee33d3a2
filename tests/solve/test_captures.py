"""Captures in one move are found by play-outs alone, and the file of captures is a sound one."""

from collections import Counter
from pathlib import Path

from engine.evaluators.rollout import RolloutEvaluator
from engine.search.params import ROLLOUT_PARAMS
from engine.solve.problems import read_problems
from engine.solve.solver import Solver
from tests.solve.captures import ONE, TWO, capture_problems


def test_every_capture_in_one_is_found_and_is_one(tmp_path: Path) -> None:
    problems = read_problems(capture_problems(tmp_path / "captures.jsonl"))
    assert Counter(each.kind for each in problems) == {ONE: 8, TWO: 5}
    solver = Solver(RolloutEvaluator(1), ROLLOUT_PARAMS, (1, 100), framed=True)
    for each in problems:
        captured = [each.game().play(each.to_play, vertex) for vertex in each.correct]
        assert all((stones > 0) == (each.kind == ONE) for stones in captured), each.name
        if each.kind == ONE:
            assert solver.solve(each).solved == (True, True), each.name
    solver.close()
