"""Searches a position for commands that report the result and play no move."""

from collections import deque
from typing import TYPE_CHECKING, Any

from gtp.errors import GtpError
from gtp.state import GtpState

if TYPE_CHECKING:
    from engine.search.analysis import Analysis
    from engine.search.search import Search


def search_position(state: GtpState, color: int, **wanted: Any) -> "Analysis":
    """Search for `color` as long as a move without a clock may take; return the analysis from its point of view.

    wanted: fields of `engine.search.analysis.Wanted`. Repeating a request costs nothing, because the tree is kept.
    Raises GtpError if the search was stopped before its first result.
    """
    from engine.players import AnalysisRequest, Limits
    from engine.search.analysis import Wanted, snapshot

    # The player passes its search to the callback; only the last call matters.
    last: deque[Search] = deque(maxlen=1)
    request = AnalysisRequest(Limits(state.config.visits or state.config.reg_visits, state.config.seconds))
    state.player_loader.get().analyze(state.game, color, request, lambda search, _: last.append(search))
    seen = snapshot(last[0], Wanted(pv_length=state.config.pv_length, **wanted), color) if last else None
    if seen is None or not seen.moves:
        raise GtpError("the search was cut short")
    return seen
