"""Pondering within a session: what starts it, what ends it."""

import time

import pytest

from gtp.state import SessionConfig
from tests.gtp.fake_player import FakePlayer
from tests.gtp.test_session import session
from tests.waiting import wait_until

PONDERING = SessionConfig(width=9, height=9, ponder=True)


def test_the_engine_ponders_after_its_own_move_until_a_line_comes() -> None:
    player = FakePlayer(["e5", "c3"])
    with session(player, PONDERING) as (pipe, sink, _):
        pipe.send(b"play b d4\n")
        sink.wait_for(b"= \n\n")
        pipe.send(b"genmove w\n")
        wait_until(lambda: player.pondered == [2])
        pipe.send(b"play b c4\ngenmove w\n")
        wait_until(lambda: player.pondered == [2, 4])
        sink.wait_for(b"= \n\n= E5\n\n= \n\n= C3\n\n")


def test_the_engine_ponders_when_the_controller_plays_the_move_of_a_search() -> None:
    player = FakePlayer(["e5", "c3", "d4"])
    with session(player, PONDERING) as (pipe, sink, _):
        pipe.send(b"kata-search b\n")
        sink.wait_for(b"= E5\n\n")
        pipe.send(b"play b e5\n")
        wait_until(lambda: player.pondered == [1])
        pipe.send(b"kata-search w\n")
        sink.wait_for(b"= E5\n\n= \n\n= C3\n\n")
        pipe.send(b"play w g3\nkata-search b\nundo\nplay w g3\nplay b d4\n")
        sink.wait_for(b"= E5\n\n= \n\n= C3\n\n= \n\n= D4\n\n= \n\n= \n\n= \n\n")
        time.sleep(0.1)
        assert set(player.pondered) == {1}, "another move was played, and then moves were taken back"


def test_pondering_goes_on_after_a_question_but_not_after_a_stop() -> None:
    player = FakePlayer(["e5"])
    with session(player, PONDERING) as (pipe, sink, _):
        pipe.send(b"genmove b\n")
        wait_until(lambda: len(player.pondered) == 1)
        pipe.send(b"protocol_version\n")
        wait_until(lambda: len(player.pondered) == 2)
        pipe.send(b"\n")
        pipe.send(b"stop\n")
        sink.wait_for(b"= E5\n\n= 2\n\n= \n\n")
        time.sleep(0.1)
        assert len(player.pondered) == 2


@pytest.mark.parametrize(
    ("script", "answers"),
    [
        (b"genmove b\n", ["resign"]),
        (b"genmove b\ngenmove w\n", ["pass", "pass"]),
        (b"genmove b\nundo\n", ["e5"]),
        (b"genmove b\nclear_board\n", ["e5"]),
        (b"kata-search b\n", ["e5"]),
        (b"reg_genmove b\n", ["e5"]),
    ],
)
def test_nobody_ponders_where_there_is_no_opponent_to_wait_for(script: bytes, answers: list[str]) -> None:
    player = FakePlayer(answers)
    with session(player, PONDERING) as (pipe, sink, _):
        pipe.send(script)
        wait_until(lambda: sink.getvalue().count(b"\n\n") == script.count(b"\n"))
        time.sleep(0.1)
        assert player.pondered == []


def test_pondering_is_off_unless_asked_for() -> None:
    player = FakePlayer(["e5", "c3"])
    with session(player) as (pipe, sink, _):
        pipe.send(b"genmove b\n")
        sink.wait_for(b"= E5\n\n")
        time.sleep(0.1)
        assert player.pondered == []
        pipe.send(b"kata-set-param ponderingEnabled true\ngenmove w\n")
        wait_until(lambda: player.pondered == [2])


def test_a_failure_while_pondering_is_logged_and_hurts_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(FakePlayer):
        def ponder(self, game: object) -> None:
            raise ZeroDivisionError

    with session(Failing(["e5"]), PONDERING) as (pipe, sink, _):
        pipe.send(b"genmove b\n")
        wait_until(lambda: "pondering failed" in caplog.text)
        pipe.send(b"protocol_version\n")
        sink.wait_for(b"= E5\n\n= 2\n\n")
