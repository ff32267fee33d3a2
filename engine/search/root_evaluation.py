"""The evaluation of a new root: under several symmetries of the board, whose mean is one visit."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Attributes
from engine.evaluation.positions import PositionBatch
from engine.search.backup import back_up, reopen
from engine.search.kernel_params import Params
from engine.search.params import SearchParams
from engine.search.position import Root, Scratch
from engine.search.root import hide_past
from engine.search.tree import Tree
from engine.search.walk import collect
from engine.search.worker import Worker
from engine.symmetry import applicable

Symmetries = NDArray[np.int64]
Evaluate = Callable[[PositionBatch, int, Evaluation], None]


def root_symmetries(
    params: SearchParams, attributes: Attributes, positions: PositionBatch, generator: np.random.Generator
) -> Symmetries:
    """Draw the symmetries under which a root is evaluated, as many as the parameters say and a batch has room for."""
    every = len(applicable(positions.width, positions.height))
    count = min(params.root_symmetries, every, positions.capacity, attributes.max_batch)
    if attributes.has_symmetries and (count > 1 or params.random_symmetries):
        return generator.permutation(every)[:count]
    return np.zeros(1, dtype=np.int64)


def turn_first_row(positions: PositionBatch, symmetries: Symmetries) -> None:
    """Repeat row 0 under each of the symmetries."""
    positions.repeat_first(len(symmetries))
    positions.symmetry[: len(symmetries)] = symmetries


def evaluate_root(
    evaluate: Evaluate,
    tree: Tree,
    root: Root,
    scratch: Scratch,
    worker: Worker,
    params: Params,
    symmetries: Symmetries,
    *,
    hides_past: bool = False,
) -> None:
    """Evaluate a new root under `symmetries`, and back up their mean as one visit.

    evaluate: as `Evaluator.evaluate`. worker: has room for all symmetries, and no rows; the mean is in row 0 of its
    evaluation afterwards, with the policy as the backup has changed it. hides_past: see `hide_past`. The caller holds
    the lock of the tree.
    """
    batch, positions, out = worker.arrays.batch, worker.positions, worker.evaluation
    rows = collect(tree, root, scratch, batch, params, 1)
    try:
        if hides_past:
            hide_past(positions)
        turn_first_row(positions, symmetries)
        evaluate(positions, len(symmetries), out)
    except BaseException:
        reopen(tree, batch, rows)
        raise
    out.average_into_first(len(symmetries))
    back_up(tree, batch, worker.arrays.answers, params, scratch, rows)
