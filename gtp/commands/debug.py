"""Commands that show what the engine plans and has searched: KataGo's debug commands, with KataGo's words."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, assert_never

from engine.clock import NO_LIMIT, Kind, TimeSettings
from engine.color import BLACK, WHITE, for_color
from engine.vertex import format_vertex
from gtp.args import expect, parse_color, parse_vertex
from gtp.commands.move import decide, format_decision, play_decision
from gtp.errors import GtpError
from gtp.interrupts import Signal
from gtp.protocol import Command
from gtp.state import GtpState, Handler
from gtp.stderr import write_lines

if TYPE_CHECKING:
    from engine.players import Decision
    from engine.search.search import Search

_ENDLESS = 1e30
"""Seconds that KataGo prints for time without limit."""
_LONGEST_LINE = 15


def genmove_debug(state: GtpState, command: Command) -> str:
    """Choose a move and play it as `genmove` does; describe the search on stderr."""
    return play_decision(state, *_decide_and_describe(state, command))


def kata_search_debug(state: GtpState, command: Command) -> str:
    """Choose a move without playing it; describe the search on stderr."""
    expect(command.args, 1)
    color = parse_color(command.args[0])
    with state.clock.turn(color, is_charged=False), state.interrupts.searching(command.line, Signal.STOP):
        return format_decision(state, _decide_and_describe(state, command)[1])


def _decide_and_describe(state: GtpState, command: Command) -> tuple[int, "Decision"]:
    """Choose a move; write the board, and the moves that were searched, to stderr."""
    from engine.records.diagram import showboard

    expect(command.args, 1)
    color = parse_color(command.args[0])
    board = showboard(state.game).split("\n")
    decision = decide(state, color)
    last = state.last_search
    assert last is not None
    head = [f"Time taken: {last.seconds:.3f}", f"New playouts: {last.playouts}"]
    tree = [] if last.search is None else _tree_lines(state, last.search, [])
    write_lines([*board, *head, *tree])
    return color, decision


def debug_moves(state: GtpState, command: Command) -> str:
    """Report the moves that the last search has visited, at its root or after the given moves, most visits first."""
    vertices = [parse_vertex(text, state.width, state.height) for text in command.args]
    if state.searched is None:
        raise GtpError("no search in this game")
    return "\n".join(_tree_lines(state, state.searched, vertices))


def _tree_lines(state: GtpState, search: "Search", branch: list[int]) -> Iterator[str]:
    """Yield a line for the node after `branch`, and one for each visited move there; values are the mover's.

    W: winrate, L: lead in points, P: prior, N: visits, then the line of most visits. Raises GtpError for a branch that
    was not visited.
    """
    from engine.search.branches import line_of_most_visits, node_below, visited_moves
    from engine.search.tree import ROOT

    tree = search.tree
    node = node_below(tree, ROOT, branch)
    if node is None or tree.nodes[ROOT]["visits"] == 0:
        raise GtpError("this line was not searched")

    def names(vertices: list[int]) -> str:
        return " ".join(format_vertex(vertex, state.width, state.height) for vertex in vertices)

    def figures(at: int, color: int) -> str:
        each = tree.nodes[at]
        winrate, lead = for_color(float(each["value"]), color), for_color(float(each["lead"]), color)
        return f"W {50 * (1 + winrate):6.2f}% L {lead:+6.1f}"

    color = int(tree.nodes[node]["to_play"])
    line = line_of_most_visits(tree, node, _LONGEST_LINE)
    yield f"Root visits: {tree.nodes[ROOT]['visits']}"
    yield f"{names(branch)}: {figures(node, color)} N {tree.nodes[node]['visits']:7d} -- {names(line)}"
    yield f"---{'Black' if color == BLACK else 'White'}---"
    for move in visited_moves(tree, node):
        line = [move.vertex, *line_of_most_visits(tree, move.child, _LONGEST_LINE - 1)]
        name = names([move.vertex])
        yield f"{name:4}: {figures(move.child, color)} P {100 * move.prior:5.2f}% N {move.visits:7d} -- {names(line)}"


def print_time_controls(state: GtpState, command: Command) -> str:
    """Report both clocks: their settings, what is left, and the seconds planned for the next move."""
    expect(command.args, 0)
    return "\n".join(" ".join(_clock_words(state, color)) for color in (BLACK, WHITE))


def _clock_words(state: GtpState, color: int) -> Iterator[str]:
    settings = state.clock.settings or NO_LIMIT
    is_endless = settings.kind is Kind.NONE
    left, count = state.clock.time_left(color)
    in_overtime = settings.has_periods and count > 0
    main_left = 0.0 if in_overtime else left
    yield f"{'Black' if color == BLACK else 'White'} originalMainTime {_ENDLESS if is_endless else settings.main:g}"
    yield from _setting_words(settings)
    yield f"mainTimeLeft {_ENDLESS if is_endless else main_left:g} inOvertime {int(in_overtime)}"
    if settings.kind is Kind.BYOYOMI:
        yield f"numPeriodsLeftIncludingCurrent {count if in_overtime else settings.count}"
    elif settings.kind is Kind.CANADIAN:
        yield "numPeriodsLeftIncludingCurrent 1"
    if in_overtime:
        stones = count if settings.kind is Kind.CANADIAN else 1
        yield f"numStonesLeftInPeriod {stones} timeLeftInPeriod {left:g}"
    allotment = state.clock.allotment(color, state.game.move_number, state.width * state.height)
    if allotment is not None:
        yield f"minRecMax 0 {allotment.seconds:g} {allotment.most_seconds:g}"


def _setting_words(settings: TimeSettings) -> Iterator[str]:
    match settings.kind:
        case Kind.BYOYOMI:
            yield f"originalNumPeriods {settings.count} numStonesPerPeriod 1 perPeriodTime {settings.period:g}"
        case Kind.CANADIAN:
            yield f"originalNumPeriods 1 numStonesPerPeriod {settings.count} perPeriodTime {settings.period:g}"
        case Kind.FISCHER | Kind.FISCHER_CAPPED:
            yield f"increment {settings.increment:g}"
            if settings.main_cap is not None:
                yield f"mainTimeLimit {settings.main_cap:g}"
            if settings.move_cap is not None:
                yield f"maxTimePerMove {settings.move_cap:g}"
        case Kind.ABSOLUTE | Kind.NONE:
            pass
        case _:
            assert_never(settings.kind)


COMMANDS: dict[str, Handler] = {
    "genmove_debug": genmove_debug,
    "kata-search_debug": kata_search_debug,
    "debug_moves": debug_moves,
    "kata-debug-print-tc": print_time_controls,
}
