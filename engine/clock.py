"""Keeps both players' clocks and decides how many seconds the next move should and may take.

Knows nothing of search or GTP. A `Clock` measures each color's own moves, because some controllers never send
`time_left`; when a controller does (`set_time_left`), its value replaces the measured one. The difference is the lag of
the connection, for which later moves keep time back.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from engine.color import BLACK, WHITE

DEFAULT_LAG_BUFFER = 0.5
DEFAULT_MOVE_SECONDS = 5.0
"""Time of a move where neither a clock nor the user limits it."""
MIN_SECONDS = 0.01
"""Smallest budget of a move, in seconds: used when no time is left."""
# Expected length of a game in moves of both sides: 0.65 a point. Near that end and beyond it, at least 0.16 a point or
# 0.35 of the moves so far are still expected, so the budget shrinks instead of running out.
_LENGTH_SHARE = 0.65
_TAIL_SHARE = 0.16
_TAIL_GROWTH = 0.35
# Main time that is followed by an overtime is spent over this share of the expected game.
_MAIN_TIME_LENGTH = 0.6
# Reserve that is never planned for: the lag buffer less the increment, or 0.05 s, what a move costs without any search,
# for each own move of a game of two moves a point, but at most a tenth of the main time.
_MOST_MOVES_PER_POINT = 2.0
_RESERVE_PER_MOVE = 0.05
_MAX_RESERVE_SHARE = 0.1
# And at most this share of the time that is left, a smaller one where the increment covers the lag buffer: a clock that
# ran on while the connection was lost has less than was planned, and moves are not to be played without any thought.
_MOST_RESERVED, _MOST_RESERVED_BESIDE_INCREMENT = 0.9, 0.5
_MOST_MEASURED = 0.97
# The lag buffer takes at most a fifth of a move's share of the time, or up to half of it while that is below 0.05 s.
# Without this bound, a buffer of 0.5 s would leave no search time in fast games.
_MAX_LAG_SHARE = 0.2
_SHORT_LAG = 0.05
_MAX_SHORT_LAG_SHARE = 0.5
# The lag that reports of a controller show is reserved in full, for each own move until the game has two moves a point.
# One move counts with at most this much, so that a connection that was lost once does not count as slow; a report of
# more time than was left, by more than this a move, is a correction and is not measured.
_MOST_LAG = 3.0
# The lag is a mean over at least 5 moves, so that one slow move does not take the time of all others, and at most 200.
_FEWEST_MOVES, _REMEMBERED_MOVES = 5.0, 200
# Where a report covers several moves, each after the first counts with at most this much, or with the mean if larger.
_MOST_UNREPORTED = 0.5
# All reports in whole seconds of one main time or period together are off by less than this.
_ROUNDING = 1.0
# With an increment, one move takes at most this share of the bank on top of the increment.
_MAX_FISCHER_SHARE = 0.25
# The hardest move takes at most this share of the bank, and at most this multiple of its planned time.
_MOST_BANK_SHARE = 0.2
_MOST_TIMES = 2.5
_KEPT_SHARE = 0.3
# Byo-yomi periods that a hard move never uses up: a stall of the machine or the connection may need them.
_KEPT_PERIODS = 3
# Weight of a move relative to an even split of the bank: at the start, from 0.25 to 0.6 of the expected game, and at
# its end. Time early is worth more: many games end by resignation, and settled positions late in the game return what
# they do not use.
_FIRST_WEIGHT = 1.6
_MIDDLE_WEIGHT = 3.0
_LAST_WEIGHT = 1.4
_MIDDLE = 0.25
_MIDDLE_END = 0.6


class Kind(StrEnum):
    """Time systems, named as in `kata-list_time_settings`."""

    NONE = "none"
    ABSOLUTE = "absolute"
    BYOYOMI = "byoyomi"
    CANADIAN = "canadian"
    FISCHER = "fischer"
    FISCHER_CAPPED = "fischer-capped"


@dataclass(frozen=True)
class TimeSettings:
    """One time system. All times are in seconds.

    period, count: Canadian: `period` seconds for `count` stones; byo-yomi: `count` periods of `period` seconds.
    main_cap, move_cap: capped Fischer: the most time the bank can hold and one move can take, None for no cap.
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
        """Convert the arguments of GTP's `time_settings`: Canadian, absolute (no overtime) or no limit."""
        if overtime > 0 and stones == 0:
            return NO_LIMIT
        if overtime == 0:
            return cls(Kind.ABSOLUTE, main)
        return cls(Kind.CANADIAN, main, overtime, stones)

    @property
    def has_periods(self) -> bool:
        """True if the overtime renews itself: byo-yomi and Canadian."""
        return self.kind in (Kind.BYOYOMI, Kind.CANADIAN)

    @property
    def pace(self) -> float:
        """Seconds a move that overtime or increment grants forever."""
        if self.kind is Kind.CANADIAN:
            return self.period / self.count
        return self.period if self.kind is Kind.BYOYOMI else self.increment


