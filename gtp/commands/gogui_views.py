"""The commands of GoGui's analyze dialog: search results as boards, marks and texts; parameters; tactics.

The formats are those of GoGui's manual, "Analyze Commands". Values are from the point of view of the color in the
arguments (without one, the side to move); ownership is Black's, because GoGui draws positive numbers black.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from engine.color import BLACK, for_color, opponent
from engine.errors import BadRules
from engine.rules import PRESETS, RULE_FIELDS, SERVER_PRESETS, parse_rules, rules_name
from engine.settings.levels import FULL, RANKS
from engine.vertex import PASS, format_vertex, points
from gtp.args import expect, parse_color
from gtp.commands.params import change_param, get_param
from gtp.errors import GtpError
from gtp.position_search import search_position
from gtp.protocol import Command
from gtp.state import GtpState, Handler, Perspective

if TYPE_CHECKING:
    from engine.search.analysis import Analysis, MoveInfo

MENU = (
    "dboard/Ownership/keima-ownership %m",
    "dboard/Policy/keima-policy %m",
    "gfx/Policy Heat Map/keima-policy_heat_map %m",
    "gfx/Best Moves/keima-best_moves %m",
    "gfx/Opponent's Key Points/keima-key_points %m",
    "pspairs/Visits/keima-visits %m",
    "pspairs/Winrates/keima-winrates %m",
    "varc/Principal Variation/keima-variation %c",
    "string/Score/keima-score %m",
    "string/Final Score/final_score",
    "plist/Dead Stones/final_status_list dead",
    "plist/Seki/final_status_list seki",
    "plist/Atari/keima-atari",
    "gfx/Ladders/keima-ladders",
    "dboard/Pass-alive/keima-pass_alive",
    "string/Prove Life or Death/keima-prove %c",
    "param/Search Parameters/keima-params",
    "param/Rules/keima-rules",
    "none/Clear Cache/clear_cache",
    "string/Explain Last Move/gomill-explain_last_move",
)
"""The reply to `gogui-analyze_commands`: type, label, command."""

_OFFERED = (
    *("rank", "maxVisits", "maxTime", "ponderingEnabled", "allowResignation", "resignThreshold", "resignConsecTurns"),
    *(
        "lagBuffer",
        "cpuctExploration",
        "analysisWideRootNoise",
        "playoutDoublingAdvantage",
        "rootNumSymmetriesToSample",
    ),
    *("rootPolicyTemperature", "analysisPVLen", "reportAnalysisWinratesAs"),
)
_CHOICES: dict[str, Iterable[str]] = {
    "rank": [*RANKS, FULL],
    "reportAnalysisWinratesAs": Perspective,
}
_PRESET = "rules"
_NAMED_RULES = PRESETS | SERVER_PRESETS
# Policy from which a point of the heat map is labeled with its percentage.
_LABELED = 0.01
_SHOWN_MOVES = 10
_COLD, _HOT = (0x20, 0x40, 0xFF), (0xFF, 0x30, 0x10)


def _search(state: GtpState, command: Command, **wanted: Any) -> "tuple[int, Analysis]":
    """Search for the color of the arguments; return the color and its analysis."""
    expect(command.args, 0, 1)
    color = parse_color(command.args[0]) if command.args else state.game.to_play
    return color, search_position(state, color, **wanted)


def _board(state: GtpState, values: Iterable[float]) -> str:
    """Format numbers as the rows of a `dboard`, from the top."""
    cells = [f"{value:.3f}" for value in values]
    return "\n".join(" ".join(cells[start : start + state.width]) for start in range(0, len(cells), state.width))


def _name(state: GtpState, vertex: int) -> str:
    return format_vertex(vertex, state.width, state.height)


def _pairs(state: GtpState, command: Command, label: "Callable[[MoveInfo], str]") -> str:
    """Return a point and a text for each of the best moves."""
    _, seen = _search(state, command, max_moves=_SHOWN_MOVES)
    return " ".join(f"{_name(state, move.vertex)} {label(move)}" for move in seen.moves if move.vertex != PASS)


def ownership(state: GtpState, command: Command) -> str:
    """Return the expected owner of each point, 1 for Black."""
    color, seen = _search(state, command, ownership=True)
    if seen.root.ownership is None:
        raise GtpError("this network has no ownership output")
    return _board(state, for_color(seen.root.ownership, color))


def _policy(state: GtpState, command: Command) -> dict[int, float]:
    """Return the prior of each legal move, by vertex."""
    area = state.width * state.height
    return {move.vertex: move.prior for move in _search(state, command, min_moves=area + 1)[1].moves}


def policy(state: GtpState, command: Command) -> str:
    """Return the policy of each point as a share of the largest."""
    chances = _policy(state, command)
    most = max(chances.values()) or 1.0
    return _board(state, (chances.get(vertex, 0.0) / most for vertex in points(state.width, state.height)))


def policy_heat_map(state: GtpState, command: Command) -> str:
    """Color each point by its policy, from blue to red, with percentages on the likely ones."""
    chances = _policy(state, command)
    most = max(chances.values()) or 1.0
    by_color: dict[str, list[str]] = {}
    for vertex, chance in chances.items():
        if vertex != PASS and chance >= _LABELED / 10:
            by_color.setdefault(_heat(chance / most), []).append(_name(state, vertex))
    labels = [
        f"{_name(state, vertex)} {100 * chance:.0f}"
        for vertex, chance in chances.items()
        if vertex != PASS and chance >= _LABELED
    ]
    lines = [f"COLOR {color} {' '.join(names)}" for color, names in by_color.items()]
    lines += [f"LABEL {' '.join(labels)}"] if labels else []
    return "\n".join([*lines, f"TEXT pass {100 * chances.get(PASS, 0.0):.1f} %"])


def _heat(share: float) -> str:
    """Return a color between cold and hot; the square root makes small shares distinguishable."""
    mixed = (round(cold + (hot - cold) * share**0.5) for cold, hot in zip(_COLD, _HOT, strict=True))
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def best_moves(state: GtpState, command: Command) -> str:
    """Color the best moves by visits, label them with winrates, circle the best."""
    _, seen = _search(state, command, max_moves=_SHOWN_MOVES)
    return _shown_moves(state, seen, _summary(seen))


def key_points(state: GtpState, command: Command) -> str:
    """Show where the opponent would play if it were its turn, and the cost of that."""
    color, own = _search(state, command, max_moves=1)
    seen = search_position(state, opponent(color), max_moves=_SHOWN_MOVES)
    # Each lead is from its own mover's point of view, so the sum is the value of moving first.
    lost = own.root.lead + seen.root.lead
    return _shown_moves(state, seen, f"{_name(state, seen.moves[0].vertex)} would cost {lost:.1f} points")


def _shown_moves(state: GtpState, seen: "Analysis", text: str) -> str:
    moves = [move for move in seen.moves if move.vertex != PASS]
    most = max((move.visits for move in moves), default=1)
    lines = [f"COLOR {_heat(move.visits / most)} {_name(state, move.vertex)}" for move in moves]
    if moves:
        lines.append("LABEL " + " ".join(f"{_name(state, m.vertex)} {100 * m.winrate:.0f}" for m in moves))
        lines.append(f"CIRCLE {_name(state, moves[0].vertex)}")
    return "\n".join([*lines, f"TEXT {text}"])


def _summary(seen: "Analysis") -> str:
    best = seen.root
    return f"winrate {100 * best.winrate:.1f} %, lead {best.lead:+.1f}, {best.visits} visits"


def visits(state: GtpState, command: Command) -> str:
    """Label the best moves with their visits."""
    return _pairs(state, command, lambda move: str(move.visits))


def winrates(state: GtpState, command: Command) -> str:
    """Label the best moves with their winrates in percent."""
    return _pairs(state, command, lambda move: f"{100 * move.winrate:.0f}")


def best_variation(state: GtpState, command: Command) -> str:
    """Return the principal variation."""
    _, seen = _search(state, command, max_moves=1)
    return " ".join(_name(state, vertex) for vertex in seen.moves[0].pv)


def score(state: GtpState, command: Command) -> str:
    """Return the score lead, and the winrate of the color."""
    from engine.scoring import format_score

    color, seen = _search(state, command, max_moves=1)
    lead = round(for_color(seen.root.lead, color), 1)
    return f"{format_score(lead)}, {_summary(seen)}"


def atari(state: GtpState, command: Command) -> str:
    """List the stones in atari."""
    from engine.board.layout import HEAD, LIBERTIES
    from engine.players import chains

    expect(command.args, 0)
    board = state.game.board
    stones = [v for chain in chains(state.game) if board[LIBERTIES, board[HEAD, chain[0]]] == 1 for v in chain]
    return " ".join(_name(state, vertex) for vertex in stones)


def ladders(state: GtpState, command: Command) -> str:
    """Mark the stones that a ladder captures, and the points where it starts."""
    import numpy as np

    from engine.board.ladders import find_ladders, new_ladder_scratch

    expect(command.args, 0)
    board = state.game.board.copy()
    laddered, working = (np.zeros(board.shape[1], dtype=np.int8) for _ in range(2))
    find_ladders(board, new_ladder_scratch(board), np.empty_like(board), laddered, working)
    marked = {"MARK": laddered, "TRIANGLE": working}
    on_board = points(state.width, state.height)
    named = {kind: [_name(state, v) for v in on_board if marks[v]] for kind, marks in marked.items()}
    return "\n".join(f"{kind} {' '.join(names)}" for kind, names in named.items() if names)


def pass_alive(state: GtpState, command: Command) -> str:
    """Return the pass-alive owner of each point, 1 for Black."""
    import numpy as np

    from engine.board.area import new_scratch
    from engine.board.area import pass_alive as find_pass_alive

    expect(command.args, 0)
    board = state.game.board.copy()
    owner = np.zeros(board.shape[1], dtype=np.int8)
    find_pass_alive(board, state.rules.suicide, False, new_scratch(board), owner)
    sides = {int(BLACK): 1.0, 0: 0.0}
    return _board(state, (sides.get(int(owner[vertex]), -1.0) for vertex in points(state.width, state.height)))


def params(state: GtpState, command: Command) -> str:
    """List parameters in the form of GoGui's dialog, or change one: `NAME VALUE`."""
    if not command.args:
        return "\n".join(_param_line(state, name) for name in _OFFERED)
    name, text = _key_value(command)
    if isinstance(get_param(state, name), bool):
        # GoGui sends check boxes as 1 and 0.
        text = {"1": "true", "0": "false"}.get(text, text)
    return change_param(state, name, text)


