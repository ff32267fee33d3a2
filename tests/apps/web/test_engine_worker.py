"""A GTP program plays, analyses and counts for a session, is interrupted, and is started again after a failure."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from engine.apps.web.engine_worker import EngineWorker
from engine.apps.web.game_session import GameSession
from engine.apps.web.settings import GameSettings, PlayerKind, read_clock
from engine.apps.web.snapshot import Count, Kind, Limits, Snapshot
from engine.color import BLACK, WHITE
from engine.errors import GoError
from engine.vertex import parse_vertex
from tests.programs.analyst import analyst

MIXED = {BLACK: PlayerKind.PERSON, WHITE: PlayerKind.ENGINE}
SIZE = 5
PATIENCE = 20.0


class RunningSession:
    """A session with a running program."""

    def __init__(self, *options: str, silent_seconds: float = 600.0, **changes: Any) -> None:
        self.session = GameSession(GameSettings(SIZE, SIZE, players=MIXED, **changes))
        self.session.page_connected()
        self.worker = EngineWorker(self.session, analyst(*options), silent_seconds)
        self.worker.start()

    def play(self, *names: str) -> None:
        """Play moves, each after the engine's answer."""
        for name in names:
            self.until(lambda now: now.busy is not Kind.MOVE and len(now.line) % 2 == 0)
            self.session.command("play", {"move": name})

    def until(self, holds: Callable[[Snapshot], bool]) -> Snapshot:
        """Wait until a condition on the snapshot holds."""
        deadline, version = time.monotonic() + PATIENCE, -1
        while time.monotonic() < deadline:
            if self.session.wait_for_change(version, 0.2):
                now = self.session.snapshot()
                version = now.version
                if holds(now):
                    return now
        raise AssertionError(f"not within {PATIENCE} s: {self.session.snapshot()}")

    def close(self) -> None:
        """End the program."""
        self.session.close()
        self.worker.close()


def vertex(name: str) -> int:
    return parse_vertex(name, SIZE, SIZE)


