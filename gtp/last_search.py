"""The last search for a move, kept for commands that report it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.players import Decision
    from engine.search.analysis import Analysis
    from engine.search.search import Search


@dataclass(frozen=True, eq=False)
class LastSearch:
    """A finished search for a move.

    color: the side to move. analysis: from that color's point of view, best moves only. playouts: of this search alone.
    seconds: duration. search: the search itself, valid until the next one begins; None for a move without a search.
    """

    color: int
    decision: "Decision"
    analysis: "Analysis"
    playouts: int
    seconds: float
    search: "Search | None"


def analysis_of_decision(decision: "Decision", color: int, side: int) -> "Analysis":
    """Return an analysis, seen by `side`, that contains only the chosen move: there was no search."""
    from engine.search.analysis import of_single_move

    winrate = 0.5 if decision.winrate is None else decision.winrate
    return of_single_move(decision.vertex, winrate, decision.score_lead or 0.0, color, side)