def _param_line(state: GtpState, name: str) -> str:
    value = get_param(state, name)
    if isinstance(value, bool):
        return f"[bool] {name} {value:d}"
    if name in _CHOICES:
        return _list_line(name, _CHOICES[name], str(value))
    return f"[string] {name} {value}"


def _list_line(name: str, choices: Iterable[str], value: str) -> str:
    return f"[list/{'/'.join(map(str, choices))}] {name} {value}"


def _key_value(command: Command) -> tuple[str, str]:
    """Parse `NAME VALUE`; GoGui puts an empty value in quotes."""
    expect(command.args, 2)
    return command.args[0], command.args[1].strip('"')


def rules(state: GtpState, command: Command) -> str:
    """List the rules in the form of GoGui's dialog, or change one field or, by `rules NAME`, all of them."""
    if command.args:
        name, text = _key_value(command)
        try:
            state.set_rules(parse_rules(text) if name == _PRESET else state.rules.with_field(name, text))
        except BadRules as error:
            raise GtpError(str(error)) from None
        return ""
    named = rules_name(state.rules) or "custom"
    # GoGui needs the current value among the choices, even if it has no preset name.
    lines = [_list_line(_PRESET, _NAMED_RULES if named in _NAMED_RULES else [named, *_NAMED_RULES], named)]
    for each in sorted(RULE_FIELDS, key=lambda each: each.kind is bool):
        value = getattr(state.rules, each.field)
        if issubclass(each.kind, StrEnum):
            lines.append(_list_line(each.name, each.kind, value))
        else:
            lines.append(f"[bool] {each.name} {value:d}")
    return "\n".join(lines)


COMMANDS: dict[str, Handler] = {
    "keima-ownership": ownership,
    "keima-policy": policy,
    "keima-policy_heat_map": policy_heat_map,
    "keima-best_moves": best_moves,
    "keima-key_points": key_points,
    "keima-visits": visits,
    "keima-winrates": winrates,
    "keima-variation": best_variation,
    "keima-score": score,
    "keima-atari": atari,
    "keima-ladders": ladders,
    "keima-pass_alive": pass_alive,
    "keima-params": params,
    "keima-rules": rules,
}
