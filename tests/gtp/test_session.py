"""The session: threads, streams, how it ends, and how fast."""

import io
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from gtp.commands import HANDLERS
from gtp.session import Session, Writer, read_lines, serve, take_stdin
from gtp.state import GtpState, SessionConfig
from tests.conformity.driver import ROOT
from tests.gtp.fake_player import FakePlayer
from tests.gtp.talk import CONFIG, Pipe, converse, new_state
from tests.waiting import PATIENCE, wait_until

THINKING = SessionConfig(width=9, height=9, fallback_seconds=3000.0)


class Channel(io.BytesIO):
    """A sink whose content can be waited for."""

    def wait_for(self, data: bytes, timeout: float = 60.0) -> None:
        """Wait until exactly these bytes have been written."""
        with suppress(TimeoutError):
            wait_until(lambda: self.getvalue() == data, timeout)
        assert self.getvalue() == data


@contextmanager
def session(
    player: FakePlayer, config: SessionConfig | None = None
) -> Iterator[tuple[Pipe, Channel, threading.Thread]]:
    """Run a session in a thread and check that it ends."""
    pipe, sink = Pipe(), Channel()
    thread = threading.Thread(target=serve, args=(new_state(player, config or THINKING), pipe, sink))
    thread.start()
    yield pipe, sink, thread
    pipe.close()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def wait_until_thinking(player: FakePlayer, searches: int = 1) -> None:
    wait_until(lambda: len(player.limits) >= searches)
    assert len(player.limits) == searches


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", b""),
        (b"\n\n\r\n# hello\n", b""),
        (b"protocol_version", b"= 2\n\n"),
        (b"protocol_version\n1 protocol_version\n", b"= 2\n\n=1 2\n\n"),
        (b"quit\nname\n", b"= \n\n"),
        (b"5 quit", b"=5 \n\n"),
        (b"\xff\xfe\x80\n", b"? unknown command\n\n"),
        (b"3 \xe9t\xe9\r\n", b"?3 unknown command\n\n"),
        (b"\xef\xbb\xbfprotocol_version\r\n", b"= 2\n\n"),
        (b"x" * 100_000 + b"\nprotocol_version\n", b"? unknown command\n\n= 2\n\n"),
        (b"protocol_version " + b"y " * 100_000 + b"\n", b"= 2\n\n"),
        (b"# interrupt\nprotocol_version\n", b"= 2\n\n"),
        (b"protocol_version\x00\x1a\n\x04", b"= 2\n\n"),
    ],
)
def test_any_input_has_its_exact_output(data: bytes, expected: bytes) -> None:
    assert converse(data) == expected


def test_lines_are_put_together_from_pieces() -> None:
    pipe = Pipe()
    for piece in (b"na", b"me\nver", b"sion\n", b"\n", b"la", b"st"):
        pipe.send(piece)
    pipe.close()
    assert list(read_lines(pipe)) == [b"name", b"version", b"", b"last"]


def test_too_little_memory_is_an_error_reply_and_the_session_goes_on() -> None:
    def fail(*_: object) -> str:
        raise MemoryError

    state, sink = GtpState(CONFIG, fail, {**HANDLERS, "fail": fail}), io.BytesIO()  # type: ignore[arg-type]
    assert serve(state, io.BytesIO(b"1 fail\n2 genmove b\n3 protocol_version\n"), sink) == 0
    assert sink.getvalue() == b"?1 not enough memory\n\n?2 engine not available: not enough memory\n\n=3 2\n\n"


def test_a_failing_handler_is_answered_and_the_session_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    def fail(state: GtpState, command: object) -> str:
        raise ZeroDivisionError("one\n\ntwo")

    state = GtpState(CONFIG, lambda *_: FakePlayer(), {**HANDLERS, "fail": fail})
    sink = io.BytesIO()
    with caplog.at_level(logging.ERROR):
        assert serve(state, io.BytesIO(b"1 fail\n2 protocol_version\n"), sink) == 0
    assert sink.getvalue() == b"?1 internal error: ZeroDivisionError('one\\n\\ntwo')\n\n=2 2\n\n"
    assert "Traceback" in caplog.text


