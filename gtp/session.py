"""The GTP session: a thread that reads, a loop that answers, one writer. Knows no single command but `quit`.

stdout belongs to the writer alone: `run` points everything else that a library may print at stderr.
"""

import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import FileIO, TextIOWrapper
from typing import Protocol, TypeVar

from engine.support.stopping import INTERRUPTED
from gtp import protocol
from gtp.commands import HANDLERS, UNLISTED
from gtp.errors import GtpError, GtpQuit
from gtp.interrupts import Signal
from gtp.player_loader import PlayerFactory
from gtp.protocol import Command
from gtp.state import Emit, GtpState, SessionConfig, Stream
from gtp.stderr import write_lines

__all__ = ["SessionConfig", "run", "serve"]

_CHUNK = 1 << 16
_BURST_SECONDS = 0.1
"""Input that ends within this time of the command before it is a script: its searches run to their end.
A controller that leaves later has changed its mind: searches are cut short."""
_CANCEL_INTERVAL = 0.05
_READY = "GTP ready, beginning main protocol loop"
"""Said on stderr, in KataGo's words: LizGoban sends nothing before it has seen them."""
_PATIENCE = 1.5
"""Seconds that a command in progress has to end once the controller has left."""

Reply = TypeVar("Reply")

log = logging.getLogger(__name__)


class ByteSource(Protocol):
    """A binary stream that returns what there is, b"" at the end."""

    def read(self, size: int, /) -> bytes | None:
        """Return up to `size` bytes, waiting for the first."""


class ByteSink(Protocol):
    """A binary stream; a raw one may take less than it is given."""

    def write(self, data: bytes, /) -> int | None:
        """Write and return how many bytes were taken."""

    def flush(self) -> None:
        """Send what is buffered."""


class Disconnected(Exception):
    """Nobody reads the replies any more."""


class Writer:
    """The only writer to the controller: whole texts under one lock, flushed.

    is_amid_reply: the last text was a line of a reply that goes on.
    """

    def __init__(self, sink: ByteSink) -> None:
        self._sink = sink
        self._lock = threading.Lock()
        self.is_amid_reply = False

    def write(self, text: str) -> None:
        """Send a text that ends a line. Raises Disconnected."""
        data = protocol.encode(text)
        try:
            with self._lock:
                while data:
                    data = data[self._sink.write(data) or 0 :]
                self._sink.flush()
                self.is_amid_reply = not text.endswith("\n\n") and text != "\n"
        except (OSError, ValueError) as error:
            raise Disconnected(str(error)) from None


def read_lines(source: ByteSource) -> Iterator[bytes]:
    """Yield the lines of a stream as they arrive, the last one also without a newline."""
    parts: list[bytes] = []
    while chunk := _read_chunk(source):
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            yield b"".join([*parts, line])
            parts.clear()
        parts.append(rest)
    if any(parts):
        yield b"".join(parts)


def _read_chunk(source: ByteSource) -> bytes | None:
    try:
        return source.read(_CHUNK)
    except OSError as error:  # a terminal that has gone
        log.info("input lost: %s", error)
        return None


class Session:
    """One conversation on one pair of streams.

    on_stuck: called if the command in progress does not end after the controller has left.
    """

    def __init__(
        self, state: GtpState, source: ByteSource, sink: ByteSink, on_stuck: Callable[[], None] | None = None
    ) -> None:
        self._state = state
        self._source = source
        self._writer = Writer(sink)
        self._on_stuck = on_stuck
        self._commands: queue.SimpleQueue[Command | None] = queue.SimpleQueue()
        self._current: Command | None = None
        self._line = 0
        self._ended = threading.Event()

    def run(self) -> int:
        """Answer commands until `quit`, the end of input, or a closed output; return the exit code."""
        self._state.interrupts.start()
        threading.Thread(target=self._read, name="gtp-reader", daemon=True).start()
        self._state.player_loader.start_loading()
        try:
            while (command := self._next_command()) is not None:
                self._current, self._line = command, command.line
                with self._state.interrupts.searching(command.line, Signal.INTERRUPT):
                    answer(self._state, command, self._writer.write)
                self._current = None
                if command.name == "quit":
                    break
        except Disconnected as error:
            log.info("output closed: %s", error)
        finally:
            self._ended.set()
            self._state.player_loader.cancel()
            self._state.interrupts.close()
            self._state.player_loader.close()
        return 0

    def _next_command(self) -> Command | None:
        """Return the next command, or None at the end; think in the opponent's time until there is one."""
        if self._state.may_ponder and self._commands.empty():
            ponder(self._state, self._line)
        return self._commands.get()

    def _read(self) -> None:
        """Queue commands until `quit` or the end of input; then see to it that the session ends soon."""
        try:
            quiet_seconds = self._queue_commands()
        finally:
            self._state.interrupts.receive()
            self._commands.put(None)
        self._leave(quiet_seconds)

    def _queue_commands(self) -> float:
        """Queue commands until `quit` or the end of input; return the seconds since the command before that."""
        arrived = 0.0
        for raw in read_lines(self._source):
            line = protocol.decode(raw)
            command = protocol.parse_command(line)
            number = self._state.interrupts.receive(_signal(line, command))
            if command is None:
                continue
            previous, arrived = arrived, time.monotonic()
            self._commands.put(command._replace(line=number))
            if command.name == "quit":
                return time.monotonic() - previous
        return time.monotonic() - arrived

    def _leave(self, quiet_seconds: float) -> None:
        """Cut searches short until the session has ended, unless the whole input came as one script."""
        if quiet_seconds < _BURST_SECONDS:
            return
        started = time.monotonic()
        while not self._ended.wait(_CANCEL_INTERVAL):
            self._state.player_loader.cancel()
            if self._on_stuck is not None and time.monotonic() - started > _PATIENCE:
                self._abandon()
                self._on_stuck()
                return

    def _abandon(self) -> None:
        """Answer what is still unanswered, in place of the loop, which hangs in a command."""
        command = self._current
        with suppress(Disconnected, queue.Empty):
            if command is not None and self._writer.is_amid_reply:
                self._writer.write(protocol.format_stream_end(""))
                command = self._commands.get_nowait()
            while command is not None:
                gone = command.name == "quit"
                text = "" if gone else "interrupted"
                self._writer.write(protocol.format_reply(command.id, text, ok=gone))
                command = self._commands.get_nowait()
        self._commands.put(None)


