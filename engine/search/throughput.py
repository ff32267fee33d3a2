"""Chooses the number of positions in flight: as few as keep the evaluator busy.

A position that is chosen while others are in flight is chosen without their results, that is, with less knowledge; a
call with few positions wastes the evaluator's time. `Throughput` weighs one against the other, in doublings of the
number of visits. It only computes; the driver measures:

    throughput = Throughput(evaluator.attributes)       # one for a board size, kept from search to search
    load = throughput.load(visits)                      # before each batch: calls in flight, positions in a call
    throughput.record(calls, rows, seconds)             # after enough batches with one load

`visits` is the number of root visits now. Searches that visits limit, and repeatable ones, use a fixed `Load`, because
the choice here depends on the machine's speed.
"""

import math
from collections import deque
from statistics import median
from typing import NamedTuple

from engine.evaluation.evaluator import Attributes
from engine.search.params import SearchParams

LOST_IN_FLIGHT = 0.07
"""Doublings of the visits that each further position in flight costs at 800 visits.

At 400 visits 7 of them lost 0.3 % winrate and 0.03 to 0.05 points a move on 9x9 (`virtual_loss` 0.2 and 0.5), where a
doubling gained 0.7 % and 0.025 points; at 100 visits the loss in winrate was within the noise (docs/performance.md).
With `virtual_loss` 1, the default, 7 of them lost 0.97 % (0.11 to 2.09) there, 0.02 % (-0.33 to 0.30) less than with
0.3 on other positions: what a position in flight costs is known to a factor of three at best.
"""
FREE_IN_FLIGHT = 0.067
"""Doublings that positions in flight may cost a search that visits limit: 10 Elo, of about 150 for a doubling."""
_DECREASE = 0.85
LARGEST_BATCH = 64
"""Positions in the largest batch that a search chooses by itself."""
LONGEST_CALL = 0.05
"""Seconds; a stopped search should not have to wait longer for the calls in flight."""
_COST_OF_LONGER = math.log2(1.25)
"""Doublings that a longer call must gain: a quarter more speed."""
_REMEMBERED = 5
"""Number of measurements of each load; their median is used."""
_VALID = 40
"""Number of measurements of other loads after which a load is measured again."""
_NOTICEABLE = 1.25
"""Growth of the visits since the last choice from which on the load is chosen again."""
_VISITS_TO_TRY = 16
"""Minimum visits of a search for each position in flight of a load that is tried."""
_FULL_AT_PREFERRED = 0.9
"""Share of the greatest speed that is assumed for the preferred batch until it is measured."""
_LACKING_A_CALL = 0.9
"""The same for one call fewer in flight than the evaluator's `concurrent`."""


class Load(NamedTuple):
    """calls: number of calls in flight. batch: positions in each call."""

    calls: int
    batch: int


