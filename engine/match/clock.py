"""Keeps a player's clock for the arbiter, and parses and formats time systems.

Decides when a player loses on time. How an engine uses its time is not decided here.
"""

import math
import re
from collections.abc import Callable, Collection
from typing import assert_never

from engine.clock import Kind, TimeSettings

_NUMBER = r"(\d+\.?\d*|\.\d+)"
# Forms of `--clock` by their first word: how to write it, its pattern, and its constructor.
_FORMS: dict[str, tuple[str, re.Pattern[str], Callable[..., TimeSettings]]] = {
    "absolute": (
        "absolute:MAIN",
        re.compile(_NUMBER),
        lambda main: TimeSettings(Kind.ABSOLUTE, float(main)),
    ),
    "fischer": (
        "fischer:MAIN+INCREMENT",
        re.compile(rf"{_NUMBER}\+{_NUMBER}"),
        lambda main, increment: TimeSettings(Kind.FISCHER, float(main), increment=float(increment)),
    ),
    "capped": (
        "capped:MAIN+INCREMENT/MAIN_CAP/MOVE_CAP",
        re.compile(rf"{_NUMBER}\+{_NUMBER}(?:/{_NUMBER}?)?(?:/{_NUMBER}?)?"),
        lambda main, increment, *caps: TimeSettings(
            Kind.FISCHER_CAPPED,
            float(main),
            increment=float(increment),
            main_cap=float(caps[0]) if caps[0] else None,
            move_cap=float(caps[1]) if caps[1] else None,
        ),
    ),
    "byoyomi": (
        "byoyomi:MAIN+PERIODSxPERIOD",
        re.compile(rf"{_NUMBER}\+(\d{{1,6}})x{_NUMBER}"),
        lambda main, count, period: TimeSettings(Kind.BYOYOMI, float(main), float(period), int(count)),
    ),
    "canadian": (
        "canadian:MAIN+STONES/PERIOD",
        re.compile(rf"{_NUMBER}\+(\d{{1,6}})/{_NUMBER}"),
        lambda main, count, period: TimeSettings(Kind.CANADIAN, float(main), float(period), int(count)),
    ),
}

CLOCK_FORMS = ", ".join(form for form, _, _ in _FORMS.values())


def parse_clock(text: str, words: Collection[str] = tuple(_FORMS)) -> TimeSettings:
    """Parse a time system such as "fischer:10+1". words: the first words that are taken. Raises ValueError."""
    word, _, numbers = text.strip().lower().partition(":")
    if word not in words:
        raise ValueError(f"clock {text!r}: expected one of {', '.join(_FORMS[each][0] for each in words)}")
    form, pattern, build = _FORMS[word]
    found = pattern.fullmatch(numbers)
    if found is None:
        raise ValueError(f"clock {text!r}: expected {form}")
    settings = build(*found.groups())
    check_clock(settings)
    return settings


def clock_text(settings: TimeSettings) -> str:
    """Format time settings for `parse_clock`."""
    main, count, period = _number(settings.main), settings.count, _number(settings.period)
    increment = _number(settings.increment)
    match settings.kind:
        case Kind.FISCHER:
            return f"fischer:{main}+{increment}"
        case Kind.FISCHER_CAPPED:
            caps = ("" if cap is None else _number(cap) for cap in (settings.main_cap, settings.move_cap))
            return f"capped:{main}+{increment}/{'/'.join(caps)}"
        case Kind.BYOYOMI:
            return f"byoyomi:{main}+{count}x{period}"
        case Kind.CANADIAN:
            return f"canadian:{main}+{count}/{period}"
        case Kind.ABSOLUTE | Kind.NONE:
            return f"absolute:{main}"
    assert_never(settings.kind)


def overtime_text(settings: TimeSettings) -> str:
    """Return SGF's OT value, "" for absolute time."""
    match settings.kind:
        case Kind.FISCHER | Kind.FISCHER_CAPPED:
            return f"{_number(settings.increment)} fischer"
        case Kind.BYOYOMI:
            return f"{settings.count}x{_number(settings.period)} byo-yomi"
        case Kind.CANADIAN:
            return f"{settings.count}/{_number(settings.period)} Canadian"
        case Kind.ABSOLUTE | Kind.NONE:
            return ""
    assert_never(settings.kind)


def check_clock(settings: TimeSettings) -> None:
    """Raise ValueError for settings under which no move, or no second move, could be played."""
    if settings.kind is Kind.NONE:
        raise ValueError(f"time without a limit: expected one of {CLOCK_FORMS}")
    if (expected := _lacking(settings)) is not None:
        raise ValueError(f"clock {clock_text(settings)!r}: expected {expected}")


def _lacking(settings: TimeSettings) -> str | None:
    """Return what settings lack to be a clock, None if they are one."""
    main, main_cap, move_cap = settings.main, settings.main_cap, settings.move_cap
    numbers = (main, settings.period, settings.increment, main_cap or 0.0, move_cap or 0.0)
    if min(numbers) < 0 or not all(math.isfinite(number) for number in numbers):
        return "finite numbers that are not negative"
    if settings.has_periods and settings.period == 0:
        return "a period above 0 s"
    if settings.has_periods and settings.count < 1:
        return "1 stone or more" if settings.kind is Kind.CANADIAN else "1 period or more"
    if not settings.has_periods and main == 0:
        return "a main time above 0 s"
    if 0.0 in (main_cap, move_cap):
        return "a cap above 0 s, or none"
    if main_cap is not None and main > main_cap:
        return f"a main time of at most its cap, {_number(main_cap)} s"
    return None