NO_LIMIT = TimeSettings(Kind.NONE)


@dataclass(frozen=True)
class Allotment:
    """Seconds for one move.

    seconds: for a move of average difficulty. most_seconds: for the hardest move, at least `seconds`.
    is_kept: unused time stays available for later moves.
    """

    seconds: float
    most_seconds: float
    is_kept: bool = True


@dataclass
class _Side:
    """One color's remaining time.

    count: stones or periods left in overtime. unreported: moves since the last report. is_exact: no report in whole
    seconds has rounded it.
    """

    main: float
    period: float
    count: int
    in_overtime: bool = False
    unreported: int = 0
    is_exact: bool = True


@dataclass
class _Lag:
    """Seconds by which moves are longer on the controller's clock than measured here."""

    seconds: float = 0.0
    moves: float = 0.0

    def observe(self, missing: float, moves: int) -> None:
        """Take note of a report of `missing` seconds less than `moves` moves since the last one had left."""
        if moves and missing >= -moves * _MOST_LAG:
            kept = min(1.0, _REMEMBERED_MOVES / (self.moves + moves))
            most = _MOST_LAG + (moves - 1) * max(self.of_a_move, _MOST_UNREPORTED)
            # Without any lag the sum stays above -1; less comes from moves that were taken back.
            self.seconds = kept * max(-_ROUNDING, self.seconds + min(missing, most))
            self.moves = kept * (self.moves + moves)

    @property
    def of_a_move(self) -> float:
        """Seconds of lag to expect at each move: the mean, without what whole seconds may have added."""
        return max(0.0, self.seconds - _ROUNDING) / max(_FEWEST_MOVES, self.moves)


