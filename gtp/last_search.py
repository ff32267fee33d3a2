"""The last search for a move, kept for the commands that report it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.players import Decision
    from engine.search.analysis import Analysis
    from engine.search.search import Search


@dataclass(frozen=True, eq=False)
class LastSearch:
    """A search for a move, after its end.

    color: that was to move. analysis: as that color sees it, its best moves only. playouts: of this search alone.
    seconds: that it took. search: itself, as it is until the next one begins; None for a move without a search.
    """

    color: int
    decision: "Decision"
    analysis: "Analysis"
    playouts: int
    seconds: float
    search: "Search | None"


def analysis_of_decision(decision: "Decision", color: int, side: int) -> "Analysis":
    """Return the analysis, seen by `side`, of a move that was chosen without a search: nothing else is known."""
    from engine.search.analysis import of_single_move

    winrate = 0.5 if decision.winrate is None else decision.winrate
    return of_single_move(decision.vertex, winrate, decision.score_lead or 0.0, color, side)
