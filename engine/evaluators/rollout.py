"""An evaluator without a network: tactical priors, and one rollout a position for everything else.

Value, score and ownership of a single rollout are a coin toss; the search averages thousands. It
also reports which side first played each point, from which the search draws all-moves-as-first values.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from engine.board.layout import HEADER, HEIGHT, STRIDE, WIDTH, Board
from engine.board.tactics import NAKADE_POINTS
from engine.color import BLACK
from engine.evaluators.base import Attributes, Evaluation, PositionBatch, outcome_value
from engine.evaluators.move_priors import PRIOR_WEIGHTS, write_priors
from engine.evaluators.playout_kernels import PROBABILITIES, heavy_rollout, owner_sign, seed_generator
from engine.jit import kernel

_BATCH_PER_THREAD = 32
_MAX_BATCH = 1024


@kernel
def _evaluate_rows(
    boards: NDArray[np.int16],
    moves: NDArray[np.int16],
    to_play: NDArray[np.int8],
    legal: NDArray[np.bool_],
    white_bonus: NDArray[np.float32],
    seeds: NDArray[np.uint64],
    is_area: bool,
    begin: int,
    end: int,
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
) -> None:
    """Evaluate rows begin..end-1 of a batch with one heavy rollout each."""
    stride, width, height = boards[0, HEADER, STRIDE], boards[0, HEADER, WIDTH], boards[0, HEADER, HEIGHT]
    for row in range(begin, end):
        color = to_play[row]
        write_priors(boards[row], color, moves[row, 0], moves[row, 1], legal[row], weights, eye_space, policy[row])
        work[:, :] = boards[row]
        seed_generator(rng, seeds[row])
        balance = heavy_rollout(work, color, moves[row, 0], rng, probabilities, eye_space, first_play[row])
        sign = 1 if color == BLACK else -1
        points, index = 0, 0
        for line in range(height):
            for column in range(width):
                owner = owner_sign(work, (line + 1) * stride + column + 1, stride)
                points += owner
                ownership[row, index] = sign * owner
                index += 1
        margin = points - white_bonus[row] - (0 if is_area else balance)
        score[row] = sign * margin
        value[row] = sign * outcome_value(margin)


class RolloutEvaluator:
    """Evaluates by tactical priors and one heavy rollout a position, on `threads` threads."""

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="rollout") if threads > 1 else None
        self._works: list[Board] = []
        self._eye_spaces = [np.zeros(NAKADE_POINTS, dtype=np.int16) for _ in range(threads)]
        self._generators = [np.ones(1, dtype=np.uint64) for _ in range(threads)]
        self.attributes = Attributes(
            name="rollout",
            preferred_batch=_BATCH_PER_THREAD * threads,
            max_batch=_MAX_BATCH,
            has_score=True,
            has_ownership=True,
            has_first_play=True,
        )

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write priors, and value, score, ownership and first plays of one rollout for each row."""
        shape = positions.boards.shape[1:]
        if not self._works or self._works[0].shape != shape:
            self._works = [np.zeros(shape, dtype=np.int16) for _ in range(self._threads)]
        threads = min(self._threads, count)
        bounds = [count * i // threads for i in range(threads + 1)]
        if self._pool is None or threads == 1:
            self._evaluate(positions, 0, count, 0, out)
            return
        waiting = [
            self._pool.submit(self._evaluate, positions, bounds[i], bounds[i + 1], i, out) for i in range(1, threads)
        ]
        self._evaluate(positions, 0, bounds[1], 0, out)
        for future in waiting:
            future.result()

    def _evaluate(self, positions: PositionBatch, begin: int, end: int, worker: int, out: Evaluation) -> None:
        _evaluate_rows(
            positions.boards,
            positions.moves,
            positions.to_play,
            positions.legal,
            positions.white_bonus,
            positions.seeds,
            positions.rules.is_area,
            begin,
            end,
            PROBABILITIES,
            PRIOR_WEIGHTS,
            self._works[worker],
            self._generators[worker],
            self._eye_spaces[worker],
            out.policy,
            out.value,
            out.score,
            out.ownership,
            out.first_play,
        )

    def close(self) -> None:
        """Stop the threads."""
        if self._pool is not None:
            self._pool.shutdown()
