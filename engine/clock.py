"""Time settings, and how many seconds the next move should and may take. Knows nothing of search or GTP.

A `Clock` measures each color's own moves, because some controllers never tell the time left; what
a controller does tell (`set_time_left`) replaces the measured figure.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from engine.color import BLACK, WHITE

DEFAULT_LAG_BUFFER = 0.5
MIN_SECONDS = 0.01
"""The budget of a move when there is no time to speak of."""
_LENGTH_SHARE = 0.65
_TAIL_SHARE = 0.16
_TAIL_GROWTH = 0.35
"""A game takes about 0.65 moves a point, both sides counted. Near that end and beyond it, 0.16 more a
point are expected, or 0.35 of the moves so far: the budget shrinks instead of running out."""
_MAIN_TIME_LENGTH = 0.6
"""Main time before an overtime is spent over this share of the expected game."""
_LONGEST = 2.0
_RESERVE_PER_MOVE = 0.05
_MAX_RESERVE_SHARE = 0.1
"""A bank of time is never planned below 0.05 s for each own move until a game of two moves a point ends: what
moves take without thinking. At most this is a tenth of the main time."""
_MAX_LAG_SHARE = 0.2
_SHORT_LAG = 0.05
_MAX_SHORT_LAG_SHARE = 0.5
"""Of a move's share of the time, the lag buffer takes at most a fifth, or half of it up to 0.05 s; else fast
games would not think."""
_MAX_FISCHER_SHARE = 0.25
"""Of a bank of time that grows by an increment, one move takes at most this much beyond the increment."""
_MOST_BANK_SHARE = 0.2
_MOST_TIMES = 2.5
"""The hardest move takes at most this much of the bank, and this many times what was planned for it."""
_KEPT_SHARE = 0.3
_KEPT_PERIODS = 3
"""Byo-yomi periods that no hard move runs through: a pause of the machine or the connection may need them."""
_FIRST_WEIGHT = 1.6
_MIDDLE_WEIGHT = 3.0
_LAST_WEIGHT = 1.4
_MIDDLE = 0.25
_MIDDLE_END = 0.6
"""Times an even share of the bank, at the start, from a quarter to 0.6 of the expected game, and at its end.
Time early is worth more, many games are resigned, and settled positions late in the game give back what they save."""


class Kind(StrEnum):
    """Time systems, by the names of `kata-list_time_settings`."""

    NONE = "none"
    ABSOLUTE = "absolute"
    BYOYOMI = "byoyomi"
    CANADIAN = "canadian"
    FISCHER = "fischer"
    FISCHER_CAPPED = "fischer-capped"


@dataclass(frozen=True)
class TimeSettings:
    """One time system; all times in seconds.

    period, count: Canadian: seconds for `count` stones; byo-yomi: `count` periods of that many seconds.
    main_cap, move_cap: Fischer with caps: the most time in the bank and for one move, None for no cap.
    """

    kind: Kind
    main: float = 0.0
    period: float = 0.0
    count: int = 0
    increment: float = 0.0
    main_cap: float | None = None
    move_cap: float | None = None

    @classmethod
    def from_gtp(cls, main: float, overtime: float, stones: int) -> "TimeSettings":
        """Return what GTP's `time_settings` means: Canadian, absolute without overtime, or no limit."""
        if overtime > 0 and stones == 0:
            return NO_LIMIT
        if overtime == 0:
            return cls(Kind.ABSOLUTE, main)
        return cls(Kind.CANADIAN, main, overtime, stones)

    @property
    def has_periods(self) -> bool:
        """True with an overtime that renews itself."""
        return self.kind in (Kind.BYOYOMI, Kind.CANADIAN)

    @property
    def pace(self) -> float:
        """Seconds a move that the overtime or increment grants for ever."""
        if self.kind is Kind.CANADIAN:
            return self.period / self.count
        return self.period if self.kind is Kind.BYOYOMI else self.increment


NO_LIMIT = TimeSettings(Kind.NONE)


@dataclass(frozen=True)
class Allotment:
    """Seconds for one move.

    seconds: what a move of average difficulty should take. most_seconds: what the hardest may take, at least `seconds`.
    is_kept: time that is not used now is there for later moves.
    """

    seconds: float
    most_seconds: float
    is_kept: bool = True


