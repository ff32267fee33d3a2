"""Runs a GTP session: a thread that reads, a loop that answers, one writer. Knows no commands but `quit` and `stop`.

stdout belongs to the writer alone: `run` redirects everything else that a library may print to stderr.
"""

import logging
import os
import queue
import select
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import FileIO, IOBase, TextIOWrapper
from typing import Protocol, TypeVar

from engine.support.idle_process import IdleProcess
from engine.support.stopping import INTERRUPTED, interrupting
from gtp import protocol
from gtp.commands import HANDLERS, UNLISTED
from gtp.errors import GtpError, GtpQuit
from gtp.interrupts import Signal
from gtp.player_loader import PlayerFactory
from gtp.protocol import Command
from gtp.state import Emit, GtpState, SessionConfig, Stream
from gtp.stderr import write_lines

__all__ = ["SessionConfig", "run", "serve"]

LONGEST_LINE = 1 << 18
"""Bytes of a line from a client on the network. A query about a game of 1,000 moves takes 15 kB."""

_CHUNK = 1 << 16
_CANCEL_INTERVAL = 0.05
_MOST_COMMANDS = 1000
"""Commands that a remote controller can queue; its connection is not read meanwhile."""
_FULL_INTERVAL = 1.0
# Written to stderr, in KataGo's words: LizGoban sends nothing before it has read them.
_READY = "GTP ready, beginning main protocol loop"
# Seconds that a running command has to end after the controller has left.
_PATIENCE = 1.5
# Seconds without a command from which on the session counts as idle: programs answer faster, people do not.
_REST = 3.0

Reply = TypeVar("Reply")

log = logging.getLogger(__name__)


class ByteSource(Protocol):
    """A binary stream that returns available data, b"" at the end."""

    def read(self, size: int, /) -> bytes | None:
        """Return up to `size` bytes, waiting for the first."""


class ByteSink(Protocol):
    """A binary stream; a raw one may accept less data than it is given."""

    def write(self, data: bytes, /) -> int | None:
        """Write data and return the number of bytes written."""

    def flush(self) -> None:
        """Send buffered data."""


class Disconnected(Exception):
    """The controller does not read replies any more."""


class Writer:
    """The only writer to the controller: writes whole texts under one lock and flushes them.

    is_amid_reply: the last text was a line of an unfinished reply.
    """

    def __init__(self, sink: ByteSink) -> None:
        self._sink = sink
        self._lock = threading.Lock()
        self.is_amid_reply = False

    def write(self, text: str) -> None:
        """Send a text that ends with a newline. Raises Disconnected."""
        data = protocol.encode(text)
        try:
            with self._lock:
                # A raw file may accept only a part of the data.
                while data:
                    data = data[self._sink.write(data) or 0 :]
                self._sink.flush()
                self.is_amid_reply = not text.endswith("\n\n") and text != "\n"
        # ValueError: the stream was closed by this process.
        except (OSError, ValueError) as error:
            raise Disconnected(str(error)) from None


def read_lines(
    source: ByteSource, on_wait: Callable[[], None] = lambda: None, longest: int | None = None
) -> Iterator[bytes]:
    """Yield the lines of a stream as they arrive, and the last one even without a newline.

    on_wait: called before each read for which neither data nor the end of input is there yet. longest: bytes of a line;
    a longer one is the end.
    """
    parts: list[bytes] = []
    length = 0
    while chunk := _read_chunk(source, on_wait):
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            if longest is not None and length + len(line) > longest:
                return
            yield b"".join([*parts, line])
            parts.clear()
            length = 0
        parts.append(rest)
        length += len(rest)
        if longest is not None and length > longest:
            return
    if any(parts):
        yield b"".join(parts)


def _read_chunk(source: ByteSource, on_wait: Callable[[], None]) -> bytes | None:
    if _would_wait(source):
        on_wait()
    try:
        return source.read(_CHUNK)
    except OSError as error:  # a closed terminal
        log.info("input lost: %s", error)
        return None


