"""Commands that set clocks: those of GTP, KGS and KataGo.

The commands that set a time system ignore surplus arguments, as KataGo does.
"""

from collections.abc import Callable

from engine.clock import NO_LIMIT, Kind, TimeSettings
from gtp.args import expect, parse_color, parse_float, parse_int, syntax_error
from gtp.protocol import Command
from gtp.state import GtpState, Handler


def time_settings(state: GtpState, command: Command) -> str:
    """Set main time, overtime and stones. Does not start a clock; may be repeated during a game."""
    *times, stones = _first(3, command.args)
    main, overtime = (parse_float(text, least=0) for text in times)
    state.clock.configure(TimeSettings.from_gtp(main, overtime, parse_int(stones, least=0)))
    return ""


def _first(count: int, args: list[str]) -> list[str]:
    """Return the first `count` arguments; fewer are an error."""
    return args[:count] if len(args) >= count else syntax_error()


def time_left(state: GtpState, command: Command) -> str:
    """Correct a color's clock. Servers report slightly negative times, which count as no time."""
    expect(command.args, 3)
    color, seconds = parse_color(command.args[0]), parse_float(command.args[1])
    state.clock.set_time_left(color, seconds, parse_int(command.args[2], least=0))
    return ""


def _none(args: list[str]) -> TimeSettings:
    return NO_LIMIT


def _absolute(args: list[str]) -> TimeSettings:
    (main,) = _first(1, args)
    return TimeSettings(Kind.ABSOLUTE, parse_float(main, least=0))


def _byoyomi(args: list[str]) -> TimeSettings:
    return _overtime(Kind.BYOYOMI, args)


def _canadian(args: list[str]) -> TimeSettings:
    return _overtime(Kind.CANADIAN, args)


def _overtime(kind: Kind, args: list[str]) -> TimeSettings:
    *times, number = _first(3, args)
    main, period = (parse_float(text, least=0) for text in times)
    count = parse_int(number, least=0)
    # A period of 0 seconds, or none of them, means no overtime.
    if period == 0 or (count == 0 and kind is Kind.BYOYOMI):
        return TimeSettings(Kind.ABSOLUTE, main)
    return NO_LIMIT if count == 0 else TimeSettings(kind, main, period, count)


def _fischer(args: list[str]) -> TimeSettings:
    main, increment = (parse_float(text, least=0) for text in _first(2, args))
    return TimeSettings(Kind.FISCHER, main, increment=increment)


def _fischer_capped(args: list[str]) -> TimeSettings:
    *times, main_cap_text, move_cap_text = _first(4, args)
    main, increment = (parse_float(text, least=0) for text in times)
    main_cap, move_cap = _cap(main_cap_text), _cap(move_cap_text)
    return TimeSettings(Kind.FISCHER_CAPPED, main, increment=increment, main_cap=main_cap, move_cap=move_cap)


def _cap(text: str) -> float | None:
    """Return a limit; a negative number means that there is none, as in KataGo's GTP_Extensions.md."""
    value = parse_float(text)
    return None if value < 0 else value


_Reader = Callable[[list[str]], TimeSettings]
_KGS_SYSTEMS: dict[str, _Reader] = {"none": _none, "absolute": _absolute, "byoyomi": _byoyomi, "canadian": _canadian}
_SYSTEMS: dict[str, _Reader] = {**_KGS_SYSTEMS, "fischer": _fischer, "fischer-capped": _fischer_capped}


def _configure(state: GtpState, command: Command, systems: dict[str, _Reader]) -> str:
    read = systems.get(command.args[0].lower()) if command.args else None
    state.clock.configure(syntax_error() if read is None else read(command.args[1:]))
    return ""


def kgs_time_settings(state: GtpState, command: Command) -> str:
    """Set one of KGS's time systems."""
    return _configure(state, command, _KGS_SYSTEMS)


def kata_time_settings(state: GtpState, command: Command) -> str:
    """Set one of KataGo's time systems: those of KGS, and Fischer with or without caps."""
    return _configure(state, command, _SYSTEMS)


def kata_list_time_settings(state: GtpState, command: Command) -> str:
    """List the systems of `kata-time_settings`."""
    expect(command.args, 0)
    return " ".join(_SYSTEMS)


COMMANDS: dict[str, Handler] = {
    "time_settings": time_settings,
    "time_left": time_left,
    "kgs-time_settings": kgs_time_settings,
    "kata-time_settings": kata_time_settings,
    "kata-list_time_settings": kata_list_time_settings,
}
