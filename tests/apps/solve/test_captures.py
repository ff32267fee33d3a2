"""Captures in one move are found by playouts alone, others and vital points by a network; what is drawn is sound."""

from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from engine.apps.solve.problems import Problem, read_problems
from engine.apps.solve.solver import Solver
from engine.color import BLACK, EMPTY, WHITE
from engine.evaluators.factory import Computing, make_evaluator
from engine.evaluators.rollout import RolloutEvaluator
from engine.game import Game
from engine.players.moves import chains
from engine.search.params import ROLLOUT_PARAMS, SearchParams
from engine.vertex import PASS, neighbors
from tests.apps.solve.captures import BOARDS, CAPTURES, KILL, LIVE, capture_problems
from weights.registry import load
from weights.shipped import DEFAULT_NETWORK


@pytest.fixture
def problems(tmp_path: Path) -> list[Problem]:
    return read_problems(capture_problems(tmp_path / "captures.jsonl"))


def test_every_capture_in_one_is_found_and_is_one(problems: list[Problem]) -> None:
    assert Counter(each.kind for each in problems) == {
        CAPTURES[1]: 8,
        CAPTURES[2]: 10,
        CAPTURES[3]: 2,
        CAPTURES[4]: 1,
        LIVE: 6,
        KILL: 6,
    }
    solver = Solver(RolloutEvaluator(1), ROLLOUT_PARAMS, (1, 100), framed=True)
    for each in problems:
        captured = [each.game().play(each.to_play, vertex) for vertex in each.correct]
        assert all((stones > 0) == (each.kind == CAPTURES[1]) for stones in captured), each.name
        if each.kind == CAPTURES[1]:
            assert solver.solve(each).solved == (True, True), each.name
    solver.close()


def test_captures_and_vital_points_are_found_by_the_default_network(problems: list[Problem]) -> None:
    with closing(make_evaluator(load(DEFAULT_NETWORK), Computing(precision="fp32", threads=1))) as evaluator:
        solver = Solver(evaluator, SearchParams(), (1, 100, 400), framed=True)
        solved = {each.name: solver.solve(each).solved for each in problems[::2]}
        solver.close()
    at_once = {each.name for each in problems[::2] if each.kind in (CAPTURES[1], LIVE, KILL)}
    longer = [answers for name, answers in solved.items() if name not in at_once]
    # A longer search may find another move that wins: the frame decides the game by points.
    assert [name for name in at_once if not all(solved[name][:2])] == []
    assert sum(at_400 for *_, at_400 in solved.values()) >= 0.9 * len(solved)
    assert sum(at_400 for *_, at_400 in longer) >= 0.9 * len(longer)


def open_points(game: Game, target: int) -> list[int]:
    """Return the liberties of the chain on a vertex."""
    stones = next(chain for chain in chains(game) if target in chain)
    near = {beside for stone in stones for beside in neighbors(stone, game.width)}
    return [point for point in near if game.color_at(point) == EMPTY]


def nearest_first(game: Game, color: int, target: int) -> list[int]:
    """Return all legal moves: liberties of the target, points beside them, others."""
    liberties = open_points(game, target)
    near = {beside for liberty in liberties for beside in neighbors(liberty, game.width)}
    return sorted(game.legal_vertices(color), key=lambda move: (move not in liberties, move not in near))


def is_lost(game: Game, target: int, moves: int) -> bool:
    """Return whether Black, to move, captures White's stone on a vertex in so many moves whatever White does."""
    if game.color_at(target) != WHITE:
        return True
    liberties = open_points(game, target)
    if len(liberties) == 1 and game.is_legal(BLACK, liberties[0]):
        return True
    # White may pass, so that every liberty costs Black a move.
    if moves == 1 or len(liberties) > moves:
        return False
    return any(captures(game, move, target, moves) for move in nearest_first(game, BLACK, target))


def captures(game: Game, move: int, target: int, moves: int) -> bool:
    """Return whether Black captures the stone on a vertex in so many moves, a given one first, whatever White does."""
    game.play(BLACK, move)
    captured = True
    replies = [*nearest_first(game, WHITE, target), PASS] if game.color_at(target) == WHITE else []
    for reply in replies:
        game.play(WHITE, reply)
        captured = is_lost(game, target, moves - 1)
        game.undo()
        if not captured:
            break
    game.undo()
    return captured


@pytest.mark.parametrize(("moves", "name"), [(moves, name) for moves, name, *_ in BOARDS])
def test_no_reply_to_a_drawn_capture_saves_what_it_captures_and_no_other_move_captures_it(
    moves: int, name: str, problems: list[Problem]
) -> None:
    problem = next(each for each in problems if each.name == f"{CAPTURES[moves]}, {name}")
    game = problem.game()
    targets = [chain[0] for chain in chains(game) if game.color_at(chain[0]) == WHITE and len(chain) >= 2]
    legal = game.legal_vertices(BLACK)
    ways = {target: {move for move in legal if captures(game, move, target, moves)} for target in targets}
    solved = [target for target in targets if ways[target] == set(problem.correct)]
    assert solved
    assert not any(is_lost(game, target, moves - 1) for target in solved)
