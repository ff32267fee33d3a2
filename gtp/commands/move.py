"""Commands that play, choose and take back moves."""

from typing import TYPE_CHECKING

from engine.errors import IllegalMove
from engine.vertex import format_vertex
from gtp.args import expect, parse_color, parse_int, parse_vertex
from gtp.errors import GtpError
from gtp.protocol import Command
from gtp.state import GtpState, Handler

if TYPE_CHECKING:
    from engine.players import Decision, Limits

_HURRIED_VISITS = 1


def play(state: GtpState, command: Command) -> str:
    """Play a given move. Turns, superko and suicide of several stones are the controller's business."""
    expect(command.args, 2)
    color = parse_color(command.args[0])
    vertex = parse_vertex(command.args[1], state.width, state.height)
    try:
        state.play(color, vertex)
    except IllegalMove:
        raise GtpError("illegal move") from None
    return ""


def genmove(state: GtpState, command: Command) -> str:
    """Choose a move within the clock's budget and play it."""
    expect(command.args, 1)
    color = parse_color(command.args[0])
    state.clock.start(color)
    try:
        decision = _decide(state, color)
    finally:
        state.clock.stop()
    if decision.resign:
        return "resign"
    state.play(color, decision.vertex)
    return format_vertex(decision.vertex, state.width, state.height)


def _decide(state: GtpState, color: int) -> "Decision":
    player = state.seat.get()
    decision = player.genmove(state.game, color, _limits(state, color))
    if not decision.resign and not state.game.is_legal(color, decision.vertex):
        raise RuntimeError(f"{player.name} chose a move that the rules forbid: {decision}")
    return decision


def _limits(state: GtpState, color: int) -> "Limits":
    """Return the effort for one move: the clock's budget, the user's caps, or a bounded default."""
    from engine.players import Limits

    config = state.config
    if state.seat.dismissed:
        return Limits(visits=_HURRIED_VISITS)
    budget = state.clock.budget(color, state.game.move_number, state.width * state.height)
    bounds = [seconds for seconds in (budget, config.seconds) if seconds is not None]
    if not bounds and config.visits is None:
        bounds = [config.fallback_seconds]
    return Limits(visits=config.visits, seconds=min(bounds, default=None))


def reg_genmove(state: GtpState, command: Command) -> str:
    """Choose a move as a pure function of the position: no clock, no state, no resignation."""
    from engine.players import Limits

    expect(command.args, 1)
    color = parse_color(command.args[0])
    player = state.seat.get()
    # What an earlier search has left would make the answer depend on it.
    player.restart()
    limits = Limits(visits=state.config.visits or state.config.reg_visits)
    decision = player.genmove(state.game, color, limits)
    # Regression suites, GNU Go's among them, expect `PASS` in capitals here.
    return format_vertex(decision.vertex, state.width, state.height).upper()


def undo(state: GtpState, command: Command) -> str:
    """Take back one move; setup stones stay."""
    expect(command.args, 0)
    return _undo(state, 1)


def gg_undo(state: GtpState, command: Command) -> str:
    """Take back N moves (default 1), all or none."""
    expect(command.args, 0, 1)
    return _undo(state, parse_int(command.args[0], least=0) if command.args else 1)


def _undo(state: GtpState, count: int) -> str:
    try:
        state.undo(count)
    except IllegalMove:
        raise GtpError("cannot undo") from None
    return ""


COMMANDS: dict[str, Handler] = {
    "play": play,
    "genmove": genmove,
    "reg_genmove": reg_genmove,
    "undo": undo,
    "gg-undo": gg_undo,
}
