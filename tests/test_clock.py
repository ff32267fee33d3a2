"""Budgets: never flag, waste little, and follow what controllers say. Whole games are simulated."""

import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from engine.clock import MIN_SECONDS, NO_LIMIT, Clock, Kind, TimeSettings
from engine.color import BLACK, WHITE

ABSOLUTE_600 = TimeSettings(Kind.ABSOLUTE, 600)
CANADIAN = TimeSettings(Kind.CANADIAN, 60, 25, 5)
BYOYOMI = TimeSettings(Kind.BYOYOMI, 60, 10, 3)


class Hands:
    """A clock that the test turns."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


def budget_of(clock: Clock, color: int, move_number: int, area: int) -> float | None:
    """Return the planned seconds of a color's next move, None without a time limit."""
    allotment = clock.allotment(color, move_number, area)
    return None if allotment is None else allotment.seconds


def think(clock: Clock, hands: Hands, color: int, seconds: float) -> None:
    clock.start(color)
    hands.time += seconds
    assert clock.stop() == pytest.approx(seconds)


GTP_SETTINGS = [
    ((600, 0, 0), ABSOLUTE_600),
    ((600, 0, 5), ABSOLUTE_600),
    ((0, 1, 0), NO_LIMIT),
    ((600, 30, 0), NO_LIMIT),
    ((0, 5, 1), TimeSettings(Kind.CANADIAN, 0, 5, 1)),
    ((60, 25, 5), CANADIAN),
]


@pytest.mark.parametrize(("arguments", "settings"), GTP_SETTINGS)
def test_time_settings_mean_what_gtp_says(arguments: tuple[int, int, int], settings: TimeSettings) -> None:
    assert TimeSettings.from_gtp(*arguments) == settings


@pytest.mark.parametrize("settings", [None, NO_LIMIT])
def test_without_a_limit_there_is_no_budget(settings: TimeSettings | None) -> None:
    clock = Clock(settings)
    assert budget_of(clock, BLACK, 0, 361) is None
    clock.set_time_left(BLACK, 0, 0)
    assert budget_of(clock, BLACK, 0, 361) is None


def test_time_left_without_settings_is_taken_for_absolute_time() -> None:
    clock = Clock()
    clock.set_time_left(WHITE, 60, 0)
    budget = budget_of(clock, WHITE, 0, 361)
    assert budget is not None
    assert 0 < budget < 1


def test_explicitly_no_limit_stays_so_whatever_time_left_says() -> None:
    clock = Clock(NO_LIMIT)
    clock.set_time_left(WHITE, 60, 0)
    assert budget_of(clock, WHITE, 0, 361) is None


@pytest.mark.parametrize(("lag", "least", "most"), [(0.0, 5.0, 5.0), (0.5, 4.5, 4.5), (3.0, 4.0, 4.0)])
def test_five_seconds_a_move_are_used_but_for_the_lag(lag: float, least: float, most: float) -> None:
    clock = Clock(TimeSettings.from_gtp(0, 5, 1), lag)
    for move in range(0, 400, 37):
        budget = budget_of(clock, BLACK, move, 361)
        assert budget is not None
        assert least <= budget <= most


def test_waiting_before_the_search_is_taken_off() -> None:
    hands = Hands()
    clock = Clock(TimeSettings.from_gtp(0, 5, 1), 0.0, hands)
    clock.start(BLACK)
    hands.time += 2
    assert budget_of(clock, BLACK, 0, 361) == pytest.approx(3)
    assert budget_of(clock, WHITE, 0, 361) == pytest.approx(5)
    hands.time += 60
    assert budget_of(clock, BLACK, 0, 361) == MIN_SECONDS


def test_each_color_has_its_own_clock() -> None:
    hands = Hands()
    clock = Clock(ABSOLUTE_600, now=hands)
    think(clock, hands, BLACK, 100)
    assert clock.time_left(BLACK) == (500, 0)
    assert clock.time_left(WHITE) == (600, 0)
    assert clock.stop() == 0.0


def test_canadian_overtime_renews_itself_after_its_stones() -> None:
    hands = Hands()
    clock = Clock(CANADIAN, now=hands)
    for seconds, left in [(50, (10, 0)), (15, (20, 4)), (6, (14, 3)), (4, (10, 2)), (0, (10, 1)), (9.5, (25, 5))]:
        think(clock, hands, BLACK, seconds)
        assert clock.time_left(BLACK) == pytest.approx(left)


