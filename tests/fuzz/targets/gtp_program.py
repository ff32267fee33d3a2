"""GTP for the program itself, a thousand lines a process: stdin and stdout are pipes, and it ends with 0."""

import random
import subprocess
import sys

from tests.fuzz.target import Target
from tests.fuzz.targets import gtp
from tests.fuzz.watch import ROOT

SESSIONS = 25
SECONDS = 60.0
_COMMAND = [sys.executable, str(ROOT / "keima.py"), "gtp", "--net", "none", "--size", "5", "--visits", "2"]
_COMMAND += ["--set", "judge_visits=16"]


def answers_of(command: list[str], data: bytes) -> bytes:
    """Return what a program writes for a whole input. Raises AssertionError unless it ends with 0."""
    done = subprocess.run(command, input=data, capture_output=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-1000:].decode('utf-8', 'replace')}"
    return done.stdout


def make(generator: random.Random) -> bytes:
    """Return the lines of several sessions."""
    return b"".join(gtp.make(generator) for _ in range(SESSIONS))


def check(data: bytes) -> int:
    """Answer the lines of the sessions in one process."""
    data = gtp.allowed(data, 2 * SESSIONS * gtp.LINES)
    return gtp.check_replies(data, answers_of(_COMMAND, data))


TARGET = Target(make, check, "lines", words=gtp.TARGET.words, seconds=SECONDS)
