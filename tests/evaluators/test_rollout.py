"""The evaluator without a network: priors, rollouts, and what it reports of them."""

import numpy as np
import pytest

from engine.board.kernels import play
from engine.board.layout import new_board
from engine.color import BLACK, EMPTY, WHITE
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import program_of
from engine.evaluators.playout_kernels import count_area, light_rollout, run_light_rollouts, seed_generator
from engine.evaluators.rollout import RolloutEvaluator
from engine.game import Game
from engine.rules import CHINESE, JAPANESE
from engine.vertex import parse_vertex, policy_index
from tests.native_fakes import call, needs_closures
from tests.oracle.naive_score import tromp_taylor_score
from tests.positions import batch_of, game_from_diagram, game_of, random_game

SETTLED = """
. X . X O . O
X X X X O O .
. X . X O . O
X X X X O O O
. X . X O . .
X X X X O O O
. X . X O . .
"""


def evaluated(games: list[Game], threads: int = 1) -> Evaluation:
    positions = batch_of(games)
    positions.rules = games[0].rules
    positions.seeds[:] = np.arange(1, len(games) + 1)
    out = Evaluation(len(games), games[0].width, games[0].height)
    RolloutEvaluator(threads).evaluate(positions, len(games), out)
    return out


def test_policies_sum_to_one_and_are_zero_exactly_where_illegal() -> None:
    games = [random_game(seed, 7, moves=40) for seed in range(20)]
    out = evaluated(games)
    legal = batch_of(games).legal
    assert np.allclose(out.policy.sum(axis=1), 1, atol=1e-5)
    assert np.all((out.policy > 0) == legal)


def test_nothing_is_read_that_a_search_need_not_write() -> None:
    games = [random_game(seed, 7, moves=40) for seed in range(8)]
    positions, evaluator, outs = batch_of(games), RolloutEvaluator(), []
    assert not evaluator.attributes.reads_past
    for other in (0, 1):
        for name in ("colors", "board_hashes", "hashes", "facts", "marks", "second_start", "optimism", "symmetry"):
            getattr(positions, name)[:] = other
        outs.append(Evaluation(8, 7, 7))
        evaluator.evaluate(positions, 8, outs[-1])
    for name in ("policy", "value", "score", "ownership", "first_play"):
        assert np.array_equal(getattr(outs[0], name), getattr(outs[1], name)), name


def test_a_player_without_a_move_passes() -> None:
    game = game_from_diagram(". O\nO .", rules=CHINESE)
    out = evaluated([game])
    assert out.policy[0, -1] == 1


@pytest.mark.parametrize(
    ("diagram", "better", "worse"),
    [
        pytest.param(". . . . .\n. O . . .\nO X O . .\n. . . . .\n. . . . .", "B2", "E1", id="rescue"),
        pytest.param(". . . . .\n. X . . .\nX O X . .\n. . . . .\n. . . . .", "B2", "E1", id="capture"),
        pytest.param(". . . . .\n. X . X .\nX O . O X\n. . . . .\n. . . . .", "C3", "E1", id="two ataris at once"),
        pytest.param(". X . . .\nX X . . .\n. . . . .\n. . . . .\n. . . . .", "D2", "A5", id="no own eye"),
        pytest.param("O . O . .\n. O . . .\n. . . . .\n. . . . .\n. . . . .", "D2", "B5", id="no suicide"),
    ],
)
def test_priors_prefer(diagram: str, better: str, worse: str) -> None:
    game = game_from_diagram(diagram)
    policy = evaluated([game]).policy[0]
    indices = [policy_index(parse_vertex(name, 5, 5), 5, 5) for name in (better, worse)]
    assert policy[indices[0]] > 2 * policy[indices[1]]


def test_the_last_move_draws_priors_to_its_neighborhood() -> None:
    game = game_of("C7 G3", 9)
    policy = evaluated([game]).policy[0]
    near, far = (policy_index(parse_vertex(name, 9, 9), 9, 9) for name in ("F3", "D7"))
    assert policy[near] > policy[far]