def test_a_player_that_cannot_be_made_fails_its_commands_only(caplog: pytest.LogCaptureFixture) -> None:
    def fail(width: int, height: int) -> FakePlayer:
        raise OSError("no network file")

    sink = io.BytesIO()
    serve(GtpState(CONFIG, fail, HANDLERS), io.BytesIO(b"genmove b\nplay b e5\nprotocol_version\n"), sink)
    assert sink.getvalue() == b"? engine not available: no network file\n\n= \n\n= 2\n\n"
    assert "no network file" in caplog.text


def test_quit_interrupts_a_search() -> None:
    player = FakePlayer(thinking=True)
    with session(player) as (pipe, sink, thread):
        pipe.send(b"1 genmove b\n")
        wait_until_thinking(player)
        pipe.send(b"2 quit\n")
        thread.join(PATIENCE)
        assert player.interrupted == [True]
        assert sink.getvalue() == b"=1 A9\n\n=2 \n\n"
    assert player.closed


def test_the_end_of_input_interrupts_a_search() -> None:
    player = FakePlayer(thinking=True)
    with session(player) as (pipe, sink, thread):
        pipe.send(b"genmove b\n")
        wait_until_thinking(player)
        pipe.close()
        thread.join(PATIENCE)
        assert player.interrupted == [True]
        assert sink.getvalue() == b"= A9\n\n"
    assert player.closed


def test_an_input_that_is_lost_has_ended() -> None:
    class Lost(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            chunk = super().read(size)
            if not chunk:
                raise OSError("input/output error")
            return chunk

    player, sink = FakePlayer(thinking=True), io.BytesIO()
    thread = threading.Thread(target=serve, args=(new_state(player, THINKING), Lost(b"lz-analyze\n"), sink))
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert sink.getvalue().endswith(b"\n\n")


@pytest.mark.skipif(sys.platform == "win32", reason="has no such pipes")
def test_stdin_waits_for_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    descriptor, other_end = os.pipe()
    os.set_blocking(descriptor, False)
    with os.fdopen(descriptor) as stdin, os.fdopen(other_end, "wb"):
        monkeypatch.setattr("sys.stdin", stdin)
        source = take_stdin()
        assert os.get_blocking(source.fileno())


def test_a_script_that_ends_in_one_burst_is_searched_to_its_end() -> None:
    player = FakePlayer(thinking=True)
    config = SessionConfig(width=9, height=9, seconds=0.2)
    assert converse(b"genmove b\ngenmove w\nquit\n", player, config) == b"= A9\n\n= B9\n\n= \n\n"
    assert player.interrupted == [False, False]


@pytest.mark.parametrize("last", [b"quit\n", b""])
def test_an_end_however_soon_after_the_command_interrupts_its_search(last: bytes) -> None:
    player = FakePlayer(thinking=True)
    with session(player) as (pipe, sink, thread):
        pipe.send(b"genmove b\n")
        wait_until_thinking(player)
        pipe.send(last)
        thread.join(PATIENCE)
        assert player.interrupted == [True]
        assert sink.getvalue().startswith(b"= A9\n\n")


def test_a_script_is_one_on_a_slow_machine_too() -> None:
    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            time.sleep(0.12)
            return super().read(12 if size else size)

    player, sink = FakePlayer(thinking=True), io.BytesIO()
    config = SessionConfig(width=9, height=9, seconds=0.2)
    assert serve(new_state(player, config), Slow(b"genmove b\ngenmove w\n"), sink) == 0
    assert sink.getvalue() == b"= A9\n\n= B9\n\n"
    assert player.interrupted == [False, False]


@pytest.mark.skipif(sys.platform == "win32", reason="cannot poll pipes")
@pytest.mark.parametrize("is_script", [True, False])
def test_a_pipe_that_was_closed_with_its_last_line_is_a_script(is_script: bool) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"genmove b\n")
    if is_script:
        os.close(writer)
    player, sink = FakePlayer(thinking=True), Channel()
    config = SessionConfig(width=9, height=9, seconds=0.3 if is_script else 3000.0)
    with io.FileIO(reader) as source:
        thread = threading.Thread(target=serve, args=(new_state(player, config), source, sink))
        thread.start()
        wait_until_thinking(player)
        if not is_script:
            os.close(writer)
        thread.join(PATIENCE)
    assert player.interrupted == [not is_script]


