"""The raw speed of evaluators and of play-outs, without any search."""

import time
from contextlib import closing

import numpy as np

from engine.bench.effort import Effort
from engine.bench.positions import positions_to_evaluate
from engine.color import BLACK
from engine.evaluators.base import Evaluator
from engine.evaluators.playout_kernels import run_light_rollouts, seed_generator
from engine.game import Game
from engine.search.in_flight import InFlight
from engine.search.slot import Slot

BATCHES = (1, 8, 16, 32)
"""Positions a call at which evaluators are measured, besides the batch that each prefers."""


class Measured:
    """One evaluator on one board size, with as many calls in flight as it wants, and as a search has them."""

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
        for batch in self.batches:
            evaluator.evaluate(positions, batch, self._slots[0].evaluation)  # compiles

    def per_second(self, seconds: float, batch: int) -> float:
        """Return the positions evaluated a second in calls of `batch`, encoding included."""
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


def rollouts_per_second(effort: Effort, width: int, height: int) -> int:
    """Return uniformly random games a second from the empty board, on one core."""
    board = Game(width, height).board
    work, generator = board.copy(), np.ones(1, dtype=np.uint64)
    seed_generator(generator, np.uint64(1))
    run_light_rollouts(board, BLACK, 10, generator, work)
    count = 1000

    def run() -> float:
        start = time.perf_counter()
        run_light_rollouts(board, BLACK, count, generator, work)
        return time.perf_counter() - start

    count = max(100, int(count * effort.seconds / run()))
    return round(count / effort.median(run))
