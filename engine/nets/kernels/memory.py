"""Allocates the points, vectors and weights of a network in the two arrays that its kernels use."""

from collections import defaultdict
from typing import NamedTuple

import numpy as np

from engine.nets.kernels.tiles import FLOATS, IN_A_FLOAT, POINTS
from engine.nets.spec import Array

_LINE = 16
"""Floats in a cache line of 64 bytes; every piece of memory begins at one."""


class Grid(NamedTuple):
    """The layout of boards in memory, with zeros around them.

    rows, columns: size of a board with its border. border: rows above, and columns to the left of, the first point.
    """

    rows: int
    columns: int
    border: int


class Points(NamedTuple):
    """Points in memory. first: index of the first one on the first board. stride: floats from one to the next.

    format: see `tiles.FLOATS`. site: for bytes, the number of the `byte_rounding.Site` that they are.
    """

    first: int
    stride: int
    grid: Grid
    format: int = FLOATS
    site: int = -1


class Vectors(NamedTuple):
    """Vectors of all positions in memory. first: index of the first one. stride: floats from one to the next."""

    first: int
    stride: int


class Memory:
    """Allocates the memory for computing `positions` positions at a time.

    grid: the default layout of points. shares_borders: whether the right border of a row is the left border of the next
    one, as in products by tiles.
    """

    def __init__(self, positions: int, grid: Grid, *, shares_borders: bool) -> None:
        self.positions, self.grid = positions, grid
        self._shares_borders, self.floats = shares_borders, 0
        self._free: dict[int, list[Points]] = defaultdict(list)

    @property
    def spare(self) -> int:
        """Return the number of the last point in the memory of any points, counted from the first point on a board."""
        return self._points(self.grid) - 1 - self.grid.border * (self.grid.columns + 1)

    def _points(self, grid: Grid) -> int:
        """Return the number of points to allocate for points in this layout."""
        # With shared borders, products also read and write in groups of POINTS beyond the last board; one point more is
        # the spare one, which receives the results for points that are on no board.
        beyond = POINTS + 2 * grid.border + 1 if self._shares_borders else 0
        return self.positions * grid.rows * grid.columns + beyond

    def points(
        self, channels: int, *, form: int = FLOATS, grid: Grid | None = None, besides: int | None = None
    ) -> Points:
        """Allocate points with zeros around every board; kernels never write there.

        form: their format, see `tiles.FLOATS`. besides: a first index that must not be used. Reuses memory that was
        released.
        """
        # Reused memory keeps its zeros only with the same stride and grid, because its borders are the same then.
        stride = channels // IN_A_FLOAT[form]
        grid = self.grid if grid is None else grid
        for free in self._free[stride]:
            if free.first != besides and free.grid == grid:
                self._free[stride].remove(free)
                return free._replace(format=form, site=-1)
        place = self.room(self._points(grid) * stride)
        return Points(place + grid.border * (grid.columns + 1) * stride, stride, grid, form)

    def release(self, points: Points) -> None:
        """Allow later points to reuse the memory of these."""
        self._free[points.stride].append(points)

    def vectors(self, length: int) -> Vectors:
        """Allocate a vector for each position."""
        return Vectors(self.room(self.positions * length), length)

    def room(self, floats: int) -> int:
        """Allocate `floats` numbers and return the index of the first."""
        place = self.floats
        self.floats += whole(floats, _LINE)
        return place


class Weights:
    """Collects the weights of a network, one piece after the other."""

    def __init__(self) -> None:
        self._pieces: list[Array] = []
        self._end = 0

    def keep(self, piece: Array) -> int:
        """Add weights and return their index. They may be changed until `array` copies them."""
        place = self._end
        self._pieces.append(piece)
        self._end += whole(piece.size, _LINE)
        return place

    def array(self) -> Array:
        """Return all weights as one flat array; none are left here."""
        weights, end = aligned(self._end), 0
        # Each piece is freed once it is copied: the large networks would be in memory twice.
        self._pieces.reverse()
        while self._pieces:
            each = self._pieces.pop()
            weights[end : end + each.size] = each.ravel()
            end += whole(each.size, _LINE)
        return weights


def whole(number: int, step: int) -> int:
    """Round a number up to a multiple of `step`."""
    return -(-number // step) * step


def aligned(floats: int) -> Array:
    """Return an array of zeros that begins at a cache line."""
    zeros = np.zeros(floats + _LINE, dtype=np.float32)
    start = -(zeros.ctypes.data // zeros.itemsize) % _LINE
    return zeros[start : start + floats]