class Clock:
    """The clocks of both colors under one time system.

    settings: None until the controller has sent any.
    lag_buffer: seconds kept back at each move for the connection and for a search that stops late.
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
        # Of both colors, and kept from game to game, as the connection is.
        self._lag_measured = _Lag()
        self.configure(settings)

    def configure(self, settings: TimeSettings | None) -> None:
        """Apply new settings, even in the middle of a game, and give both colors their full time."""
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
        """Start the clock of the color whose turn begins."""
        self._running = (color, self._now())

    def stop(self) -> float:
        """Stop the running clock, charge its color and return the seconds that passed; 0.0 if none was running."""
        if self._running is None:
            return 0.0
        color, since = self._running
        self._running = None
        elapsed = max(0.0, self._now() - since)
        self._charge(self._sides[color], elapsed)
        self._sides[color].unreported += 1
        return elapsed

    @contextmanager
    def turn(self, color: int, *, is_charged: bool = True) -> Iterator[None]:
        """Let the color's clock run during the block; within the block of an earlier call, which goes on, do nothing.

        is_charged: whether the color pays for it, as for a move that is played.
        """
        if self._running is not None:
            yield
            return
        self.start(color)
        try:
            yield
        finally:
            if is_charged:
                self.stop()
            self._running = None

    def set_time_left(self, color: int, seconds: float, count: int) -> None:
        """Set a color's time: main time if count is 0, else seconds for `count` stones or periods.

        What is missing beside the moves that were charged is taken for the lag of the connection.
        """
        seconds = max(0.0, seconds)
        if self.settings is None and seconds > 0:
            # The controller reports time but never sent settings: plan with the reported time as absolute time.
            self.configure(TimeSettings(Kind.ABSOLUTE, seconds))
        settings, side = self.settings or NO_LIMIT, self._sides[color]
        in_overtime = count > 0 and settings.has_periods
        # Periods that have just been renewed, as all are in byo-yomi, and overtime that has just begun show no lag.
        was_left, was_count = self.time_left(color)
        is_whole = (was_left, was_count) == (settings.period, settings.count)
        renewed = in_overtime and (settings.kind is Kind.BYOYOMI or is_whole)
        if (in_overtime, count) == (side.in_overtime, was_count) and not renewed:
            rounded = _ROUNDING / 2 if side.is_exact and float(seconds).is_integer() else 0.0
            self._lag_measured.observe(was_left - seconds - rounded, side.unreported)
        side.unreported, side.is_exact = 0, renewed and is_whole
        if in_overtime:
            side.main, side.period, side.count, side.in_overtime = 0.0, seconds, count, True
        else:
            side.main, side.period, side.count, side.in_overtime = seconds, settings.period, settings.count, False

    def time_left(self, color: int) -> tuple[float, int]:
        """Return (seconds, count) in the form of `set_time_left`; the running move is not charged yet."""
        side = self._sides[color]
        return (side.period, side.count) if side.in_overtime else (side.main, 0)

    def allotment(self, color: int, move_number: int, area: int) -> Allotment | None:
        """Return the time for a color's next move, or None without a time limit.

        move_number: moves of both colors so far. area: number of points of the board.
        The time since `start` is already subtracted.
        """
        settings = self.settings or NO_LIMIT
        if settings.kind is Kind.NONE:
            return None
        plan = self._overtime_plan if settings.has_periods else self._bank_plan
        allotment = plan(settings, color, move_number, area)
        # Loading the engine may have used part of the move's time already.
        waited = self._now() - self._running[1] if self._running is not None and self._running[0] == color else 0.0
        return replace(
            allotment,
            seconds=max(MIN_SECONDS, allotment.seconds - waited),
            most_seconds=max(MIN_SECONDS, allotment.most_seconds - waited),
        )

    def _less_lag(self, seconds: float, most: float, *, is_kept: bool, measured: float = 0.0) -> Allotment:
        """Subtract the lag buffer, and beside it a lag that was measured, from both times."""
        most = max(seconds, most)
        return Allotment(seconds - self._lag(seconds, measured), most - self._lag(most, measured), is_kept)

    def _lag(self, share: float, measured: float) -> float:
        short = min(_SHORT_LAG, _MAX_SHORT_LAG_SHARE * share)
        assumed = min(self.lag_buffer, max(_MAX_LAG_SHARE * share, short))
        return min(assumed + measured, max(assumed, _MOST_RESERVED * share))

    def _overtime_plan(self, settings: TimeSettings, color: int, move_number: int, area: int) -> Allotment:
        """Plan a move under Canadian or byo-yomi time."""
        side, is_canadian = self._sides[color], settings.kind is Kind.CANADIAN
        less_lag = partial(self._less_lag, measured=self._lag_measured.of_a_move)
        if side.in_overtime and is_canadian:
            share = side.period / max(1, side.count)
            return less_lag(share, _most_of_period(side.period, side.count), is_kept=side.count > 1)
        spare = 0 if is_canadian else max(0, side.count - _KEPT_PERIODS)
        if side.in_overtime:
            most = side.period + (settings.period if spare else 0.0)
            return less_lag(side.period, most, is_kept=False)
        # The first overtime period is still whole behind the main time, so a move may run into it, but no further.
        # `pace` is granted at every move anyway; only the main time is divided among the moves left.
        left = _own_moves_left(move_number, area, _MAIN_TIME_LENGTH)
        bound = settings.pace + side.main
        share = min(settings.pace + side.main / left * _weight(move_number, area), bound)
        return less_lag(share, min(bound, share + _MOST_BANK_SHARE * side.main), is_kept=True)

    def _bank_plan(self, settings: TimeSettings, color: int, move_number: int, area: int) -> Allotment:
        """Plan a move under absolute or Fischer time."""
        side, left = self._sides[color], _own_moves_left(move_number, area)
        # The reserve must last if the game goes on to two moves a point.
        most_left = max(left, (_MOST_MOVES_PER_POINT * area - move_number) / 2)
        each = max(_RESERVE_PER_MOVE, self.lag_buffer - settings.increment)
        expected = self._lag_measured.of_a_move
        is_granted = settings.increment > max(self.lag_buffer, expected)
        most_reserved = _MOST_RESERVED_BESIDE_INCREMENT if is_granted else _MOST_RESERVED
        cap = _MAX_RESERVE_SHARE * settings.main
        assumed = min(each * most_left, cap)
        measured = max(0.0, expected - settings.increment) * most_left + min(_RESERVE_PER_MOVE * most_left, cap)
        reserve = min(max(assumed, measured), most_reserved * side.main)
        if expected > settings.increment:
            # A lag that was measured is sure to be needed, so it may take nearly all.
            reserve = max(reserve, min(measured, _MOST_MEASURED * side.main))
        bank = max(0.0, side.main - reserve)
        share = bank / left * _weight(move_number, area)
        if settings.increment > 0:
            share = min(share + settings.increment, settings.increment + _MAX_FISCHER_SHARE * bank)
        # A single hard move must not spend what an even use of the main time would still have left at this point.
        kept = _KEPT_SHARE * settings.main * left / _own_moves_left(0, area)
        most = min(_MOST_TIMES * share, settings.increment + _MOST_BANK_SHARE * bank, bank - kept)
        if settings.main_cap is not None:
            # Time that the capped bank cannot hold after this move would be lost, so spend it now.
            share = max(share, side.main + settings.increment - settings.main_cap)
        share = min(share, bank)
        if settings.move_cap is not None:
            share, most = min(share, settings.move_cap), min(most, settings.move_cap)
        # What the increment covers is not reserved, but every move has it.
        return self._less_lag(share, most, is_kept=True, measured=min(expected, settings.increment))

    def _charge(self, side: _Side, elapsed: float) -> None:
        """Charge one move to a color's clock."""
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
            # Byo-yomi: a period is lost only when it was used up completely; the last one stays for the planning.
            over = elapsed - side.period
            lost = 0 if over < 0 else int(min(side.count, 1 + over / settings.period))
            side.period, side.count = settings.period, max(1, side.count - lost)


def _weight(move_number: int, area: int) -> float:
    """Return a move's share of the bank relative to an even split."""
    progress = move_number / (_LENGTH_SHARE * area)
    if progress < _MIDDLE:
        return _FIRST_WEIGHT + (_MIDDLE_WEIGHT - _FIRST_WEIGHT) * progress / _MIDDLE
    late = min(1.0, max(0.0, progress - _MIDDLE_END) / (1.0 - _MIDDLE_END))
    return _MIDDLE_WEIGHT + (_LAST_WEIGHT - _MIDDLE_WEIGHT) * late


def _most_of_period(seconds: float, stones: int) -> float:
    """Return the most seconds for one of `stones` left in a Canadian period; the last may take all."""
    return seconds / (0.75 * stones + 0.25)


def _own_moves_left(move_number: int, area: int, length: float = 1.0) -> float:
    """Return the number of moves that one color should still expect to make, at least 1."""
    expected = _LENGTH_SHARE * length * area - move_number
    return max(expected, _TAIL_SHARE * area, _TAIL_GROWTH * move_number, 2.0) / 2
