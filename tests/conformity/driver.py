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
    """An engine process and its streams. stderr is collected in `errors`."""

    def __init__(self, command: Sequence[str], cwd: Path = ROOT) -> None:
        self.process = subprocess.Popen(
            list(command), cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.errors: list[bytes] = []
        self._bytes: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._read), threading.Thread(target=self._read_errors)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        while chunk := self.process.stdout.read1():
            for byte in chunk:
                self._bytes.put(byte)
        self._bytes.put(None)

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

    def reply(self, timeout: float = 60.0) -> bytes:
        """Return the next reply, all bytes. Raises FramingError for anything that is none."""
        deadline = time.monotonic() + timeout
        got = bytearray()
        while not got.endswith(b"\n\n"):
            try:
                byte = self._bytes.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise FramingError(f"no whole reply within {timeout} s, only {bytes(got)!r}") from None
            if byte is None:
                raise FramingError(f"output ended within {bytes(got)!r}")
            got.append(byte)
            if got[:1] not in (b"=", b"?"):
                raise FramingError(f"a reply starts with {bytes(got)!r}")
        check_frame(bytes(got))
        return bytes(got)

    def ask(self, line: str, timeout: float = 60.0) -> str:
        """Send one command and return its whole reply."""
        self.send(line.encode("utf-8") + b"\n")
        return self.reply(timeout).decode("utf-8")

    def expect_silence(self, seconds: float = 0.1) -> None:
        """Check that no byte comes."""
        try:
            byte = self._bytes.get(timeout=seconds)
        except queue.Empty:
            return
        raise FramingError("output ended" if byte is None else f"stray byte {byte}")

    def expect_end(self, timeout: float = 2.0) -> int:
        """Check that the engine writes nothing more and exits in time; return its exit code."""
        code = self.process.wait(timeout)
        byte = self._bytes.get(timeout=timeout)
        if byte is not None:
            raise FramingError(f"stray byte {byte} at the end")
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