@dataclass
class _Side:
    """One color's time. count: stones or periods left in overtime."""

    main: float
    period: float
    count: int
    in_overtime: bool = False


class Clock:
    """Both colors' clocks under one time system.

    settings: None until a controller has sent any.
    lag_buffer: seconds a move kept for the way to the controller and for a search that stops late.
    now: a monotonic clock in seconds.
    """

    def __init__(
        self,
        settings: TimeSettings | None = None,
        lag_buffer: float = DEFAULT_LAG_BUFFER,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.lag_buffer = lag_buffer
        self._now = now
        self._running: tuple[int, float] | None = None
        self.configure(settings)

    def configure(self, settings: TimeSettings | None) -> None:
        """Take over new settings, in the middle of a game too, with full time for both colors."""
        self.settings = settings
        self.reset()

    def reset(self) -> None:
        """Give both colors their full time, as at the start of a game. A running clock keeps running."""
        settings = self.settings or NO_LIMIT
        self._sides = {
            color: _Side(settings.main, settings.period, settings.count, settings.has_periods and settings.main == 0)
            for color in (BLACK, WHITE)
        }

    def start(self, color: int) -> None:
        """Start the clock of a color that begins to think."""
        self._running = (color, self._now())

    def stop(self) -> float:
        """Stop the running clock, charge its color and return the seconds that passed; 0.0 if none ran."""
        if self._running is None:
            return 0.0
        color, since = self._running
        self._running = None
        elapsed = max(0.0, self._now() - since)
        self._charge(self._sides[color], elapsed)
        return elapsed

    def set_time_left(self, color: int, seconds: float, count: int) -> None:
        """Take over a controller's figures: main time if count is 0, else seconds for `count` stones or periods."""
        seconds = max(0.0, seconds)
        if self.settings is None and seconds > 0:
            # A controller that counts time but never said how: plan with what it says is left.
            self.configure(TimeSettings(Kind.ABSOLUTE, seconds))
        settings, side = self.settings or NO_LIMIT, self._sides[color]
        if count > 0 and settings.has_periods:
            side.main, side.period, side.count, side.in_overtime = 0.0, seconds, count, True
        else:
            side.main, side.period, side.count, side.in_overtime = seconds, settings.period, settings.count, False

    def time_left(self, color: int) -> tuple[float, int]:
        """Return (seconds, count) as `set_time_left` takes them, the running move not charged."""
        side = self._sides[color]
        return (side.period, side.count) if side.in_overtime else (side.main, 0)

    def budget(self, color: int, move_number: int, area: int) -> float | None:
        """Return the planned seconds of `allotment`, or None if there is no limit."""
        allotment = self.allotment(color, move_number, area)
        return None if allotment is None else allotment.seconds

    def allotment(self, color: int, move_number: int, area: int) -> Allotment | None:
        """Return the time of a color's next move, or None if there is no limit.

        move_number: moves of both colors so far. area: points of the board.
        The time since `start` is already taken off.
        """
        settings, side = self.settings or NO_LIMIT, self._sides[color]
        if settings.kind is Kind.NONE:
            return None
        plan = self._overtime_plan if settings.has_periods else self._bank_plan
        allotment = plan(settings, side, move_number, area)
        waited = self._now() - self._running[1] if self._running is not None and self._running[0] == color else 0.0
        return replace(
            allotment,
            seconds=max(MIN_SECONDS, allotment.seconds - waited),
            most_seconds=max(MIN_SECONDS, allotment.most_seconds - waited),
        )

    def _lag(self, share: float) -> float:
        short = min(_SHORT_LAG, _MAX_SHORT_LAG_SHARE * share)
        return min(self.lag_buffer, max(_MAX_LAG_SHARE * share, short))

    def _less_lag(self, seconds: float, most: float, *, is_kept: bool) -> Allotment:
        """Return an allotment with the lag buffer taken off both times."""
        most = max(seconds, most)
        return Allotment(seconds - self._lag(seconds), most - self._lag(most), is_kept)

    def _overtime_plan(self, settings: TimeSettings, side: _Side, move_number: int, area: int) -> Allotment:
        """Return the time of a move under Canadian or byo-yomi time."""
        is_canadian = settings.kind is Kind.CANADIAN
        if side.in_overtime and is_canadian:
            share = side.period / max(1, side.count)
            return self._less_lag(share, _most_of_period(side.period, side.count), is_kept=side.count > 1)
        spare = 0 if is_canadian else max(0, side.count - _KEPT_PERIODS)
        if side.in_overtime:
            most = side.period + (settings.period if spare else 0.0)
            return self._less_lag(side.period, most, is_kept=False)
        # The first period is whole behind the main time, so a move may run into it, but no further.
        left = _own_moves_left(move_number, area, _MAIN_TIME_LENGTH)
        bound = settings.pace + side.main
        share = min(settings.pace + side.main / left * _weight(move_number, area), bound)
        return self._less_lag(share, min(bound, share + _MOST_BANK_SHARE * side.main), is_kept=True)

    def _bank_plan(self, settings: TimeSettings, side: _Side, move_number: int, area: int) -> Allotment:
        """Return the time of a move under absolute or Fischer time."""
        left = _own_moves_left(move_number, area)
        most_left = max(left, (_LONGEST * area - move_number) / 2)
        reserve = min(_RESERVE_PER_MOVE * most_left, _MAX_RESERVE_SHARE * settings.main)
        bank = max(0.0, side.main - reserve)
        share = bank / left * _weight(move_number, area)
        if settings.increment > 0:
            share = min(share + settings.increment, settings.increment + _MAX_FISCHER_SHARE * bank)
        # What an even use of the main time would have left by now is not spent on one hard move.
        kept = _KEPT_SHARE * settings.main * left / _own_moves_left(0, area)
        most = min(_MOST_TIMES * share, settings.increment + _MOST_BANK_SHARE * bank, bank - kept)
        if settings.main_cap is not None:
            # What the bank cannot hold after this move would be lost.
            share = max(share, side.main + settings.increment - settings.main_cap)
        share = min(share, bank)
        if settings.move_cap is not None:
            share, most = min(share, settings.move_cap), min(most, settings.move_cap)
        return self._less_lag(share, most, is_kept=True)

    def _charge(self, side: _Side, elapsed: float) -> None:
        """Take one move's time off a color's clock."""
        settings = self.settings or NO_LIMIT
        if not settings.has_periods:
            side.main = max(0.0, side.main - elapsed) + settings.increment
            if settings.main_cap is not None:
                side.main = min(side.main, settings.main_cap)
            return
        if not side.in_overtime:
            if elapsed < side.main:
                side.main -= elapsed
                return
            elapsed -= side.main
            side.main, side.in_overtime = 0.0, True
        if settings.kind is Kind.CANADIAN:
            side.period, side.count = max(0.0, side.period - elapsed), side.count - 1
            if side.count <= 0:
                side.period, side.count = settings.period, settings.count
        else:
            lost = int(min(side.count, elapsed / settings.period))
            side.period, side.count = settings.period, max(1, side.count - lost)


def _weight(move_number: int, area: int) -> float:
    """Return by how much a move's share of the bank exceeds an even one."""
    progress = move_number / (_LENGTH_SHARE * area)
    if progress < _MIDDLE:
        return _FIRST_WEIGHT + (_MIDDLE_WEIGHT - _FIRST_WEIGHT) * progress / _MIDDLE
    late = min(1.0, max(0.0, progress - _MIDDLE_END) / (1.0 - _MIDDLE_END))
    return _MIDDLE_WEIGHT + (_LAST_WEIGHT - _MIDDLE_WEIGHT) * late


def _most_of_period(seconds: float, stones: int) -> float:
    """Return what one of the stones left in a Canadian period may take; the last one takes all."""
    return seconds / (0.75 * stones + 0.25)


def _own_moves_left(move_number: int, area: int, length: float = 1.0) -> float:
    """Return how many moves one color should expect to make until its time may be gone."""
    expected = _LENGTH_SHARE * length * area - move_number
    return max(expected, _TAIL_SHARE * area, _TAIL_GROWTH * move_number, 2.0) / 2
