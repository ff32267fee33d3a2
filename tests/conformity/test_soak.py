"""The soak against the real engine for two short games."""

import sys
import time

import pytest

from tests.conformity.driver import FAKE_ENGINE, ROOT, Controller, FramingError
from tests.conformity.soak import play

ENGINE = [sys.executable, str(ROOT / "keima.py"), "--net", "none", "--visits", "2"]


def test_games_of_the_engine_against_itself_end_and_report_their_memory() -> None:
    with Controller(ENGINE) as engine:
        for size in (5, 7):
            game = play(engine, size, time.monotonic(), opening=4, seed=size)
            assert game.size == size and game.moves > 5
            assert game.memory > 50 or sys.platform != "linux"


def test_an_engine_whose_games_do_not_end_is_found_out() -> None:
    with Controller(FAKE_ENGINE) as engine, pytest.raises(FramingError, match="a game of 76 moves"):
        play(engine, 5, time.monotonic())
