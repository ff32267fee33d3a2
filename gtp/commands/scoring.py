"""Commands that judge a finished game: its score, the fate of its chains, and playing on where players differ."""

from dataclasses import replace

from engine.rules import Scoring, Tax
from engine.vertex import format_vertex
from gtp.args import expect, parse_color, syntax_error
from gtp.commands.move import decide, play_decision
from gtp.protocol import Command
from gtp.state import GtpState, Handler

_FATES = ("alive", "seki", "dead")


def final_score(state: GtpState, command: Command) -> str:
    """Tell the score: `B+31`, `W+2.5` or `0`."""
    from engine.scoring import format_score

    expect(command.args, 0)
    return format_score(state.final_score())


def final_status_list(state: GtpState, command: Command) -> str:
    """List the chains of one fate, a chain a line."""
    expect(command.args, 1)
    fate = command.args[0]
    if fate not in _FATES:
        syntax_error()
    chains: list[list[int]] = getattr(state.status(), fate)
    return "\n".join(" ".join(format_vertex(vertex, state.width, state.height) for vertex in chain) for chain in chains)


def kgs_genmove_cleanup(state: GtpState, command: Command) -> str:
    """Choose a move and play it, a pass only when every dead stone of the opponent is off the board."""
    expect(command.args, 1)
    color = parse_color(command.args[0])
    game = state.game.copy()
    # What stands counts from now on, and own moves within own territory cost nothing.
    game.set_rules(replace(game.rules, scoring=Scoring.AREA, tax=Tax.NONE, button=False, friendly_pass=False))
    return play_decision(state, color, replace(decide(state, color, game=game), resign=False))


COMMANDS: dict[str, Handler] = {
    "final_score": final_score,
    "final_status_list": final_status_list,
    "kgs-genmove_cleanup": kgs_genmove_cleanup,
}
