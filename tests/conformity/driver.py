"""A strict controller: starts a GTP engine and checks the framing of every reply byte by byte."""

import contextlib
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parent.parent.parent
FAKE_ENGINE = [sys.executable, "-m", "tests.conformity.fake_engine"]


class FramingError(AssertionError):
    """Bytes on stdout that are no GTP."""


class Controller:
    """An engine process and its streams.

    errors: the lines of its stderr so far. arrival: when the last bytes that were read came, by `time.monotonic`.
    """

    def __init__(self, command: Sequence[str], cwd: Path = ROOT) -> None:
        self.process = subprocess.Popen(
            list(command), cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.errors: list[bytes] = []
        self.arrival = 0.0
        self._buffer = bytearray()
        self._chunks: queue.SimpleQueue[tuple[bytes, float] | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._read), threading.Thread(target=self._read_errors)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        while chunk := self.process.stdout.read1():
            self._chunks.put((chunk, time.monotonic()))
        self._chunks.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors.append(line)

    def send(self, data: bytes) -> None:
        """Write bytes to the engine."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def close_input(self) -> None:
        """Let the engine see the end of its input."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def _receive(self, timeout: float) -> bool:
        """Wait for more bytes; False if none came in time. Raises FramingError at the end of the output."""
        try:
            arrived = self._chunks.get(timeout=max(0.0, timeout))
        except queue.Empty:
            return False
        if arrived is None:
            raise FramingError(f"output ended within {bytes(self._buffer)!r}")
        self._buffer += arrived[0]
        self.arrival = arrived[1]
        return True

    def _until(self, mark: bytes, starts: tuple[bytes, ...], timeout: float) -> bytes:
        """Return the bytes up to a mark, which they contain. Raises FramingError unless they start as told."""
        deadline = time.monotonic() + timeout
        while mark not in self._buffer:
            if not any(self._buffer.startswith(start[: len(self._buffer)]) for start in starts):
                break
            if not self._receive(deadline - time.monotonic()):
                raise FramingError(f"no {mark!r} within {timeout} s, only {bytes(self._buffer)!r}")
        if not self._buffer.startswith(starts):
            raise FramingError(f"expected one of {starts!r}, got {bytes(self._buffer[:200])!r}")
        end = self._buffer.index(mark) + len(mark)
        got = bytes(self._buffer[:end])
        del self._buffer[:end]
        return got

    def reply(self, timeout: float = 60.0) -> bytes:
        """Return the next reply, all bytes. Raises FramingError for anything that is none."""
        got = self._until(b"\n\n", (b"=", b"?"), timeout)
        check_frame(got)
        return got

    def line(self, *starts: bytes, timeout: float = 60.0) -> bytes:
        """Return the next line of a reply that comes line by line, its newline included; "" starts any line."""
        return self._until(b"\n", starts or (b"",), timeout)

    def ask(self, line: str, timeout: float = 60.0) -> str:
        """Send one command and return its whole reply."""
        self.send(line.encode("utf-8") + b"\n")
        return self.reply(timeout).decode("utf-8")

    def expect_silence(self, seconds: float = 0.1) -> None:
        """Check that no byte comes."""
        if self._buffer or self._receive(seconds):
            raise FramingError(f"stray bytes {bytes(self._buffer)!r}")

    def expect_end(self, timeout: float = 60.0) -> int:
        """Check that the engine writes nothing more and exits in time; return its exit code."""
        code = self.process.wait(timeout)
        arrived = self._chunks.get(timeout=timeout)
        if self._buffer or arrived is not None:
            raise FramingError(f"stray bytes {bytes(self._buffer)!r}, {arrived} at the end")
        return code

    def __enter__(self) -> "Controller":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def check_frame(reply: bytes) -> None:
    """Raise FramingError unless the bytes are exactly one well-formed reply."""
    status, end = reply[:1], reply[-2:]
    head = reply[1:].partition(b"\n")[0]
    identity, space, _ = head.partition(b" ")
    if status not in (b"=", b"?") or end != b"\n\n" or b"\n\n" in reply[:-1]:
        raise FramingError(f"not one reply: {reply!r}")
    if not space or (identity and not identity.isdigit()):
        raise FramingError(f"no id and space after the status: {reply!r}")
    if any((byte < 32 and byte != 10) or byte == 127 for byte in reply):
        raise FramingError(f"control characters in {reply!r}")
    if any(line.endswith(b" ") for line in reply[2:].split(b"\n")[1:]):
        raise FramingError(f"a line ends in a space: {reply!r}")
