"""A review gives every position an estimate, and searches again what it searched for less."""

from contextlib import closing
from pathlib import Path

import pytest

from engine.apps.web.snapshot import Kind
from engine.programs.answers import AnalysisAnswer
from tests.apps.web.sessions import PEOPLE, answer, moves, session, snapshot, task, wanted
from tests.apps.web.test_engine_worker import RunningSession, said

SHORT = 0.02
"""Seconds a position: less than a slow program needs for its first line."""


@pytest.mark.parametrize("command", ["kata-analyze", "lz-analyze"])
def test_every_position_has_an_estimate_however_short_the_review_is_and_slow_the_program(command: str) -> None:
    with closing(RunningSession("--command", command, "--delay", "0.3", review_seconds=SHORT)) as running:
        running.session.command("configure", {"white": "person"})
        moves(running.session, "C3", "D3")
        running.session.command("switch", {"review": True})
        now = running.until(lambda now: now.reviewed == 3)
    assert sorted(now.estimates) == [0, 1, 2]
    assert now.shown.error is None


def test_a_program_writes_lines_within_the_seconds_of_a_position(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with closing(RunningSession("--log", str(log), review_seconds=0.1)) as running:
        running.session.command("switch", {"review": True})
        running.until(lambda now: now.reviewed == 1)
        running.session.command("configure", {"review_seconds": 2})
        running.until(lambda now: now.busy is Kind.REVIEW)
        running.session.command("switch", {"review": False, "analysis": True})
        running.until(lambda now: now.busy is Kind.ANALYSIS and now.shown.answer is not None)
    intervals = [line.split()[2] for line in said(log) if line.startswith("kata-analyze")]
    assert intervals == ["2", "20", "20"]


def test_a_position_that_the_program_does_not_estimate_is_not_reviewed_and_the_others_are(tmp_path: Path) -> None:
    log = tmp_path / "log"
    options = ("--mute", "1", "--log", str(log))
    with closing(RunningSession(*options, silent_seconds=0.1, review_seconds=SHORT)) as running:
        running.session.command("configure", {"white": "person"})
        moves(running.session, "C3", "D3")
        running.session.command("switch", {"review": True})
        now = running.until(lambda now: now.reviewed == 2 and now.busy is None)
        assert sorted(now.estimates) == [0, 2]
        assert now.shown.error == "Analyst gave no estimate of a position, which is skipped."
        for is_on in (False, True):
            running.session.command("switch", {"review": is_on})
        running.until(lambda now: now.busy is Kind.REVIEW)
        running.until(lambda now: now.busy is None)
    assert sum(line.startswith("kata-analyze") for line in said(log)) == 4


def test_more_seconds_a_position_review_again_what_was_searched_for_less() -> None:
    at = session(PEOPLE, review_seconds=0.5)
    moves(at, "C3")
    at.command("switch", {"review": True})
    for _ in range(2):
        asked = task(at)
        at.analysis_received(asked, answer())
        at.task_finished(asked)
    assert (snapshot(at).reviewed, wanted(at)) == (2, None)
    at.command("configure", {"review_seconds": 0.2})
    assert (snapshot(at).reviewed, wanted(at)) == (2, None)
    at.command("switch", {"review": False})
    at.command("configure", {"review_seconds": 0.8})
    at.command("switch", {"review": True})
    assert snapshot(at).reviewed == 0
    asked = task(at)
    assert (asked.kind, asked.number, asked.seconds) == (Kind.REVIEW, 0, 0.8)


def test_an_analysis_without_a_winrate_reviews_nothing_and_the_next_review_asks_again() -> None:
    at = session(PEOPLE)
    at.command("switch", {"review": True})
    asked = task(at)
    at.analysis_received(asked, AnalysisAnswer(()))
    at.task_finished(asked)
    assert (snapshot(at).reviewed, snapshot(at).estimates, wanted(at)) == (0, {}, None)
    at.command("configure", {"review_seconds": 2})
    assert wanted(at) is Kind.REVIEW