def _signal(line: str, command: Command | None) -> Signal:
    """Return what a line of input asks running searches for."""
    if protocol.is_interrupt(line):
        return Signal.INTERRUPT
    return Signal.STOP if command is not None and command.name == "stop" else Signal.LINE


def answer(state: GtpState, command: Command, write: Emit) -> None:
    """Run a command and write the whole reply, at once or as its lines come. No failure ends the session."""
    ok, reply = _guard(command, lambda: _handle(state, command))
    if isinstance(reply, str):
        write(protocol.format_reply(command.id, reply, ok))
        return
    write(protocol.format_stream_start(command.id))
    ok, last = _guard(command, lambda: reply(lambda line: write(f"{line}\n")))
    if not ok:
        log.error("%s: %s", command.name, last)
    write(protocol.format_stream_end(last if ok else ""))


def _handle(state: GtpState, command: Command) -> str | Stream:
    handler = state.commands.get(command.name) or UNLISTED.get(command.name)
    if handler is None:
        raise GtpError("unknown command")
    return handler(state, command)


def _guard(command: Command, work: Callable[[], Reply]) -> tuple[bool, Reply | str]:
    """Return (True, what `work` returns) or (False, why it failed)."""
    try:
        return True, work()
    except GtpQuit:
        return True, ""
    except GtpError as error:
        return False, str(error)
    except Disconnected:
        raise
    except Exception as error:
        from engine.nets.spec import WeightsError

        if isinstance(error, WeightsError):
            return False, str(error)
        log.exception("%s failed", command.name)
        return False, f"internal error: {error!r}"


def ponder(state: GtpState, line: int) -> None:
    """Think in the opponent's time until a line after number `line` arrives. No failure ends the session."""
    with state.interrupts.searching(line, Signal.LINE):
        if state.interrupts.requested(line, Signal.LINE):
            return
        try:
            state.player_loader.get().ponder(state.game)
        except Exception:
            state.awaits_reply = False
            log.exception("pondering failed")


def serve(state: GtpState, source: ByteSource, sink: ByteSink) -> int:
    """Hold one session on a pair of binary streams and return its exit code."""
    return Session(state, source, sink).run()


def run(config: SessionConfig, factory: PlayerFactory) -> int:
    """Hold the session of a process on its stdin and stdout and return the exit code.

    From here on, what any library prints goes to stderr.
    """
    sink = take_stdout()
    write_lines([_READY])
    source = take_stdin()
    state = GtpState(config, factory, HANDLERS)
    try:
        code = Session(state, source, sink, on_stuck=_exit_now).run()
    except KeyboardInterrupt:
        code = INTERRUPTED
    if state.player_loader.is_loading:
        # A library that is being imported or compiled can neither be stopped nor be shut down under.
        _exit_now(code)
    return code


def take_stdin() -> FileIO:
    """Return the real stdin, which waits for its input."""
    descriptor = sys.stdin.fileno()
    if os.name == "posix":
        os.set_blocking(descriptor, True)
    # Unbuffered: a thread blocked in a buffered stdin would hold its lock at interpreter shutdown.
    return FileIO(descriptor, closefd=False)


def take_stdout() -> FileIO:
    """Return the real stdout, and let file descriptor 1 and `sys.stdout` be stderr, which is opened if it is not."""
    sys.stdout.flush()
    if sys.stderr is None:
        sys.stderr = TextIOWrapper(FileIO(os.devnull, "w"))
    sink = FileIO(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = sys.stderr
    return sink


def _exit_now(code: int = 0) -> None:
    log.info("leaving without waiting for a command in progress")
    write_lines(())
    os._exit(code)
