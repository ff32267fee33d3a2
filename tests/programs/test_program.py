"""A child process is asked, answers or fails by name, and never outlives or blocks its parent."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.programs.program import READ_AHEAD, Program, ProgramFailure, Reply, Trouble, printable
from engine.support.command_line import joined, startable
from tests.match.players import fake
from tests.programs.analyst import analyst
from tests.waiting import wait_until

_PIPE_BYTES = 1 << 16
"""What Linux's pipes hold; other systems' hold no more."""


@pytest.fixture
def started() -> Iterator[list[Program]]:
    """Collect programs that the test starts, and kill them after it."""
    programs: list[Program] = []
    yield programs
    for program in programs:
        program.kill()


def is_alive(program: Program) -> bool:
    """Return whether the program's process group still has a process."""
    try:
        os.killpg(program.pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_replies_are_read_with_their_status_and_lines(started: list[Program]) -> None:
    program = Program(fake("C3", name="Two words"))
    started.append(program)
    assert program.ask("name", 10) == Reply(True, "Two words")
    assert program.ask("nonsense", 10) == Reply(False, "unknown command")
    assert program.ask("list_commands", 10).text.splitlines()[:2] == ["protocol_version", "name"]
    assert program.ask("komi 7", 10) == Reply(True, "")


@pytest.mark.parametrize(
    ("word", "trouble", "text"),
    [
        ("!crash", Trouble.CRASH, "exit status 3.*out of luck"),
        ("!silent", Trouble.HANG, "no answer in time to 'genmove black'"),
        ("!hang", Trouble.HANG, "no answer"),
        ("!partial", Trouble.HANG, "did not end it"),
        ("!garbage", Trouble.GARBAGE, "answered 'genmove black' with 'Segmentation thoughts'"),
        ("!flood", Trouble.GARBAGE, "over 5000 lines"),
    ],
)
def test_every_failure_has_its_name(started: list[Program], word: str, trouble: Trouble, text: str) -> None:
    program = Program(fake(word))
    started.append(program)
    program.ask("clear_board", 10)
    with pytest.raises(ProgramFailure, match=f"(?s){text}") as failure:
        program.ask("genmove black", 10 if trouble is not Trouble.HANG else 0.5)
    assert failure.value.trouble is trouble
    program.kill()
    assert not is_alive(program)


def test_text_that_nobody_asked_for_is_garbage(started: list[Program]) -> None:
    program = Program(fake("!noise:C3"))
    started.append(program)
    program.ask("clear_board", 10)
    assert program.ask("genmove black", 10).text == "C3"
    time.sleep(0.3)
    with pytest.raises(ProgramFailure, match="by the way") as failure:
        program.ask("name", 10)
    assert failure.value.trouble is Trouble.GARBAGE


def test_what_is_read_ahead_is_bounded_in_bytes_however_long_its_lines(started: list[Program], tmp_path: Path) -> None:
    written, line = tmp_path / "one byte for each line", 60_000
    written.touch()
    child = (
        "import sys\n"
        "with open(sys.argv[1], 'ab', buffering=0) as written:\n"
        f"    while print('x' * {line}, flush=True) is None: written.write(b'.')"
    )
    started.append(Program(joined([sys.executable, "-c", child, str(written)])))
    wait_until(lambda: written.stat().st_size * line >= READ_AHEAD)
    time.sleep(0.3)
    # What the pipe itself holds, and the line that waits for room, come on top.
    assert written.stat().st_size * line < 1.1 * READ_AHEAD + 2 * line + _PIPE_BYTES


def test_a_reply_is_bounded_in_characters(started: list[Program], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.programs.program.MAX_REPLY", 20)
    program = Program(fake(name="x" * 30))
    started.append(program)
    with pytest.raises(ProgramFailure, match="answered 'name' with over 5000 lines or 20 characters"):
        program.ask("name", 10)


@pytest.mark.parametrize(
    ("text", "line"),
    [("plain", "plain"), ("two\nlines", r"two\nlines"), ("\x1b[31mred", r"\x1b[31mred"), ("\n" * 300, r"\n" * 100)],
)
def test_what_a_program_wrote_prints_as_one_short_line(text: str, line: str) -> None:
    assert printable(text) == line == printable(line)


@pytest.mark.parametrize(
    ("system", "command", "start"),
    [
        ("posix", "a 'b c' d\\ e", ["a", "b c", "d e"]),
        ("nt", r".venv\Scripts\keima.exe gtp", r".venv\Scripts\keima.exe gtp"),
    ],
)
def test_windows_starts_a_command_as_it_is_written(system: str, command: str, start: str | list[str]) -> None:
    assert startable(command, system) == start


@pytest.mark.parametrize(
    ("system", "line"), [("posix", r"'C:\a b\keima.exe' 'x\y'"), ("nt", r'"C:\a b\keima.exe" x\y')]
)
def test_words_are_joined_as_the_system_splits_them(system: str, line: str) -> None:
    assert joined([r"C:\a b\keima.exe", r"x\y"], system) == line


@pytest.mark.parametrize("command", ["/no/such/program --gtp", "", "'unbalanced"])
def test_a_command_that_cannot_start_is_a_crash(command: str) -> None:
    with pytest.raises(ProgramFailure, match="cannot start") as failure:
        Program(command)
    assert failure.value.trouble is Trouble.CRASH


def test_closing_ends_the_program_and_what_it_started() -> None:
    program = Program(joined(["sh", "-c", f"sleep 3000 & {fake()}"]))
    assert program.ask("name", 10).ok
    program.close(seconds=1.0)
    wait_until(lambda: not is_alive(program))  # the orphan is killed at once, but reaped by init


def test_an_exit_is_noticed_while_a_child_holds_the_output(started: list[Program]) -> None:
    program = Program("sh -c 'sleep 3000 & exit 7'")
    started.append(program)
    with pytest.raises(ProgramFailure, match="exit status 7") as failure:
        program.ask("name", 600)
    assert failure.value.trouble is Trouble.CRASH


def test_killing_wakes_a_waiting_ask(started: list[Program]) -> None:
    program = Program(fake("!hang"))
    started.append(program)
    program.ask("clear_board", 10)
    killer = threading.Timer(0.3, program.kill)
    killer.start()
    with pytest.raises(ProgramFailure, match="crash"):
        program.ask("genmove black", 600)
    killer.join()


def test_an_analysis_is_reported_line_by_line_until_it_is_interrupted(started: list[Program]) -> None:
    program = Program(analyst())
    started.append(program)
    lines: list[str] = []

    def reported(line: str) -> None:
        lines.append(line)
        if len(lines) == 5:
            program.interrupt(10)

    assert program.watch("kata-analyze", reported).ok
    assert len(lines) >= 5
    assert lines[0] == ""
    assert all(line.startswith("info move A1 visits") for line in lines[1:])
    assert program.ask("name", 10) == Reply(True, "Analyst")


def test_another_thread_may_interrupt_an_analysis(started: list[Program]) -> None:
    program = Program(analyst())
    started.append(program)
    threading.Timer(0.2, program.interrupt, (10,)).start()
    assert program.watch("kata-analyze", lambda line: None).ok


def test_an_analysis_that_ends_by_itself_needs_no_interruption(started: list[Program]) -> None:
    program = Program(analyst())
    started.append(program)
    lines: list[str] = []
    program.watch("kata-genmove_analyze b", lines.append, 10)
    program.interrupt(10)
    assert lines[-1] == "play A1"
    assert program.watch("no-such-command", lines.append) == Reply(False, "cannot")
    assert program.ask("name", 10).ok


def test_an_analysis_that_does_not_hear_the_interruption_hangs(started: list[Program]) -> None:
    program = Program(analyst("--deaf"))
    started.append(program)
    with pytest.raises(ProgramFailure, match="did not end it in time to 'kata-analyze'") as failure:
        program.watch("kata-analyze", lambda line: program.interrupt(0.3))
    assert failure.value.trouble is Trouble.HANG
