"""A process for times of rest runs to its end once, and never outside of a rest."""

import sys
import time
from pathlib import Path

from engine.support.idle_process import IdleProcess
from tests.waiting import wait_until


def writing(file: Path, then: str = "") -> list[str]:
    """Return a command that appends a line to a file."""
    return [sys.executable, "-S", "-c", f"import time; open({str(file)!r}, 'a').write('x\\n'); {then}"]


def test_a_command_runs_to_its_end_once(tmp_path: Path) -> None:
    idle, file = IdleProcess(0.0), tmp_path / "runs"
    done = tmp_path / "done"
    command = writing(file, f"open({str(done)!r}, 'w').close()")
    idle.begin(command)
    wait_until(done.exists)
    time.sleep(0.2)
    idle.end()
    idle.begin(command)
    time.sleep(0.2)
    idle.end()
    assert file.read_text() == "x\n"


def test_a_command_is_stopped_at_the_end_of_a_rest_and_tried_three_times(tmp_path: Path) -> None:
    idle, file = IdleProcess(0.0), tmp_path / "runs"
    for attempt in range(1, 6):
        idle.begin(writing(file, "time.sleep(60)"))
        if attempt <= 3:
            wait_until(lambda attempt=attempt: file.exists() and len(file.read_text()) == 2 * attempt)
        idle.end()
    assert file.read_text() == "x\n" * 3


def test_each_command_runs_once_whatever_became_of_the_others(tmp_path: Path) -> None:
    idle, files = IdleProcess(0.0), [tmp_path / "9x9", tmp_path / "19x19"]
    for file in (*files, *files):
        idle.begin(writing(file))
        wait_until(file.exists)
        time.sleep(0.2)
        idle.end()
    assert [file.read_text() for file in files] == ["x\n", "x\n"]


def test_nothing_runs_in_a_short_rest(tmp_path: Path) -> None:
    idle = IdleProcess(60.0)
    idle.begin(writing(tmp_path / "runs"))
    idle.end()
    idle.end()
    assert not (tmp_path / "runs").exists()


def test_a_command_that_is_not_there_is_no_failure() -> None:
    idle = IdleProcess(0.0)
    idle.begin(["no-such-program-anywhere"])
    time.sleep(0.1)
    idle.end()
