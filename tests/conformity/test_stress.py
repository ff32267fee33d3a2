"""The real engine: analysis that is stopped and pondering that is ended, a few times; `make stress` has more."""

import statistics
import sys

from tests.conformity.driver import ROOT, Controller
from tests.conformity.stress import Stress

KEIMA = [sys.executable, str(ROOT / "keima.py"), "--net", "none", "--size", "5", "--visits", "50"]
_MUCH_TOO_SLOW = 1.0
"""Seconds; the aim is 0.05, which a machine that runs other tests at the same time may miss."""


def test_stopping_the_engine_twenty_times_leaves_no_stray_byte() -> None:
    with Controller(KEIMA) as engine:
        report = Stress(engine, size=5, seed=2, longest_wait=0.2).run(20)
        assert engine.ask("quit") == "= \n\n"
        assert engine.expect_end(10) == 0
    assert report.lines > 5
    for latencies in report.latencies.values():
        assert statistics.median(latencies) < _MUCH_TOO_SLOW
