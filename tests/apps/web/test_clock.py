"""Clocks of a game on the page: who is charged, who loses on time, what the engine and the record are told."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from engine.apps.web.game_clock import GameClock
from engine.apps.web.game_session import GameSession
from engine.apps.web.settings import GameSettings, read_clock
from engine.apps.web.snapshot import ClockReading, Kind
from engine.apps.web.tree import GameTree
from engine.apps.web.view import view
from engine.color import BLACK, WHITE
from engine.errors import GoError
from engine.game import Game
from engine.records.sgf import load_sgf
from tests.apps.web.sessions import MIXED, PEOPLE, SIZE, moves, session, snapshot, task, vertex
from tests.waiting import wait_until


class Watch:
    """A clock of the machine that the test sets."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def clock_of(text: str) -> tuple[GameClock, GameTree, Watch]:
    watch = Watch()
    return GameClock(read_clock(text), watch), GameTree(Game(SIZE, SIZE)), watch


def play(clock: GameClock, tree: GameTree, watch: Watch, name: str, seconds: float) -> bool:
    """Play a move after the given seconds; return whether it came in time."""
    watch.seconds += seconds
    tree.play(vertex(name))
    return clock.follow(tree.game_end, is_over=False)


def test_the_first_move_starts_the_clocks_and_each_move_charges_its_color() -> None:
    clock, tree, watch = clock_of("fischer:60+5")
    assert play(clock, tree, watch, "C3", 100.0)
    assert clock.reading() == ClockReading(clock.settings, {BLACK: (60.0, 0), WHITE: (60.0, 0)}, WHITE, 0.0)
    assert play(clock, tree, watch, "D3", 20.0)
    watch.seconds += 7
    assert clock.reading() == ClockReading(clock.settings, {BLACK: (60.0, 0), WHITE: (45.0, 0)}, BLACK, 7.0)
    assert clock.seconds_left == 53


def test_a_move_within_byo_yomi_costs_no_period_and_a_longer_one_does() -> None:
    clock, tree, watch = clock_of("byoyomi:10+3x5")
    play(clock, tree, watch, "C3", 0.0)
    assert play(clock, tree, watch, "D3", 14.0)
    assert clock.reading().left[WHITE] == (5.0, 3)
    assert play(clock, tree, watch, "B2", 1.0)
    assert play(clock, tree, watch, "B3", 6.0)
    assert clock.reading().left == {BLACK: (9.0, 0), WHITE: (5.0, 2)}
    assert clock.seconds_left == 24


def test_a_move_that_comes_too_late_is_no_longer_in_time() -> None:
    clock, tree, watch = clock_of("absolute:10")
    play(clock, tree, watch, "C3", 0.0)
    assert not play(clock, tree, watch, "D3", 10.5)


def test_taking_back_charges_nobody_and_the_time_goes_on_for_the_player_to_move() -> None:
    clock, tree, watch = clock_of("absolute:60")
    play(clock, tree, watch, "C3", 0.0)
    play(clock, tree, watch, "D3", 5.0)
    watch.seconds += 20
    tree.take_back()
    clock.follow(tree.game_end, is_over=False)
    assert clock.reading() == ClockReading(clock.settings, {BLACK: (60.0, 0), WHITE: (55.0, 0)}, WHITE, 0.0)


def timed(players: dict[int, Any], text: str, folder: Path | None = None) -> GameSession:
    return session(players, folder, clock=read_clock(text))


def test_a_player_whose_time_is_over_has_lost(tmp_path: Path) -> None:
    at = timed(PEOPLE, "absolute:0.05", tmp_path)
    moves(at, "C3")
    ended = threading.Event()

    def watch() -> None:
        version = -1
        while snapshot(at).result is None and at.wait_for_change(version, 20):
            version = at.version
        ended.set()

    threading.Thread(target=watch, daemon=True).start()
    assert ended.wait(20)
    assert snapshot(at).result == "B+T"
    [saved] = tmp_path.iterdir()
    assert load_sgf(saved).result == "B+T"
    shown = view(snapshot(at))["clock"]
    assert shown["running"] is None
    moves(at, "D3")
    assert snapshot(at).variations[1].colors == "w"


