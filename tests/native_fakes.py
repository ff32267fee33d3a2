"""An evaluator that kernels call, made up: the same answers in every run and thread, counters, failures, delays."""

import threading

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.board.layout import COLOR
from engine.color import BLACK, EMPTY, WALL
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Attributes, Program, Step
from engine.evaluation.positions import PositionBatch
from engine.native.closures import FAILED, Closure, invoke, runs_closures
from engine.native.jit import kernel
from engine.native.locks import pause

needs_closures = pytest.mark.skipif(not runs_closures(), reason="needs compiled kernels on x86-64 or ARM64")
CALLS, POSITIONS, FAIL_AT, PAUSES = range(4)


@kernel
def answer_rows(
    boards: NDArray[np.int16],
    hashes: NDArray[np.uint64],
    legal: NDArray[np.bool_],
    to_play: NDArray[np.int8],
    policy: NDArray[np.float32],
    value: NDArray[np.float32],
    score: NDArray[np.float32],
    counts: NDArray[np.int64],
    count: int,
) -> int:
    """Write priors by a hash of the position and values by the count of stones."""
    counts[CALLS] += 1
    for _ in range(counts[PAUSES]):
        pause()
    if counts[CALLS] == counts[FAIL_AT]:
        return FAILED
    counts[POSITIONS] += count
    for row in range(count):
        state, total = hashes[row] | np.uint64(1), 0.0
        for move in range(legal.shape[1]):
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            policy[row, move] = float(state >> np.uint64(40)) if legal[row, move] else 0.0
            total += policy[row, move]
        for move in range(legal.shape[1]):
            policy[row, move] /= total
        balance = 0
        for point in range(boards.shape[2]):
            color = boards[row, COLOR, point]
            if color != EMPTY and color != WALL:
                balance += 1 if color == BLACK else -1
        score[row] = balance if to_play[row] == BLACK else -balance
        value[row] = np.tanh(score[row] / 4)
    return count


@kernel
def call(address: NDArray[np.int64], count: int) -> int:
    """Call a closure from Python."""
    return invoke(address, count)


class NativeFake:
    """Answers in so many threads. fail_at: the call of each thread that fails. pauses: how long each call takes.

    counts: those of each program, and of `evaluate` as the last.
    """

    def __init__(self, threads: int = 2, fail_at: int = 0, pauses: int = 0) -> None:
        self.attributes = Attributes(
            "native fake", 4, 64, has_score=True, has_ownership=True, threads=threads, concurrent=threads
        )
        self.fail_at, self.pauses = fail_at, pauses
        self.counts: list[NDArray[np.int64]] = []
        self._lock = threading.Lock()

    def _closure(self, positions: PositionBatch, out: Evaluation, *, fails: bool) -> Closure:
        counts = np.array([0, 0, self.fail_at if fails else 0, self.pauses], dtype=np.int64)
        self.counts.append(counts)
        asked = positions.boards, positions.hashes, positions.legal, positions.to_play
        return Closure(answer_rows, *asked, out.policy, out.value, out.score, counts)

    def program(self, positions: PositionBatch, out: Evaluation) -> Program:
        made_with = self.fail_at, self.pauses
        step = Step("evaluate", self._closure(positions, out, fails=True))
        return Program((step,), 8, lambda: made_with == (self.fail_at, self.pauses))

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        with self._lock:
            if sum(int(counts[CALLS]) == self.fail_at for counts in self.counts if self.fail_at):
                raise ArithmeticError("made to fail")
            # A name for the closure: its arguments are freed with it.
            closure = self._closure(positions, out, fails=False)
            call(closure.address, count)

    @property
    def positions(self) -> int:
        """Positions evaluated so far."""
        return sum(int(counts[POSITIONS]) for counts in self.counts)

    def close(self) -> None:
        """Hold nothing."""
