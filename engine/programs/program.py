"""One GTP program as a child process: start it, ask it, end it, and never hang on it.

Owns framing, time-outs and the process. It knows no rule of Go and judges no answer but its form.
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
from collections.abc import Callable
from enum import StrEnum
from typing import IO, NamedTuple

from engine.support.command_line import startable

log = logging.getLogger(__name__)

MAX_LINE = 1 << 16
"""Bytes of one output line; a longer one is cut into lines of this length."""
MAX_REPLY_LINES = 5000
MAX_REPLY = 1 << 24
"""Characters of one reply."""
READ_AHEAD = 1 << 20
"""Bytes of memory for lines read ahead; a program that floods stdout then waits on its own pipe."""
MAX_PRINTED = 200
STDERR_LINES = 8
_LOOK_SECONDS = 1.0
"""How often a wait for an answer looks whether the process still runs."""
_END = None
_INTERRUPTION = "protocol_version"


class Trouble(StrEnum):
    """How a program can fail as a program."""

    CRASH = "crash"
    HANG = "hang"
    GARBAGE = "garbage"


class ProgramFailure(Exception):
    """A program that ended, did not answer in time, or wrote what is no GTP reply."""

    def __init__(self, trouble: Trouble, detail: str) -> None:
        super().__init__(f"{trouble}: {detail}")
        self.trouble = trouble
        self.detail = detail


class Reply(NamedTuple):
    """One GTP reply: the text after `=` (ok) or `?`."""

    ok: bool
    text: str


class _Lines(queue.Queue[bytes | None]):
    """Lines read ahead; its size is the memory that they take."""

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
    """A running GTP program. One thread at a time may `ask` or `watch`; any thread may `interrupt` and `kill`."""

    def __init__(self, command: str) -> None:
        """Start a command line in a process group of its own.

        Raises ProgramFailure (crash) when it cannot be started at all.
        """
        self.command = command
        try:
            self._process = subprocess.Popen(
                startable(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # Its own group: Ctrl-C at the terminal reaches the match alone, and the group can
                # be killed with whatever the program itself has started.
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
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
        """The number of the process, and of its group."""
        return self._process.pid

    @property
    def unread_bytes(self) -> int:
        """Memory of the output lines that nobody has asked for yet, in bytes."""
        return self._lines.qsize()

    def ask(self, command: str, seconds: float) -> Reply:
        """Send one command line and return its reply, waiting `seconds` at most.

        Raises ProgramFailure; the program is of no further use then, and should be killed.
        """
        self.check_silence()
        self._deadline = time.monotonic() + seconds
        self._send(command)
        return self._read_reply(command)

    def watch(self, command: str, on_line: Callable[[str], None], seconds: float | None = None) -> Reply:
        """Send a command that tells what it thinks line by line, as analyses do, and return its reply in the end.

        on_line: gets every line. seconds: the longest wait for its end, None if it goes on until
        `interrupt`. Raises like `ask`.
        """
        self.check_silence()
        with self._watching:
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
        """Have a running `watch` end, within so many seconds; any thread may. Nothing happens where none waits for it.

        The next line of input ends an analysis; this one asks for what every program can answer.
        """
        with self._watching:
            if not self._is_watching or self._is_interrupted:
                return
            self._is_interrupted = True
            self._deadline = time.monotonic() + seconds
            with contextlib.suppress(ProgramFailure):  # the reader notices
                self._send(_INTERRUPTION)

    def check_silence(self) -> None:
        """Raise ProgramFailure when the program has written anything that nobody asked for."""
        while True:
            try:
                line = self._lines.get_nowait()
            except queue.Empty:
                return
            if line is _END:
                self._lines.put_nowait(_END)
                return
            if line.strip():
                raise ProgramFailure(Trouble.GARBAGE, f"wrote unasked: {_quoted(line)}")

    def close(self, seconds: float = 3.0) -> None:
        """Ask the program to quit, and kill its process group if it has not ended in time."""
        with contextlib.suppress(ProgramFailure, queue.Empty):
            deadline = time.monotonic() + seconds
            self.ask("quit", seconds)
            while self._lines.get(timeout=max(0.0, deadline - time.monotonic())) is not _END:
                pass
        self.kill()

    def kill(self) -> None:
        """End the process group at once. May be called twice, and from any thread."""
        with self._killing:
            if self._closed.is_set():
                return
            self._closed.set()
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()
            self._process.wait()
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        # Wakes an `ask` of another thread; a full queue needs no waking.
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
        """Read until the line that ends a reply. Lines that somebody is told are not kept, but for the first."""
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
            if len(lines) > MAX_REPLY_LINES or size > MAX_REPLY:
                limit = f"{MAX_REPLY_LINES} lines or {MAX_REPLY} characters"
                raise ProgramFailure(Trouble.GARBAGE, f"answered {command!r} with over {limit}")

    def _next_line(self, command: str, *, has_begun: bool) -> bytes:
        """Return a line of the reply to a command, which may have begun already. Raises ProgramFailure."""
        while True:
            try:
                line = self._lines.get(timeout=min(_LOOK_SECONDS, max(0.0, self._deadline - time.monotonic())))
            except queue.Empty:
                # Its output need not have ended with it: what it has started may hold the pipe.
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
    """Return the reply of lines of which the first starts with `=` or `?`, an id dropped."""
    head = lines[0][1:]
    first = head.lstrip("0123456789").strip()
    return Reply(lines[0][0] == "=", "\n".join([first, *lines[1:]]).strip())


def printable(text: str) -> str:
    """Return what a program wrote for one line of a person: cut short, and with escapes for what does not print."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text[:MAX_PRINTED])[:MAX_PRINTED]


def _quoted(line: bytes) -> str:
    return f"'{printable(line.decode('utf-8', 'replace').rstrip())}'"
