"""What a human network adds to a search: its policy in every evaluation, and its share in the choice of the move."""

from dataclasses import replace
from queue import Empty, SimpleQueue

import numpy as np
from numpy.typing import NDArray

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch
from engine.search.params import SearchParams
from engine.vertex import PASS, policy_index

Floats = NDArray[np.float64]
_LEAST_SCALE = 1e-9
"""Instead of a scale of 0, by which nothing can be divided."""


class WithHumanPolicy:
    """Evaluates with one evaluator, and writes the policy of another into `Evaluation.human_policy`.

    `close` closes neither.
    """

    def __init__(self, inner: Evaluator, human: Evaluator) -> None:
        self.attributes = replace(
            inner.attributes,
            name=f"{inner.attributes.name} with {human.attributes.name}",
            max_batch=min(inner.attributes.max_batch, human.attributes.max_batch),
            threads=0,
        )
        self._inner, self._human = inner, human
        self._buffers: SimpleQueue[Evaluation] = SimpleQueue()

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the evaluation of rows 0..count-1, and their human policy. `out` must have `human_policy`."""
        self._inner.evaluate(positions, count, out)
        answer = self._buffer(positions)
        self._human.evaluate(positions, count, answer)
        out.human_policy[:count] = answer.policy[:count]
        self._buffers.put(answer)

    def _buffer(self, positions: PositionBatch) -> Evaluation:
        """Return an unused buffer for boards of this size; those of other sizes are dropped."""
        try:
            while (found := self._buffers.get_nowait()).ownership.shape[1] != positions.width * positions.height:
                pass
        except Empty:
            return Evaluation(self.attributes.max_batch, positions.width, positions.height)
        return found

    def close(self) -> None:
        """Do nothing."""


def with_human_share(
    vertices: NDArray[np.int64], weights: Floats, utilities: Floats, policy: Floats, params: SearchParams
) -> Floats:
    """Return the weights for choosing a move, with the share of the human policy (KataGo's humanSLChosenMoveProp).

    utilities: of the side to move, NaN where a move was not searched. policy: the human one, for each move. A move that
    loses `human_move_scale` of utility against the best has 1/e of its human chance.
    """
    searched = ~np.isnan(utilities)
    mean = float(utilities[searched].mean()) if searched.any() else 0.0
    filled = np.where(searched, utilities, mean)
    best = max(float(utilities[searched].max()), mean) if searched.any() else 0.0
    human = policy * np.exp((filled - best) / max(params.human_move_scale, _LEAST_SCALE))
    if human.sum() <= 0.0:
        return weights
    human /= human.sum()
    total, is_pass = float(weights.sum()), vertices == PASS
    if params.human_ignores_pass and human[~is_pass].sum() > 0.0:
        shares = weights / total
        human[~is_pass] *= shares[~is_pass].sum() / human[~is_pass].sum()
        human[is_pass] = shares[is_pass]
    mixed: Floats = weights + params.human_move_share * (total * human - weights)
    return mixed


def policy_of(evaluation: Evaluation, vertices: NDArray[np.int64], width: int, height: int) -> Floats:
    """Return the policy of row 0 of an evaluation for some moves."""
    indices = [policy_index(vertex, width, height) for vertex in vertices.tolist()]
    found: Floats = evaluation.policy[0, indices].astype(np.float64)
    return found
