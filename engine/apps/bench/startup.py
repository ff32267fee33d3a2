"""Measures the engine as a child process: the time to its first answer, and its memory."""

import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from engine.errors import GoError

_RESIDENT = re.compile(r"^Vm(RSS|HWM):\s+(\d+) kB$", re.MULTILINE)


@contextmanager
def _engine(command: Sequence[str], **environment: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **environment},
        text=True,
    ) as process:
        try:
            yield process
        except BaseException:
            # Leaving the block waits for the process, which may hang.
            process.kill()
            raise
        assert process.stdin and process.stdout
        process.stdin.write("quit\n")
        process.stdin.close()
        process.stdout.read()


def _ask(process: "subprocess.Popen[str]", command: str) -> None:
    """Send a GTP command and wait for its answer. Raises GoError if it fails."""
    assert process.stdin and process.stdout
    process.stdin.write(f"{command}\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    if not answer.startswith("="):
        raise GoError(f"{process.args!r} answered {answer.strip()!r} to {command}")
    process.stdout.readline()


def seconds_to_reply(player: Sequence[str], command: str, size: str, **environment: str) -> float:
    """Return the seconds from the start of the engine to its answer to `command`, with one visit a move.

    player: the engine's command without size and visits. size: of the board, as an option's value. environment:
    variables to set for it.
    """
    start = time.perf_counter()
    with _engine([*player, "--size", size, "--visits", "1"], **environment) as process:
        _ask(process, command)
        return time.perf_counter() - start


def resident_mib(command: Sequence[str]) -> dict[str, float] | None:
    """Return the resident memory of an engine after its first move, and its peak, in MiB.

    None if the system does not report it: /proc is Linux's. command: the engine's command with all options.
    """
    with _engine(command) as process:
        _ask(process, "genmove b")
        status = Path(f"/proc/{process.pid}/status")
        if not status.exists():
            return None
        found = dict(_RESIDENT.findall(status.read_text()))
    return {"resident_mib": round(int(found["RSS"]) / 1024, 1), "peak_mib": round(int(found["HWM"]) / 1024, 1)}
