"""When a search ends: objects asked between batches, over a snapshot of its figures."""

import threading
import time
from dataclasses import dataclass
from typing import Protocol

from engine.vertex import NO_POINT


@dataclass(frozen=True)
class SearchStats:
    """Figures of a running search.

    visits: at the root, reused ones included. playouts: of this search. elapsed: seconds.
    best_visits, second_visits: of the two most visited moves.
    best_vertex: the most visited move, NO_POINT before there is one. best_prior: its policy share.
    best_value, second_value: mean utility of the two most visited moves, in the view of the side to move.
    root_value: mean utility at the root, in the same view.
    best_since: playouts of this search when best_vertex became the most visited.
    move_count: legal moves at the root, pass included; 0 if not counted.
    """

    visits: int
    playouts: int
    elapsed: float
    best_visits: int
    second_visits: int
    best_vertex: int = NO_POINT
    best_value: float = 0.0
    second_value: float = 0.0
    root_value: float = 0.0
    best_since: int = 0
    best_prior: float = 0.0
    move_count: int = 0


class Stopper(Protocol):
    """Says whether a search should end now."""

    def should_stop(self, stats: SearchStats) -> bool:
        """Return True to end the search."""


class VisitStopper:
    """Stops at a number of visits at the root."""

    def __init__(self, visits: int) -> None:
        self.visits = visits

    def should_stop(self, stats: SearchStats) -> bool:
        """Return True once the root has the visits."""
        return stats.visits >= self.visits


class TimeStopper:
    """Stops after a time, counted from its creation by the monotonic clock."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._deadline = time.monotonic() + seconds

    def should_stop(self, stats: SearchStats) -> bool:
        """Return True once the time is used up."""
        return time.monotonic() >= self._deadline


class SettledStopper:
    """Stops a timed search whose second-best move cannot catch up in the time left.

    Assumes the present speed; waits for a tenth of the time before it judges.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def should_stop(self, stats: SearchStats) -> bool:
        """Return True if the rest of the time, all spent on the second move, would not change the order."""
        if stats.elapsed < self.seconds / 10 or stats.playouts == 0:
            return False
        remaining = (self.seconds - stats.elapsed) * stats.playouts / stats.elapsed
        return stats.best_visits - stats.second_visits > remaining


class EventStopper:
    """Stops as soon as another thread sets an event."""

    def __init__(self, event: threading.Event) -> None:
        self.event = event

    def should_stop(self, stats: SearchStats) -> bool:
        """Return True once the event is set."""
        return self.event.is_set()
