"""Observes a search for a move: keeps its statistics, and draws it if the user wants that."""

from typing import TYPE_CHECKING

from gtp.last_search import LastSearch, analysis_of_decision
from gtp.state import GtpState
from gtp.stderr import LiveGraphics

if TYPE_CHECKING:
    from engine.players import Decision, Watch
    from engine.search.search import Search
    from engine.search.stoppers import SearchStats

_MOST_MOVES = 12


class Observer:
    """Observes one search for a move of `color` and passes every call on to `also`.

    search: the last one that was observed, None before.
    """

    def __init__(self, state: GtpState, color: int, also: "Watch | None") -> None:
        self._state = state
        self._pv_length = state.config.pv_length
        self._color = color
        self._also = also
        self._graphics = LiveGraphics(color, state.width, state.height) if state.config.live_graphics else None
        self.search: Search | None = None
        self._stats: SearchStats | None = None

    def watch(self, search: "Search", stats: "SearchStats") -> None:
        """Record the search; called by the player between batches."""
        self.search, self._stats = search, stats
        self._state.searched = search
        if self._graphics is not None:
            self._graphics.show(search, stats)
        if self._also is not None:
            self._also(search, stats)

    def close(self) -> None:
        """Remove live graphics from the board after the search."""
        if self._graphics is not None:
            self._graphics.clear()

    def last_search(self, decision: "Decision") -> LastSearch:
        """Return the search that led to this decision."""
        from engine.search.analysis import Wanted, snapshot

        wanted = Wanted(max_moves=_MOST_MOVES, pv_length=self._pv_length)
        seen = None if self.search is None else snapshot(self.search, wanted, self._color)
        # A pass at the end of a game, or a reflex, is chosen without any search.
        if seen is None or not seen.moves:
            seen = analysis_of_decision(decision, self._color, self._color)
        stats = self._stats
        playouts, seconds = (stats.playouts, stats.elapsed) if stats else (0, 0.0)
        return LastSearch(self._color, decision, seen, playouts, seconds, self.search)
