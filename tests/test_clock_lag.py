"""The lag of a connection, which a controller's reports show: no game is lost by it, and no time kept without it."""

import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from engine.clock import Clock, Kind, TimeSettings
from engine.color import BLACK, WHITE
from engine.match.clock import Clock as Referee
from tests.test_clock import ABSOLUTE_600, CANADIAN, Hands, budget_of, think


@dataclass
class Reported:
    """One color's game on a controller's clock. planned: seconds of each move. left: the last report."""

    flagged: bool
    planned: list[float]
    left: tuple[float, int]


def play_reported(
    settings: TimeSettings, area: int, length: int, lag: Callable[[int], float], lag_buffer: float, seed: int
) -> Reported:
    """Play one color's moves, some of them hard, on the clock of a controller that reports it in whole seconds.

    lag: seconds that the controller adds to each move.
    """
    hands, dice, referee, planned = Hands(), random.Random(seed), Referee(settings), list[float]()
    clock = Clock(settings, lag_buffer, hands)
    for move in range(0, length, 2):
        seconds, count = referee.time_left()
        clock.set_time_left(BLACK, int(seconds), count)
        allotment = clock.allotment(BLACK, move, area)
        assert allotment is not None
        hard = allotment.most_seconds if dice.random() < 0.15 else allotment.seconds * dice.choice([0.3, 1.0, 1.0])
        planned.append(allotment.seconds)
        think(clock, hands, BLACK, hard + 0.02)
        if not referee.spend(hard + 0.02 + lag(move)):
            return Reported(True, planned, referee.time_left())
    return Reported(False, planned, referee.time_left())


@pytest.mark.parametrize(
    ("area", "length", "main", "lag"),
    [(81, 80, 30.0, 0.4), (81, 90, 60.0, 0.3), (169, 160, 120.0, 0.5), (361, 240, 60.0, 0.3), (361, 340, 300.0, 0.5)],
)
@pytest.mark.parametrize("lag_buffer", [0.2, 0.5, 1.0])
def test_a_lag_that_reports_show_loses_no_game_whatever_the_buffer(
    area: int, length: int, main: float, lag: float, lag_buffer: float
) -> None:
    for settings in (TimeSettings(Kind.ABSOLUTE, main), TimeSettings(Kind.FISCHER, main, increment=0.1)):
        for seed in range(5):
            assert not play_reported(settings, area, length, lambda _: lag, lag_buffer, seed).flagged