def said(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    "commands",
    [
        "kata-search_analyze_cancellable",
        "kata-analyze kata-genmove_analyze",
        "lz-analyze lz-genmove_analyze",
        "genmove",
    ],
)
def test_a_program_plays_by_the_best_command_that_it_lists(commands: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with closing(RunningSession("--command", commands, "--log", str(log))) as running:
        running.play("C3", "D3")
        now = running.until(lambda now: len(now.line) == 4)
    assert [move.vertex for move in now.line] == [vertex(name) for name in ("C3", "A1", "D3", "B1")]
    assert now.engine == "Analyst"
    assert said(log).count("clear_board") == 1
    asked = [line.split()[0] for line in said(log) if "genmove" in line or "search" in line]
    assert asked == [next((word for word in commands.split() if not word.endswith("-analyze")), "genmove")] * 2


def test_a_search_that_nobody_waits_for_is_cancelled(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = "kata-search_analyze_cancellable"
    with closing(RunningSession("--command", command, "--lines", "1000", "--log", str(log))) as running:
        for move in ("C3", "D3"):
            running.session.command("play", {"move": move})
            running.until(lambda now: now.shown.answer is not None)
            running.session.command("undo", {})
        now = running.until(lambda now: now.busy is None)
    assert (now.line, now.shown.error) == ((), None)
    assert sum(line.startswith(command) for line in said(log)) == 2


def test_what_a_program_thinks_of_its_move_is_kept() -> None:
    with closing(RunningSession()) as running:
        running.play("C3")
        now = running.until(lambda now: len(now.line) == 2)
    assert now.estimates[1].winrate == pytest.approx(0.4)
    assert now.estimates[1].lead == -1.5


def test_an_analysis_is_shown_until_a_move_interrupts_it() -> None:
    with closing(RunningSession()) as running:
        running.session.command("switch", {"analysis": True})
        running.until(lambda now: now.shown.answer is not None and now.shown.answer.candidates[0].visits > 3)
        running.session.command("play", {"move": "C3"})
        now = running.until(
            lambda now: len(now.line) == 2 and now.busy is Kind.ANALYSIS and now.shown.answer is not None
        )
        assert now.shown.error is None
        running.session.command("switch", {"analysis": False})
        running.until(lambda now: now.busy is None)


def test_a_program_that_does_not_analyze_says_so() -> None:
    with closing(RunningSession("--command", "name")) as running:
        running.session.command("switch", {"analysis": True})
        now = running.until(lambda now: now.shown.error is not None)
    assert "neither kata-analyze nor lz-analyze" in str(now.shown.error)


def test_a_game_that_was_taken_back_while_the_program_thought_is_told_anew(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with closing(RunningSession("--log", str(log))) as running:
        running.play("C3")
        running.until(lambda now: len(now.line) == 2)
        running.session.command("undo", {})
        running.play("E5")
        now = running.until(lambda now: len(now.line) == 2)
    assert [move.vertex for move in now.line] == [vertex("E5"), vertex("A1")]
    assert said(log).count("clear_board") == 2


def test_a_program_resigns() -> None:
    with closing(RunningSession("--resign-at", "1")) as running:
        running.play("C3")
        assert running.until(lambda now: now.result is not None).result == "B+R"


def test_a_finished_game_is_counted_by_the_program_and_one_in_play_by_keima() -> None:
    with closing(RunningSession("--resign-at", "1000")) as running:
        running.session.command("count", {})
        assert running.until(lambda now: now.shown.count is not None).shown.count == Count(
            "W+7.5", (), (0.0,) * SIZE * SIZE
        )
        running.session.command("configure", {"white": "person"})
        for _ in range(2):
            running.session.command("play", {"move": "pass"})
        running.until(lambda now: now.is_proposed)
        running.session.command("accept", {})
        assert running.until(lambda now: now.result is not None).result == "B+2.5"


def test_seconds_are_told_as_a_clock(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with closing(RunningSession("--log", str(log), "--command", "time_settings", seconds=2.5)) as running:
        running.play("C3")
        running.until(lambda now: len(now.line) == 2)
        running.session.command("configure", {"seconds": ""})
        running.play("D3")
        running.until(lambda now: len(now.line) == 4)
    assert [line for line in said(log) if "time_settings" in line] == ["time_settings 0 2.5 1", "time_settings 0 1 0"]


def test_a_clock_is_told_with_what_is_left_of_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    words = "time_settings time_left kata-time_settings"
    clock = read_clock("byoyomi:60+3x10")
    with closing(RunningSession("--log", str(log), "--command", words, clock=clock)) as running:
        running.play("C3", "D3")
        running.until(lambda now: len(now.line) == 4)
    told = [line for line in said(log) if "time" in line]
    assert told[:2] == ["kata-time_settings byoyomi 60 10 3", "time_left black 60.00 0"]
    # The engine's clock runs already when it is told.
    assert told[2].startswith("time_left white ") and 50 < float(told[2].split()[2]) < 60
    assert [line.split()[0] for line in told[3:]] == ["time_left", "time_left"]


def test_the_limits_of_a_program_are_asked_for_and_its_visits_are_set_and_restored(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with closing(RunningSession("--log", str(log), "--command", "kata-get-param kata-set-param")) as running:
        assert running.until(lambda now: now.engine != "engine").limits == Limits(5.0, None, can_set_visits=True)
        running.session.command("configure", {"visits": 50})
        running.play("C3")
        running.until(lambda now: len(now.line) == 2)
        running.session.command("configure", {"visits": ""})
        running.play("D3")
        running.until(lambda now: len(now.line) == 4)
    assert [line for line in said(log) if "maxVisits" in line] == [
        "kata-get-param maxVisits",
        "kata-set-param maxVisits 50",
        f"kata-set-param maxVisits {1 << 50}",
    ]


def test_a_rank_is_sent_to_a_program_that_has_ranks(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with closing(RunningSession("--log", str(log), "--command", "keima-rank")) as running:
        assert running.until(lambda now: now.engine != "engine").has_ranks
        running.play("C3")
        running.until(lambda now: len(now.line) == 2)
        running.session.command("configure", {"rank": "4k"})
        running.play("D3")
        assert running.until(lambda now: len(now.line) == 4).settings.rank == "4k"
    assert [line for line in said(log) if "rank" in line] == ["keima-rank 4k"]


def test_a_program_without_ranks_is_sent_none(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with closing(RunningSession("--log", str(log))) as running:
        running.session.command("configure", {"rank": "4k"})
        running.play("C3")
        assert not running.until(lambda now: len(now.line) == 2).has_ranks
    assert not [line for line in said(log) if "rank" in line]


def test_a_program_that_crashes_is_told_of_and_started_again_when_it_is_wanted() -> None:
    with closing(RunningSession("--crash")) as running:
        running.play("C3")
        for _ in range(2):
            now = running.until(lambda now: now.shown.error is not None)
            assert "out of ideas" in str(now.shown.error)
            running.session.command("go", {"to": 1})
        running.session.command("configure", {"white": "person"})
        assert running.until(lambda now: now.busy is None).shown.error is None


def test_a_program_that_ended_while_nobody_asked_is_started_again(tmp_path: Path) -> None:
    log, number = tmp_path / "log", tmp_path / "pid"
    with closing(RunningSession("--log", str(log), "--pid", str(number))) as running:
        running.play("C3")
        running.until(lambda now: len(now.line) == 2)
        os.killpg(int(number.read_text()), signal.SIGKILL)
        running.play("D3")
        now = running.until(lambda now: len(now.line) == 4)
    assert now.shown.error is None
    assert said(log).count("list_commands") == 2


def test_a_program_that_cannot_be_started_is_told_of() -> None:
    at = GameSession(GameSettings(SIZE, SIZE, players=MIXED))
    worker = EngineWorker(at, "./no-such-program")
    worker.start()
    while (now := at.snapshot()).shown.error is None:
        assert at.wait_for_change(now.version, PATIENCE)
    at.close()
    worker.close()
    assert "cannot start './no-such-program'" in now.shown.error


def test_an_analysis_that_the_program_refuses_is_told_of() -> None:
    with closing(RunningSession("--refuse", "kata-analyze")) as running:
        running.session.command("switch", {"analysis": True})
        now = running.until(lambda now: now.shown.error is not None)
    assert now.shown.error == "The engine refuses to analyze: cannot"


def test_a_game_that_the_program_refuses_is_told_of() -> None:
    with closing(RunningSession("--refuse", "boardsize")) as running:
        running.play("C3")
        assert "refuses its board" in str(running.until(lambda now: now.shown.error is not None).shown.error)


def test_a_count_tells_dead_stones_and_whose_the_points_are() -> None:
    with closing(RunningSession("--command", "final_status_list", "--dead", "A5 E1")) as running:
        running.session.command("configure", {"white": "person"})
        for move in ("B5", "A5", "B4", "D5", "B3", "D4", "B2", "D3", "B1", "D2", "pass", "D1"):
            running.session.command("play", {"move": move})
        running.session.command("count", {})
        count = running.until(lambda now: now.shown.count is not None).shown.count
    assert count is not None
    # E1 is empty; A5 is a white stone in Black's territory.
    assert count.dead == (vertex("A5"),)
    assert count.score == "W+7.5"
    assert count.owners == (1.0, 0.0, 0.0, 0.0, -1.0) * SIZE


@pytest.mark.parametrize("seed", range(3))
def test_whatever_pages_ask_at_the_same_time_the_engine_still_plays_after_it(seed: int) -> None:
    generator = random.Random(seed)
    points = [f"{column}{row}" for column in "ABCDE" for row in range(1, 6)]
    choices: list[tuple[str, Callable[[], dict[str, Any]]]] = [
        ("play", lambda: {"move": generator.choice(points)}),
        ("switch", lambda: {generator.choice(["analysis", "territory"]): generator.random() < 0.7}),
        ("go", lambda: {"to": generator.randrange(6)}),
        ("configure", lambda: {generator.choice(["black", "white"]): generator.choice(["person", "engine"])}),
        *[(name, dict) for name in ("undo", "count", "resign", "new")],
    ]

    def ask_often() -> None:
        for _ in range(60):
            name, fields = generator.choice(choices)
            with suppress(GoError):
                running.session.command(name, fields())
            time.sleep(generator.random() * 0.02)

    with closing(RunningSession()) as running:
        pages = [threading.Thread(target=ask_often) for _ in range(3)]
        for page in pages:
            page.start()
        for page in pages:
            page.join()
        assert running.until(lambda now: True).shown.error is None
        running.session.command("new", {"black": "person", "white": "engine"})
        running.play("E5", "E4")
        now = running.until(lambda now: len(now.line) == 4)
    assert [move.vertex for move in now.line] == [vertex(name) for name in ("E5", "A1", "E4", "B1")]


@pytest.mark.parametrize("words", [[], ["--silent"]], ids=["talking", "silent"])
def test_a_game_is_reviewed_from_its_start_to_its_end(tmp_path: Path, words: list[str]) -> None:
    log = tmp_path / "log"
    with closing(RunningSession("--log", str(log), *words, review_seconds=0.1)) as running:
        running.session.command("configure", {"white": "person"})
        for move in ("C3", "D3", "pass", "pass"):
            running.session.command("play", {"move": move})
        running.until(lambda now: now.is_proposed)
        running.session.command("switch", {"review": True})
        now = running.until(lambda now: now.reviewed == 5)
    # The engine is always content with the side to move; a finished game is not analyzed.
    assert [each.winrate for each in now.estimates.values()] == pytest.approx([0.6, 0.4, 0.6, 0.4])
    assert now.shown.error is None
    assert sum(line.startswith("kata-analyze") for line in said(log)) == 4


def test_a_fault_of_keimas_own_is_told_and_the_engine_serves_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError("a fault")

    with closing(RunningSession()) as running, monkeypatch.context() as broken:
        broken.setattr("engine.apps.web.engine_worker.parse_analysis", fails)
        running.play("C3")
        now = running.until(lambda now: now.shown.error is not None)
        assert "ZeroDivisionError('a fault')" in str(now.shown.error)
        broken.undo()
        running.session.command("go", {"to": 1})
        running.until(lambda now: len(now.line) == 2)
