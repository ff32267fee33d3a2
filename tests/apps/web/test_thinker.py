"""A GTP program plays, analyses and counts for a table, is interrupted, and is started again after a failure."""

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

from engine.apps.web.facts import Count, Facts, Kind
from engine.apps.web.settings import GameSettings, Sitting
from engine.apps.web.table import Table
from engine.apps.web.thinker import Thinker
from engine.color import BLACK, WHITE
from engine.errors import GoError
from engine.vertex import parse_vertex
from tests.programs.analyst import analyst

MIXED = {BLACK: Sitting.PERSON, WHITE: Sitting.ENGINE}
SIZE = 5
PATIENCE = 20.0


class Seated:
    """A table with a program at it."""

    def __init__(self, *options: str, seconds: float | None = None) -> None:
        self.table = Table(GameSettings(SIZE, SIZE, sittings=MIXED, seconds=seconds))
        self.table.enter()
        self.thinker = Thinker(self.table, analyst(*options))
        self.thinker.start()

    def play(self, *names: str) -> None:
        """Play moves, each after the engine's answer."""
        for name in names:
            self.until(lambda now: now.busy is not Kind.MOVE and len(now.line) % 2 == 0)
            self.table.command("play", {"move": name})

    def until(self, holds: Callable[[Facts], bool]) -> Facts:
        """Wait until something holds of the table."""
        deadline, version = time.monotonic() + PATIENCE, -1
        while time.monotonic() < deadline:
            if self.table.wait_for_change(version, 0.2):
                now = self.table.facts()
                version = now.version
                if holds(now):
                    return now
        raise AssertionError(f"not within {PATIENCE} s: {self.table.facts()}")

    def close(self) -> None:
        """End the program."""
        self.table.close()
        self.thinker.close()


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
    with closing(Seated("--command", commands, "--log", str(log))) as seated:
        seated.play("C3", "D3")
        now = seated.until(lambda now: len(now.line) == 4)
    assert [move.vertex for move in now.line] == [vertex(name) for name in ("C3", "A1", "D3", "B1")]
    assert now.engine == "Analyst"
    assert said(log).count("clear_board") == 1
    asked = [line.split()[0] for line in said(log) if "genmove" in line or "search" in line]
    assert asked == [next((word for word in commands.split() if not word.endswith("-analyze")), "genmove")] * 2