def load_of_visits(attributes: Attributes, params: SearchParams, visits: int) -> Load:
    """Return the load of a search that ends after `visits` visits. It is independent of measured speeds."""
    workers = attributes.threads or attributes.concurrent
    if params.batch_size > 0:
        return Load(workers, params.batch_size)
    if attributes.has_first_play:
        # Playouts are so cheap and so noisy that choosing many positions at once loses nothing. One worker, so that the
        # tree does not depend on the number of threads; a second one in turn would wait for it nearly always, because
        # batches end where a walk meets a leaf under evaluation (with 7 rows on 9x9, with 5 on 19x19).
        return Load(1, attributes.preferred_batch)
    wanted = params.visits_in_flight or most_in_flight(visits)
    # With one call less the product may be nearer to the number: 2 * 4 of 8 for 3 workers.
    calls = max(
        range(max(1, min(workers, wanted) - 1), min(workers, wanted) + 1),
        key=lambda each: (wanted // each * each, each),
    )
    return Load(calls, min(wanted // calls, attributes.max_batch))


def most_in_flight(visits: int) -> int:
    """Return how many positions in flight cost a search that ends after `visits` visits next to nothing."""
    return 1 + int(FREE_IN_FLIGHT / lost_in_flight(2, visits))


def lost_in_flight(count: int, visits: int) -> float:
    """Return what `count` positions in flight cost a search with `visits` visits, in doublings of the visits."""
    # The decrease with visits is that of KataGo's benchmark (program/playutils.cpp).
    return LOST_IN_FLIGHT * (count - 1) * math.pow(1600.0 / (800.0 + visits), _DECREASE)


class Throughput:
    """Chooses loads for one evaluator on one board size. most: largest batch that the search has room for."""

    def __init__(self, attributes: Attributes, *, most: int | None = None) -> None:
        self._concurrent, self._preferred = attributes.concurrent, attributes.preferred_batch
        largest = max(1, min(attributes.max_batch, most or attributes.max_batch))
        batches = [2**power for power in range(largest.bit_length())]
        # Fewer calls than `concurrent` are considered with one position each only.
        self._loads = [Load(calls, 1) for calls in range(1, self._concurrent)]
        self._loads += [Load(self._concurrent, batch) for batch in batches]
        self._seconds: dict[Load, deque[float]] = {}
        self._rates: dict[Load, float] = {}
        self._chosen: tuple[int, Load] | None = None
        self._records = self._measurements = 0
        self._measured: dict[Load, int] = {}

    def load(self, visits: int) -> Load:
        """Return the load with the largest gain for a search with this number of visits.

        Cheap enough to be called before every batch: chooses again only if the number changed noticeably or a speed was
        measured.
        """
        if self._chosen is not None and self._records == 0:
            before, load = self._chosen
            if before <= visits <= before * _NOTICEABLE:
                return load
        load = self._untried(max(self._loads, key=lambda each: self.gain(each, visits)), visits)
        self._chosen, self._records = (visits, load), 0
        return load

    def _untried(self, best: Load, visits: int) -> Load:
        """Return a load next to the measured best that should be measured, too, or the best one."""
        # Half the batch costs little to try; twice the batch is tried only in a search that is large compared with it.
        # Both are tried again after a while: the machine may have been busy, or still compiling, during a measurement.
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
        """Record the duration of a call, with `calls` calls of `rows` positions each in flight.

        Ignores numbers of rows that are no batch of a load, such as those of the last call of a search.
        """
        load = Load(calls, rows)
        if seconds > 0 and load in self._loads:
            known = self._seconds.setdefault(load, deque(maxlen=_REMEMBERED))
            known.append(seconds)
            self._rates[load] = calls * rows / median(known)
            self._records += 1
            self._measurements += 1
            self._measured[load] = self._measurements

    def gain(self, load: Load, visits: int) -> float:
        """Return the value of a load in doublings of the visits, relative to other loads of the same evaluator."""
        rate, in_flight = self.rate(load), load.calls * load.batch
        too_long = bool(self._rates) and in_flight / rate > LONGEST_CALL
        return math.log2(rate) - lost_in_flight(in_flight, visits) - (_COST_OF_LONGER if too_long else 0.0)

    def rate(self, load: Load) -> float:
        """Return the positions per second of a load, measured or estimated from the nearest measured load.

        Before the first measurement the result is in an unknown unit.
        """
        if load in self._rates:
            return self._rates[load]
        if not self._rates:
            return self._expected(load)
        nearest = min(self._rates, key=lambda known: _distance(known, load))
        return self._rates[nearest] * self._expected(load) / self._expected(nearest)

    def _expected(self, load: Load) -> float:
        """Return the expected share of the greatest speed for a load."""
        half = self._preferred * (1.0 / _FULL_AT_PREFERRED - 1.0)
        full = load.batch / (load.batch + half)
        if load.calls == self._concurrent:
            return full
        return full * _LACKING_A_CALL * load.calls / (self._concurrent - 1)


def _distance(known: Load, load: Load) -> float:
    """Return the distance of two loads: doublings of the batch plus difference in calls."""
    return abs(math.log2(known.batch / load.batch)) + abs(known.calls - load.calls)
