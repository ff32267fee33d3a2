"""What the kernels compute a network from: its steps, where everything is in memory, and the rows to compute.

Indices and strides count floats. Points are stored as [position, row, column, channel], with a border of zeros around
every board; vectors as [position, number]. To multiply vectors by a matrix is to convolve one row of points. Points
that are multiplied by tiles are bf16, two numbers in the place of a float; everything else is float32.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.nets.spec import Array

(
    READ_PLANES,
    READ_GLOBALS,
    CONVOLVE,
    CONVOLVE_BY_WINOGRAD,
    CONVOLVE_BY_TILES,
    NORMALIZE,
    POOL,
    FLATTEN,
    WRITE_POINTS,
    WRITE_VECTOR,
) = range(10)
"""Kinds of a step."""

PLACE = np.dtype([("first", np.int64), ("stride", np.int64)])
"""Points or vectors: the index of the first (of points: on the first board), and floats from each to the next."""
STEP = np.dtype(
    [
        ("kind", np.int64),
        ("is_vector", np.bool_),  # whether the rows to convolve are vectors
        ("source", PLACE),
        ("inner", np.int64),  # numbers read of each point or vector
        ("channels", np.int64),  # numbers written, filled up to whole vectors
        ("kernel_height", np.int64),
        ("kernel_width", np.int64),
        ("side", np.int64),  # Winograd's m
        ("panels", np.int64),  # parts of about equal width that the numbers written are computed in
        ("weights", np.int64),
        # For these see `vectors.FinishedRow`.
        ("norm", np.int64),
        ("activation", np.int64),
        ("vector", PLACE),
        ("old", PLACE),
        ("raw", PLACE),
        ("post", PLACE),
        ("rounded", np.bool_),  # whether post is bf16
        # Of a board with its border: what CONVOLVE_BY_TILES reads and READ_PLANES writes.
        ("rows", np.int64),
        ("columns", np.int64),
        ("places", np.int64),  # index of the table `places`, see `tiles.TiledConvolution`
        # For the kinds that write: which output, and where in its rows.
        ("output", np.int64),
        ("output_place", PLACE),
    ],
    align=True,
)
Step: TypeAlias = Any
"""A record of STEP; NumPy has no type for its fields."""


class Layout(NamedTuple):
    """What all steps share.

    lanes: floats in a vector. rows, columns: of a board with its border, in memory, unless a step has others.
    tiles, products, row: indices of memory for Winograd's tiles, for their products, and for rows of points before
    they are finished. spare: a point in the memory of all points, counted from the first one, that nobody reads.
    """

    lanes: int
    width: int
    height: int
    rows: int
    columns: int
    tiles: int
    products: int
    row: int
    spare: int


class Plan(NamedTuple):
    """A network for boards of one size. steps: [steps] STEP. weights: flat float32."""

    layout: Layout
    steps: NDArray[np.void]
    weights: Array


class Rows(NamedTuple):
    """The inputs and outputs of some positions, all float32.

    planes: [rows, planes * area]. globals: [rows, globals]. outputs: [rows, numbers] each, in the order of
    `RawOutputs`.
    """

    planes: Array
    globals: Array
    outputs: tuple[Array, Array, Array, Array]