def test_an_engine_whose_position_is_not_shown_does_not_lose_on_time() -> None:
    at = timed(MIXED, "absolute:0.4")
    moves(at, "C3")
    asked = task(at)
    at.command("go", {"to": 0})
    assert (at.wanted(), at.is_wanted(asked)) == (None, False)
    before = snapshot(at).clock
    time.sleep(0.6)
    after = snapshot(at)
    assert (after.clock, after.result) == (before, None)
    assert after.clock is not None and after.clock.is_paused
    at.command("go", {"to": 1})
    again = task(at).clock
    assert again is not None and not again.is_paused
    assert again.elapsed == pytest.approx(after.clock.elapsed, abs=0.1)
    deadline = time.monotonic() + 20
    while snapshot(at).result is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert snapshot(at).result == "B+T"


def test_time_of_the_running_move_is_taken_off_what_the_engine_is_told() -> None:
    settings = read_clock("absolute:10")
    reading = ClockReading(settings, {BLACK: (10.0, 0), WHITE: (9.0, 0)}, WHITE, 3.5)
    assert (reading.left_now(BLACK), reading.left_now(WHITE)) == ((10.0, 0), (5.5, 0))
    assert ClockReading(settings, {WHITE: (3.0, 2)}, WHITE, 3.5).left_now(WHITE) == (0.0, 2)


def test_an_engine_learns_the_clocks_with_its_task_and_analyses_without_one() -> None:
    at = timed(MIXED, "byoyomi:60+3x10")
    moves(at, "C3")
    asked = task(at)
    assert asked.clock is not None
    assert (asked.kind, asked.clock.left) == (Kind.MOVE, {BLACK: (60.0, 0), WHITE: (60.0, 0)})
    at.engine_moved(asked, vertex("D3"))
    at.command("switch", {"analysis": True})
    assert task(at).clock is None


def test_a_record_says_the_clock() -> None:
    at = timed(PEOPLE, "byoyomi:600+5x30")
    moves(at, "C3")
    about = load_sgf(at.record()[0].encode()).about
    assert (about["TM"], about["OT"]) == ("600", "5x30 byo-yomi")


def test_the_clocks_of_a_game_that_is_left_wait_for_its_return() -> None:
    at = timed(PEOPLE, "absolute:600")
    moves(at, "C3")
    assert at.has_running_clock
    at.command("new", {"clock": ""})
    assert (at.has_running_clock, snapshot(at).clock) == (False, None)
    at.command("undo", {})
    assert at.has_running_clock
    at.command("resign", {})
    assert not at.has_running_clock


def test_the_end_of_a_game_stops_the_clocks() -> None:
    at = timed(PEOPLE, "absolute:600")
    moves(at, "C3", "pass")
    assert at.has_running_clock
    moves(at, "pass")
    assert not at.has_running_clock


