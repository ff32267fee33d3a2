"""Maps vertices, planes and policies by the eight symmetries of a board.

A symmetry is a number 0..7 with three bits: 1 flips the rows (top to bottom), 2 flips the columns, 4 swaps rows and
columns, after the flips. This is KataGo's numbering. The four that swap rows and columns exist for square boards only.
"""

from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.vertex import PASS, array_length, point_at, points, row_column

T = TypeVar("T", bound=np.generic)

COUNT = 8
IDENTITY = 0
FLIP_ROWS, FLIP_COLUMNS, TRANSPOSE = 1, 2, 4


def applicable(width: int, height: int) -> range:
    """Return the symmetries of a board of this size."""
    return range(COUNT if width == height else TRANSPOSE)


def compose(first: int, second: int) -> int:
    """Return the symmetry that applies `first`, then `second`."""
    flips = second & 3
    if first & TRANSPOSE:
        # After a transposition, flipping rows is flipping columns of the original, and vice versa.
        flips = (flips & FLIP_ROWS) << 1 | (flips & FLIP_COLUMNS) >> 1
    return (first ^ second) & TRANSPOSE | (first & 3) ^ flips


def map_vertex(vertex: int, symmetry: int, width: int, height: int) -> int:
    """Return the image of a vertex; a pass stays a pass. Raises ValueError if not `applicable`."""
    _require_applicable(symmetry, width, height)
    if vertex == PASS:
        return PASS
    row, column = row_column(vertex, width)
    if symmetry & FLIP_ROWS:
        row = height - 1 - row
    if symmetry & FLIP_COLUMNS:
        column = width - 1 - column
    if symmetry & TRANSPOSE:
        row, column = column, row
    return point_at(row, column, width)


@lru_cache
def vertex_table(symmetry: int, width: int, height: int) -> NDArray[np.int16]:
    """Return the image of every vertex: [array_length] int16; wall vertices map to themselves. Read-only."""
    table = np.arange(array_length(width, height), dtype=np.int16)
    for vertex in points(width, height):
        table[vertex] = map_vertex(vertex, symmetry, width, height)
    return table


def map_planes(planes: NDArray[T], symmetry: int) -> NDArray[T]:
    """Return a view of planes [.., height, width] under a symmetry.

    The value at vertex v moves to `map_vertex(v)`. Raises ValueError if not `applicable`.
    """
    height, width = planes.shape[-2:]
    _require_applicable(symmetry, width, height)
    if symmetry & FLIP_ROWS:
        planes = planes[..., ::-1, :]
    if symmetry & FLIP_COLUMNS:
        planes = planes[..., ::-1]
    # Views all the way: the caller decides about a copy.
    return np.swapaxes(planes, -1, -2) if symmetry & TRANSPOSE else planes


def map_policy(policy: NDArray[T], symmetry: int, width: int, height: int) -> NDArray[T]:
    """Return a copy of policies [.., area + 1], pass last, under a symmetry.

    Raises ValueError if not `applicable`.
    """
    batch = policy.shape[:-1]
    board = map_planes(policy[..., :-1].reshape(*batch, height, width), symmetry)
    return np.concatenate([board.reshape(*batch, height * width), policy[..., -1:]], axis=-1)


def _require_applicable(symmetry: int, width: int, height: int) -> None:
    if symmetry not in applicable(width, height):
        raise ValueError(f"symmetry {symmetry} does not map a {width}x{height} board to itself")