def test_a_period_of_no_length_is_lost_and_the_last_one_kept() -> None:
    hands = Hands()
    clock = Clock(TimeSettings(Kind.BYOYOMI, 0, 1e-320, 5), now=hands)
    think(clock, hands, BLACK, 3.0)
    assert clock.time_left(BLACK) == (1e-320, 1)


def test_byoyomi_loses_a_period_only_when_it_runs_out() -> None:
    hands = Hands()
    clock = Clock(BYOYOMI, now=hands)
    for seconds, left in [(55, (5, 0)), (14, (10, 3)), (9.9, (10, 3)), (11, (10, 2)), (0, (10, 2)), (95, (10, 1))]:
        think(clock, hands, WHITE, seconds)
        assert clock.time_left(WHITE) == pytest.approx(left)


def test_what_is_left_of_a_reported_byoyomi_period_is_used_first() -> None:
    for seconds, left in ((0.9, (10, 5)), (1.1, (10, 4)), (10.9, (10, 4)), (11.1, (10, 3)), (90, (10, 1))):
        hands = Hands()
        clock = Clock(TimeSettings(Kind.BYOYOMI, 0, 10, 5), now=hands)
        clock.set_time_left(BLACK, 1, 5)
        think(clock, hands, BLACK, seconds)
        assert clock.time_left(BLACK) == left


def test_fischer_time_grows_up_to_its_cap() -> None:
    hands = Hands()
    clock = Clock(TimeSettings(Kind.FISCHER, 20, increment=5), now=hands)
    think(clock, hands, BLACK, 7)
    assert clock.time_left(BLACK) == (18, 0)
    clock.configure(TimeSettings(Kind.FISCHER_CAPPED, 20, increment=5, main_cap=22.0))
    think(clock, hands, BLACK, 1)
    assert clock.time_left(BLACK) == (22, 0)


def test_fischer_caps_bound_the_budget_from_both_sides() -> None:
    full = TimeSettings(Kind.FISCHER_CAPPED, 100, increment=20, main_cap=100.0)
    budget = budget_of(Clock(full, 0.0), BLACK, 0, 361)
    assert budget is not None
    assert budget >= 20
    capped = TimeSettings(Kind.FISCHER_CAPPED, 100, increment=20, main_cap=100.0, move_cap=3.0)
    assert budget_of(Clock(capped, 0.0), BLACK, 0, 361) == 3


def test_settings_sent_again_raise_the_budget() -> None:
    clock = Clock(TimeSettings.from_gtp(0, 1, 1))
    before = budget_of(clock, BLACK, 50, 361)
    clock.configure(TimeSettings.from_gtp(0, 10, 1))
    after = budget_of(clock, BLACK, 50, 361)
    assert before is not None and after is not None
    assert after > 5 * before


def test_time_left_corrects_the_clock() -> None:
    clock = Clock(BYOYOMI)
    clock.set_time_left(BLACK, 30, 0)
    assert clock.time_left(BLACK) == (30, 0)
    clock.set_time_left(BLACK, 7.5, 2)
    assert clock.time_left(BLACK) == (7.5, 2)
    assert budget_of(clock, BLACK, 100, 361) == pytest.approx(7)
    clock.set_time_left(BLACK, -3, 1)
    assert budget_of(clock, BLACK, 100, 361) == MIN_SECONDS


def test_a_new_game_has_full_time() -> None:
    hands = Hands()
    clock = Clock(CANADIAN, now=hands)
    think(clock, hands, BLACK, 70)
    assert clock.time_left(BLACK) == (15, 4)
    clock.reset()
    assert clock.time_left(BLACK) == (60, 0)


@dataclass
class Played:
    """One color's game. margin: the least time left at the end of a move."""

    used: float = 0.0
    granted: float = 0.0
    margin: float = float("inf")


