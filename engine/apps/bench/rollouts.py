"""Measures the speed of random playouts on one core."""

import time

import numpy as np

from engine.apps.bench.effort import Effort
from engine.color import BLACK
from engine.evaluators.playout_kernels import run_light_rollouts, seed_generator
from engine.game import Game


def rollouts_per_second(effort: Effort, width: int, height: int) -> int:
    """Return the number of uniformly random games per second from the empty board, on one core."""
    board = Game(width, height).board
    work, generator = board.copy(), np.ones(1, dtype=np.uint64)
    seed_generator(generator, np.uint64(1))
    run_light_rollouts(board, BLACK, 10, generator, work)
    # The first run has 1000 games; it also sets the number for the others, so that each takes `effort.seconds`.
    count = 1000

    def run() -> float:
        start = time.perf_counter()
        run_light_rollouts(board, BLACK, count, generator, work)
        return time.perf_counter() - start

    count = max(100, int(count * effort.seconds / run()))
    return round(count / effort.median(run))
