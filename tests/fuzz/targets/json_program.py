"""JSON queries for `keima analysis` itself, some hundreds a process: stdin and stdout are pipes, and it ends with 0."""

import random
import sys

from tests.fuzz.target import Target
from tests.fuzz.targets import json_queries
from tests.fuzz.targets.gtp_program import SECONDS, answers_of
from tests.fuzz.watch import ROOT

SESSIONS = 30
_COMMAND = [sys.executable, str(ROOT / "keima.py"), "analysis", "--net", "none", "--visits", "4"]
_COMMAND += ["--set", "judge_visits=16"]


def make(generator: random.Random) -> bytes:
    """Return the lines of several sessions, whose ids differ."""
    lines = []
    for session in range(SESSIONS):
        for line in json_queries.make(generator).split(b"\n"):
            lines.append(line.replace(b'"id": "q', f'"id": "{session}-'.encode()))
    return b"\n".join(lines)


def check(data: bytes) -> int:
    """Answer the lines of the sessions in one process."""
    data = json_queries.allowed(data, 2 * SESSIONS * json_queries.LINES)
    return json_queries.check_answers(data, answers_of(_COMMAND, data))


TARGET = Target(make, check, "queries", words=json_queries.TARGET.words, seconds=SECONDS)
