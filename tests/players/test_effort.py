"""Limits of a move by the game: after passes, and the clock's time in the middle of the game."""

import pytest

from engine.color import BLACK, WHITE
from engine.game import Game
from engine.handicap import fixed_handicap_points
from engine.players.advantage import DynamicAdvantage, black_lead_at_start
from engine.players.base import Limits
from engine.players.effort import fitted
from engine.rules import TROMP_TAYLOR, parse_rules
from engine.search.params import SearchParams
from engine.vertex import parse_vertex
from tests.positions import game_of

FASTER = SearchParams(factor_after_pass=0.5, factor_after_two_passes=0.1)


@pytest.mark.parametrize(
    ("moves", "visits", "seconds"),
    [("C3 D4", 100, 2.0), ("C3 pass", 50, 1.0), ("C3 pass D4 pass", 10, 0.2), ("pass D4 pass", 10, 0.2)],
)
def test_after_passes_of_the_opponent_a_move_takes_less(moves: str, visits: int, seconds: float) -> None:
    found = fitted(Limits(visits=100, seconds=2.0), game_of(moves, 9), FASTER)
    assert (found.visits, found.seconds) == (visits, pytest.approx(seconds))
    assert fitted(Limits(visits=100), game_of(moves, 9), SearchParams()) == Limits(visits=100)


def test_the_clocks_time_has_a_factor_and_a_most() -> None:
    planned, game = Limits(seconds=2.0, most_seconds=5.0), Game(19)
    assert fitted(planned, game, SearchParams(time_factor=1.5)).seconds == 3.0
    assert fitted(planned, game, SearchParams(time_factor=9.0)).seconds == 5.0
    assert fitted(Limits(seconds=2.0), game, SearchParams(time_factor=1.5)).seconds == 2.0


def test_the_middle_of_the_game_has_a_factor_of_its_own() -> None:
    params = SearchParams(midgame_time_factor=2.0, midgame_peak=361 / 81 * 4, endgame_decay=361 / 81 * 2)
    game, seconds = Game(9, rules=TROMP_TAYLOR), []
    for name in ("A1", "B1", "C1", "D1", "E1", "F1", "G1"):
        found = fitted(Limits(seconds=1.0, most_seconds=9.0), game, params).seconds
        assert found is not None
        seconds.append(found)
        game.play(game.to_play, parse_vertex(name, 9, 9))
    assert seconds[:5] == pytest.approx([1.0, 1.25, 1.5, 1.75, 2.0])
    assert seconds[6] == pytest.approx(1 + 0.36788, abs=1e-4)


def handicap_game(stones: int, rules: str = "chinese", komi: float = 0.5) -> Game:
    game = Game(19, rules=parse_rules(rules), komi=komi)
    game.place_handicap(fixed_handicap_points(stones, 19, 19))
    return game


def test_the_lead_at_the_start_is_that_of_the_stones_and_the_komi() -> None:
    assert black_lead_at_start(Game(19, komi=7.0)) == 0.0
    assert black_lead_at_start(Game(19, komi=-3.0)) == 10.0
    assert black_lead_at_start(handicap_game(4, "japanese")) == 14 * 3 + 6.5
    assert black_lead_at_start(handicap_game(4, "chinese")) == 15 * 3 + 6.5 - 4


def test_the_weaker_side_begins_with_an_advantage_and_the_stronger_one_has_its_opposite() -> None:
    game, params = handicap_game(4, "japanese"), SearchParams(doubling_per_lead=0.045)
    white = DynamicAdvantage().of(game, WHITE, params)
    assert white == 2.0  # 0.045 a point beyond 4 points, in steps of 1/8
    assert DynamicAdvantage().of(game, BLACK, params) == -2.0
    assert DynamicAdvantage().of(handicap_game(9), WHITE, params) == 2.75
    assert DynamicAdvantage().of(Game(19, komi=7.5), WHITE, params) == 0.0
    assert DynamicAdvantage().of(Game(7, komi=-20.0), WHITE, params) == 0.0


def test_the_advantage_follows_the_expected_results() -> None:
    game, params, advantage = handicap_game(4, "japanese"), SearchParams(doubling_per_lead=0.045), DynamicAdvantage()
    assert advantage.of(game, WHITE, params) == 2.0
    game.play(WHITE, parse_vertex("C3", 19, 19))
    for white_value, expected in ((0.0, 1.875), (0.9, 1.75), (-0.7, 1.75), (-0.95, 1.875)):
        advantage.record(game, -white_value)
        assert advantage.of(game, WHITE, params) == expected
    advantage.new_game()
    assert advantage.of(game, WHITE, params) == 2.0
