"""Writes lines to stderr, including those that programs read: GoGui's live graphics and Leela Zero's search summary.

The latter two are written only on request: other programs show stderr to people or fail on it.
"""

import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from engine.color import color_letter, opponent
from engine.vertex import format_vertex
from gtp.last_search import LastSearch, analysis_of_decision

if TYPE_CHECKING:
    from engine.search.search import Search
    from engine.search.stoppers import SearchStats

REDRAW_SECONDS = 0.5
"""Seconds between two drawings of a search."""
_MOVES, _LENGTH = 1, 8
_GRAPHICS = "gogui-gfx:"
_LISTED = 10


def write_lines(lines: Iterable[str]) -> None:
    """Write whole lines at once; ignore a closed or full stderr."""
    if sys.stderr is None:
        return
    with suppress(OSError, ValueError):
        sys.stderr.write("".join(f"{line}\n" for line in lines))
        sys.stderr.flush()


class LiveGraphics:
    """Draws the best variation of a search for `color` on GoGui's board, and removes it again."""

    def __init__(self, color: int, width: int, height: int) -> None:
        self._color = color
        self._size = width, height
        self._due = time.monotonic() + REDRAW_SECONDS

    def show(self, search: "Search", stats: "SearchStats") -> None:
        """Draw the search if the interval has passed."""
        if time.monotonic() < self._due:
            return
        from engine.search.analysis import Wanted, snapshot

        seen = snapshot(search, Wanted(max_moves=_MOVES, pv_length=_LENGTH), self._color)
        if seen is None or not seen.moves:
            return
        moves = variation(seen.moves[0].pv, self._color, *self._size)
        text = f"{stats.visits} visits, winrate {100 * seen.root.winrate:.1f} %, lead {seen.root.lead:+.1f}"
        write_lines([_GRAPHICS, f"VAR {moves}", f"TEXT {text}", ""])
        self._due = time.monotonic() + REDRAW_SECONDS

    def clear(self) -> None:
        """Clear the board: GoGui reads stderr only until the reply."""
        write_lines([f"{_GRAPHICS} CLEAR"])


def variation(vertices: Iterable[int], color: int, width: int, height: int) -> str:
    """Format moves with their colors for GoGui: `b Q16 w D4`; `color` moves first."""
    mover, words = color, []
    for vertex in vertices:
        words.append(f"{color_letter(mover).lower()} {format_vertex(vertex, width, height)}")
        mover = opponent(mover)
    return " ".join(words)


def leela_zero_lines(last_search: LastSearch, width: int, height: int) -> list[str]:
    """Format the summary that Leela Zero prints after a search, which gtp2ogs shows in the game's chat.

    The move that was played comes first, because readers take the first move for the best.
    """
    decision, seen = last_search.decision, last_search.analysis.moves
    moves = sorted(seen, key=lambda move: move.vertex != decision.vertex)[:_LISTED]
    if moves[0].vertex != decision.vertex:
        moves = [*analysis_of_decision(decision, last_search.color, last_search.color).moves, *moves]
    lines = []
    for move in moves:
        name, pv = (format_vertex(move.vertex, width, height), (format_vertex(v, width, height) for v in move.pv))
        chances = (100.0 * min(1.0, max(0.0, chance)) for chance in (move.winrate, move.lcb, move.prior))
        percentages = "(V: {:5.2f}%) (LCB: {:5.2f}%) (N: {:5.2f}%)".format(*chances)
        lines.append(f"{name:>4} -> {move.visits:7d} {percentages} PV: {' '.join(pv)}")
    visits, speed = (
        last_search.analysis.root.visits,
        last_search.playouts / last_search.seconds if last_search.seconds else 0.0,
    )
    return [*lines, f"{visits} visits, {visits} nodes, {last_search.playouts} playouts, {speed:.0f} n/s"]