def test_a_search_that_nobody_waits_for_is_cancelled(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = "kata-search_analyze_cancellable"
    with closing(Seated("--command", command, "--lines", "1000", "--log", str(log))) as seated:
        for move in ("C3", "D3"):
            seated.table.command("play", {"move": move})
            seated.until(lambda now: now.shown.answer is not None)
            seated.table.command("undo", {})
        now = seated.until(lambda now: now.busy is None)
    assert (now.line, now.shown.error) == ((), None)
    assert sum(line.startswith(command) for line in said(log)) == 2


def test_what_a_program_thinks_of_its_move_is_kept() -> None:
    with closing(Seated()) as seated:
        seated.play("C3")
        now = seated.until(lambda now: len(now.line) == 2)
    assert now.estimates[1].winrate == pytest.approx(0.4)
    assert now.estimates[1].lead == -1.5


def test_an_analysis_is_shown_until_a_move_interrupts_it() -> None:
    with closing(Seated()) as seated:
        seated.table.command("switch", {"analysis": True})
        seated.until(lambda now: now.shown.answer is not None and now.shown.answer.candidates[0].visits > 3)
        seated.table.command("play", {"move": "C3"})
        now = seated.until(
            lambda now: len(now.line) == 2 and now.busy is Kind.ANALYSIS and now.shown.answer is not None
        )
        assert now.shown.error is None
        seated.table.command("switch", {"analysis": False})
        seated.until(lambda now: now.busy is None)


def test_a_program_that_does_not_analyse_says_so() -> None:
    with closing(Seated("--command", "name")) as seated:
        seated.table.command("switch", {"analysis": True})
        now = seated.until(lambda now: now.shown.error is not None)
    assert "neither kata-analyze nor lz-analyze" in str(now.shown.error)


def test_a_game_that_was_taken_back_while_the_program_thought_is_told_anew(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with closing(Seated("--log", str(log))) as seated:
        seated.play("C3")
        seated.until(lambda now: len(now.line) == 2)
        seated.table.command("undo", {})
        seated.play("E5")
        now = seated.until(lambda now: len(now.line) == 2)
    assert [move.vertex for move in now.line] == [vertex("E5"), vertex("A1")]
    assert said(log).count("clear_board") == 2


def test_a_program_resigns() -> None:
    with closing(Seated("--resign-at", "1")) as seated:
        seated.play("C3")
        assert seated.until(lambda now: now.result is not None).result == "B+R"


def test_a_finished_game_is_counted_by_the_program_and_one_in_play_by_keima() -> None:
    with closing(Seated("--resign-at", "1000")) as seated:
        seated.table.command("count", {})
        assert seated.until(lambda now: now.shown.count is not None).shown.count == Count(
            "W+7.5", (), (0.0,) * SIZE * SIZE
        )
        seated.table.command("sit", {"white": "person"})
        for _ in range(2):
            seated.table.command("play", {"move": "pass"})
        assert seated.until(lambda now: now.result is not None).result == "B+2.5"


def test_seconds_are_told_as_a_clock(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with closing(Seated("--log", str(log), "--command", "time_settings", seconds=2.5)) as seated:
        seated.play("C3")
        seated.until(lambda now: len(now.line) == 2)
        seated.table.command("sit", {"seconds": ""})
        seated.play("D3")
        seated.until(lambda now: len(now.line) == 4)
    assert [line for line in said(log) if "time_settings" in line] == ["time_settings 0 2.5 1", "time_settings 0 1 0"]


def test_a_level_is_told_to_a_program_that_has_levels(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with closing(Seated("--log", str(log), "--command", "level")) as seated:
        assert seated.until(lambda now: now.engine != "engine").has_levels
        seated.play("C3")
        seated.until(lambda now: len(now.line) == 2)
        seated.table.command("sit", {"level": "4"})
        seated.play("D3")
        assert seated.until(lambda now: len(now.line) == 4).settings.level == 4
    assert [line for line in said(log) if "level" in line] == ["level 4"]


def test_a_program_without_levels_is_told_none(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with closing(Seated("--log", str(log))) as seated:
        seated.table.command("sit", {"level": 4})
        seated.play("C3")
        assert not seated.until(lambda now: len(now.line) == 2).has_levels
    assert not [line for line in said(log) if "level" in line]


def test_a_program_that_crashes_is_told_of_and_started_again_when_it_is_wanted() -> None:
    with closing(Seated("--crash")) as seated:
        seated.play("C3")
        for _ in range(2):
            now = seated.until(lambda now: now.shown.error is not None)
            assert "out of ideas" in str(now.shown.error)
            seated.table.command("go", {"to": 1})
        seated.table.command("sit", {"white": "person"})
        assert seated.until(lambda now: now.busy is None).shown.error is None


def test_a_program_that_ended_while_nobody_asked_is_started_again(tmp_path: Path) -> None:
    log, number = tmp_path / "log", tmp_path / "pid"
    with closing(Seated("--log", str(log), "--pid", str(number))) as seated:
        seated.play("C3")
        seated.until(lambda now: len(now.line) == 2)
        os.killpg(int(number.read_text()), signal.SIGKILL)
        seated.play("D3")
        now = seated.until(lambda now: len(now.line) == 4)
    assert now.shown.error is None
    assert said(log).count("list_commands") == 2


def test_a_program_that_cannot_be_started_is_told_of() -> None:
    at = Table(GameSettings(SIZE, SIZE, sittings=MIXED))
    thinker = Thinker(at, "./no-such-program")
    thinker.start()
    while (now := at.facts()).shown.error is None:
        assert at.wait_for_change(now.version, PATIENCE)
    at.close()
    thinker.close()
    assert "cannot start './no-such-program'" in now.shown.error


def test_a_game_that_the_program_refuses_is_told_of() -> None:
    with closing(Seated("--refuse", "boardsize")) as seated:
        seated.play("C3")
        assert "refuses its board" in str(seated.until(lambda now: now.shown.error is not None).shown.error)


def test_a_count_tells_dead_stones_and_whose_the_points_are() -> None:
    with closing(Seated("--command", "final_status_list", "--dead", "A5 E1")) as seated:
        seated.table.command("sit", {"white": "person"})
        for move in ("B5", "A5", "B4", "D5", "B3", "D4", "B2", "D3", "B1", "D2", "pass", "D1"):
            seated.table.command("play", {"move": move})
        seated.table.command("count", {})
        count = seated.until(lambda now: now.shown.count is not None).shown.count
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
        ("sit", lambda: {generator.choice(["black", "white"]): generator.choice(["person", "engine"])}),
        *[(name, dict) for name in ("undo", "count", "resign", "new")],
    ]

    def ask_often() -> None:
        for _ in range(60):
            name, fields = generator.choice(choices)
            with suppress(GoError):
                seated.table.command(name, fields())
            time.sleep(generator.random() * 0.02)

    with closing(Seated()) as seated:
        pages = [threading.Thread(target=ask_often) for _ in range(3)]
        for page in pages:
            page.start()
        for page in pages:
            page.join()
        assert seated.until(lambda now: True).shown.error is None
        seated.table.command("new", {"black": "person", "white": "engine"})
        seated.play("E5", "E4")
        now = seated.until(lambda now: len(now.line) == 4)
    assert [move.vertex for move in now.line] == [vertex(name) for name in ("E5", "A1", "E4", "B1")]


def test_a_game_is_reviewed_from_its_start_to_its_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with closing(Seated("--log", str(log), seconds=0.1)) as seated:
        seated.table.command("sit", {"white": "person"})
        for move in ("C3", "D3", "pass", "pass"):
            seated.table.command("play", {"move": move})
        seated.until(lambda now: now.result is not None)
        seated.table.command("switch", {"review": True})
        now = seated.until(lambda now: now.reviewed == 5)
    # The engine is always content with the side to move; a finished game is not analysed.
    assert [each.winrate for each in now.estimates.values()] == pytest.approx([0.6, 0.4, 0.6, 0.4])
    assert now.shown.error is None
    assert sum(line.startswith("kata-analyze") for line in said(log)) == 4


def test_a_fault_of_keimas_own_is_told_and_the_engine_serves_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError("a fault")

    with closing(Seated()) as seated, monkeypatch.context() as broken:
        broken.setattr("engine.apps.web.thinker.parse_analysis", fails)
        seated.play("C3")
        now = seated.until(lambda now: now.shown.error is not None)
        assert "ZeroDivisionError('a fault')" in str(now.shown.error)
        broken.undo()
        seated.table.command("go", {"to": 1})
        seated.until(lambda now: len(now.line) == 2)