def test_a_variation_leaves_the_clocks_of_the_game_alone() -> None:
    at = timed(PEOPLE, "absolute:600")
    moves(at, "C3", "D3")
    before = snapshot(at).clock
    at.command("go", {"to": 1})
    moves(at, "E5", "E4", "E3")
    after = snapshot(at).clock
    assert before is not None and after is not None
    assert (after.running, after.left) == (before.running, before.left)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "canadian:60+25/300",
            "expected one of byoyomi:MAIN\\+PERIODSxPERIOD, fischer:MAIN\\+INCREMENT, absolute:MAIN$",
        ),
        ("absolute:1e9", "expected absolute:MAIN"),
        ("absolute:9999999999", "at most 1000000 seconds"),
        ("byoyomi:60", "expected byoyomi:MAIN"),
        ("absolute:0", "expected a main time above 0 s"),
        ("tea", "expected one of byoyomi:MAIN\\+PERIODSxPERIOD, fischer:MAIN\\+INCREMENT, absolute:MAIN$"),
    ],
)
def test_a_clock_that_cannot_be_is_refused(text: str, message: str) -> None:
    at = session(PEOPLE)
    with pytest.raises(GoError, match=message):
        at.command("new", {"clock": text})
    assert snapshot(at).settings == GameSettings(SIZE, SIZE, players=PEOPLE)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("fischer:60+5", {"black": [70.5, 0], "white": [3, 0]}),
        ("byoyomi:10+3x5", {"black": [5, 2], "white": [4.5, 0]}),
        ("absolute:60", {"black": [0.5, 0], "white": [60, 0]}),
    ],
)
def test_a_record_opened_after_a_restart_gets_its_clocks_back(text: str, left: dict[str, list[float]]) -> None:
    opened = session(players=PEOPLE)
    opened.open(b"(;SZ[9]KM[7];B[cc];W[dc])")
    opened.command("clock", {"clock": text, "left": left})
    shown = view(opened.snapshot())
    assert shown["clock"]["left"] == {color: (seconds, count) for color, (seconds, count) in left.items()}
    assert shown["clock_settings"] == text
    assert shown["clock"]["running"] == "black"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"clock": "fischer:60+5"},
        {"clock": "absolute:60", "left": {"black": [61, 0], "white": [60, 0]}},
        {"clock": "absolute:60", "left": {"black": [60, 1], "white": [60, 0]}},
        {"clock": "fischer:60+5", "left": {"black": [1e999, 0], "white": [60, 0]}},
        {"clock": "byoyomi:10+3x5", "left": {"black": [5, 4], "white": [5, 3]}},
        {"clock": "byoyomi:10+3x5", "left": {"black": [-1, 3], "white": [5, 3]}},
        {"clock": "byoyomi:10+3x5", "left": {"black": "5", "white": [5, 3]}},
    ],
)
def test_clocks_that_their_settings_cannot_give_change_nothing(fields: dict[str, Any]) -> None:
    opened = session(players=PEOPLE)
    opened.open(b"(;SZ[9]KM[7];B[cc];W[dc])")
    before = view(opened.snapshot())
    with pytest.raises(GoError):
        opened.command("clock", fields)
    assert view(opened.snapshot()) == before


def test_the_end_of_a_game_charges_who_was_thinking() -> None:
    clock, tree, watch = clock_of("absolute:60")
    play(clock, tree, watch, "C3", 0.0)
    watch.seconds += 25
    clock.follow(tree.game_end, is_over=True)
    assert clock.reading() == ClockReading(clock.settings, {BLACK: (60.0, 0), WHITE: (35.0, 0)})


def test_a_clock_that_has_run_out_shows_no_time() -> None:
    at = timed(PEOPLE, "byoyomi:0.02+2x0.02")
    moves(at, "C3")
    wait_until(lambda: snapshot(at).result == "B+T")
    shown = snapshot(at).clock
    assert shown is not None
    assert (shown.left[WHITE], shown.running) == ((0.0, 0), None)


def test_a_game_that_was_lost_on_time_goes_on_with_the_time_before_the_move_when_it_is_taken_back() -> None:
    clock, tree, watch = clock_of("absolute:10")
    play(clock, tree, watch, "C3", 0.0)
    play(clock, tree, watch, "D3", 4.0)
    play(clock, tree, watch, "B2", 0.0)
    clock.run_out(WHITE)
    assert clock.reading().left == {BLACK: (10.0, 0), WHITE: (0.0, 0)}
    tree.take_back()
    clock.follow(tree.game_end, is_over=False)
    assert clock.reading().left == {BLACK: (10.0, 0), WHITE: (6.0, 0)}


def test_a_game_that_ended_by_passes_has_no_running_clock_wherever_one_looks() -> None:
    at = timed(PEOPLE, "absolute:600")
    moves(at, "C3", "pass", "pass")
    at.command("go", {"to": 1})
    at.command("new", {"clock": ""})
    at.command("previous", {})
    assert (snapshot(at).number, at.has_running_clock) == (1, False)


def test_who_resigns_beside_a_game_by_the_clock_resigns_the_game() -> None:
    at = timed(PEOPLE, "absolute:600")
    moves(at, "C3", "D3")
    at.command("go", {"to": 1})
    moves(at, "B2")
    at.command("resign", {})
    assert (snapshot(at).variation, snapshot(at).result, at.has_running_clock) == (0, "W+R", False)
    assert load_sgf(at.record()[0].encode()).result == "W+R"
