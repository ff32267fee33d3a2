"""Commands that judge a finished game: its score and the fate of its chains."""

from engine.vertex import format_vertex
from gtp.args import expect, syntax_error
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


COMMANDS: dict[str, Handler] = {
    "final_score": final_score,
    "final_status_list": final_status_list,
}
