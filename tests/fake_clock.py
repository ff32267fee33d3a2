"""A clock that only the test moves, and an evaluator whose work takes time on it."""

import time
from dataclasses import replace

import pytest

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch


class FakeClock:
    """Stands in for `time.monotonic`. passed: seconds since it was made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.passed = 0.0
        monkeypatch.setattr(time, "monotonic", lambda: 1000.0 + self.passed)


class TimedEvaluator:
    """Evaluates like `inner`, and lets `seconds` pass on the clock with each call."""

    def __init__(self, inner: Evaluator, clock: FakeClock, seconds: float) -> None:
        self.attributes = replace(inner.attributes, threads=0)
        self.calls = 0
        self._inner, self._clock, self._seconds = inner, clock, seconds

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Evaluate, and let time pass."""
        self.calls += 1
        self._inner.evaluate(positions, count, out)
        self._clock.passed += self._seconds

    def close(self) -> None:
        """Close the inner one."""
        self._inner.close()
