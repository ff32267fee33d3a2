"""Runs a GTP program as a child process: starts it, exchanges commands and replies, and never hangs on it.

Owns framing, time-outs and the process. Does not know the rules of Go and checks only the form of replies.
"""

import contextlib
import logging
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import IO, NamedTuple

from engine.support.command_line import startable
from engine.support.installation import MEASURES, with_own_path

log = logging.getLogger(__name__)

MAX_LINE = 1 << 16
"""Bytes of one output line; a longer one is split."""
MAX_REPLY_LINES = 5000
MAX_REPLY = 1 << 24
"""Characters of one reply."""
READ_AHEAD = 1 << 20
"""Memory for lines read ahead, in bytes; a program that writes more blocks on its own pipe."""
MAX_PRINTED = 200
STDERR_LINES = 8
RESTING = {MEASURES: "0"}
"""Variables for a program that must not compute in its opponent's time, unless it ponders."""
# Interval at which a wait for a reply checks that the process still runs.
_LOOK_SECONDS = 1.0
_END = None
_INTERRUPTION = "protocol_version"


class Trouble(StrEnum):
    """The ways in which a program can fail."""

    CRASH = "crash"
    HANG = "hang"
    GARBAGE = "garbage"


class ProgramFailure(Exception):
    """A program ended, did not reply in time, or wrote something that is not a GTP reply."""

    def __init__(self, trouble: Trouble, detail: str) -> None:
        super().__init__(f"{trouble}: {detail}")
        self.trouble = trouble
        self.detail = detail


class Reply(NamedTuple):
    """One GTP reply: the text after `=` (ok) or `?`."""

    ok: bool
    text: str


class _Lines(queue.Queue[bytes | None]):
    """A queue of lines read ahead, whose size is counted in bytes of memory."""

    def _init(self, maxsize: int) -> None:
        super()._init(maxsize)
        self._bytes = 0

    def _qsize(self) -> int:
        return self._bytes

    def _put(self, item: bytes | None) -> None:
        super()._put(item)
        self._bytes += sys.getsizeof(item)

    def _get(self) -> bytes | None:
        item = super()._get()
        self._bytes -= sys.getsizeof(item)
        return item


