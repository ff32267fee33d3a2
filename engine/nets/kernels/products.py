"""The product of rows and a panel of a matrix, whatever numbers they are made of: the kernel around the inner loops.

"Operands" are what a product reads: float32, or pairs of bf16 or int16 in the place of a float32, see `code.Code`.
Indices, strides and lengths are in floats.
"""

from typing import NamedTuple

from engine.native.jit import kernel
from engine.nets.kernels.integer_rows import IntegerProduct, multiply_integers
from engine.nets.kernels.operands import FUSED_INTEGERS, INTEGERS, TILED, VECTORS_OF_INTEGERS
from engine.nets.kernels.tiled_rows import TiledProduct, multiply_tiles
from engine.nets.kernels.vectors import Product, multiply_rows
from engine.nets.spec import Array


class Operands(NamedTuple):
    """Rows of operands. factors: index of what an integer of each row stands for, if they are int16."""

    first: int
    stride: int
    length: int
    factors: int


class RightSide(NamedTuple):
    """The right side of a product: its first index, its rows, and the factors of its columns, if it is int16."""

    first: int
    k: int
    factors: int


class Results(NamedTuple):
    """Where a product is written: the index of its first row, floats from one to the next, and vectors in a row."""

    first: int
    stride: int
    vectors: int


@kernel
def panel_bounds(panel: int, panels: int, vectors: int) -> tuple[int, int]:
    """Return the first vector of a panel of a row of vectors, and the one after its last; see `packing.bounds_of`."""
    return panel * vectors // panels, (panel + 1) * vectors // panels


@kernel
def rounding_of(numbers: int) -> int:
    """Return the vectors by which operands in int16 are made for products: the same for those that are fused."""
    return INTEGERS if numbers == FUSED_INTEGERS else numbers


@kernel
def multiply_operands(
    numbers: int, memory: Array, weights: Array, rows: Operands, right: RightSide, out: Results, adds: int
) -> None:
    """Write the product of rows in `memory` and a panel in `weights` to `out`, or add it there if `adds` is 1.

    numbers: operands in a vector, see `code.Code`.
    """
    if numbers in VECTORS_OF_INTEGERS:
        of_integers = IntegerProduct(
            panel=out.vectors,
            left=rows.first,
            left_stride=rows.stride,
            rows=rows.length,
            k=right.k,
            right=right.first,
            row_factors=rows.factors,
            column_factors=right.factors,
            out=out.first,
            out_stride=out.stride,
            adds=adds,
        )
        multiply_integers(numbers, memory, weights, of_integers)
        return
    if numbers == TILED:
        of_tiles = TiledProduct(
            panel=out.vectors,
            left=rows.first,
            left_stride=rows.stride,
            rows=rows.length,
            k=right.k,
            right=right.first,
            out=out.first,
            out_stride=out.stride,
            adds=adds,
        )
        multiply_tiles(TILED, memory, weights, of_tiles)
        return
    product = Product(
        panel=out.vectors,
        left=rows.first,
        left_stride=rows.stride,
        rows=rows.length,
        parts=1,
        part_stride=0,
        k=right.k,
        right=right.first,
        out=out.first,
        out_stride=out.stride,
        adds=adds,
    )
    multiply_rows(numbers, memory, weights, product)
