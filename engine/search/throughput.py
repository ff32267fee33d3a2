"""How many positions a search should have in flight: as few as keep the evaluator busy.

A position that is picked before the answers to others are there is picked with virtual losses, that is, with
less knowledge; a call with few positions wastes the evaluator's time. `Throughput` weighs one against the
other in Elo. Pure arithmetic: it starts and times nothing. A driver uses it so:

    throughput = Throughput(evaluator.attributes)       # one for a board size, kept from search to search
    load = throughput.load(visits, timed=True)          # before each batch: calls in flight, positions a call
    throughput.record(calls, rows, seconds)             # once enough answers came under one load

`visits`: what the root will have when the search ends, or has now where that is not known. Searches that
measure, or that shall be repeatable, use a fixed `Load` instead: answers depend on the machine's speed here.

Where the Elo comes from: KataGo's benchmark (program/playutils.cpp, measured with g170 networks) takes
a doubling of the speed for 250 Elo, and a thread, which has one position in flight, for
-7 (1600 / (800 + visits))^0.85.
"""

import math
from collections import deque
from statistics import median
from typing import NamedTuple

from engine.evaluation.evaluator import Attributes

ELO_PER_DOUBLING = 250.0
"""What twice the speed is worth where time limits a search."""
ELO_PER_DOUBLING_OF_FIXED_VISITS = 50.0
"""The same where visits limit it: nothing in strength, but somebody waits for the answer."""
LONGEST_CALL = 0.05
"""Seconds; a search that is stopped should not have to wait longer for the calls in flight."""
_COST_OF_LONGER = 80.0
"""Elo that a longer call must gain: as much as a quarter more speed."""
_REMEMBERED = 5
"""Measurements of each load whose median counts."""
_VALID = 40
"""Measurements of other loads after which one is made again."""
_NOTICEABLE = 1.25
"""Times as many visits as when the load was chosen."""
_VISITS_TO_TRY = 16
"""Visits of a search for each position in flight that it tries."""
_FULL_AT_PREFERRED = 0.9
"""Share of the greatest speed that the preferred batch of an evaluator is taken for until it is measured."""
_LACKING_A_CALL = 0.9
"""The same for one call less in flight than the evaluator wants."""


class Load(NamedTuple):
    """calls: in flight at the same time. batch: positions a call."""

    calls: int
    batch: int


class Throughput:
    """Chooses loads for one evaluator on one board size.

    most: the positions a call that the search has room for.
    """

    def __init__(self, attributes: Attributes, *, most: int | None = None) -> None:
        self._concurrent, self._preferred = attributes.concurrent, attributes.preferred_batch
        largest = max(1, min(attributes.max_batch, most or attributes.max_batch))
        batches = [2**power for power in range(largest.bit_length())]
        # Any number of calls of one position, all calls of more.
        self._loads = [Load(calls, 1) for calls in range(1, self._concurrent)]
        self._loads += [Load(self._concurrent, batch) for batch in batches]
        self._seconds: dict[Load, deque[float]] = {}
        self._rates: dict[Load, float] = {}
        self._chosen: tuple[int, bool, Load] | None = None
        self._records = self._measurements = 0
        self._measured: dict[Load, int] = {}

    def load(self, visits: int, *, timed: bool = True) -> Load:
        """Return the load that gains the most in a search of so many visits.

        timed: True if time limits the search, False if visits do. Weighs anew only when either changed
        noticeably or much was measured, so that it may be asked before every batch.
        """
        if self._chosen is not None and self._records == 0:
            before, before_timed, load = self._chosen
            if timed == before_timed and before <= visits <= before * _NOTICEABLE:
                return load
        load = self._untried(max(self._loads, key=lambda each: self.gain(each, visits, timed=timed)), visits)
        self._chosen, self._records = (visits, timed, load), 0
        return load

    def _untried(self, best: Load, visits: int) -> Load:
        """Return the load beside the measured best that is to be measured, too, or the best.

        Half the batch costs little to try; twice the batch is tried where a search is large beside it. Both are
        tried again after a while, because a measurement may have met a machine that was busy or still compiling.
        """
        if best in self._rates:
            half, double = (Load(best.calls, best.batch * factor // 2) for factor in (1, 4))
            if half in self._loads and not self._is_known(half):
                return half
            is_small_beside = double.calls * double.batch * _VISITS_TO_TRY <= visits
            if is_small_beside and double in self._loads and not self._is_known(double):
                return double
        return best

    def _is_known(self, load: Load) -> bool:
        return load in self._measured and self._measurements - self._measured[load] < _VALID

    def record(self, calls: int, rows: int, seconds: float) -> None:
        """Note how long a call took, `calls` with `rows` positions each being in flight all the while.

        Rows that are no batch of a load are passed over: such a call is one at the end of a search.
        """
        load = Load(calls, rows)
        if seconds > 0 and load in self._loads:
            known = self._seconds.setdefault(load, deque(maxlen=_REMEMBERED))
            known.append(seconds)
            self._rates[load] = calls * rows / median(known)
            self._records += 1
            self._measurements += 1
            self._measured[load] = self._measurements

    def gain(self, load: Load, visits: int, *, timed: bool = True) -> float:
        """Return what a load is worth in Elo, against others of the same evaluator."""
        rate, in_flight = self.rate(load), load.calls * load.batch
        doubling = ELO_PER_DOUBLING if timed else ELO_PER_DOUBLING_OF_FIXED_VISITS
        lost = 7.0 * math.pow(1600.0 / (800.0 + visits), 0.85) * (in_flight - 1)
        too_long = bool(self._rates) and in_flight / rate > LONGEST_CALL
        return doubling * math.log2(rate) - lost - (_COST_OF_LONGER if too_long else 0.0)

    def rate(self, load: Load) -> float:
        """Return the positions a second under a load, as measured or, if it was not, as guessed from the nearest.

        Before anything is measured the unit is not a second but unknown.
        """
        if load in self._rates:
            return self._rates[load]
        if not self._rates:
            return self._expected(load)
        nearest = min(self._rates, key=lambda known: _distance(known, load))
        return self._rates[nearest] * self._expected(load) / self._expected(nearest)

    def _expected(self, load: Load) -> float:
        """Return the share of the greatest speed that a load should reach."""
        half = self._preferred * (1.0 / _FULL_AT_PREFERRED - 1.0)
        full = load.batch / (load.batch + half)
        if load.calls == self._concurrent:
            return full
        return full * _LACKING_A_CALL * load.calls / (self._concurrent - 1)


def _distance(known: Load, load: Load) -> float:
    """Return how far a measured load is from another: batches by doublings, then calls."""
    return abs(math.log2(known.batch / load.batch)) + abs(known.calls - load.calls)
