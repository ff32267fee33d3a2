"""GNU Go's queries about positions and games.

Replies and errors have the texts of GNU Go 3.8.
"""

from engine.color import BLACK, EMPTY, WHITE, color_name, for_color, opponent
from engine.errors import IllegalMove
from engine.vertex import format_vertex, points
from gtp.args import expect, parse_color, parse_moves, parse_point, parse_vertex, syntax_error
from gtp.commands.move import choose_among
from gtp.errors import GtpError
from gtp.position_search import search_position
from gtp.protocol import Command
from gtp.state import GtpState, Handler

_TOP_MOVES = 10
_OWNERS = {BLACK: "black_territory", WHITE: "white_territory", EMPTY: "dame"}


def _names(state: GtpState, vertices: list[int]) -> str:
    return " ".join(format_vertex(vertex, state.width, state.height) for vertex in vertices)


def _color(command: Command) -> int:
    expect(command.args, 1)
    return parse_color(command.args[0])


def _point(state: GtpState, command: Command) -> int:
    expect(command.args, 1)
    return parse_point(command.args[0], state.width, state.height)


def query_boardsize(state: GtpState, command: Command) -> str:
    """Return the size of the board: both sides if it is not square."""
    expect(command.args, 0)
    return f"{state.width}" if state.width == state.height else f"{state.width} {state.height}"


def list_stones(state: GtpState, command: Command) -> str:
    """List the stones of a color."""
    color = _color(command)
    return _names(state, [v for v in points(state.width, state.height) if state.game.color_at(v) == color])


def color_of(state: GtpState, command: Command) -> str:
    """Return the color of a point."""
    color = state.game.color_at(_point(state, command))
    return "empty" if color == EMPTY else color_name(color)


def _stone(state: GtpState, command: Command) -> int:
    """Return the point of the stone in the arguments."""
    vertex = _point(state, command)
    if state.game.color_at(vertex) == EMPTY:
        raise GtpError("vertex must not be empty")
    return vertex


def count_liberties(state: GtpState, command: Command) -> str:
    """Return the number of liberties of a chain."""
    from engine.board.layout import HEAD, LIBERTIES

    board = state.game.board
    return str(board[LIBERTIES, board[HEAD, _stone(state, command)]])


def find_liberties(state: GtpState, command: Command) -> str:
    """List the liberties of a chain."""
    from engine.explain.stones import Stones

    stones = Stones(state.game.board)
    return _names(state, sorted(stones.liberties(stones.chain(_stone(state, command)))))


def is_legal(state: GtpState, command: Command) -> str:
    """Return `1` if the rules in force allow a move, else `0`."""
    expect(command.args, 2)
    ((color, vertex),) = parse_moves(command.args, state.width, state.height)
    return f"{state.game.is_legal(color, vertex):d}"


def all_legal(state: GtpState, command: Command) -> str:
    """List the points where a color may play."""
    return _names(state, state.game.legal_vertices(_color(command)))


def captures(state: GtpState, command: Command) -> str:
    """Return the number of stones that a color has captured."""
    color = _color(command)
    return str(state.game.captured(opponent(color)))


def last_move(state: GtpState, command: Command) -> str:
    """Return color and vertex of the last move."""
    expect(command.args, 0)
    if not state.game.moves:
        raise GtpError("no previous move known")
    return _moves(state)[0]


def move_history(state: GtpState, command: Command) -> str:
    """List all moves, newest first."""
    expect(command.args, 0)
    return "\n".join(_moves(state))


def _moves(state: GtpState) -> list[str]:
    moves = reversed(state.game.moves)
    return [f"{color_name(color)} {format_vertex(vertex, state.width, state.height)}" for color, vertex in moves]


def get_handicap(state: GtpState, command: Command) -> str:
    """Return the number of handicap stones."""
    expect(command.args, 0)
    return str(state.game.handicap)


def _top_moves(color: int | None) -> Handler:
    """Return the handler that lists a color's best moves (None: the side to move), each with its winrate."""

    def handle(state: GtpState, command: Command) -> str:
        expect(command.args, 0)
        seen = search_position(state, state.game.to_play if color is None else color, max_moves=_TOP_MOVES)
        return " ".join(
            f"{format_vertex(move.vertex, state.width, state.height)} {100 * move.winrate:.2f}" for move in seen.moves
        )

    whose = "the side to move" if color is None else color_name(color).capitalize()
    handle.__doc__ = f"List the best moves of {whose}, each with its winrate in percent."
    return handle


