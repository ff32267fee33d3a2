"""Commands that play, choose and take back moves."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from engine.errors import IllegalMove
from engine.vertex import format_vertex
from gtp.args import expect, parse_color, parse_int, parse_vertex
from gtp.errors import GtpError
from gtp.observer import Observer
from gtp.protocol import Command
from gtp.state import GtpState, Handler
from gtp.stderr import leela_zero_lines, write_lines

if TYPE_CHECKING:
    from engine.clock import Allotment
    from engine.game import Game
    from engine.players import Avoided, Decision, Limits, Watch

_HURRIED_VISITS = 1


def play(state: GtpState, command: Command) -> str:
    """Play a given move. Turns, superko and multi-stone suicide are up to the controller."""
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
    return play_decision(state, color, decide(state, color))


def decide(
    state: GtpState,
    color: int,
    watch: "Watch | None" = None,
    avoided: "Avoided | None" = None,
    game: "Game | None" = None,
) -> "Decision":
    """Choose a move for `color` within the clock's budget; `state.last_search` keeps the search.

    A turn that the caller has begun on the clock goes on.

    watch: called by the player with the running search. avoided: moves that are not searched.
    game: the current game under other rules, None for those in force.
    """
    observer = Observer(state, color, watch)
    try:
        with state.clock.turn(color):
            player = state.player_loader.get()
            decision = player.genmove(game or state.game, color, _limits(state, color), observer.watch, avoided)
            if player.params.delay_scale > 0.0 and observer.search is not None:
                from engine.players.delay import delay_of

                left = allotment(state, color)  # of this move, after its search
                delay = delay_of(observer.search, decision.vertex, player.params)
                state.player_loader.pause(delay if left is None else min(delay, left.most_seconds))
    finally:
        observer.close()
    # A last check: sending an illegal move would lose the game.
    if not decision.resign and not state.game.is_legal(color, decision.vertex):
        raise RuntimeError(f"{player.name} chose a move that the rules forbid: {decision}")
    state.last_search = observer.last_search(decision)
    return decision


def play_decision(state: GtpState, color: int, decision: "Decision") -> str:
    """Play a chosen move and return its text; a resignation plays nothing."""
    if state.config.leela_lines and state.last_search is not None:
        write_lines(leela_zero_lines(state.last_search, state.width, state.height))
    if not decision.resign:
        state.play(color, decision.vertex)
        # Pondering starts only after an own move in a game that goes on.
        state.awaits_reply = not state.game.is_over
    return format_decision(state, decision)


def format_decision(state: GtpState, decision: "Decision") -> str:
    """Format a chosen move."""
    return "resign" if decision.resign else format_vertex(decision.vertex, state.width, state.height)


def _limits(state: GtpState, color: int) -> "Limits":
    """Return the limits of one move: the clock's, capped by the user's, or the default time."""
    from engine.players import Limits, at_rank, limits_within

    config = state.config
    # The controller has left: answer with one visit instead of searching for nobody.
    if state.player_loader.cancelled:
        return Limits(visits=_HURRIED_VISITS)
    given = allotment(state, color)
    seconds = config.seconds
    if given is None and seconds is None and config.visits is None:
        seconds = config.fallback_seconds
    # The rank comes last: below full strength it replaces the visits.
    return at_rank(limits_within(given, config.visits, seconds), config.rank, state.width, state.height)


def allotment(state: GtpState, color: int) -> "Allotment | None":
    """Return what the clock gives for the present move, less the time since it began."""
    return state.clock.allotment(color, state.game.move_number, state.width * state.height)


def reg_genmove(state: GtpState, command: Command) -> str:
    """Choose a move as a function of the position alone: no clock, no kept tree, no resignation."""
    expect(command.args, 1)
    return choose_among(state, parse_color(command.args[0]))


def choose_among(state: GtpState, color: int, allowed: Collection[int] | None = None) -> str:
    """Return the text of the move that a fresh search prefers among those allowed (None: all)."""
    from engine.players import Limits
    from engine.players.base import all_but

    player = state.player_loader.get()
    # The kept tree of an earlier search would influence the result.
    player.restart()
    limits = Limits(visits=state.config.visits or state.config.reg_visits)
    avoided = None if allowed is None else {color: all_but(allowed, 1, state.width, state.height)}
    decision = player.genmove(state.game, color, limits, None, avoided)
    # Regression suites, such as GNU Go's, expect `PASS` in capitals here.
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
