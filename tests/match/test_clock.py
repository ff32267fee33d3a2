"""The match's clock: its texts, the commands that tell it, and when a flag falls under each time system."""

import re

import pytest

from engine.clock import NO_LIMIT, Kind, TimeSettings
from engine.match.clock import Clock, check_clock, clock_text, overtime_text, parse_clock, settings_command

TEXTS = {
    "absolute:60": TimeSettings(Kind.ABSOLUTE, 60.0),
    "canadian:60+25/300": TimeSettings(Kind.CANADIAN, 60.0, 300.0, 25),
    "byoyomi:60+5x10": TimeSettings(Kind.BYOYOMI, 60.0, 10.0, 5),
    "fischer:10+1": TimeSettings(Kind.FISCHER, 10.0, increment=1.0),
    "fischer:10.5+0.25": TimeSettings(Kind.FISCHER, 10.5, increment=0.25),
    "capped:10+1/60/30": TimeSettings(Kind.FISCHER_CAPPED, 10.0, increment=1.0, main_cap=60.0, move_cap=30.0),
    "capped:10+1//30": TimeSettings(Kind.FISCHER_CAPPED, 10.0, increment=1.0, move_cap=30.0),
    "capped:10+1/60/": TimeSettings(Kind.FISCHER_CAPPED, 10.0, increment=1.0, main_cap=60.0),
    "byoyomi:0+1x2.5": TimeSettings(Kind.BYOYOMI, 0.0, 2.5, 1),
    "canadian:0+1/5": TimeSettings(Kind.CANADIAN, 0.0, 5.0, 1),
}


def clock(text: str) -> Clock:
    """Return a new clock under the time system of a text."""
    return Clock(parse_clock(text))


@pytest.mark.parametrize("text", TEXTS)
def test_a_clock_is_read_from_its_text_and_written_back(text: str) -> None:
    assert parse_clock(text) == TEXTS[text]
    assert clock_text(TEXTS[text]) == text


