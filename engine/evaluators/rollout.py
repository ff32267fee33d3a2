"""An evaluator without a network: tactical priors, and one playout a position for value, score and ownership.

A single playout is a coin toss; the search averages thousands. It also reports which side first played each point, from
which the search computes all-moves-as-first values.
"""

from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import copy_board, point_at
from engine.board.layout import HEADER, HEIGHT, STRIDE, WIDTH, Board
from engine.board.tactics import NAKADE_POINTS
from engine.evaluation.evaluation import Evaluation, black_value, outcome_value
from engine.evaluation.evaluator import Attributes, Program, Step
from engine.evaluation.positions import PositionBatch
from engine.evaluators.move_priors import PRIOR_WEIGHTS, write_priors
from engine.evaluators.playout_kernels import PROBABILITIES, heavy_rollout, owner_sign, seed_generator
from engine.native.closures import Closure, runs_closures
from engine.native.jit import kernel

_BATCH = 16
_MAX_BATCH = 1024


# More than 8 parameters: fields of a `PositionBatch` and of an `Evaluation`, Python objects that no kernel can take.
@kernel
def evaluate_rows(
    boards: NDArray[np.int16],
    moves: NDArray[np.int16],
    to_play: NDArray[np.int8],
    legal: NDArray[np.bool_],
    white_bonus: NDArray[np.float32],
    seeds: NDArray[np.uint64],
    is_area: bool,
    probabilities: NDArray[np.int64],
    weights: NDArray[np.float32],
    work: Board,
    rng: NDArray[np.uint64],
    eye_space: NDArray[np.int16],
    policy: NDArray[np.float32],
    value: NDArray[np.float32],
    score: NDArray[np.float32],
    ownership: NDArray[np.float32],
    first_play: NDArray[np.int8],
    count: int,
) -> int:
    """Evaluate rows 0..count-1 of a batch with one heavy playout each; return count."""
    stride, width, height = boards[0, HEADER, STRIDE], boards[0, HEADER, WIDTH], boards[0, HEADER, HEIGHT]
    for row in range(count):
        color = to_play[row]
        write_priors(boards[row], color, moves[row, 0], moves[row, 1], legal[row], weights, eye_space, policy[row])
        copy_board(boards[row], work)
        seed_generator(rng, seeds[row])
        balance = heavy_rollout(work, color, moves[row, 0], rng, probabilities, eye_space, first_play[row])
        points, index = 0, 0
        for line in range(height):
            for column in range(width):
                owner = owner_sign(work, point_at(line, column, width), stride)
                points += owner
                ownership[row, index] = black_value(owner, color)
                index += 1
        # Under territory rules `white_bonus` has the moves before the playout; `balance` adds those of the playout.
        margin = points - white_bonus[row] - (0 if is_area else balance)
        score[row] = black_value(margin, color)
        value[row] = black_value(outcome_value(margin), color)
    return count


class _Worker:
    """Working memory of one call, for boards of one shape."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.board = np.zeros(shape, dtype=np.int16)
        self.generator = np.ones(1, dtype=np.uint64)
        self.eye_space = np.zeros(NAKADE_POINTS, dtype=np.int16)

    def arguments(self, positions: PositionBatch, out: Evaluation) -> tuple[Any, ...]:
        """Return the arguments of `evaluate_rows` except the number of rows."""
        return (
            *(positions.boards, positions.moves, positions.to_play, positions.legal, positions.white_bonus),
            *(positions.seeds, positions.rules.is_area, PROBABILITIES, PRIOR_WEIGHTS),
            *(self.board, self.generator, self.eye_space),
            *(out.policy, out.value, out.score, out.ownership, out.first_play),
        )


class RolloutEvaluator:
    """Evaluates by tactical priors and one heavy playout a position.

    A call runs in the caller's thread; at most `threads` calls run at the same time, others wait.
    """

    def __init__(self, threads: int = 1) -> None:
        self._workers: SimpleQueue[_Worker | None] = SimpleQueue()
        for _ in range(threads):
            self._workers.put(None)
        self.attributes = Attributes(
            name="rollout",
            preferred_batch=_BATCH,
            max_batch=_MAX_BATCH,
            has_score=True,
            has_ownership=True,
            has_first_play=True,
            reads_past=False,
            # Not one more than threads: a third call on two cores could only wait, and cost a quarter of the visits/s
            # on 9x9.
            concurrent=threads,
            threads=threads if runs_closures() else 0,
        )

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write priors, and value, score, ownership and first plays of one playout, for each row."""
        worker = self._workers.get()
        try:
            shape = positions.boards.shape[1:]
            if worker is None or worker.shape != shape:
                worker = _Worker(shape)
            arguments = (*worker.arguments(positions, out), count)
            evaluate_rows(*arguments)
        finally:
            self._workers.put(worker)

    def program(self, positions: PositionBatch, out: Evaluation) -> Program:
        """Return a program that evaluates as `evaluate` does, in memory of its own."""
        worker = _Worker(positions.boards.shape[1:])
        closure = Closure(evaluate_rows, *worker.arguments(positions, out))
        return Program((Step("evaluate", closure),), positions.capacity)

    def close(self) -> None:
        """Hold nothing that needs freeing."""