def test_searches_that_wait_behind_a_late_quit_are_hurried() -> None:
    player = FakePlayer(thinking=True)
    with session(player) as (pipe, sink, thread):
        pipe.send(b"genmove b\ngenmove w\ngenmove b\n")
        wait_until_thinking(player)
        pipe.send(b"quit\n")
        thread.join(PATIENCE)
        assert sink.getvalue() == b"= A9\n\n= B9\n\n= C9\n\n= \n\n"
        assert player.limits[-1].visits == 1


def test_an_interrupt_ends_the_search_and_nothing_else() -> None:
    player = FakePlayer(thinking=True)
    with session(player) as (pipe, sink, _):
        pipe.send(b"genmove b\n")
        wait_until_thinking(player)
        pipe.send(b"# interrupt\n")
        sink.wait_for(b"= A9\n\n")
        pipe.send(b"protocol_version\n")
        sink.wait_for(b"= A9\n\n= 2\n\n")


def test_an_interrupt_is_not_lost_before_the_search_begins() -> None:
    player = FakePlayer(thinking=True)
    state = GtpState(THINKING, lambda *_: time.sleep(0.5) or player, HANDLERS)
    pipe, sink = Pipe(), Channel()
    thread = threading.Thread(target=serve, args=(state, pipe, sink))
    thread.start()
    pipe.send(b"genmove b\ngenmove w\n# interrupt\ngenmove b\n")
    sink.wait_for(b"= A9\n\n= B9\n\n")
    time.sleep(0.3)
    assert len(sink.getvalue()) == len(b"= A9\n\n= B9\n\n")
    pipe.close()
    thread.join(PATIENCE)
    assert sink.getvalue() == b"= A9\n\n= B9\n\n= C9\n\n"


def test_a_player_is_made_for_the_board_that_the_controller_asks_for() -> None:
    sizes: list[tuple[int, int]] = []

    def make_player(width: int, height: int) -> FakePlayer:
        sizes.append((width, height))
        return FakePlayer()

    serve(GtpState(CONFIG, make_player, HANDLERS), io.BytesIO(b"rectangular_boardsize 7 5\ngenmove b\n"), io.BytesIO())
    assert sizes == [(7, 5)]


class Rests:
    """Stands for `IdleProcess`: notes when rests begin and end."""

    def __init__(self) -> None:
        self.commands: list[list[str]] = []
        self.ends = 0

    def begin(self, command: list[str]) -> None:
        """Note a command."""
        self.commands.append(command)

    def end(self) -> None:
        """Note the end."""
        self.ends += 1


def test_the_idle_command_runs_from_an_own_move_to_the_next_command(monkeypatch: pytest.MonkeyPatch) -> None:
    rests = Rests()
    monkeypatch.setattr("gtp.session.IdleProcess", lambda seconds: rests)
    config = replace(CONFIG, idle_command=lambda width, height: ["measure", f"{width}x{height}"])
    pipe, sink = Pipe(), io.BytesIO()
    thread = threading.Thread(target=serve, args=(new_state(config=config), pipe, sink))
    thread.start()
    pipe.send(b"name\n")
    wait_until(lambda: sink.getvalue().count(b"\n\n") == 1)
    assert rests.commands == []
    pipe.send(b"genmove b\n")
    wait_until(lambda: rests.commands == [["measure", "9x9"]])
    assert rests.ends == 0
    pipe.send(b"play w a1\n")
    wait_until(lambda: rests.ends == 1)
    pipe.send(b"quit\n")
    thread.join()
    assert len(rests.commands) == rests.ends


