"""GoGui's own commands: sequences of moves, positions, interruption, and the list of its analyze commands."""

from engine.errors import IllegalMove
from gtp.args import expect, parse_color, parse_moves
from gtp.commands import gogui_views
from gtp.commands.setup import place_stones
from gtp.errors import GtpError
from gtp.protocol import Command
from gtp.state import GtpState, Handler


def analyze_commands(state: GtpState, command: Command) -> str:
    """List the commands for GoGui's analyze dialog, each as `type/label/command`."""
    expect(command.args, 0)
    return "\n".join(gogui_views.MENU)


def interrupt(state: GtpState, command: Command) -> str:
    """Do nothing: the presence of this command informs GoGui that a line `# interrupt` stops a search."""
    expect(command.args, 0)
    return ""


def play_sequence(state: GtpState, command: Command) -> str:
    """Play the moves `C V C V..`, all of them or none."""
    moves = parse_moves(command.args, state.width, state.height)
    for number, (color, vertex) in enumerate(moves):
        try:
            state.play(color, vertex)
        except IllegalMove:
            # All or none: GoGui keeps its own board unchanged after an error.
            state.undo(number)
            raise GtpError("illegal move") from None
    return ""


def setup(state: GtpState, command: Command) -> str:
    """Set up the stones `C V C V..` on an empty board."""
    state.require_empty_board()
    return place_stones(state, command)


def setup_player(state: GtpState, command: Command) -> str:
    """Set the side to move in a position that was set up."""
    expect(command.args, 1)
    color = parse_color(command.args[0])
    if state.game.moves:
        raise GtpError("moves have been played")
    state.set_up(state.game.setup_black, state.game.setup_white, color)
    return ""


def title(state: GtpState, command: Command) -> str:
    """Return the title for GoGui's window."""
    expect(command.args, 0)
    player = state.player_loader.if_ready()
    network = None if player is None or player.network is None else player.network.facts.name
    return " ".join([state.config.name, state.config.version, *([f"({network})"] if network else [])])


COMMANDS: dict[str, Handler] = {
    "gogui-analyze_commands": analyze_commands,
    "gogui-interrupt": interrupt,
    "gogui-play_sequence": play_sequence,
    "gogui-setup": setup,
    "gogui-setup_player": setup_player,
    "gogui-title": title,
}
