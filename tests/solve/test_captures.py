"""Captures in one move are found by play-outs alone, others and vital points by a network; what is drawn is sound."""

from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from engine.color import BLACK, EMPTY, WHITE
from engine.evaluators.rollout import RolloutEvaluator
from engine.game import Game
from engine.netfile.network import Computing, make_evaluator
from engine.netfile.options import DEFAULT_NETWORK
from engine.players.moves import chains
from engine.search.params import ROLLOUT_PARAMS, SearchParams
from engine.solve.problems import Problem, read_problems
from engine.solve.solver import Solver
from engine.vertex import PASS, neighbors
from tests.solve.captures import BOARDS, KILL, LIVE, ONE, TWO, capture_problems
from weights.registry import load


@pytest.fixture
def problems(tmp_path: Path) -> list[Problem]:
    return read_problems(capture_problems(tmp_path / "captures.jsonl"))


def test_every_capture_in_one_is_found_and_is_one(problems: list[Problem]) -> None:
    assert Counter(each.kind for each in problems) == {ONE: 8, TWO: 9, LIVE: 6, KILL: 6}
    solver = Solver(RolloutEvaluator(1), ROLLOUT_PARAMS, (1, 100), framed=True)
    for each in problems:
        captured = [each.game().play(each.to_play, vertex) for vertex in each.correct]
        assert all((stones > 0) == (each.kind == ONE) for stones in captured), each.name
        if each.kind == ONE:
            assert solver.solve(each).solved == (True, True), each.name
    solver.close()


def test_captures_and_vital_points_are_found_by_the_default_network(problems: list[Problem]) -> None:
    with closing(make_evaluator(load(DEFAULT_NETWORK), Computing(precision="fp32", threads=1))) as evaluator:
        solver = Solver(evaluator, SearchParams(), (1, 100, 400), framed=True)
        solved = {each.name: solver.solve(each).solved for each in problems}
        solver.close()
    twos = [solved[each.name] for each in problems if each.kind == TWO]
    assert [name for name, answers in solved.items() if not all(answers) and not name.startswith(TWO)] == []
    assert sum(at_400 for *_, at_400 in twos) >= 0.9 * len(twos)


def captures_next(game: Game, move: int, target: int) -> bool:
    """Return whether Black, after a move, captures the stone on a vertex by the next one whatever White does."""
    game.play(BLACK, move)
    captured = []
    for reply in (PASS, *game.legal_vertices(WHITE)):
        game.play(WHITE, reply)
        stones = next((chain for chain in chains(game) if target in chain), [])
        near = {beside for stone in stones for beside in neighbors(stone, game.width)}
        liberties = [point for point in near if game.color_at(point) == EMPTY]
        captured.append(len(liberties) == 1 and game.is_legal(BLACK, liberties[0]))
        game.undo()
    game.undo()
    return all(captured)


@pytest.mark.parametrize("name", [f"{TWO}, {name}" for name, *_ in BOARDS])
def test_no_reply_to_a_capture_in_two_saves_what_it_captures_and_no_other_move_captures_it(
    name: str, problems: list[Problem]
) -> None:
    problem = next(each for each in problems if each.name == name)
    game = problem.game()
    targets = [chain[0] for chain in chains(game) if game.color_at(chain[0]) == WHITE and len(chain) >= 2]
    ways = [{move for move in game.legal_vertices(BLACK) if captures_next(game, move, each)} for each in targets]
    assert set(problem.correct) in ways
