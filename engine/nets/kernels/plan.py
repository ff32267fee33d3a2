"""The plan of a network for kernels: its steps, the layout of the memory, and the rows to compute.

Indices and strides are in floats. Points are stored as [position, row, column, channel] with a border of zeros around
every board, so that convolutions need no conditions at the edge; vectors as [position, number]. The product of vectors
and a matrix is computed as the convolution of one row of points. Points that are multiplied by tiles are bf16 or
bytes, two or four numbers in the place of a float; everything else is float32. In the blocks of transformers points
have no border: all points of all positions are rows that follow each other.
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
    CONVOLVE_POINTS,
    CONVOLVE_BY_TILES,
    NORMALIZE,
    POOL,
    FLATTEN,
    WRITE_POINTS,
    WRITE_VECTOR,
    TO_ROWS,
    FROM_ROWS,
    NORMALIZE_ROWS,
    ATTEND,
    FEED_FORWARD,
) = range(16)
"""Kinds of a step; CONVOLVE_POINTS: in int16, by kernels of one point."""

POINTS_TOGETHER = 60
"""Most points, in whole rows of a board, that CONVOLVE_POINTS multiplies at a time: whole blocks of rows of a product,
whose numbers are in a core's second cache."""

PLACE = np.dtype([("first", np.int64), ("stride", np.int64)])
"""Points or vectors: index of the first one (of points: on the first board), and floats from one to the next."""
MATRIX = np.dtype(
    [
        ("weights", np.int64),  # in panels, see `packing.in_panels`
        ("bias", np.int64),  # -1 for none
        ("panels", np.int64),
        ("k", np.int64),  # floats of a row of operands that are multiplied
        ("channels", np.int64),  # numbers in a row of the result, filled up to whole vectors
        ("steps", np.int64),  # of weights in int16: what one of each channel stands for
    ]
)
"""Weights that rows of operands are multiplied by."""
ATTENTION = np.dtype(
    [
        ("heads", np.int64),
        ("kv_heads", np.int64),
        ("query_width", np.int64),  # channels of a query of one head, filled up
        ("is_turned", np.bool_),
        ("turns", np.int64),  # cosines and sines, see `rows.TurnedRows`
        ("turns_stride", np.int64),  # floats from those of a head of keys to the next
        ("value_width", np.int64),
        ("largest_key", np.int64),  # of keys in int16
    ],
    align=True,
)
ROOMS = np.dtype(
    [
        (name, np.int64)
        for name in (
            "units",  # normalized rows, as operands
            "factors",  # a factor for each row
            "sums",  # products of a few rows
            "heads",  # queries of each head, then keys of each head, as operands
            "keys",  # keys as the right side of a product
            "values",  # values as the right side of a product
            "scores",  # of a few queries of one head
            "highest",  # of the scores of each query
            "totals",  # a vector for each query, whose sum is that of its powers
            "chances",  # softmax of scores, as operands
            "answers",  # of a few queries of one head
            "operands",  # rows that the last matrix of a block is multiplied by
            "one",  # the factor 1
            # With operands in int16 only.
            "head_factors",  # for each row of "heads", what one of its integers stands for
            "value_factors",  # the same for each channel of "values"
            "value_rows",  # values in float32
            "floats",  # "operands" in float32
        )
    ]
)
"""Working memory of a transformer's block, by what it is for. All blocks use the same."""
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
        ("numbers", np.int64),  # of a convolution in int16: operands in a vector, see `code.Code`; 0 for fp32
        ("steps", np.int64),  # of the same: what an integer of each number and channel of the weights stands for
        ("panels", np.int64),  # parts of about equal width that the numbers written are computed in
        ("weights", np.int64),
        # For these see `vectors.FinishedRow`; of CONVOLVE_BY_TILES `tiled_convolutions.TiledConvolution`.
        ("norm", np.int64),
        ("activation", np.int64),
        ("vector", PLACE),
        ("old", PLACE),
        ("raw", PLACE),
        ("post", PLACE),
        ("operands", np.int64),  # format of the source, see `tiles.FLOATS`
        ("format", np.int64),  # of post
        # Of a board with its border: what CONVOLVE_BY_TILES reads and READ_PLANES writes.
        ("rows", np.int64),
        ("columns", np.int64),
        ("places", np.int64),  # index of the table `places`, see `tiled_convolutions.TiledConvolution`
        # For the kinds that write: which output, and where in its rows.
        ("output", np.int64),
        ("output_place", PLACE),
        # Of the blocks of transformers.
        ("epsilon", np.float64),
        ("is_spatial", np.bool_),  # whether rows are normalized by the mean over the whole board
        ("first", MATRIX),
        ("second", MATRIX),
        ("is_gated", np.bool_),
        ("attention", ATTENTION),
        ("rooms", ROOMS),
    ],
    align=True,
)
Step: TypeAlias = Any
"""A record of STEP; NumPy has no type for its fields."""


class Layout(NamedTuple):
    """Values that all steps share.

    lanes: floats in a vector. numbers: operands in a vector in the blocks of transformers, see `code.Code`.
    rows, columns: size of a board with its border in memory, unless a step has its own.
    tiles, products, factors, row: indices of working memory for Winograd's tiles, their products, what an integer of
    each row of tiles stands for, and rows of points that are not finished. spare: number of a point that is never read,
    in the memory of any points.
    """

    lanes: int
    numbers: int
    width: int
    height: int
    rows: int
    columns: int
    tiles: int
    products: int
    factors: int
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
