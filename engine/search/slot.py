"""One batch of leaves between the tree and the evaluator."""

from concurrent.futures import Future, wait

import numpy as np
from numpy.typing import NDArray

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.native.jit import kernel
from engine.search.backup import Answers
from engine.search.position import MAX_DEPTH, Batch
from engine.symmetry import applicable

_SYMMETRY_BITS = 48
_HASH_MIX = np.uint64(0x9E3779B97F4A7C15)
_WALK = ((MAX_DEPTH,), (MAX_DEPTH,), ())
"""Shapes of a row of the last fields of a `Batch`, which are not those of a `PositionBatch`."""


@kernel
def draw_symmetries(hashes: NDArray[np.uint64], symmetry: NDArray[np.int8], choices: int, seed: int, count: int) -> int:
    """Write one of so many symmetries for each of the first rows, which hash and seed decide; return their number."""
    for row in range(count):
        mixed = (hashes[row] ^ np.uint64(seed)) * _HASH_MIX
        symmetry[row] = (mixed >> np.uint64(_SYMMETRY_BITS)) % np.uint64(choices)
    return count


class Slot:
    """One batch in flight: its positions and walks, its evaluation, and the future of the latter.

    company: calls that were in flight when it was sent, itself included.
    """

    def __init__(self, capacity: int, game: Game, *, has_details: bool) -> None:
        self.positions = PositionBatch(capacity, game.width, game.height)
        self.evaluation = Evaluation(capacity, game.width, game.height)
        out = self.evaluation
        self.answers = Answers(
            out.policy, out.value, out.score, out.ownership, out.first_play, out.details, has_details
        )
        self.rows = self.company = 0
        self.future: Future[None] | None = None
        shared = (getattr(self.positions, name) for name in Batch._fields[: -len(_WALK)])
        self.batch = Batch(*shared, *(np.empty((capacity, *shape), dtype=np.int32) for shape in _WALK))

    def draw_symmetries(self, rows: int, seed: int) -> None:
        """Let the evaluator see each of the first rows under a symmetry that position and seed decide."""
        positions = self.positions
        choices = len(applicable(positions.width, positions.height))
        draw_symmetries(positions.hashes, positions.symmetry, choices, seed, rows)

    def finish(self) -> None:
        """Wait until nothing writes to the slot any more."""
        if self.future is not None:
            wait([self.future])
            self.future = None
