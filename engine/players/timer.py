"""The time of one move, which searching and judging share."""

import time
from dataclasses import replace

from engine.players.base import Limits

_HURRY_SECONDS = 0.15
"""With less time than this a move is searched and nothing else: judging begins two searches."""
_HURRY_EVALUATIONS = 8
"""And with less than these take: each search has an evaluation or two that no stop prevents."""
_LEAST_SECONDS = 0.01


class Timer:
    """What is left of the limits of a move, from its creation on."""

    def __init__(self, limits: Limits, speed: float = 0.0) -> None:
        """speed: evaluations a second, 0 if that is not known."""
        self._limits = limits
        self._start = time.monotonic()
        hurry = max(_HURRY_SECONDS, _HURRY_EVALUATIONS / speed if speed else 0.0)
        self.in_hurry = limits.bound is not None and limits.bound < hurry

    def rest(self, share: float = 1.0) -> Limits:
        """Return limits with a share of the seconds that are left."""
        limits, spent = self._limits, time.monotonic() - self._start
        left = [
            None if seconds is None else max(_LEAST_SECONDS, share * (seconds - spent))
            for seconds in (limits.seconds, limits.most_seconds)
        ]
        return replace(limits, seconds=left[0], most_seconds=left[1])