@pytest.mark.parametrize(
    ("short", "whole"),
    [
        ("capped:10+1", "capped:10+1//"),
        ("capped:10+1/60", "capped:10+1/60/"),
        ("capped:10+1/", "capped:10+1//"),
    ],
)
def test_both_limits_of_a_capped_clock_may_be_left_out(short: str, whole: str) -> None:
    assert parse_clock(short) == parse_clock(whole)
    assert clock_text(parse_clock(short)) == whole


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("blitz:5", "expected one of absolute:MAIN, fischer:"),
        ("60", "expected one of"),
        ("absolute:", "expected absolute:MAIN"),
        ("absolute:-5", "expected absolute:MAIN"),
        ("fischer:10", r"expected fischer:MAIN\+INCREMENT"),
        ("fischer:inf+1", r"expected fischer:MAIN\+INCREMENT"),
        ("capped:10", "expected capped:"),
        ("capped:10+1/60/30/5", "expected capped:"),
        ("byoyomi:60+10x", "expected byoyomi:"),
        ("byoyomi:60+1.5x10", "expected byoyomi:"),
        ("canadian:60+25x300", "expected canadian:"),
        ("absolute:0", "expected a main time above 0 s"),
        ("fischer:0+1", "expected a main time above 0 s"),
        ("byoyomi:60+0x10", "expected 1 period or more"),
        ("byoyomi:60+5x0", "expected a period above 0 s"),
        ("canadian:0+0/5", "expected 1 stone or more"),
        ("canadian:60+25/0", "expected a period above 0 s"),
        ("capped:10+1/5/", "expected a main time of at most its cap, 5 s"),
        ("capped:10+1//0", "expected a cap above 0 s, or none"),
    ],
)
def test_texts_that_are_no_clock_are_errors_with_what_was_given_and_what_is_expected(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^clock '{re.escape(text)}': {message}"):
        parse_clock(text)


@pytest.mark.parametrize("settings", [NO_LIMIT, TimeSettings(Kind.ABSOLUTE, float("inf"))])
def test_settings_without_an_end_are_no_clock(settings: TimeSettings) -> None:
    with pytest.raises(ValueError, match=r"^(time without a limit|clock 'absolute:inf'): expected"):
        check_clock(settings)


@pytest.mark.parametrize(
    ("text", "listed", "command"),
    [
        ("absolute:60", "time_settings kgs-time_settings", "time_settings 60 0 0"),
        ("absolute:60", "kgs-time_settings", "kgs-time_settings absolute 60"),
        ("absolute:60", "time_settings kata-time_settings", "kata-time_settings absolute 60"),
        ("canadian:60+25/300", "time_settings", "time_settings 60 300 25"),
        ("canadian:60+25/300", "kgs-time_settings", "kgs-time_settings canadian 60 300 25"),
        ("canadian:60+25/300", "kata-time_settings", "kata-time_settings canadian 60 300 25"),
        ("canadian:0+1/0.5", "time_settings", "time_settings 0 0.5 1"),
        ("byoyomi:60+5x10", "time_settings kgs-time_settings", "kgs-time_settings byoyomi 60 10 5"),
        ("byoyomi:60+5x10", "kata-time_settings kgs-time_settings", "kata-time_settings byoyomi 60 10 5"),
        ("byoyomi:60+5x10", "time_settings", None),
        ("fischer:10+1.5", "kata-time_settings", "kata-time_settings fischer 10 1.5"),
        ("fischer:10+1", "time_settings kgs-time_settings", None),
        ("capped:10+1/60/30", "kata-time_settings", "kata-time_settings fischer-capped 10 1 60 30"),
        ("capped:10+1//30", "kata-time_settings", "kata-time_settings fischer-capped 10 1 -1 30"),
        ("capped:10+1/60/30", "time_settings kgs-time_settings", None),
        ("absolute:1234567", "time_settings", "time_settings 1234567 0 0"),
        ("absolute:60", "time_left", None),
    ],
)
def test_the_best_command_that_a_program_lists_sends_the_clock(text: str, listed: str, command: str | None) -> None:
    assert settings_command(parse_clock(text), listed.split()) == command


@pytest.mark.parametrize(
    ("text", "overtime"),
    [
        ("absolute:60", ""),
        ("canadian:60+25/300", "25/300 Canadian"),
        ("byoyomi:60+5x10", "5x10 byo-yomi"),
        ("fischer:10+1", "1 fischer"),
        ("capped:10+1/60/30", "1 fischer"),
    ],
)
def test_overtime_has_its_sgf_text(text: str, overtime: str) -> None:
    assert overtime_text(parse_clock(text)) == overtime


def test_absolute_time_runs_out() -> None:
    absolute = clock("absolute:10")
    assert (absolute.available(), absolute.time_left()) == (10, (10, 0))
    assert absolute.spend(7)
    assert absolute.time_left() == (3, 0)
    assert not absolute.spend(3.5)


def test_overrunning_main_time_eats_into_the_first_canadian_period() -> None:
    canadian = clock("canadian:10+3/6")
    assert canadian.spend(8)
    assert canadian.available() == 8
    assert canadian.spend(4)  # 2 of main time, 2 of the period, of which it is the first move
    assert canadian.time_left() == (4, 2)
    assert canadian.spend(1)
    assert canadian.spend(3)
    assert canadian.time_left() == (6, 3)
    assert not canadian.spend(6.1)


@pytest.mark.parametrize(("text", "after"), [("canadian:10+3/6", (1, 2)), ("byoyomi:10+3x6", (6, 3))])
def test_using_up_main_time_exactly_enters_no_overtime(text: str, after: tuple[float, int]) -> None:
    exact = clock(text)
    assert exact.spend(10)
    assert exact.time_left() == (0, 0)
    assert exact.spend(5)
    assert exact.time_left() == after


def test_seconds_a_move_are_renewed_at_every_move() -> None:
    renewed = clock("canadian:0+1/2")
    for _ in range(3):
        assert renewed.time_left() == (2, 1)
        assert renewed.spend(1.9)
    assert not renewed.spend(2.1)


def test_byoyomi_periods_are_renewed_when_kept_and_lost_when_overrun() -> None:
    periods = clock("byoyomi:5+3x10")
    assert periods.available() == 35
    assert periods.spend(4)
    assert periods.spend(9)  # 1 of main time, 8 of the first period
    assert (periods.time_left(), periods.available()) == ((10, 3), 30)
    assert periods.spend(10)
    assert periods.time_left() == (10, 3)
    assert periods.spend(10.5)
    assert periods.time_left() == (10, 2)
    assert periods.spend(19)
    assert (periods.time_left(), periods.available()) == ((10, 1), 10)
    assert not periods.spend(10.5)


def test_one_long_move_can_lose_all_byoyomi_periods() -> None:
    assert clock("byoyomi:5+3x10").spend(35)
    assert not clock("byoyomi:5+3x10").spend(35.1)


def test_the_grace_costs_no_byoyomi_period() -> None:
    periods = clock("byoyomi:0+2x10")
    assert periods.spend(10.4, grace=0.5)
    assert periods.time_left() == (10, 2)
    assert periods.spend(20.4, grace=0.5)
    assert not periods.spend(10.6, grace=0.5)


def test_fischer_time_grows_after_every_move_and_falls_before_the_increment() -> None:
    fischer = clock("fischer:10+3")
    assert fischer.spend(1)
    assert fischer.time_left() == (12, 0)
    assert fischer.spend(12)
    assert fischer.time_left() == (3, 0)
    assert not fischer.spend(3.1)


def test_capped_fischer_time_bounds_the_bank_and_each_move() -> None:
    capped = clock("capped:10+3/11/5")
    assert capped.available() == 5
    assert capped.spend(1)
    assert capped.time_left() == (11, 0)
    assert capped.spend(5)
    assert capped.time_left() == (9, 0)
    assert not capped.spend(5.1)


def test_the_grace_is_forgiven_but_no_time_is_given_back() -> None:
    absolute = clock("absolute:10")
    assert absolute.spend(10.4, grace=0.5)
    assert absolute.time_left() == (0, 0)
    assert not absolute.spend(0.6, grace=0.5)


@pytest.mark.parametrize(
    ("text", "spent", "share", "least"),
    [
        ("absolute:10", [2, 6], 0.8, 2),
        ("absolute:10", [12], 1.0, 0),
        ("fischer:10+5", [4, 8], 12 / 15, 3),  # the last increment comes too late to count
        ("capped:10+5/12/6", [1, 6], 7 / 13, 0),  # the cap lets 3 of the first increment count
        ("byoyomi:10+2x5", [8, 4, 1], 1.0, 8),
        ("canadian:10+2/5", [4], 0.4, 11),
        ("canadian:0+2/5", [3], None, 2),
    ],
)
def test_the_clock_knows_the_share_used_and_the_least_left(
    text: str, spent: list[float], share: float | None, least: float
) -> None:
    used = clock(text)
    for seconds in spent:
        used.spend(seconds, grace=0.5)
    assert used.main_share == (share if share is None else pytest.approx(share))
    assert used.least_left == least


@pytest.mark.parametrize(
    ("text", "fractions", "spent", "reported"),
    [
        ("absolute:60", False, 0.4, "time_left white 59 0"),
        ("absolute:60", True, 0.4, "time_left white 59.60 0"),
        ("absolute:1.5", False, 0.4, "time_left white 1.10 0"),
        ("canadian:0+1/5", False, 0, "time_left white 5 1"),
        ("canadian:0+2/5", False, 1.2, "time_left white 3 1"),
        ("byoyomi:60+5x10", False, 50.5, "time_left white 9 0"),
        ("byoyomi:60+5x10", False, 75, "time_left white 10 4"),
        ("byoyomi:60+5x10", True, 75, "time_left white 10.00 4"),
        ("fischer:10+1", True, 2.25, "time_left white 8.75 0"),
    ],
)
def test_time_left_has_stones_periods_and_whole_seconds(
    text: str, fractions: bool, spent: float, reported: str
) -> None:
    left = clock(text)
    if spent:
        left.spend(spent)
    assert left.command("white", fractions=fractions) == reported
