"""Commands that place handicap stones: on fixed points, on the engine's or on the user's choice."""

from collections.abc import Callable

from engine.errors import IllegalMove
from engine.handicap import fixed_handicap_points, free_handicap_points
from engine.vertex import format_vertex
from gtp.args import expect, parse_int, parse_point
from gtp.errors import GtpError
from gtp.protocol import Command
from gtp.state import GtpState, Handler


def fixed_handicap(state: GtpState, command: Command) -> str:
    """Place N stones on the points fixed by the standard; list them."""
    return _place(state, command, fixed_handicap_points)


def place_free_handicap(state: GtpState, command: Command) -> str:
    """Place exactly N stones of the engine's choice; list them."""
    return _place(state, command, free_handicap_points)


def _place(state: GtpState, command: Command, choose: Callable[[int, int, int], list[int]]) -> str:
    expect(command.args, 1)
    number = parse_int(command.args[0])
    state.require_empty_board()
    try:
        vertices = choose(number, state.width, state.height)
    except IllegalMove as error:
        raise GtpError(str(error)) from None
    state.place_handicap(vertices)
    return " ".join(format_vertex(vertex, state.width, state.height) for vertex in vertices)


def set_free_handicap(state: GtpState, command: Command) -> str:
    """Place the user's stones; even a single one, because some controllers test with it."""
    if not command.args:
        raise GtpError("bad vertex list")
    state.require_empty_board()
    try:
        vertices = [parse_point(text, state.width, state.height) for text in command.args]
    except GtpError:
        raise GtpError("bad vertex list") from None
    # At least one point must stay empty, or the stones would have no liberty.
    if len(set(vertices)) < len(vertices) or len(vertices) >= state.width * state.height:
        raise GtpError("bad vertex list")
    state.place_handicap(vertices)
    return ""


COMMANDS: dict[str, Handler] = {
    "fixed_handicap": fixed_handicap,
    "place_free_handicap": place_free_handicap,
    "set_free_handicap": set_free_handicap,
}
