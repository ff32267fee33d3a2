"""A binary tree of sums, which draws rows in proportion to their weights (Schaul et al. 2016, appendix B.2.1)."""

import numpy as np
from numpy.typing import NDArray


class SumTree:
    """Holds a weight for each row; drawing and changing B rows of N takes O(B log N). All calls are vectorized.

    The tree lies in one array: node 1 is the root, node i has the children 2 i and 2 i + 1, and the last `_first`
    nodes are the rows.
    """

    def __init__(self, weights: NDArray[np.float64]) -> None:
        """weights: [N] 0 or more, N at least 1."""
        self._levels = max(len(weights) - 1, 0).bit_length()
        self._first = 1 << self._levels
        self._sums = np.zeros(2 * self._first)
        self._sums[self._first : self._first + len(weights)] = weights
        for level in range(self._levels - 1, -1, -1):
            begin, end = 1 << level, 2 << level
            self._sums[begin:end] = self._sums[2 * begin : 2 * end : 2] + self._sums[2 * begin + 1 : 2 * end : 2]

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return float(self._sums[1])

    def weights_of(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weights of rows [B]."""
        return self._sums[rows + self._first]

    def set(self, rows: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        """Set the weights of rows [B]; the last one counts where a row is repeated."""
        nodes = rows + self._first
        self._sums[nodes] = weights
        # Sums are computed anew from both children instead of changed by a difference, so that no error accumulates.
        for _ in range(self._levels):
            nodes = np.unique(nodes >> 1)
            self._sums[nodes] = self._sums[2 * nodes] + self._sums[2 * nodes + 1]

    def find(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the rows [B] at points [B] of 0 up to `total`, where each row spans its weight, in the rows' order."""
        points, nodes = points.copy(), np.ones(len(points), dtype=np.int64)
        for _ in range(self._levels):
            nodes *= 2
            left = self._sums[nodes]
            # A point that rounding has moved past the end of both children must not reach a row without weight.
            right = (points >= left) & (self._sums[nodes + 1] > 0)
            points -= np.where(right, left, 0.0)
            nodes += right
        return nodes - self._first
