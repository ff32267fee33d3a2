"""Measures the speed of an evaluator, called as a search calls it but without a search."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator, program_of
from engine.native.closures import FAILED, invoke
from engine.native.jit import kernel
from engine.search.bench_positions import positions_to_evaluate
from engine.search.driver import worker_count

BATCHES = (1, 8, 16, 32)
"""Batch sizes to measure, besides the preferred batch of the evaluator."""
_AT_LEAST = 32
"""Minimum of positions between two reads of the clock."""


@kernel
def evaluate_again(program: NDArray[np.int64], seeds: NDArray[np.uint64], count: int, times: int) -> int:
    """Run a program `times` times, with other seeds each time, until it fails; return the positions evaluated.

    program: [steps, 2], the addresses of its closures. seeds: those of its positions. count: rows.
    """
    done = 0
    # The CPU learns to predict the branches of a playout that is repeated: two to four times as many on 9x9.
    for _ in range(times):
        for row in range(count):
            seeds[row] += np.uint64(len(seeds))
        rows = count
        for step in range(len(program)):
            rows = invoke(program[step], rows)
            if rows == FAILED:
                return done
        done += count
    return done


class Measured:
    """An evaluator on one board size, called by as many threads as a search has workers."""

    def __init__(self, evaluator: Evaluator, width: int, height: int) -> None:
        self.evaluator = evaluator
        attributes = evaluator.attributes
        self.batches = [each for each in sorted({*BATCHES, attributes.preferred_batch}) if each <= attributes.max_batch]
        self._positions = positions_to_evaluate(max(self.batches), width, height)
        workers = range(worker_count(evaluator))
        self._outs = [Evaluation(self._positions.capacity, width, height) for _ in workers]
        self._programs = [program_of(evaluator, self._positions, out) for out in self._outs]
        if self._programs[0] is not None:
            rows = self._programs[0].rows
            self.batches = [each for each in self.batches if each <= rows]
        for batch in self.batches:
            self.per_second(0.001, batch)  # compiles

    def nearest(self, batch: int) -> int:
        """Return the nearest batch size that can be measured."""
        return min(max(1, batch), max(self.batches))

    def per_second(self, seconds: float, batch: int) -> float:
        """Return the positions evaluated per second in calls of `batch`, encoding included. Raises as `evaluate`."""
        with ThreadPoolExecutor(len(self._outs)) as pool:
            start = time.perf_counter()
            workers = [pool.submit(self._work, place, batch, start + seconds) for place in range(len(self._outs))]
            done = sum(each.result() for each in workers)
            return done / (time.perf_counter() - start)

    def _work(self, place: int, batch: int, end: float) -> int:
        """Evaluate batches until the time `end`, at least one; return the number of positions."""
        program, times = self._programs[place], -(-_AT_LEAST // batch)
        addresses = None if program is None else np.array([step.closure.address for step in program.steps])
        seeds, done = self._positions.seeds, 0
        while True:
            if addresses is None:
                seeds += np.uint64(len(seeds))
                self.evaluator.evaluate(self._positions, batch, self._outs[place])
                done += batch
            elif (found := evaluate_again(addresses, seeds, batch, times)) == batch * times:
                done += found
            else:
                # A program reports only that it failed; this raises the error.
                self.evaluator.evaluate(self._positions, batch, self._outs[place])
            if time.perf_counter() >= end:
                return done