@pytest.mark.parametrize(
    ("main", "increment", "lag", "area"),
    [(300, 3, 2.5, 361), (300, 3, 2.5, 81), (60, 1, 0.9, 361), (30, 2, 1.5, 81), (10, 1, 0.8, 81), (60, 5, 2.0, 81)],
)
def test_a_lag_that_the_increment_covers_loses_no_game(main: float, increment: float, lag: float, area: int) -> None:
    for settings in (
        TimeSettings(Kind.FISCHER, main, increment=increment),
        TimeSettings(Kind.FISCHER_CAPPED, main, increment=increment, main_cap=2 * main),
    ):
        for seed in range(5):
            assert not play_reported(settings, area, 3 * area // 2, lambda _: lag, 0.5, seed).flagged


@pytest.mark.parametrize(
    ("settings", "lag"),
    [(TimeSettings(Kind.BYOYOMI, 60, 5, 5), 1.2), (TimeSettings(Kind.CANADIAN, 60, 25, 5), 1.2), (CANADIAN, 2.0)],
)
def test_a_lag_longer_than_the_buffer_loses_no_game_in_overtime(settings: TimeSettings, lag: float) -> None:
    for seed in range(5):
        game = play_reported(settings, 361, 260, lambda _: lag, 0.5, seed)
        assert not game.flagged
        if settings.kind is Kind.BYOYOMI:
            assert game.left[1] >= 3, "hard moves may take the others"


def test_whole_seconds_are_no_lag() -> None:
    for main, area in ((60.0, 81), (60.0, 361), (300.0, 361)):
        hands = Hands()
        clock, other = (Clock(TimeSettings(Kind.ABSOLUTE, main), 0.5, hands) for _ in range(2))
        left = main
        for move in range(0, 60, 2):
            clock.set_time_left(BLACK, int(left), 0)
            other.set_time_left(BLACK, int(left), 0)
            budget = budget_of(clock, BLACK, move, area)
            assert budget is not None
            assert budget == budget_of(other, BLACK, move, area), "which measures nothing"
            think(clock, hands, BLACK, 0.7 * budget)
            left -= 0.7 * budget


@pytest.mark.parametrize("lost_at", [0, 60])
def test_a_connection_that_was_lost_once_is_not_slow_for_the_rest_of_the_game(lost_at: int) -> None:
    hands, left = Hands(), 600.0
    clock, other = Clock(ABSOLUTE_600, 0.0, hands), Clock(ABSOLUTE_600, 0.0, hands)
    for move in range(0, 80, 2):
        left -= 122.0 if move == lost_at else 2.0
        think(clock, hands, BLACK, 2.0)
        clock.set_time_left(BLACK, left, 0)
        other.set_time_left(BLACK, left, 0)
        now, without = budget_of(clock, BLACK, move + 2, 361), budget_of(other, BLACK, move + 2, 361)
        assert now is not None and without is not None
        assert 0.6 * without < now <= without


def test_moves_that_were_taken_back_do_not_hide_the_lag() -> None:
    hands, left = Hands(), 60.0
    clock = Clock(TimeSettings(Kind.ABSOLUTE, 60), 0.5, hands)
    for _ in range(4):
        think(clock, hands, BLACK, 2.5)
        clock.set_time_left(BLACK, 60, 0)
    for move in range(0, 60, 2):
        budget = budget_of(clock, BLACK, move, 81)
        assert budget is not None
        think(clock, hands, BLACK, budget)
        left -= budget + 0.8
        clock.set_time_left(BLACK, left, 0)
    assert left > 0


def test_a_connection_that_was_lost_between_two_rare_reports_is_not_slow() -> None:
    hands = Hands()
    clock, other = Clock(ABSOLUTE_600, 0.0, hands), Clock(ABSOLUTE_600, 0.0, hands)
    for _ in range(10):
        think(clock, hands, BLACK, 2.0)
    for each in (clock, other):
        each.set_time_left(BLACK, 600 - 20 - 60, 0)
    now, without = budget_of(clock, BLACK, 20, 361), budget_of(other, BLACK, 20, 361)
    assert now is not None and without is not None
    assert 0.5 * without < now


def test_the_lag_of_one_color_is_expected_of_the_other_too() -> None:
    hands = Hands()
    clock, settings = Clock(TimeSettings(Kind.ABSOLUTE, 300), 0.5, hands), TimeSettings(Kind.ABSOLUTE, 60)
    for move in range(20):
        think(clock, hands, BLACK, 1.0)
        clock.set_time_left(BLACK, 300 - 2.0 * (move + 1), 0)
    clock.configure(settings)
    budget, unwarned = budget_of(clock, WHITE, 0, 81), budget_of(Clock(settings, 0.5), WHITE, 0, 81)
    assert budget is not None and unwarned is not None
    assert budget < 0.5 * unwarned


@pytest.mark.parametrize("stones", [1, 2, 5])
def test_a_period_that_was_renewed_is_not_taken_for_a_move_without_lag(stones: int) -> None:
    hands = Hands()
    settings = TimeSettings(Kind.CANADIAN, 60, 10.0 * stones, stones)
    clock, referee = Clock(settings, 0.1, hands), Referee(settings)
    for _ in range(40):
        seconds, count = referee.time_left()
        clock.set_time_left(BLACK, int(seconds), count)
        think(clock, hands, BLACK, 3.0)
        assert referee.spend(5.4)
    clock.set_time_left(BLACK, 10.0 * stones, stones)
    budget = budget_of(clock, BLACK, 80, 361)
    assert budget == pytest.approx(10.0 - 0.1 - 2.4, abs=0.25)


def test_canadian_overtime_leaves_the_lag_that_its_reports_show() -> None:
    hands = Hands()
    clock = Clock(TimeSettings(Kind.CANADIAN, 0, 60, 20), 0.1, hands)
    clock.set_time_left(BLACK, 60, 20)
    before = budget_of(clock, BLACK, 0, 361)
    left = 60.0
    for stones in range(19, 9, -1):
        think(clock, hands, BLACK, 1.0)
        left -= 3.0
        clock.set_time_left(BLACK, left, stones)
    after = budget_of(clock, BLACK, 20, 361)
    assert before == pytest.approx(3.0 - 0.1)
    assert after is not None
    assert 0.9 < after < 1.5, "of 3 seconds a stone 2 go into the connection"
