"""Divides the time of one move between searching and judging."""

import time
from dataclasses import replace

from engine.players.base import Limits

# With less time than this, the move is only searched: a judgement starts two searches.
_HURRY_SECONDS = 0.15
# The same with less time than this many evaluations take: each search has one or two that cannot be stopped.
_HURRY_EVALUATIONS = 8
_LEAST_SECONDS = 0.01


class Timer:
    """Measures how much of a move's limits is left, from its creation on."""

    def __init__(self, limits: Limits, speed: float = 0.0) -> None:
        """speed: evaluations a second, 0 if unknown."""
        self._limits = limits
        self._start = time.monotonic()
        # Slow evaluators need a longer limit: what cannot be stopped takes longer.
        hurry = max(_HURRY_SECONDS, _HURRY_EVALUATIONS / speed if speed else 0.0)
        self.in_hurry = limits.bound is not None and limits.bound < hurry

    def rest(self, share: float = 1.0) -> Limits:
        """Return limits with a share of the remaining seconds."""
        limits, spent = self._limits, time.monotonic() - self._start
        left = [
            None if seconds is None else max(_LEAST_SECONDS, share * (seconds - spent))
            for seconds in (limits.seconds, limits.most_seconds)
        ]
        return replace(limits, seconds=left[0], most_seconds=left[1])
