"""Exploration by chance and by a teacher, and the estimated score beside the result."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.color import BLACK
from engine.game import Game
from engine.players.moves import fills_eye
from engine.train.teaching.hints import (
    MOST_SHAPING,
    Exploration,
    ExplorationSettings,
    ShapingSettings,
    random_move,
    shaped_outcome,
    squashed,
)
from engine.vertex import PASS, parse_vertex
from tests.positions import game_from_diagram

SIZE = 5
TENGEN = parse_vertex("C3", SIZE, SIZE)


def exploration(adviser: object = None, seed: int = 1, **settings: float) -> Exploration:
    return Exploration(ExplorationSettings(**settings), np.random.default_rng(seed), adviser)  # type: ignore[arg-type]


def test_exploration_is_off_by_default() -> None:
    policy = exploration()
    assert policy.epsilon == 0
    assert [policy.forced_move(Game(SIZE)) for _ in range(100)] == [None] * 100


def test_epsilon_falls_game_by_game_to_its_floor() -> None:
    settings = ExplorationSettings(start=0.99, decay=0.99, floor=0.01)
    seen = [Exploration(settings, np.random.default_rng(1), games=number).epsilon for number in range(1000)]
    assert seen[:2] == [0.99, pytest.approx(0.99**2)]
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] == 0.01


def test_the_share_of_forced_moves_is_epsilon() -> None:
    policy = exploration(start=0.3)
    forced = [policy.forced_move(Game(SIZE)) is not None for _ in range(2000)]
    assert np.mean(forced) == pytest.approx(0.3, abs=0.04)


def test_the_adviser_gets_its_share_and_the_rest_is_random() -> None:
    policy = exploration(lambda game: TENGEN, start=1.0, hints=0.5)
    moves = [policy.forced_move(Game(SIZE)) for _ in range(1000)]
    assert np.mean([move == TENGEN for move in moves]) == pytest.approx(0.5 + 0.5 / SIZE**2, abs=0.05)
    assert len(set(moves)) == SIZE**2


@pytest.mark.parametrize("answer", [None, -5, TENGEN])
def test_no_advice_and_illegal_advice_make_a_random_move(answer: int | None) -> None:
    game = Game(SIZE)
    game.play(BLACK, TENGEN)
    policy = exploration(lambda _: answer if answer != -5 else parse_vertex("C3", SIZE, SIZE), start=1.0, hints=1.0)
    assert all(game.is_legal(game.to_play, policy.forced_move(game) or PASS) for _ in range(50))


def test_random_moves_fill_no_own_eye_and_pass_when_nothing_else_is_left() -> None:
    game = game_from_diagram(
        """
        . X .
        X X X
        . X .
        """
    )
    generator = np.random.default_rng(1)
    assert {random_move(game, generator) for _ in range(50)} == {PASS}
    assert all(fills_eye(game, BLACK, vertex) for vertex in game.legal_vertices(BLACK))


@pytest.mark.parametrize("wrong", [{"start": 1.5}, {"floor": -0.1}, {"hints": 2.0}])
def test_shares_outside_0_to_1_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected a number from 0 to 1"):
        ExplorationSettings(**wrong)


def test_shaping_falls_linearly_to_nothing() -> None:
    shaping = ShapingSettings(0.5, 100)
    assert [shaping.at(count) for count in (0, 50, 100, 1000)] == [0.5, 0.25, 0.0, 0.0]


@pytest.mark.parametrize("weight", [-0.1, MOST_SHAPING + 0.01])
def test_the_result_stays_at_least_half_of_the_target(weight: float) -> None:
    with pytest.raises(ValueError, match="shaping weight"):
        ShapingSettings(weight, 1)


scores = st.lists(st.floats(-400, 400), min_size=1, max_size=5)


@given(scores, st.floats(0, MOST_SHAPING))
def test_shaped_outcomes_stay_probabilities_and_the_result_outweighs(margins: list[float], weight: float) -> None:
    score = np.array(margins, dtype=np.float32)
    result = np.tile(np.array([1, 0, 0], dtype=np.float32), (len(score), 1))
    mixed = shaped_outcome(result, score, np.ones(len(score), dtype=np.bool_), weight)
    assert np.allclose(mixed.sum(axis=1), 1, atol=1e-6)
    assert (mixed >= 0).all()
    assert (mixed[:, 0] >= 1 - weight - 1e-6).all()


def test_a_position_without_an_estimate_keeps_its_result() -> None:
    result = np.array([[0, 1, 0], [0, 1, 0]], dtype=np.float32)
    mixed = shaped_outcome(result, np.array([20, 20], dtype=np.float32), np.array([False, True]), 0.5)
    assert mixed[0].tolist() == [0, 1, 0]
    assert mixed[1].tolist() == pytest.approx([0.5 * (1 + np.tanh(1)) / 2, 0.5 + 0.5 * (1 - np.tanh(1)) / 2, 0])


def test_leads_are_squashed_to_less_than_a_win() -> None:
    assert squashed(np.array([-500, 0, 20, 500], dtype=np.float32)).tolist() == pytest.approx([-1, 0, np.tanh(1), 1])