def simulate(settings: TimeSettings, area: int, length: int, overhead: float, lag: float) -> Played:
    """Play one color's moves, each its budget and `overhead` seconds long."""
    hands, played = Hands(), Played(granted=settings.main)
    clock = Clock(settings, lag, hands)
    for move in range(0, length, 2):
        budget = budget_of(clock, BLACK, move, area)
        assert budget is not None
        seconds, count = clock.time_left(BLACK)
        # With main time left the overtime is whole behind it.
        available = seconds if count else seconds + settings.period
        played.margin = min(played.margin, available - budget - overhead)
        think(clock, hands, BLACK, budget + overhead)
        played.used += budget + overhead
        played.granted += settings.pace if count or settings.increment else 0.0
    return played


GAMES: list[tuple[str, TimeSettings, int]] = [
    (f"{name}-{size}", settings, size * size)
    for size in (9, 13, 19)
    for name, settings in {
        "ten-minutes": ABSOLUTE_600,
        "two-minutes": TimeSettings(Kind.ABSOLUTE, 120),
        "main-and-canadian": CANADIAN,
        "canadian": TimeSettings(Kind.CANADIAN, 0, 50, 10),
        "a-second-a-move": TimeSettings(Kind.CANADIAN, 0, 1, 1),
        "byoyomi": BYOYOMI,
        "fischer": TimeSettings(Kind.FISCHER, 60, increment=5),
        "tiny-bank-fischer": TimeSettings(Kind.FISCHER, 5, increment=5),
        "capped": TimeSettings(Kind.FISCHER_CAPPED, 60, increment=5, main_cap=80.0, move_cap=20.0),
    }.items()
]


