"""Commands that judge a finished game: its score, the fate of its chains, and the clean-up after a dispute."""

from dataclasses import replace
from typing import TYPE_CHECKING

from engine.vertex import PASS, format_vertex
from gtp.args import expect, parse_color, syntax_error
from gtp.commands.move import allotment, decide, play_decision
from gtp.protocol import Command
from gtp.state import GtpState, Handler

if TYPE_CHECKING:
    from engine.players import Decision

_FATES = ("alive", "seki", "dead")
_JUDGING_SHARE = 0.4
"""Share of a move's time in which the dead stones are judged anew: after it, two moves may have to be chosen."""


def final_score(state: GtpState, command: Command) -> str:
    """Return the score, in an unfinished game the expected one: `B+31`, `W+2.5` or `0`."""
    from engine.scoring import format_score

    expect(command.args, 0)
    return format_score(state.final_score())


def final_status_list(state: GtpState, command: Command) -> str:
    """List the chains of one fate, one on each line."""
    expect(command.args, 1)
    fate = command.args[0]
    if fate not in _FATES:
        syntax_error()
    chains: list[list[int]] = getattr(state.status(), fate)
    return "\n".join(" ".join(format_vertex(vertex, state.width, state.height) for vertex in chain) for chain in chains)


def kgs_genmove_cleanup(state: GtpState, command: Command) -> str:
    """Choose and play a move; pass only when every dead stone of the opponent has been captured.

    An opponent that only passes loses its dead stones and nothing else. Its other moves are answered as in any game.
    """
    expect(command.args, 1)
    color = parse_color(command.args[0])
    with state.clock.turn(color):
        decision, is_known = _cleaning_move(state, color)
    # Resigning makes no sense in a game that is already decided.
    text = play_decision(state, color, replace(decision, resign=False))
    if is_known:
        state.clean_up.remember(state.game)
    else:
        state.clean_up.forget()
    return text


def _cleaning_move(state: GtpState, color: int) -> tuple["Decision", bool]:
    """Return the next move of a clean-up, and whether the dead stones are known after it."""
    from engine.players import Decision, Limits
    from engine.players.cleanup import as_it_stands

    clean_up, goes_on = state.clean_up, state.clean_up.goes_on(state.game)
    # The position has changed since the stones were judged, or nobody has judged them yet.
    if not goes_on or clean_up.dead is None:
        player, given = state.player_loader.get(), allotment(state, color)
        clean_up.judge(state.game, player, None if given is None else Limits(seconds=_JUDGING_SHARE * given.seconds))
    if clean_up.left(state.game, color):
        return clean_up.choose(state.game, color, lambda game, avoided: decide(state, color, None, avoided, game)), True
    if goes_on:
        return Decision(PASS), True
    return decide(state, color, game=as_it_stands(state.game)), False


COMMANDS: dict[str, Handler] = {
    "final_score": final_score,
    "final_status_list": final_status_list,
    "kgs-genmove_cleanup": kgs_genmove_cleanup,
}
