"""The slow twin of `engine.train.data.sum_tree.SumTree`: it adds the weights up anew in each call."""

from collections.abc import Sequence


def naive_find(weights: Sequence[float], point: float) -> int:
    """Return the row at a point of 0 up to the sum of the weights."""
    for row, weight in enumerate(weights):
        if point < weight:
            return row
        point -= weight
    raise ValueError("the point is past the end")