@pytest.mark.parametrize(("settings", "area"), [case[1:] for case in GAMES], ids=[case[0] for case in GAMES])
@pytest.mark.parametrize("overhead", [0.0, 0.02, 0.05])
def test_even_a_very_long_game_never_flags(settings: TimeSettings, area: int, overhead: float) -> None:
    assert simulate(settings, area, 3 * area // 2, overhead, lag=0.5).margin >= 0


@pytest.mark.parametrize(("area", "main"), [(81, 300.0), (81, 900.0), (361, 900.0), (361, 3600.0)])
def test_a_connection_within_the_lag_buffer_loses_no_game_of_two_moves_a_point(area: int, main: float) -> None:
    for settings in (TimeSettings(Kind.ABSOLUTE, main), TimeSettings(Kind.FISCHER, main, increment=0.2)):
        assert simulate(settings, area, 2 * area, overhead=0.2, lag=0.5).margin > 0


@pytest.mark.parametrize(("settings", "area"), [case[1:] for case in GAMES], ids=[case[0] for case in GAMES])
@pytest.mark.parametrize("lag", [0.1, 0.5])
def test_a_full_game_uses_four_fifths_of_the_time(settings: TimeSettings, area: int, lag: float) -> None:
    played = simulate(settings, area, int(0.68 * area), overhead=0.02, lag=lag)
    assert played.used >= 0.8 * played.granted


def play_moods(settings: TimeSettings, area: int, length: int, hard: float, lag: float, seed: int) -> Played:
    """Play one color's moves: a share of `hard` ones takes all it may, the rest 40 % to 100 % of the plan, all late."""
    hands, played, dice = Hands(), Played(granted=settings.main), random.Random(seed)
    clock = Clock(settings, lag, hands)
    for move in range(0, length, 2):
        allotment = clock.allotment(BLACK, move, area)
        assert allotment is not None
        seconds, count = clock.time_left(BLACK)
        periods = count if settings.kind is Kind.BYOYOMI else 1
        available = seconds + (periods - 1) * settings.period if count else seconds + settings.period
        wanted = allotment.most_seconds if dice.random() < hard else allotment.seconds * dice.uniform(0.4, 1.0)
        taken = wanted + dice.uniform(0.002, 0.05)
        played.margin = min(played.margin, available - taken)
        think(clock, hands, BLACK, taken)
        played.used += taken
        played.granted += settings.increment
    return played


LENGTHS = {81: [30, 55, 100], 169: [60, 130, 200], 361: [100, 240, 400]}


@pytest.mark.parametrize(("settings", "area"), [case[1:] for case in GAMES], ids=[case[0] for case in GAMES])
@pytest.mark.parametrize("hard", [0.0, 0.3, 1.0])
def test_hard_moves_and_late_stops_lose_no_game_of_any_length(settings: TimeSettings, area: int, hard: float) -> None:
    for seed, length in enumerate(LENGTHS[area] * 2):
        assert play_moods(settings, area, length, hard, (0.1, 0.5, 1.0)[seed % 3], seed).margin > 0


@pytest.mark.parametrize("main", [60.0, 600.0, 3600.0])
@pytest.mark.parametrize(("area", "length"), [(81, 55), (361, 220), (361, 260)])
def test_moves_that_stop_early_leave_little_of_an_absolute_time(main: float, area: int, length: int) -> None:
    for seed in range(4):
        played = play_moods(TimeSettings(Kind.ABSOLUTE, main), area, length, 0.1, 0.5, seed)
        assert played.used >= 0.8 * main


@pytest.mark.parametrize(("settings", "area"), [case[1:] for case in GAMES], ids=[case[0] for case in GAMES])
def test_the_hardest_move_may_take_as_much_as_any_other(settings: TimeSettings, area: int) -> None:
    for move in range(0, 2 * area, 7):
        allotment = Clock(settings).allotment(WHITE, move, area)
        assert allotment is not None
        assert 0 < allotment.seconds <= allotment.most_seconds


def test_only_time_that_is_left_for_later_moves_can_be_saved() -> None:
    def saves(settings: TimeSettings, seconds: float, count: int) -> bool:
        clock = Clock(settings)
        clock.set_time_left(BLACK, seconds, count)
        allotment = clock.allotment(BLACK, 20, 361)
        assert allotment is not None
        return allotment.is_kept

    assert saves(ABSOLUTE_600, 100, 0)
    assert saves(TimeSettings(Kind.FISCHER, 60, increment=5), 30, 0)
    assert saves(CANADIAN, 20, 4)
    assert not saves(CANADIAN, 20, 1)
    assert saves(BYOYOMI, 30, 0)
    assert not saves(BYOYOMI, 10, 3)


def test_the_hardest_move_runs_through_a_byoyomi_period_only_where_three_are_left_behind() -> None:
    clock = Clock(BYOYOMI, 0.5)
    for count, most in [(1, 9.5), (3, 9.5), (4, 19.5)]:
        clock.set_time_left(BLACK, 10, count)
        allotment = clock.allotment(BLACK, 60, 361)
        assert allotment is not None
        assert allotment.most_seconds == most


def test_no_budget_takes_more_than_is_there() -> None:
    makers: list[Callable[[float], TimeSettings]] = [
        lambda main: TimeSettings(Kind.ABSOLUTE, main),
        lambda main: TimeSettings(Kind.FISCHER, main, increment=10),
        lambda main: TimeSettings(Kind.FISCHER_CAPPED, main, increment=30, main_cap=1.0),
    ]
    for make in makers:
        for main in (0.1, 1, 3, 30):
            for move in (0, 100, 700):
                budget = budget_of(Clock(make(main)), BLACK, move, 361)
                assert budget is not None
                assert budget < main


def test_a_search_that_plays_nothing_is_not_charged_and_a_turn_within_a_turn_is_the_same_turn() -> None:
    hands = Hands()
    clock = Clock(CANADIAN, now=hands)
    with clock.turn(BLACK, is_charged=False), clock.turn(BLACK):
        hands.time += 20
        assert clock.allotment(BLACK, 0, 81) is not None
    assert clock.time_left(BLACK) == (60, 0)
    with clock.turn(BLACK):
        hands.time += 20
        with clock.turn(BLACK):
            hands.time += 5
    assert clock.time_left(BLACK) == (35, 0)


@pytest.mark.parametrize(
    ("settings", "left", "least"),
    [
        (TimeSettings(Kind.ABSOLUTE, 1800), 60, 0.05),
        (TimeSettings(Kind.FISCHER, 600, increment=5), 10, 3),
    ],
    ids=["absolute", "fischer"],
)
def test_a_clock_with_less_left_than_was_planned_still_gives_time_to_think(
    settings: TimeSettings, left: float, least: float
) -> None:
    clock = Clock(settings)
    clock.set_time_left(BLACK, left, 0)
    budget = budget_of(clock, BLACK, 200, 361)
    assert budget is not None
    assert least < budget < left / 2
