"""The sum tree finds and sums what a list of weights does."""

import numpy as np
import pytest

from engine.train.data.sum_tree import SumTree
from tests.oracle.naive_sum_tree import naive_find


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9, 200])
def test_the_tree_agrees_with_a_list_after_every_change(count: int) -> None:
    generator = np.random.default_rng(count)
    # Multiples of 1/8 are summed exactly in any order, so the rows must be equal, not nearly so.
    weights = generator.integers(0, 40, count) / 8
    weights[0] += 1
    tree = SumTree(weights)
    for _ in range(20):
        assert tree.total == weights.sum()
        points = np.append(generator.random(30) * tree.total, [0.0, np.cumsum(weights)[0] - 0.125])
        assert tree.find(points).tolist() == [naive_find(weights.tolist(), point) for point in points]
        rows = generator.permutation(count)[: generator.integers(1, count + 1)]
        changed = generator.integers(0, 40, len(rows)) / 8
        changed[0] += 0.125
        tree.set(rows, changed)
        weights[rows] = changed
        assert tree.weights_of(np.arange(count)).tolist() == weights.tolist()


def test_of_a_repeated_row_the_last_weight_counts() -> None:
    tree = SumTree(np.ones(3))
    tree.set(np.array([1, 2, 1]), np.array([5.0, 1.0, 2.0]))
    assert (tree.total, tree.weights_of(np.array([1])).tolist()) == (4.0, [2.0])


def test_a_point_at_the_end_finds_the_last_row_that_has_weight() -> None:
    tree = SumTree(np.array([0.1, 0.2, 0.3, 0.0, 0.0]))
    assert tree.find(np.array([tree.total, np.nextafter(tree.total, 0.0)])).tolist() == [2, 2]