@pytest.mark.parametrize("to_play", [BLACK, WHITE])
def test_a_settled_board_is_owned_as_it_lies_and_worth_its_count(to_play: int) -> None:
    game = game_from_diagram(SETTLED, rules=CHINESE, komi=0.5)
    positions = batch_of([game] * 32, [to_play] * 32)
    positions.seeds[:] = np.arange(1, 33)
    positions.rules = CHINESE
    out = Evaluation(32, 7, 7)
    RolloutEvaluator(1).evaluate(positions, 32, out)
    sign = 1 if to_play == BLACK else -1
    owner = out.ownership.mean(axis=0).reshape(7, 7) * sign
    assert np.all(owner[:, :4] == 1)
    assert owner[:, 4:].mean() < -0.9
    assert np.all(sign * out.score > 0)
    assert np.all(sign * out.value > 0.9)


def test_values_do_not_depend_on_the_number_of_threads() -> None:
    games = [random_game(seed, 9, moves=20) for seed in range(11)]
    first, second = evaluated(games, 1), evaluated(games, 3)
    for name in ("policy", "value", "score", "ownership", "first_play"):
        assert np.array_equal(getattr(first, name), getattr(second, name))


@needs_closures
def test_a_program_evaluates_as_a_call() -> None:
    games = [random_game(seed, 9, moves=20) for seed in range(6)]
    positions, out = batch_of(games), Evaluation(6, 9, 9)
    positions.rules = games[0].rules
    positions.seeds[:] = np.arange(1, 7)
    program = program_of(RolloutEvaluator(2), positions, out)
    assert program is not None
    assert [call(step.closure.address, 6) for step in program.steps] == [6]
    expected = evaluated(games)
    for name in ("policy", "value", "score", "ownership", "first_play"):
        assert np.array_equal(getattr(out, name), getattr(expected, name))


def test_first_plays_are_on_points_that_were_empty_or_captured() -> None:
    game = game_from_diagram(SETTLED, rules=CHINESE)
    out = evaluated([game])
    played = np.flatnonzero(out.first_play[0] != EMPTY)
    assert all(game.color_at(int(vertex)) in (EMPTY, WHITE) for vertex in played)


def test_rollouts_under_territory_rules_charge_for_each_move() -> None:
    games = [game_from_diagram(SETTLED, rules=rules, komi=0.5) for rules in (CHINESE, JAPANESE)]
    area, territory = (evaluated([game]) for game in games)
    stones = [int(np.count_nonzero(games[0].board[1] == color)) for color in (BLACK, WHITE)]
    assert abs((area.score[0] - territory.score[0]) - (stones[0] - stones[1])) <= 3


def test_a_played_out_board_counts_as_tromp_taylor() -> None:
    rng = np.ones(1, dtype=np.uint64)
    for seed in range(30):
        game = Game(7, komi=0)
        board = new_board(7, 7)
        seed_generator(rng, np.uint64(seed))
        counted = light_rollout(board, BLACK, rng)
        black = [int(v) for v in np.flatnonzero(board[1] == BLACK)]
        white = [int(v) for v in np.flatnonzero(board[1] == WHITE)]
        game.setup(black, white)
        assert counted == count_area(board) == tromp_taylor_score(game)


def test_light_rollouts_from_the_empty_board_favor_the_first_player() -> None:
    board = new_board(9, 9)
    generator = np.ones(1, dtype=np.uint64)
    seed_generator(generator, np.uint64(7))
    total = run_light_rollouts(board, BLACK, 4000, generator, board.copy())
    assert 0.5 < total / 4000 < 4
    after = board.copy()
    play(after, parse_vertex("E5", 9, 9), BLACK, False)
    assert run_light_rollouts(after, WHITE, 4000, generator, board.copy()) > total
