"""Commands about problems: what a search can prove of the stones on the board."""

from gtp.args import expect, parse_color
from gtp.protocol import Command
from gtp.state import GtpState, Handler


def keima_prove(state: GtpState, command: Command) -> str:
    """Report whether the surrounded stones live or die with a color to move: `[COLOR]`."""
    from engine.apps.solve.proof import NO_PROOF, prove
    from engine.vertex import format_vertex

    expect(command.args, 0, 1)
    color = parse_color(command.args[0]) if command.args else state.game.to_play
    proof = prove(state.game, color)
    if proof is None:
        return NO_PROOF
    line = " ".join(format_vertex(vertex, state.width, state.height) for vertex in proof.line)
    return f"{proof.text}: {line}" if line else proof.text


COMMANDS: dict[str, Handler] = {"keima-prove": keima_prove}
