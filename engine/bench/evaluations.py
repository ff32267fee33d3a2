"""The raw speed of evaluators and of play-outs, without any search."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from engine.bench.effort import Effort
from engine.bench.positions import positions_to_evaluate
from engine.color import BLACK
from engine.evaluators.base import Evaluation, Evaluator
from engine.evaluators.playout_kernels import run_light_rollouts, seed_generator
from engine.game import Game

BATCHES = (1, 8, 16, 32)
"""Positions a call at which evaluators are measured, besides the batch that each prefers."""


class Measured:
    """One evaluator on one board size, asked by as many threads as it wants calls in flight."""

    def __init__(self, evaluator: Evaluator, width: int, height: int) -> None:
        self.evaluator = evaluator
        attributes = evaluator.attributes
        self.batches = [each for each in sorted({*BATCHES, attributes.preferred_batch}) if each <= attributes.max_batch]
        self._positions = positions_to_evaluate(max(self.batches), width, height)
        self._outs = [Evaluation(max(self.batches), width, height) for _ in range(attributes.concurrent)]
        for batch in self.batches:
            evaluator.evaluate(self._positions, batch, self._outs[0])  # compiles

    def per_second(self, seconds: float, batch: int) -> float:
        """Return the positions evaluated a second in calls of `batch`, encoding included; each thread makes one."""
        start = time.perf_counter()

        def ask(out: Evaluation) -> int:
            calls = 0
            while calls == 0 or time.perf_counter() - start < seconds:
                self.evaluator.evaluate(self._positions, batch, out)
                calls += 1
            return calls

        with ThreadPoolExecutor(len(self._outs)) as pool:
            calls = sum(pool.map(ask, self._outs))
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
