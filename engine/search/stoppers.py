"""Stoppers: objects that decide between batches, from the statistics of a search, whether it ends."""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from engine.vertex import NO_POINT

_RIVAL_SHARE = 0.15
"""Minimum share of the most visited move's visits for a move to be chosen for its value."""
_TRUSTED_SHARE = 0.1
"""Share of a move's time after which the speed of the present search is used."""
_LEAST_FACTOR = 0.25
_UNSTABLE_FACTOR = 1.7
_CONTESTED_FACTOR = 2.5
"""Multiples of the planned time if the most visited move is new or not the best valued (unstable), or both (contested).
"""
_RECENT = 0.25
"""The most visited move is new if it became that in this last share of the playouts."""
_SPLIT_SHARE = 0.5
"""With up to this share of the visits, the best move needs all of the planned time; with all visits it needs half."""
_OBVIOUS_PRIOR = 0.85
_OBVIOUS_MARGIN = 0.1


@dataclass(frozen=True)
class SearchStats:
    """Statistics of a running search.

    visits: at the root, reused ones and weightless playouts included. playouts: of this search. elapsed: seconds.
    best_visits, second_visits: of the two most visited moves.
    best_vertex: the most visited move, NO_POINT before there is one. best_prior: its prior.
    best_value, second_value: mean utility of the two most visited moves, for the side to move.
    root_value: mean utility at the root, for the side to move.
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
    """Decides whether a search ends now."""

    def should_stop(self, stats: SearchStats) -> bool:
        """Return True to end the search."""


class VisitStopper:
    """Stops at a number of root visits."""

    def __init__(self, visits: int) -> None:
        self.visits = visits

    def should_stop(self, stats: SearchStats) -> bool:
        """Return True once the root has that many visits."""
        return stats.visits >= self.visits


class TimeStopper:
    """Stops `seconds` after its creation, but not below `least_visits`. now: the clock, in seconds."""

    def __init__(self, seconds: float, now: Callable[[], float] | None = None, least_visits: int = 0) -> None:
        self.seconds, self._least_visits = seconds, least_visits
        self._now = now or time.monotonic
        self._deadline = self._now() + seconds

    def should_stop(self, stats: SearchStats) -> bool:
        """Return True once the time is used up."""
        return self._now() >= self._deadline and stats.visits >= self._least_visits


class SettledStopper:
    """Stops a timed search if no continuation, at the present speed, could change the move that is chosen.

    share: minimum share of the most visited move's visits for another move to be chosen, by its confidence bound; 1 if
    visits alone choose. speed: playouts per second of earlier searches, used for the first tenth of the time; 0.0 if
    unknown, then the search does not stop before.
    """

    def __init__(self, seconds: float, speed: float = 0.0, share: float = 1.0) -> None:
        self.seconds = seconds
        self._speed, self._share = speed, share

    def should_stop(self, stats: SearchStats) -> bool:
        """Return True if the second move would have too few visits to be chosen even with all remaining playouts."""
        if stats.move_count == 1:
            return True
        left = _playouts_left(stats, self.seconds, stats.elapsed, self._speed)
        return stats.second_visits + left < self._share * stats.best_visits


class PlannedStopper:
    """Stops at a planned time, which is longer if the search is undecided and shorter if one move is clearly best.

    seconds: for a move of average difficulty. most_seconds: upper limit. speed: see `SettledStopper`. is_kept: whether
    unused time can be used for later moves; if not, the time is never shorter. Times are counted from its creation.
    """

    def __init__(
        self,
        seconds: float,
        most_seconds: float,
        speed: float = 0.0,
        now: Callable[[], float] | None = None,
        *,
        is_kept: bool = True,
    ) -> None:
        self.seconds = seconds
        self.most_seconds = most_seconds
        self._is_kept = is_kept
        self._speed = speed
        self._now = now or time.monotonic
        self._start = self._now()

    def should_stop(self, stats: SearchStats) -> bool:
        """Return True once the time for this position is used, or more time could not change the move."""
        elapsed = self._now() - self._start
        if stats.move_count == 1 or elapsed >= self.most_seconds:
            return True
        share = difficulty(stats)
        if not self._is_kept:
            return elapsed >= self.seconds * max(1.0, share)
        target = min(self.most_seconds, self.seconds * share)
        return elapsed >= target or is_decided(stats, target, elapsed, self._speed)


def is_decided(stats: SearchStats, seconds: float, elapsed: float, speed: float = 0.0) -> bool:
    """Return whether the second move, now worse, would have fewer visits with all playouts of the rest of `seconds`.

    Cheaper than certainty, for time that later moves can use: a confidence bound may still choose another move.
    speed: see `SettledStopper`.
    """
    if _has_rival(stats) or stats.best_visits == 0:
        return False
    return stats.best_visits - stats.second_visits > _playouts_left(stats, seconds, elapsed, speed)


def _playouts_left(stats: SearchStats, seconds: float, elapsed: float, speed: float) -> float:
    """Return the number of playouts in the rest of `seconds`, infinite while the speed is unknown."""
    if elapsed >= seconds * _TRUSTED_SHARE and stats.playouts > 0 and elapsed > 0:
        speed = stats.playouts / elapsed
    return (seconds - elapsed) * speed if speed > 0 else math.inf


def difficulty(stats: SearchStats) -> float:
    """Return the multiple of the planned time for a position, by how clear the choice of the move is."""
    if stats.best_vertex == NO_POINT or stats.visits < 2:
        return 1.0
    is_new = stats.playouts - stats.best_since < _RECENT * stats.playouts
    has_rival = _has_rival(stats)
    if is_new or has_rival:
        return _CONTESTED_FACTOR if is_new and has_rival else _UNSTABLE_FACTOR
    share = stats.best_visits / stats.visits
    is_better = stats.best_value - stats.second_value > _OBVIOUS_MARGIN or stats.second_visits == 0
    if stats.best_prior > _OBVIOUS_PRIOR and is_better and share > _SPLIT_SHARE:
        return _LEAST_FACTOR
    return 1.0 - 0.5 * max(0.0, share - _SPLIT_SHARE) / (1.0 - _SPLIT_SHARE)


def _has_rival(stats: SearchStats) -> bool:
    """Return whether the second move has a better value and enough visits to be chosen for it."""
    return stats.second_value > stats.best_value and stats.second_visits >= _RIVAL_SHARE * stats.best_visits


class EventStopper:
    """Stops as soon as another thread sets an event."""

    def __init__(self, event: threading.Event) -> None:
        self.event = event

    def should_stop(self, stats: SearchStats) -> bool:
        """Return True once the event is set."""
        return self.event.is_set()


def waits(stopper: Stopper) -> bool:
    """Return whether a stopper of a search with a limit of visits need not be asked often."""
    return isinstance(stopper, VisitStopper | EventStopper)