class Program:
    """A running GTP program. One thread at a time may `ask` or `watch`; `interrupt` and `kill` are thread-safe."""

    def __init__(self, command: str, variables: Mapping[str, str] | None = None) -> None:
        """Start a command line in its own process group; the program `keima` is the one that runs.

        variables: of its environment, beside those of this process.
        Raises ProgramFailure (crash) if it cannot be started.
        """
        self.command = command
        try:
            self._process = subprocess.Popen(
                startable(with_own_path(command)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # In its own group, the program does not receive the terminal's Ctrl-C, which the match handles, and can
                # be killed together with its own children.
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
                env=None if variables is None else {**os.environ, **variables},
            )
        except (OSError, ValueError, IndexError) as error:
            raise ProgramFailure(Trouble.CRASH, f"cannot start {command!r}: {error}") from error
        self._lines = _Lines(READ_AHEAD)
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES)
        self._closed = threading.Event()
        self._killing = threading.Lock()
        self._deadline = 0.0
        self._watching = threading.Lock()
        self._is_watching = self._is_interrupted = False
        assert self._process.stdout is not None and self._process.stderr is not None
        self._readers = [
            threading.Thread(target=self._read_stdout, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._read_stderr, args=(self._process.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        """The id of the process and of its group."""
        return self._process.pid

    def ask(self, command: str, seconds: float) -> Reply:
        """Send one command line and return its reply, waiting at most `seconds`.

        Raises ProgramFailure; the program is unusable then and should be killed.
        """
        self.check_silence()
        self._deadline = time.monotonic() + seconds
        self._send(command)
        return self._read_reply(command)

    def watch(self, command: str, on_line: Callable[[str], None], seconds: float | None = None) -> Reply:
        """Send a command that replies line by line, such as an analysis, and return its reply at the end.

        on_line: called with every line. seconds: the longest wait for the end, None to continue until `interrupt`.
        Raises like `ask`.
        """
        self.check_silence()
        with self._watching:
            # An analysis without end: `interrupt` sets the deadline.
            self._deadline = math.inf if seconds is None else time.monotonic() + seconds
            self._send(command)
            self._is_watching, self._is_interrupted = seconds is None, False
        try:
            reply = self._read_reply(command, on_line)
        finally:
            with self._watching:
                self._is_watching = False
        if self._is_interrupted:
            self._read_reply(_INTERRUPTION)
        return reply

    def interrupt(self, seconds: float) -> None:
        """Stop a running `watch` within `seconds`, unless it has a time limit of its own. Thread-safe.

        Any further input line ends an analysis; the one sent here is a command that every program knows.
        """
        with self._watching:
            if not self._is_watching or self._is_interrupted:
                return
            self._is_interrupted = True
            self._deadline = time.monotonic() + seconds
            with contextlib.suppress(ProgramFailure):  # the reader notices the failure
                self._send(_INTERRUPTION)

    def check_silence(self) -> None:
        """Raise ProgramFailure if the program has written anything outside a reply."""
        while True:
            try:
                line = self._lines.get_nowait()
            except queue.Empty:
                return
            if line is _END:
                self._lines.put_nowait(_END)
                return
            if line.strip():
                raise ProgramFailure(Trouble.GARBAGE, f"wrote without a command: {_quoted(line)}")

    def close(self, seconds: float = 3.0) -> None:
        """Ask the program to quit, and kill its process group if it has not ended in time."""
        with contextlib.suppress(ProgramFailure, queue.Empty):
            deadline = time.monotonic() + seconds
            self.ask("quit", seconds)
            while self._lines.get(timeout=max(0.0, deadline - time.monotonic())) is not _END:
                pass
        self.kill()

    def kill(self) -> None:
        """Kill the process group. Thread-safe; may be called twice."""
        with self._killing:
            if self._closed.is_set():
                return
            self._closed.set()
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if hasattr(os, "killpg"):
                    # The group, because shells and launchers leave the real engine as a child.
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()
            self._process.wait()
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        # Wakes an `ask` in another thread; if the queue is full, that thread is not waiting.
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(_END)
        for reader, stream in zip(self._readers, (self._process.stdout, self._process.stderr), strict=True):
            reader.join(timeout=1.0)
            # A process that left the group may still hold the pipe: closing would wait for its reader.
            if stream is not None and not reader.is_alive():
                stream.close()

    def error_text(self) -> str:
        """Return the last lines of the program's stderr, joined by " | "."""
        return " | ".join(self._stderr)

    def _send(self, command: str) -> None:
        log.debug("%d << %s", self._process.pid, command)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(command.encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError) as error:
            raise self._crashed(command) from error

    def _read_reply(self, command: str, on_line: Callable[[str], None] | None = None) -> Reply:
        """Read up to the line that ends a reply. Lines passed to `on_line` are not kept, except the first."""
        lines: list[str] = []
        size = 0
        while True:
            line = self._next_line(command, has_begun=bool(lines))
            text = line.decode("utf-8", "replace").rstrip()
            if not lines and not text:
                continue
            if not lines and text[0] not in "=?":
                raise ProgramFailure(Trouble.GARBAGE, f"answered {command!r} with {_quoted(line)}")
            if not text:
                return _parse_reply(lines)
            if on_line is not None:
                on_line(text if lines else _parse_reply([text]).text)
            if on_line is None or not lines:
                lines.append(text)
                size += len(text)
            # A program that never ends its reply must not fill the memory.
            if len(lines) > MAX_REPLY_LINES or size > MAX_REPLY:
                limit = f"{MAX_REPLY_LINES} lines or {MAX_REPLY} characters"
                raise ProgramFailure(Trouble.GARBAGE, f"answered {command!r} with over {limit}")

    def _next_line(self, command: str, *, has_begun: bool) -> bytes:
        """Return the next line of the reply to a command. Raises ProgramFailure."""
        while True:
            try:
                line = self._lines.get(timeout=min(_LOOK_SECONDS, max(0.0, self._deadline - time.monotonic())))
            except queue.Empty:
                # A child of the program may keep the pipe open after its end, so the end of output is not enough.
                if self._process.poll() is not None and self._lines.empty():
                    raise self._crashed(command) from None
                if time.monotonic() < self._deadline:
                    continue
                what = "started an answer but did not end it" if has_begun else "no answer"
                raise ProgramFailure(Trouble.HANG, f"{what} in time to {command!r}") from None
            if line is _END:
                self._lines.put_nowait(_END)
                raise self._crashed(command)
            return line

    def _crashed(self, command: str) -> ProgramFailure:
        try:
            status = f"exit status {self._process.wait(timeout=1.0)}"
        except subprocess.TimeoutExpired:
            status = "its output closed"
        # The last lines of stderr usually say why a program has ended.
        self._readers[1].join(timeout=0.5)
        said = self.error_text()
        return ProgramFailure(Trouble.CRASH, f"ended at {command!r} ({status})" + (f": {said}" if said else ""))

    def _read_stdout(self, stream: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):
            while line := stream.readline(MAX_LINE):
                log.debug("%d >> %r", self._process.pid, line)
                self._put(line)
        self._put(_END)

    def _put(self, line: bytes | None) -> None:
        while not self._closed.is_set():
            with contextlib.suppress(queue.Full):
                self._lines.put(line, timeout=0.2)
                return

    def _read_stderr(self, stream: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):
            while line := stream.readline(MAX_LINE):
                text = line.decode("utf-8", "replace").strip()
                if text:
                    self._stderr.append(printable(text))


def _parse_reply(lines: list[str]) -> Reply:
    """Parse the lines of a reply, of which the first starts with `=` or `?`; drop its id."""
    head = lines[0][1:]
    first = head.lstrip("0123456789").strip()
    return Reply(lines[0][0] == "=", "\n".join([first, *lines[1:]]).strip())


def printable(text: str) -> str:
    """Make a program's text fit for one line: shortened, with escapes for unprintable characters."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text[:MAX_PRINTED])[:MAX_PRINTED]


def _quoted(line: bytes) -> str:
    return f"'{printable(line.decode('utf-8', 'replace').rstrip())}'"