def settings_command(settings: TimeSettings, listed: Collection[str]) -> str | None:
    """Return a command, among those that the program lists, that sends the settings; None if there is none."""
    main, period, increment = (_number(value) for value in (settings.main, settings.period, settings.increment))
    match settings.kind:
        case Kind.ABSOLUTE | Kind.NONE:
            overtime = ""
        case Kind.BYOYOMI | Kind.CANADIAN:
            overtime = f" {period} {settings.count}"
        case Kind.FISCHER:
            overtime = f" {increment}"
        case Kind.FISCHER_CAPPED:
            caps = ("-1" if cap is None else _number(cap) for cap in (settings.main_cap, settings.move_cap))
            overtime = f" {increment} {' '.join(caps)}"
        case _:
            assert_never(settings.kind)
    if "kata-time_settings" in listed:
        return f"kata-time_settings {settings.kind} {main}{overtime}"
    if settings.kind in (Kind.ABSOLUTE, Kind.CANADIAN) and "time_settings" in listed:
        # GTP's standard: overtime 0 0 means absolute time.
        return f"time_settings {main}{overtime or ' 0 0'}"
    if settings.kind in (Kind.ABSOLUTE, Kind.CANADIAN, Kind.BYOYOMI) and "kgs-time_settings" in listed:
        return f"kgs-time_settings {settings.kind} {main}{overtime}"
    return None


def knows_clocks(listed: Collection[str]) -> bool:
    """True if a program lists any command that sets a clock."""
    return not {"time_settings", "kgs-time_settings", "kata-time_settings"}.isdisjoint(listed)


class Clock:
    """One player's remaining time in one game."""

    def __init__(self, settings: TimeSettings) -> None:
        """Start with the full time.

        main_share: used share of the main time and of the increments granted so far, None without main time.
        least_left: the smallest time, in seconds, that was left at the end of a move.
        """
        self._settings = settings
        self._main = self._granted = settings.main
        self._used = 0.0
        self._period = 0.0
        self._count = 0
        if settings.main == 0:
            self._enter_overtime()
        self.main_share = 0.0 if settings.main else None
        self.least_left = self.available()

    def available(self) -> float:
        """Return the number of seconds that the next move may take."""
        settings = self._settings
        if self._count:
            # All byo-yomi periods may go into one move; a Canadian period must last for all its stones.
            return self._period if settings.kind is Kind.CANADIAN else self._period * self._count
        overtime = settings.period * (settings.count if settings.kind is Kind.BYOYOMI else 1)
        left = self._main + overtime
        return left if settings.move_cap is None else min(left, settings.move_cap)

    def spend(self, seconds: float, grace: float = 0.0) -> bool:
        """Charge one move; return False if the player lost on time.

        Exceeding the time by up to `grace` seconds is forgiven at every move: it covers pipes and a busy machine, not
        thinking. It does not cost a byo-yomi period either.
        """
        left = self.available()
        self.least_left = min(self.least_left, max(0.0, left - seconds))
        rest = seconds if self._count else self._spend_main(seconds)
        if seconds > left + grace:
            return False
        if self._count:
            self._spend_overtime(rest, grace)
        return True

    def time_left(self) -> tuple[float, int]:
        """Return (seconds, stones or periods) as in `time_left`; the second is 0 in main time."""
        return (self._period, self._count) if self._count else (self._main, 0)

    def resume(self, seconds: float, count: int) -> None:
        """Set the time left, in the form of `time_left`. Raises ValueError for more time than the settings give."""
        settings = self._settings
        most_seconds = settings.period if count else max(settings.main, settings.main_cap or 0.0)
        if settings.increment and settings.main_cap is None:
            most_seconds = math.inf  # increments may have been saved up
        most_count = settings.count if settings.has_periods else 0
        if not (0 <= seconds <= most_seconds and math.isfinite(seconds) and 0 <= count <= most_count):
            raise ValueError(f"{_number(seconds)} seconds and {count} periods: more than {clock_text(settings)} gives")
        if count:
            self._main, self._period, self._count = 0.0, seconds, count
        else:
            self._main, self._period, self._count = seconds, 0.0, 0
        self.least_left = self.available()

    def command(self, color: str, *, fractions: bool) -> str:
        """Return the `time_left` command; without fractions, in whole seconds if the settings are whole."""
        seconds, count = self.time_left()
        # Programs without KataGo's time settings may reject fractions, which the standard does not know.
        whole = not fractions and all(float(each).is_integer() for each in (self._settings.main, self._settings.period))
        return f"time_left {color} {int(seconds) if whole else f'{seconds:.2f}'} {count}"

    def _spend_main(self, seconds: float) -> float:
        """Charge a move to the main time; return the seconds that exceed it, which belong to the overtime."""
        settings = self._settings
        taken = min(seconds, self._main)
        self._main -= taken
        self._used += taken
        self.main_share = self._used / self._granted
        if settings.has_periods:
            if seconds > taken:
                self._enter_overtime()
            return seconds - taken
        added = settings.increment
        if settings.main_cap is not None:
            # The bank never exceeds its cap, but a bank above it is not cut either.
            added = max(0.0, min(added, settings.main_cap - self._main))
        self._main += added
        self._granted += added
        return 0.0

    def _spend_overtime(self, seconds: float, grace: float) -> None:
        settings = self._settings
        if settings.kind is Kind.BYOYOMI:
            # A period is lost each time it is used up completely; a move within one period costs nothing.
            lost = max(0, math.ceil((seconds - grace) / settings.period) - 1)
            self._count = max(1, self._count - lost)
            return
        self._period = max(0.0, self._period - seconds)
        self._count -= 1
        if self._count == 0:
            self._enter_overtime()

    def _enter_overtime(self) -> None:
        self._period, self._count = self._settings.period, self._settings.count


def _number(value: float) -> str:
    return f"{value:.12g}"
