"""Answers to problems: from one growing search, inside the region, the same every time."""

from pathlib import Path

import numpy as np
import pytest

from engine.apps.solve.solver import Answer, Solver, pose
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.evaluators.rollout import RolloutEvaluator
from engine.evaluators.uniform import UniformEvaluator
from engine.search.params import SearchParams
from engine.vertex import parse_vertex, policy_index
from tests.apps.solve.problems import CAPTURE, CAPTURE_BY_WHITE, RACE, problem
from tests.search.fakes import FakeEvaluator


class PassingEvaluator(FakeEvaluator):
    """A fake that would rather pass."""

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the made-up evaluation, nearly all of the policy on the pass."""
        super().evaluate(positions, count, out)
        out.policy[:count] *= np.float32(0.01)
        out.policy[:count, -1] += np.float32(0.99)


@pytest.mark.parametrize("to_play", ["black", "white"])
def test_play_outs_win_a_race(tmp_path: Path, to_play: str) -> None:
    diagram = RACE if to_play == "black" else RACE.translate(str.maketrans("XO", "OX"))
    posed = problem(tmp_path, f"{diagram}to play: {to_play}", "G6", "G7")
    solver = Solver(RolloutEvaluator(1), SearchParams(max_memory_mib=16), (1, 400), framed=False)
    answer = solver.solve(posed)
    solver.close()
    assert (answer.visits, answer.solved[-1]) == ((1, 400), True), answer.moves


def test_one_search_grows_through_the_counts(tmp_path: Path) -> None:
    evaluator = FakeEvaluator()
    solver = Solver(evaluator, SearchParams(max_memory_mib=16, root_symmetries=1), (1, 10, 40), framed=False)
    answer = solver.solve(problem(tmp_path, CAPTURE, "E4"))
    solver.close()
    assert len(answer.moves) == len(answer.solved) == 3
    assert 30 <= evaluator.positions <= 40


def test_answers_depend_on_the_problem_alone(tmp_path: Path) -> None:
    first, second = problem(tmp_path, CAPTURE, "E4"), problem(tmp_path, CAPTURE_BY_WHITE, "C4")
    solver = Solver(FakeEvaluator(), SearchParams(max_memory_mib=16), (1, 30), framed=True)
    moves = [solver.solve(each).moves for each in (first, second, first, second)]
    solver.close()
    assert moves[:2] == moves[2:]


def test_no_position_of_the_search_leaves_the_region(tmp_path: Path) -> None:
    evaluator = FakeEvaluator()
    corner = problem(
        tmp_path, "\n".join(["  . . . X " + ". " * 9, "  O O O X " + ". " * 9, *["  " + ". " * 13] * 11]), "A13"
    )
    solver = Solver(evaluator, SearchParams(max_memory_mib=16), (60,), framed=False)
    solver.solve(corner)
    solver.close()
    _, region = pose(corner, framed=False)
    outside = np.ones(13 * 13 + 1, dtype=np.bool_)
    outside[[policy_index(vertex, 13, 13) for vertex in region]] = False
    outside[-1] = False
    assert outside.sum() > 100
    assert len(evaluator.legal_seen) > 30
    assert not np.any(np.array(evaluator.legal_seen) & outside)


def test_the_answer_is_never_a_pass(tmp_path: Path) -> None:
    solver = Solver(PassingEvaluator(), SearchParams(max_memory_mib=16), (1, 20), framed=False)
    answer = solver.solve(problem(tmp_path, CAPTURE, "E4"))
    solver.close()
    assert "" not in answer.moves


def test_a_move_is_correct_if_it_is_one_of_several(tmp_path: Path) -> None:
    every = [f"{column}{row}" for column in "ABCDEFG" for row in range(1, 8)]
    taken = pose(problem(tmp_path, CAPTURE, "E4"), framed=False).game
    free = [move for move in every if taken.legality(taken.to_play, parse_vertex(move, 7, 7)) is None]
    solver = Solver(UniformEvaluator(), SearchParams(max_memory_mib=16), (1, 5), framed=False)
    assert solver.solve(problem(tmp_path, CAPTURE, *free)).solved == (True, True)
    solver.close()


def test_an_answer_is_read_as_it_was_written(tmp_path: Path) -> None:
    solver = Solver(UniformEvaluator(), SearchParams(max_memory_mib=16), (1, 5), framed=False)
    answer = solver.solve(problem(tmp_path, CAPTURE, "E4"))
    solver.close()
    assert Answer.from_json(answer.to_json()) == answer
