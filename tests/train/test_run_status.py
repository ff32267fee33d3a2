"""Sentences and numbers of runs for a person."""

import time
from pathlib import Path

import pytest

from engine.support.files import claimed
from engine.train.run_status import headline, moved, newest_and_before, until


def test_a_run_is_running_while_its_folder_is_claimed(tmp_path: Path) -> None:
    clock = tmp_path / "clock.json"

    def said(complete: bool = False) -> str:
        return headline(tmp_path, "keima zero RUN", complete=complete, heartbeat=clock)

    assert said() == f"{tmp_path} has not begun; `keima zero RUN` starts it"
    with claimed(tmp_path):
        assert said() == f"{tmp_path} is running"
    clock.touch()
    assert said().startswith(f"{tmp_path} stopped ")
    assert said().endswith(" ago; `keima zero RUN` continues it")
    assert said(complete=True) == f"{tmp_path} is complete"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([3.0], "3.000"),
        ([3.0, 2.5], "2.500, down from 3.000"),
        ([3.0, 3.5], "3.500, up from 3.000"),
        ([3.0, 3.01], "3.010, steady"),
        ([9.0] * 18 + [4.0, 2.0] + [1.0, 3.0], "2.000, down from 3.000"),
    ],
)
def test_a_number_is_compared_with_the_ones_before(values: list[float], text: str) -> None:
    assert moved(values) == text


def test_a_tenth_of_the_values_is_new() -> None:
    assert newest_and_before([*range(40)]) == ([36, 37, 38, 39], [32, 33, 34, 35])
    assert newest_and_before([]) == ([], [])


def test_the_time_left_has_an_end() -> None:
    assert until(90) == f"1 min, until {time.strftime('%H:%M', time.localtime(time.time() + 90))}"
    assert until(86400.0).startswith("24.0 h, until ")
    assert "," in until(86400.0).partition("until ")[2], "the day is named"
