"""The memory of one worker: a batch of leaves, their evaluation, and the worker's state."""

from concurrent.futures import Future, wait
from typing import Any

import numpy as np

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.search.advance import EVALUATING, GIVEN_UP, HAS_FAILED, WORKER, WorkerArrays, reopen_rows
from engine.search.backup import Answers
from engine.search.position import MAX_DEPTH, Batch

_WALK: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("nodes", "links", "vertices"), (MAX_DEPTH,)),
    **dict.fromkeys(("length", "counted", "by_center"), ()),
}
"""Shapes of a row of the fields of a `Batch` that a `PositionBatch` lacks."""


class Worker:
    """One worker with its batch.

    capacity: most rows of a batch. trees: most trees that a batch is collected from. has_human: see `Evaluation`.
    future: the task that uses the batch, if there is one.
    """

    def __init__(
        self, capacity: int, game: Game, *, has_details: bool, number: int = 0, trees: int = 1, has_human: bool = False
    ) -> None:
        self.positions = PositionBatch(capacity, game.width, game.height)
        self.evaluation = out = Evaluation(capacity, game.width, game.height, has_human=has_human)
        # The kernels write into the evaluator's arrays, so no batch is ever copied.
        shared: dict[str, Any] = {name: getattr(self.positions, name) for name in Batch._fields if name not in _WALK}
        walks: dict[str, Any] = {name: np.empty((capacity, *shape), dtype=np.int32) for name, shape in _WALK.items()}
        self.state = np.zeros(1, dtype=WORKER)
        self.state["number"] = number
        self.arrays = WorkerArrays(
            batch=Batch(**shared, **walks),
            answers=Answers(
                policy=out.policy,
                value=out.value,
                score=out.score,
                ownership=out.ownership,
                first_play=out.first_play,
                details=out.details,
                human_policy=out.human_policy,
                has_details=has_details,
            ),
            state=self.state,
            owners=np.zeros(capacity, dtype=np.int64),
            chosen=np.zeros(trees, dtype=np.int64),
            status=np.zeros(trees, dtype=np.int8),
        )
        self.future: Future[None] | None = None

    @property
    def rows(self) -> int:
        """Number of leaves in the batch."""
        return int(self.state[0]["rows"])

    def give_up(self, trees: Any, params: Any) -> None:
        """Take back the leaves of a batch in flight. The caller must hold the lock of the trees."""
        if self.state[0]["state"] in (EVALUATING, HAS_FAILED):
            self.state[0]["state"] = GIVEN_UP
        # Called even if there is nothing to take back, so that the warm-up of a player loads the kernel.
        reopen_rows(trees, params, self.arrays)

    def wait(self) -> None:
        """Wait until the batch is no longer in use."""
        if self.future is not None:
            wait([self.future])
            self.future = None
