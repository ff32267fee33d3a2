"""Commands about the board and komi: a new game, its size, a diagram."""

from engine.color import BLACK
from engine.errors import IllegalMove
from engine.rules import MOST_KOMI
from engine.vertex import MAX_SIZE
from gtp.args import expect, parse_float, parse_int, parse_stones
from gtp.errors import GtpError
from gtp.protocol import Command
from gtp.state import MIN_SIZE, GtpState, Handler


def boardsize(state: GtpState, command: Command) -> str:
    """Change the size to `N`, `W H` or `W:H` and clear the board. A refusal changes nothing."""
    texts = command.args[0].split(":") if len(command.args) == 1 else command.args
    expect(texts, 1, 2)
    sides = [parse_int(text) for text in texts]
    if not all(MIN_SIZE <= side <= MAX_SIZE for side in sides):
        raise GtpError("unacceptable size")
    if not state.can_play_on(sides[0], sides[-1]):
        raise GtpError("unacceptable size")
    state.reset(sides[0], sides[-1])
    return ""


def clear_board(state: GtpState, command: Command) -> str:
    """Start a new game on the same board; komi, rules and time settings stay."""
    expect(command.args, 0)
    state.reset()
    return ""


def set_position(state: GtpState, command: Command) -> str:
    """Start a new game from the stones `C V C V..`, Black to play; without stones, like `clear_board`."""
    return place_stones(state, command)


def place_stones(state: GtpState, command: Command) -> str:
    """Set up the stones of the arguments on an empty board; an illegal position changes nothing."""
    black, white = parse_stones(command.args, state.width, state.height)
    try:
        state.set_up(black, white, BLACK)
    except IllegalMove as error:
        raise GtpError(f"illegal position: {error}") from None
    return ""


def komi(state: GtpState, command: Command) -> str:
    """Set the komi, within KataGo's bounds."""
    # Beyond them a score would mean nothing, and one of 1e308 overflow.
    expect(command.args, 1)
    points = parse_float(command.args[0])
    if abs(points) > MOST_KOMI:
        raise GtpError(f"komi must be from {-MOST_KOMI:g} to {MOST_KOMI:g}")
    state.set_komi(points)
    return ""


def get_komi(state: GtpState, command: Command) -> str:
    """Return the komi."""
    expect(command.args, 0)
    return f"{state.komi:.10g}"


def showboard(state: GtpState, command: Command) -> str:
    """Draw the board, on the lines after the status character."""
    from engine.records.diagram import showboard as draw

    expect(command.args, 0)
    return "\n" + draw(state.game)


COMMANDS: dict[str, Handler] = {
    "boardsize": boardsize,
    "rectangular_boardsize": boardsize,
    "clear_board": clear_board,
    "set_position": set_position,
    "komi": komi,
    "get_komi": get_komi,
    "showboard": showboard,
}
