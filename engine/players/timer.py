"""The time of one move, which searching and judging share."""

import time
from dataclasses import replace

from engine.players.base import Limits

_HURRY_SECONDS = 0.15
"""With less time than this a move is searched and nothing else: judging begins two searches."""
_LEAST_SECONDS = 0.01


class Timer:
    """What is left of the limits of a move, from its creation on."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._start = time.monotonic()
        self.in_hurry = limits.bound is not None and limits.bound < _HURRY_SECONDS

    def rest(self, share: float = 1.0) -> Limits:
        """Return limits with a share of the seconds that are left."""
        limits, spent = self._limits, time.monotonic() - self._start
        left = [
            None if seconds is None else max(_LEAST_SECONDS, share * (seconds - spent))
            for seconds in (limits.seconds, limits.most_seconds)
        ]
        return replace(limits, seconds=left[0], most_seconds=left[1])
