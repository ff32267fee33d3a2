"""The clock that a match keeps for one player: absolute and Canadian time as `time_settings` has it.

It decides when a flag falls. How an engine spends its time is no matter of this module.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class TimeLimit:
    """Time settings in seconds: `main`, then `byo` for every `stones` moves; byo 0 is absolute time."""

    main: float
    byo: float = 0.0
    stones: int = 0

    def __post_init__(self) -> None:
        """Raise ValueError on settings under which no move could be played."""
        if min(self.main, self.byo, self.stones) < 0 or not math.isfinite(self.main + self.byo):
            raise ValueError("time settings must be finite and not negative")
        if self.main == 0 and self.byo == 0:
            raise ValueError("time settings leave no time for a move: main time and byo-yomi are both 0")
        if (self.byo > 0) != (self.stones > 0):
            raise ValueError("time settings need both the seconds and the stones of a byo-yomi")

    def command(self) -> str:
        """Return the `time_settings` command."""
        return f"time_settings {self.main:g} {self.byo:g} {self.stones}"


class Clock:
    """One player's remaining time in one game."""

    def __init__(self, limit: TimeLimit) -> None:
        self._limit = limit
        self._left = limit.main if limit.main > 0 else limit.byo
        self._stones = 0 if limit.main > 0 else limit.stones

    def available(self) -> float:
        """Return how many seconds the next move may take."""
        return self._left + (self._limit.byo if self._stones == 0 else 0.0)

    def spend(self, seconds: float, grace: float = 0.0) -> bool:
        """Take one move's time off the clock; return False when the flag fell.

        Up to `grace` seconds too many are forgiven, at every move: they stand for pipes and a busy
        machine, not for thought.
        """
        if seconds > self.available() + grace:
            return False
        if self._stones == 0:
            if seconds <= self._left or self._limit.byo == 0:
                self._left = max(0.0, self._left - seconds)
                return True
            seconds -= self._left
            self._enter_period()
        self._left = max(0.0, self._left - seconds)
        self._stones -= 1
        if self._stones == 0:
            self._enter_period()
        return True

    def time_left(self) -> tuple[float, int]:
        """Return the time and stones of the `time_left` command; 0 stones in main time."""
        return self._left, self._stones

    def command(self, color: str) -> str:
        """Return the `time_left` command, in whole seconds where the settings are whole."""
        whole = self._limit.main == int(self._limit.main) and self._limit.byo == int(self._limit.byo)
        left = f"{int(self._left)}" if whole else f"{self._left:.2f}"
        return f"time_left {color} {left} {self._stones}"

    def _enter_period(self) -> None:
        self._left, self._stones = self._limit.byo, self._limit.stones
