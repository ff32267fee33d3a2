"""How long a controller waits for the engine, and how much memory it takes: measured from outside."""

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
            process.kill()
            raise
        assert process.stdin and process.stdout
        process.stdin.write("quit\n")
        process.stdin.close()
        process.stdout.read()


def _ask(process: "subprocess.Popen[str]", command: str) -> None:
    """Send a command and wait for its answer. Raises GoError on a failure."""
    assert process.stdin and process.stdout
    process.stdin.write(f"{command}\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    if not answer.startswith("="):
        raise GoError(f"{command} was answered {answer!r} by {process.args!r}")
    process.stdout.readline()


def seconds_to_reply(player: Sequence[str], command: str, **environment: str) -> float:
    """Return the seconds from starting the engine to its first answer on a 9x9 board, one visit a move.

    player: starts it with all options but these.
    """
    start = time.perf_counter()
    with _engine([*player, "--size", "9", "--visits", "1"], **environment) as process:
        _ask(process, command)
        return time.perf_counter() - start


def resident_mib(command: Sequence[str]) -> dict[str, float] | None:
    """Return the memory that an engine holds after its first move, and the most that it held, in MiB.

    command: starts it with all options. None if the system does not report it; Linux does.
    """
    with _engine(command) as process:
        _ask(process, "genmove b")
        status = Path(f"/proc/{process.pid}/status")
        if not status.exists():
            return None
        found = dict(_RESIDENT.findall(status.read_text()))
    return {"resident_mib": round(int(found["RSS"]) / 1024, 1), "peak_mib": round(int(found["HWM"]) / 1024, 1)}
