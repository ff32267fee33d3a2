"""The match's clock counts absolute and Canadian time as `time_settings` defines them."""

import pytest

from engine.match.clock import Clock, TimeLimit


def test_absolute_time_runs_out() -> None:
    clock = Clock(TimeLimit(10))
    assert (clock.available(), clock.time_left()) == (10, (10, 0))
    assert clock.spend(7)
    assert clock.time_left() == (3, 0)
    assert not clock.spend(3.5)


def test_overrunning_main_time_eats_into_the_first_period() -> None:
    clock = Clock(TimeLimit(10, 6, 3))
    assert clock.spend(8)
    assert clock.available() == 8
    assert clock.spend(4)  # 2 of main time, 2 of the period, of which it is the first move
    assert clock.time_left() == (4, 2)
    assert clock.spend(1)
    assert clock.spend(3)
    assert clock.time_left() == (6, 3)
    assert not clock.spend(6.1)


def test_using_up_main_time_exactly_is_no_period_move() -> None:
    clock = Clock(TimeLimit(10, 6, 3))
    assert clock.spend(10)
    assert clock.time_left() == (0, 0)
    assert clock.spend(5)
    assert clock.time_left() == (1, 2)


def test_seconds_a_move_are_renewed_at_every_move() -> None:
    clock = Clock(TimeLimit(0, 2, 1))
    for _ in range(3):
        assert clock.time_left() == (2, 1)
        assert clock.spend(1.9)
    assert not clock.spend(2.1)


def test_the_grace_is_forgiven_but_no_time_is_given_back() -> None:
    clock = Clock(TimeLimit(10))
    assert clock.spend(10.4, grace=0.5)
    assert clock.time_left() == (0, 0)
    assert not clock.spend(0.6, grace=0.5)


@pytest.mark.parametrize(
    ("limit", "settings", "left"),
    [
        (TimeLimit(60), "time_settings 60 0 0", "time_left black 60 0"),
        (TimeLimit(0, 5, 1), "time_settings 0 5 1", "time_left black 5 1"),
        (TimeLimit(0, 0.5, 1), "time_settings 0 0.5 1", "time_left black 0.50 1"),
    ],
)
def test_commands(limit: TimeLimit, settings: str, left: str) -> None:
    assert limit.command() == settings
    assert Clock(limit).command("black") == left


def test_whole_settings_are_told_in_whole_seconds() -> None:
    clock = Clock(TimeLimit(60))
    clock.spend(0.4)
    assert clock.command("white") == "time_left white 59 0"


@pytest.mark.parametrize("limit", [(0, 0, 0), (-1, 0, 0), (10, 5, 0), (10, 0, 5), (float("inf"), 0, 0)])
def test_settings_without_time_for_a_move_are_refused(limit: tuple[float, float, int]) -> None:
    with pytest.raises(ValueError, match="time"):
        TimeLimit(*limit)
