"""GoGui's own commands: whole lines of play at once, positions, interruption, and the list of what it may show."""

from engine.errors import IllegalMove
from gtp.args import expect, parse_color, parse_moves
from gtp.commands import gogui_views
from gtp.commands.setup import place_stones
from gtp.errors import GtpError
from gtp.protocol import Command
from gtp.state import GtpState, Handler


def analyze_commands(state: GtpState, command: Command) -> str:
    """List what GoGui can show in its analyze dialog, a line `type/label/command` each."""
    expect(command.args, 0)
    return "\n".join(gogui_views.MENU)


def interrupt(state: GtpState, command: Command) -> str:
    """Do nothing: that the command is there tells GoGui that a line `# interrupt` ends a search."""
    expect(command.args, 0)
    return ""


def play_sequence(state: GtpState, command: Command) -> str:
    """Play the moves `C V C V..`, all of them or none."""
    moves = parse_moves(command.args, state.width, state.height)
    for number, (color, vertex) in enumerate(moves):
        try:
            state.play(color, vertex)
        except IllegalMove:
            state.undo(number)
            raise GtpError("illegal move") from None
    return ""


def setup(state: GtpState, command: Command) -> str:
    """Set up the stones `C V C V..` on an empty board."""
    state.require_empty_board()
    return place_stones(state, command)


def setup_player(state: GtpState, command: Command) -> str:
    """Say whose turn it is in a position that was set up."""
    expect(command.args, 1)
    color = parse_color(command.args[0])
    if state.game.moves:
        raise GtpError("moves have been played")
    state.set_up(state.game.setup_black, state.game.setup_white, color)
    return ""


def title(state: GtpState, command: Command) -> str:
    """Tell what the window is to be called."""
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
