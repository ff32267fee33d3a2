"""Both players' clocks in a game on the page: they follow its moves, and say who lost on time."""

import time
from collections.abc import Callable, Mapping

from engine.apps.web.snapshot import ClockReading
from engine.apps.web.tree import Node
from engine.clock import TimeSettings
from engine.color import BLACK, WHITE, opponent
from engine.match.clock import Clock


class GameClock:
    """The clocks of one game. The first move starts them, because an engine may still be loading before it."""

    def __init__(self, settings: TimeSettings, now: Callable[[], float] = time.monotonic) -> None:
        """now: a monotonic clock in seconds."""
        self.settings = settings
        self._now = now
        self._clocks = {color: Clock(settings) for color in (BLACK, WHITE)}
        self._at: Node | None = None
        self._running: int | None = None
        self._since = 0.0
        self._paused: float | None = None
        self._out: int | None = None
        self.turn = 0
        """Changes whenever a clock is started, stopped or paused."""

    def resume(self, left: Mapping[int, tuple[float, int]]) -> None:
        """Set both clocks to (seconds, stones or periods) as in GTP's `time_left`, by color. Raises ValueError."""
        for color, (seconds, count) in left.items():
            self._clocks[color].resume(seconds, count)

    def follow(self, end: Node, *, is_over: bool) -> bool:
        """Follow the game to its last position; return False if the move that led there came too late.

        A move charges its color and starts the other clock, and the end of the game charges who was thinking. Where
        moves were taken back, nobody is charged.
        """
        if end is self._at and not is_over:
            return True
        is_in_time, color = True, self._running
        has_moved = end.parent is self._at and end.move is not None and end.move.color == color
        if color is not None and (has_moved or (is_over and end is self._at)):
            is_in_time = self._clocks[color].spend(self._elapsed)
        self._at, self._paused = end, None
        if not is_over:
            self._out = None
        self.turn += 1
        self._running = None if is_over or end.move is None else opponent(end.move.color)
        self._since = self._now()
        return is_in_time

    def stop(self) -> None:
        """Stop both clocks until the game is followed again, without charging the running move."""
        self._at = self._running = self._paused = None
        self.turn += 1

    def run_out(self, color: int) -> None:
        """Stop both clocks; `reading` shows no time for a color until a game that was taken back goes on."""
        self.stop()
        self._out = color

    def pause(self, is_paused: bool) -> None:
        """Let the running clock wait, or go on."""
        if self._running is None or is_paused == (self._paused is not None):
            return
        self.turn += 1
        if self._paused is None:
            self._paused = self._now()
        else:
            self._since += self._now() - self._paused
            self._paused = None

    @property
    def _elapsed(self) -> float:
        return (self._now() if self._paused is None else self._paused) - self._since

    def reading(self) -> ClockReading:
        """Return both clocks as they are now."""
        elapsed = 0.0 if self._running is None else self._elapsed
        left = {color: (0.0, 0) if color == self._out else clock.time_left() for color, clock in self._clocks.items()}
        return ClockReading(self.settings, left, self._running, elapsed, self._paused is not None)

    @property
    def seconds_left(self) -> float | None:
        """The seconds until the running clock has lost the game, at least 0; None while none runs or it waits."""
        if self._running is None or self._paused is not None:
            return None
        return max(0.0, self._clocks[self._running].available() - self._elapsed)

    @property
    def running(self) -> int | None:
        """The color whose clock runs."""
        return self._running
