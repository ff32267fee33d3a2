"""Where the points, vectors and weights of a network lie in the two arrays that its kernels read and write."""

from collections import defaultdict
from typing import NamedTuple

import numpy as np

from engine.nets.kernels.tiles import POINTS
from engine.nets.spec import Array

_LINE = 16
"""Floats of a line of the cache, where every piece of memory begins."""


class Grid(NamedTuple):
    """How boards lie in memory, with zeros around them.

    rows, columns: of a board with its border. border: points from the first one of a board's memory down, and from
    there to the right, to the first one that is on the board.
    """

    rows: int
    columns: int
    border: int


class Points(NamedTuple):
    """Where points lie: the place of the first one, and how many floats further the next one lies.

    rounded: whether they are bf16, two numbers in the place of a float.
    """

    first: int
    stride: int
    grid: Grid
    rounded: bool = False


class Vectors(NamedTuple):
    """Where the vectors of all positions lie: the place of the first one, and how far away the next one."""

    first: int
    stride: int


class Memory:
    """The memory to compute in, of so many positions at a time.

    grid: of all points that have no other. shares_borders: whether the border on the right of a row is that on the left
    of the next one, as tiles see it.
    """

    def __init__(self, positions: int, grid: Grid, *, shares_borders: bool) -> None:
        self.positions, self.grid = positions, grid
        self._shares_borders, self.floats = shares_borders, 0
        self._free: dict[int, list[Points]] = defaultdict(list)

    @property
    def spare(self) -> int:
        """Return the last point of the memory of any points, counted from the first one on the first board."""
        return self._points(self.grid) - 1 - self.grid.border * (self.grid.columns + 1)

    def _points(self, grid: Grid) -> int:
        """Return how many points there are in the memory of points.

        Where borders are shared, products see points beyond the last board, as for any row, and one more is the spare
        one, to which they write what belongs on no board.
        """
        beyond = POINTS + 2 * grid.border + 1 if self._shares_borders else 0
        return self.positions * grid.rows * grid.columns + beyond

    def points(
        self, channels: int, *, rounded: bool = False, grid: Grid | None = None, besides: int | None = None
    ) -> Points:
        """Return memory for points, with zeros around every board, where nothing is ever written.

        besides: where they must not begin. Memory that was released is given out again.
        """
        stride = channels // 2 if rounded else channels
        grid = self.grid if grid is None else grid
        for free in self._free[stride]:
            if free.first != besides and free.grid == grid:
                self._free[stride].remove(free)
                return free._replace(rounded=rounded)
        place = self.room(self._points(grid) * stride)
        return Points(place + grid.border * (grid.columns + 1) * stride, stride, grid, rounded)

    def release(self, points: Points) -> None:
        """Let later points have the memory of these."""
        self._free[points.stride].append(points)

    def vectors(self, length: int) -> Vectors:
        """Return memory for a vector of each position."""
        return Vectors(self.room(self.positions * length), length)

    def room(self, floats: int) -> int:
        """Return the place of new memory."""
        place = self.floats
        self.floats += whole(floats, _LINE)
        return place


class Weights:
    """The weights of a network, one piece after the other in the order in which they came."""

    def __init__(self) -> None:
        self._pieces: list[Array] = []
        self._end = 0

    def keep(self, piece: Array) -> int:
        """Return the place of new weights; what they are is read by `array`."""
        place = self._end
        self._pieces.append(piece)
        self._end += whole(piece.size, _LINE)
        return place

    def array(self) -> Array:
        """Return all weights."""
        weights, end = aligned(self._end), 0
        for each in self._pieces:
            weights[end : end + each.size] = each.ravel()
            end += whole(each.size, _LINE)
        return weights


def whole(number: int, step: int) -> int:
    """Return the next multiple of a step."""
    return -(-number // step) * step


def aligned(floats: int) -> Array:
    """Return zeros that begin at a line of the cache."""
    zeros = np.zeros(floats + _LINE, dtype=np.float32)
    start = -(zeros.ctypes.data // zeros.itemsize) % _LINE
    return zeros[start : start + floats]