def _estimated(score: float, upper: float, lower: float) -> str:
    """Format a score and its bounds, White-positive."""
    text = f"W+{abs(score):.1f}" if score >= 0 else f"B+{-score:.1f}"
    return f"{text} (upper bound: {upper:.1f}, lower: {lower:.1f})"


def estimate_score(state: GtpState, command: Command) -> str:
    """Return the expected score after a search, with bounds of one standard deviation."""
    expect(command.args, 0)
    root = search_position(state, state.game.to_play).root
    score = -for_color(root.lead, state.game.to_play)
    return _estimated(score, score + root.score_stdev, score - root.score_stdev)


def new_score(state: GtpState, command: Command) -> str:
    """Return `final_score` in the form of an estimate."""
    expect(command.args, 0)
    score = -state.final_score()
    return _estimated(score, score, score)


def final_status(state: GtpState, command: Command) -> str:
    """Return the fate of a stone, or the owner of an empty point."""
    from engine.scoring import ownership_map, without_chains

    vertex = _point(state, command)
    fates = state.status()
    for fate in ("alive", "seki", "dead"):
        # Stones first; only an empty point has an owner instead of a fate.
        if any(vertex in chain for chain in getattr(fates, fate)):
            return fate
    dead = [each for chain in fates.dead for each in chain]
    owner, _ = ownership_map(state.game, without_chains(state.game.board, dead))
    return _OWNERS[int(owner[vertex])]


def unconditional_status(state: GtpState, command: Command) -> str:
    """Return the status of a point that holds even if one side always passes."""
    import numpy as np

    from engine.board.area import new_scratch, pass_alive

    vertex = _point(state, command)
    board = state.game.board.copy()
    owner = np.zeros(board.shape[1], dtype=np.int8)
    pass_alive(board, state.rules.suicide, False, new_scratch(board), owner)
    here, there = state.game.color_at(vertex), int(owner[vertex])
    if there == EMPTY:
        return "undecided"
    if here == EMPTY:
        return _OWNERS[there]
    return "alive" if here == there else "dead"


def try_move(state: GtpState, command: Command) -> str:
    """Play a move on trial; `popgo` takes it back."""
    expect(command.args, 2)
    ((color, vertex),) = parse_moves(command.args, state.width, state.height)
    before = state.trials
    try:
        state.play(color, vertex)
    except IllegalMove:
        raise GtpError("illegal move") from None
    state.trials = before + 1
    return ""


def take_back(state: GtpState, command: Command) -> str:
    """Take back a move on trial."""
    expect(command.args, 0)
    if state.trials == 0:
        raise GtpError("Stack empty.")
    # `undo` refuses while there are trials, so their number is set to 0 for its duration.
    left, state.trials = state.trials - 1, 0
    state.undo()
    state.trials = left
    return ""


def restricted_genmove(state: GtpState, command: Command) -> str:
    """Choose among the given moves `COLOR V V..` without playing."""
    if len(command.args) == 1:
        raise GtpError("no allowed vertex")
    if not command.args:
        syntax_error()
    color = parse_color(command.args[0])
    named = [parse_vertex(text, state.width, state.height) for text in command.args[1:]]
    # As in GNU Go, illegal candidates are ignored, and PASS is the answer if none is legal.
    allowed = [vertex for vertex in named if state.game.is_legal(color, vertex)]
    return choose_among(state, color, allowed) if allowed else "PASS"


def gg_genmove(state: GtpState, command: Command) -> str:
    """Choose a move without playing it, like `reg_genmove`; GNU Go's random seed may follow the color."""
    expect(command.args, 1, 2)
    return choose_among(state, parse_color(command.args[0]))


COMMANDS: dict[str, Handler] = {
    "query_boardsize": query_boardsize,
    "list_stones": list_stones,
    "color": color_of,
    "countlib": count_liberties,
    "findlib": find_liberties,
    "is_legal": is_legal,
    "all_legal": all_legal,
    "captures": captures,
    "last_move": last_move,
    "move_history": move_history,
    "get_handicap": get_handicap,
    "top_moves": _top_moves(None),
    "top_moves_black": _top_moves(BLACK),
    "top_moves_white": _top_moves(WHITE),
    "estimate_score": estimate_score,
    "new_score": new_score,
    "final_status": final_status,
    "unconditional_status": unconditional_status,
    "trymove": try_move,
    "popgo": take_back,
    "restricted_genmove": restricted_genmove,
    "gg_genmove": gg_genmove,
}
