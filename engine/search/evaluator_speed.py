"""The raw speed of an evaluator, called as a search calls it but without any search."""

import threading
import time
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator, Program, native
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.native.closures import invoke
from engine.native.jit import kernel
from engine.search.bench_positions import positions_to_evaluate
from engine.search.in_flight import InFlight
from engine.search.slot import Slot

BATCHES = (1, 8, 16, 32)
"""Positions a call at which evaluators are measured, besides the batch that each prefers."""
_AT_LEAST = 32
"""Positions between two looks at the clock."""


@kernel
def evaluate_again(program: NDArray[np.int64], count: int, times: int) -> None:
    """Run a program so often. program: [steps, 2], the addresses of closures."""
    for _ in range(times):
        rows = count
        for step in range(len(program)):
            rows = invoke(program[step], rows)


class Measured:
    """One evaluator on one board size, with as many calls in flight as it wants, and as a search has them.

    That is one program in each thread where the evaluator has programs.
    """

    def __init__(self, evaluator: Evaluator, width: int, height: int) -> None:
        self.evaluator = evaluator
        attributes = evaluator.attributes
        self.batches = [each for each in sorted({*BATCHES, attributes.preferred_batch}) if each <= attributes.max_batch]
        positions, game = positions_to_evaluate(max(self.batches), width, height), Game(width, height)
        self._slots = [
            Slot(max(self.batches), game, has_details=attributes.has_details) for _ in range(attributes.concurrent)
        ]
        for slot in self._slots:
            slot.positions = positions
        self._programs = self._programs_of(positions)
        if self._programs:
            self.batches = [each for each in self.batches if each <= self._programs[0].rows]
        for batch in self.batches:
            self.per_second(0.001, batch)  # compiles

    def nearest(self, batch: int) -> int:
        """Return the batch that can be measured and is nearest to one."""
        return min(max(1, batch), max(self.batches))

    def per_second(self, seconds: float, batch: int) -> float:
        """Return the positions evaluated a second in calls of `batch`, encoding included."""
        if self._programs:
            return self._per_second_of_programs(seconds, batch)
        calls = 0
        with closing(InFlight(self.evaluator)) as in_flight:
            start = time.perf_counter()
            for slot in self._slots:
                in_flight.send(slot, batch)
            while in_flight:
                slot = in_flight.receive()
                calls += 1
                if time.perf_counter() - start < seconds:
                    in_flight.send(slot, batch)
            return calls * batch / (time.perf_counter() - start)

    def _programs_of(self, positions: PositionBatch) -> list[Program]:
        """Return a program for each thread, none where there are none."""
        evaluator = native(self.evaluator)
        if evaluator is None:
            return []
        outs = [
            Evaluation(positions.capacity, positions.width, positions.height)
            for _ in range(evaluator.attributes.threads)
        ]
        programs = [evaluator.program(positions, out) for out in outs]
        return [program for program in programs if program is not None]

    def _per_second_of_programs(self, seconds: float, batch: int) -> float:
        done, end = [0] * len(self._programs), time.perf_counter() + seconds
        times = -(-_AT_LEAST // batch)

        def work(place: int) -> None:
            program = np.array([step.closure.address for step in self._programs[place].steps])
            while time.perf_counter() < end:
                evaluate_again(program, batch, times)
                done[place] += batch * times

        threads = [threading.Thread(target=work, args=(place,)) for place in range(len(done))]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(done) / (time.perf_counter() - start)