def _would_wait(source: ByteSource) -> bool:
    """Return whether a read would wait for data or for the end of input; True where that cannot be found out."""
    if not isinstance(source, IOBase):
        return True
    try:
        descriptor = source.fileno()
        if sys.platform == "win32":
            # Windows polls sockets only: there, a script from a pipe must end with `quit`.
            return not stat.S_ISREG(os.fstat(descriptor).st_mode)
        return not select.select([descriptor], [], [], 0)[0]
    except OSError:  # a stream in memory, or one that is lost
        return False


def has_no_reader(sink: ByteSink) -> bool:
    """Return whether the reading end of an output is closed; False where that cannot be found out."""
    if sys.platform == "win32" or not isinstance(sink, IOBase):
        return False
    poll = select.poll()
    try:
        poll.register(sink.fileno(), select.POLLOUT)  # macOS reports a hang-up only beside an event that was asked for
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    except (OSError, ValueError):  # a stream in memory, or one that was closed
        return False


class Session:
    """One session on a pair of streams.

    on_stuck: called if the running command does not end after the controller has left.
    is_remote: the controller is on the network: the end of input always ends its searches, also after `quit`, and it
    can queue a limited number of commands.
    """

    def __init__(
        self,
        state: GtpState,
        source: ByteSource,
        sink: ByteSink,
        on_stuck: Callable[[], None] | None = None,
        *,
        is_remote: bool = False,
    ) -> None:
        self._state = state
        self._source = source
        self._writer = Writer(sink)
        self._on_stuck = on_stuck
        self._is_remote = is_remote
        self._commands: queue.Queue[Command | None] = queue.Queue(_MOST_COMMANDS if is_remote else 0)
        self._current: Command | None = None
        self._line = 0
        self._waits = 0
        self._ended = threading.Event()
        self._idle = IdleProcess(_REST)

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
        """Return the next command, or None at the end; ponder until there is one."""
        # A script's commands are already queued: pondering between them would only waste time.
        if self._state.may_ponder and self._commands.empty():
            ponder(self._state, self._line)
        elif self._state.awaits_reply and self._commands.empty():
            return self._rest()
        return self._commands.get()

    def _rest(self) -> Command | None:
        """Return the next command, and let the session's idle command run meanwhile."""
        if self._state.config.idle_command is None:
            return self._commands.get()
        self._idle.begin(self._state.config.idle_command(self._state.width, self._state.height))
        try:
            return self._commands.get()
        finally:
            self._idle.end()

    def _read(self) -> None:
        """Queue commands until `quit` or the end of input; then make the session end soon."""
        try:
            is_script = self._queue_commands() and not self._is_remote
        finally:
            self._state.interrupts.receive()
            self._put(None)
        if self._is_remote and not self._ended.is_set():
            while self._source.read(_CHUNK):  # after `quit`
                pass
        if not is_script:
            self._leave()

    def _put(self, command: Command | None) -> None:
        """Queue a command, or the end; wait while the queue is full and the session has not ended."""
        while not self._ended.is_set():
            with suppress(queue.Full):
                self._commands.put(command, timeout=_FULL_INTERVAL)
                return

    def _queue_commands(self) -> bool:
        """Queue commands until `quit` or the end of input; return whether that end came together with the last command.

        Together: the end was there when the reader came to it, so nobody can have waited for the reply in between. A
        script is like that on a machine of any speed and load. A controller sends a command, and leaves afterwards.
        """
        before = self._waits
        for raw in read_lines(self._source, self._count_wait, LONGEST_LINE if self._is_remote else None):
            line = protocol.decode(raw)
            command = protocol.parse_command(line)
            number = self._state.interrupts.receive(_signal(line, command))
            # Blank lines and comments get no reply, but they end an analysis, so they were counted above.
            if command is None:
                continue
            self._put(command._replace(line=number))
            if command.name == "quit":
                break
            before = self._waits
        return before == self._waits

    def _count_wait(self) -> None:
        self._waits += 1

    def _leave(self) -> None:
        """Cut searches short until the session has ended: a controller that leaves wants no more replies."""
        started = time.monotonic()
        while not self._ended.wait(_CANCEL_INTERVAL):
            self._state.player_loader.cancel()
            if self._on_stuck is not None and time.monotonic() - started > _PATIENCE:
                self._abandon()
                self._on_stuck()
                return

    def _abandon(self) -> None:
        """Answer all open commands, in place of the main loop, which hangs in one of them."""
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
    """Return the signal that a line of input sends to running searches."""
    if protocol.is_interrupt(line):
        return Signal.INTERRUPT
    return Signal.STOP if command is not None and command.name == "stop" else Signal.LINE