def test_a_session_that_ponders_has_no_idle_command(monkeypatch: pytest.MonkeyPatch) -> None:
    rests = Rests()
    monkeypatch.setattr("gtp.session.IdleProcess", lambda seconds: rests)
    config = replace(CONFIG, ponder=True, idle_command=lambda width, height: ["measure"])
    assert converse(b"genmove b\nname\nquit\n", config=config)
    assert rests.commands == []


def test_commands_wait_for_a_search() -> None:
    player = FakePlayer(thinking=True)
    with session(player) as (pipe, sink, _):
        pipe.send(b"genmove b\n")
        wait_until_thinking(player)
        pipe.send(b"protocol_version\n\n")
        time.sleep(0.2)
        assert sink.getvalue() == b""
        pipe.send(b"# interrupt\n")
        sink.wait_for(b"= A9\n\n= 2\n\n")


def test_a_closed_output_ends_the_session() -> None:
    class Broken(io.BytesIO):
        def write(self, data: object, /) -> int:
            raise BrokenPipeError

    player = FakePlayer()
    pipe = Pipe()
    pipe.send(b"name\n")
    assert serve(new_state(player), pipe, Broken()) == 0
    pipe.close()


def test_a_sink_may_take_little_at_a_time() -> None:
    class Slow(io.BytesIO):
        def write(self, data: object, /) -> int:
            assert isinstance(data, bytes)
            return super().write(data[:3])

    sink = Slow()
    Writer(sink).write("= a longer reply\n\n")
    assert sink.getvalue() == b"= a longer reply\n\n"


def test_a_hanging_command_cannot_hold_the_process() -> None:
    release = threading.Event()

    def hang(state: GtpState, command: object) -> str:
        release.wait(20)
        return ""

    pipe, sink, stuck = Pipe(), Channel(), threading.Event()
    state = GtpState(CONFIG, lambda *_: FakePlayer(), {**HANDLERS, "hang": hang})
    thread = threading.Thread(target=Session(state, pipe, sink, stuck.set).run)
    thread.start()
    pipe.send(b"1 hang\n2 name\n")
    pipe.send(b"3 quit\n")
    assert stuck.wait(3)
    assert sink.getvalue() == b"?1 interrupted\n\n?2 interrupted\n\n=3 \n\n"
    release.set()
    thread.join(5)
    assert not thread.is_alive()


HANDSHAKE = "name\nversion\nprotocol_version\nlist_commands\nknown_command play\nkomi 6.5\nboardsize 9\nclear_board\n"


def test_the_handshake_imports_nothing_heavy() -> None:
    script = (
        "import io, sys\n"
        "from gtp.commands import HANDLERS\n"
        "from gtp.session import answer\n"
        "from gtp.protocol import parse_command\n"
        "from gtp.state import GtpState, SessionConfig\n"
        "state, replies = GtpState(SessionConfig(), lambda *_: None, HANDLERS), []\n"
        f"for line in {HANDSHAKE!r}.splitlines():\n"
        "    answer(state, parse_command(line), replies.append)\n"
        "    assert replies.pop()[0] == '=', line\n"
        "print(sorted({'numpy', 'numba', 'torch', 'openvino', 'sgfmill', 'engine.game'} & set(sys.modules)))\n"
    )
    result = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_a_status_that_an_interrupt_cut_short_is_judged_anew() -> None:
    class Hurried(FakePlayer):
        """Judges until it is stopped, once."""

        def dead_stones(self, game, limits=None):  # type: ignore[no-untyped-def]
            """Wait for the interrupt."""
            if not self.judged:
                self._stop.wait(20)
            return super().dead_stones(game)

    player, pipe, sink = Hurried(), Pipe(), io.BytesIO()
    thread = threading.Thread(target=serve, args=(new_state(player), pipe, sink))
    thread.start()
    pipe.send(b"play b a1\nplay w a2\nfinal_status_list dead\n# interrupt\n")
    wait_until(lambda: sink.getvalue().count(b"\n\n") == 3)
    pipe.send(b"final_status_list dead\nfinal_status_list seki\nquit\n")
    thread.join()
    assert player.judged == 2