def answer(state: GtpState, command: Command, write: Emit) -> None:
    """Run a command and write its whole reply, at once or line by line. No failure ends the session."""
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
    """Return (True, result of `work`) or (False, error message)."""
    try:
        return True, work()
    except GtpQuit:
        return True, ""
    except GtpError as error:
        return False, str(error)
    except Disconnected:
        raise
    except MemoryError as error:
        log.error("%s: not enough memory: %s", command.name, error)
        return False, "not enough memory"
    except Exception as error:
        from engine.nets.spec import WeightsError

        # Imported only here: it needs numpy, and the handshake must not wait for that.
        if isinstance(error, WeightsError):
            return False, str(error)
        log.exception("%s failed", command.name)
        return False, f"internal error: {error!r}"


def ponder(state: GtpState, line: int) -> None:
    """Ponder until a line after number `line` arrives. No failure ends the session."""
    with state.interrupts.searching(line, Signal.LINE):
        if state.interrupts.requested(line, Signal.LINE):
            return
        try:
            state.player_loader.get().ponder(state.game)
        except Exception:
            state.awaits_reply = False
            log.exception("pondering failed")


def serve(state: GtpState, source: ByteSource, sink: ByteSink) -> int:
    """Run one session on a pair of binary streams and return its exit code."""
    return Session(state, source, sink).run()


def run(config: SessionConfig, factory: PlayerFactory) -> int:
    """Run a session on the process's stdin and stdout and return the exit code.

    From here on, what any library prints goes to stderr.
    """
    sink = take_stdout()
    write_lines([_READY])
    source = take_stdin()
    state = GtpState(config, factory, HANDLERS)
    try:
        # Whoever ends an engine by a signal loses nothing that it keeps in files.
        with interrupting():
            code = Session(state, source, sink, on_stuck=_exit_now).run()
    except KeyboardInterrupt:
        code = INTERRUPTED
    if state.player_loader.is_loading:
        # A library in the middle of an import or a compilation can neither be stopped nor survive a normal shutdown.
        _exit_now(code)
    return code


def take_stdin() -> FileIO:
    """Return the real stdin, switched to blocking."""
    descriptor = sys.stdin.fileno()
    if os.name == "posix":
        os.set_blocking(descriptor, True)
    # Unbuffered: a thread blocked in a buffered stdin would hold its lock at interpreter shutdown.
    return FileIO(descriptor, closefd=False)


def take_stdout() -> FileIO:
    """Return the real stdout, and redirect file descriptor 1 and `sys.stdout` to stderr, which is opened if needed."""
    sys.stdout.flush()
    if sys.stderr is None:
        sys.stderr = TextIOWrapper(FileIO(os.devnull, "w"))
    # A copy of descriptor 1, which afterwards points to stderr: even C libraries cannot write into the protocol.
    sink = FileIO(os.dup(sys.stdout.fileno()), "w")
    if os.name == "posix":
        os.set_blocking(sink.fileno(), True)  # a controller's pipe that does not block would make writing spin
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = sys.stderr
    return sink


def _exit_now(code: int = 0) -> None:
    log.info("leaving without waiting for a command in progress")
    write_lines(())
    # Not sys.exit, which would clean up while another thread hangs or imports.
    os._exit(code)
