"""The inner loops of a network in fp32 as vector instructions that kernels call; see `engine.nets.kernels.code`.

The arguments of each loop are a NamedTuple; indices, strides and lengths are in floats.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from engine.nets.kernels.code import ACTIVATIONS, INTEGER, Code, InMemory, InWeights, Value, vector_intrinsic
from engine.nets.kernels.operands import FEATURES_OF_PRODUCTS
from engine.nets.kernels.winograd import OUTPUTS, TILES, matrices

WIDEST_PANEL = {8: 3, 16: 6}
"""Most vectors in a row of a matrix product whose sums are in registers, by lanes."""
ROWS = {
    8: {1: (8, 4, 1), 2: (6, 2, 1), 3: (4, 2, 1)},
    16: {1: (12, 4, 1), 2: (12, 4, 1), 3: (8, 4, 1), 4: (6, 2, 1), 5: (4, 2, 1), 6: (4, 2, 1)},
}
"""Numbers of rows that are multiplied at the same time, by lanes and vectors in a row, the preferred one first.

4 x 3 sums and the operands fill AVX2's 16 registers, and 4 x 6 AVX-512's 32. At least ten sums are needed for two
products in each cycle, because each takes four to six cycles.
"""


class Product(NamedTuple):
    """out[r] = sum over parts p of left[r + p] . right[p], for each of `rows` rows r; if `adds` is 1, added to out[r].

    Row r of part p of left begins at r * left_stride + p * part_stride and has k numbers; right is
    [parts, k, panel * lanes] with panel from 1 to WIDEST_PANEL[lanes]; row r of out begins at r * out_stride. For
    operands in bf16, k is the number of pairs, and right has two numbers in the place of each.
    """

    panel: int
    left: InMemory
    left_stride: int
    rows: int
    parts: int
    part_stride: int
    k: int
    right: InWeights
    out: InMemory
    out_stride: int
    adds: int


def in_blocks(
    code: Code, product: Any, blocks: Mapping[int, Sequence[int]], write: Callable[[Value, int, int], None]
) -> None:
    """Write the instructions of a product whose `rows` rows of `panel` vectors are computed in blocks.

    blocks: by the vectors in a row, the numbers of rows in a block, the preferred one first. write: writes those of one
    block, given its first row, its number of rows and the vectors in each.
    """
    builder = code.builder
    # Separate loops for each width of a panel: the number of sums must be a constant for them to stay in registers.
    # Smaller numbers of rows follow for what is left, so that rows are not padded.
    for vectors, sizes in blocks.items():
        with code.when_equal(product.panel, vectors):
            done: Value = INTEGER(0)
            for size in sizes:
                rest = builder.srem(builder.sub(product.rows, done), INTEGER(size))
                end = builder.sub(product.rows, rest)
                with code.loop_between(done, end, size) as row:
                    write(row, size, vectors)
                done = end


def _multiply_rows(code: Code, product: Product) -> None:
    """Write the instructions of a `Product`."""
    in_blocks(code, product, ROWS[code.lanes], partial(_multiply, code, product))


def _multiply(code: Code, product: Product, row: Value, count: int, vectors: int) -> None:
    """Write the product of `count` rows from `row` on, with all sums in registers."""
    builder, lanes, k, stride = code.builder, code.lanes, product.k, product.out_stride
    first = code.at(product.left, code.times(row, product.left_stride))
    sums = [[code.variable(code.number(0.0)) for _ in range(vectors)] for _ in range(count)]
    with code.loop(product.parts) as part:
        begin = code.at(first, code.times(part, product.part_stride))
        lines = [code.at(begin, code.times(product.left_stride, line)) for line in range(count)]
        block = code.at(product.right, code.times(code.times(part, k), vectors * lanes))
        with code.loop(k) as index:
            source = code.at(block, code.times(index, vectors * lanes))
            factors = [code.load(code.at(source, INTEGER(v * lanes))) for v in range(vectors)]
            for line, line_sums in zip(lines, sums, strict=True):
                value = code.spread(code.at(line, index))
                for factor, each in zip(factors, line_sums, strict=True):
                    builder.store(code.multiply(value, factor, builder.load(each)), each)
    result = code.at(product.out, code.times(row, stride))
    places = [
        [code.at(result, code.times(stride, line), INTEGER(v * lanes)) for v in range(vectors)] for line in range(count)
    ]
    pairs = [pair for line in zip(sums, places, strict=True) for pair in zip(*line, strict=True)]
    with code.when_equal(product.adds, 1):
        for each, place in pairs:
            builder.store(builder.fadd(builder.load(each), code.load(place)), each)
    for each, place in pairs:
        code.store(builder.load(each), place)


class TileInputs(NamedTuple):
    """BT d B for a tile d of side x side points, for all channels; number i of the result is at i * out_stride."""

    side: int
    points: InMemory
    row_stride: int
    column_stride: int
    out: InMemory
    out_stride: int
    channels: int


def _transform_tile(code: Code, tile: TileInputs) -> None:
    """Write the instructions of `TileInputs`, once for each side: the transform is a constant in the instructions."""
    for side in TILES:
        matrix = matrices(side - 2, 3).inputs
        with code.when_equal(tile.side, side), code.loop(tile.channels, code.lanes) as channel:
            first = code.at(tile.points, channel)
            seen = [
                [
                    code.load(code.at(first, code.times(tile.row_stride, y), code.times(tile.column_stride, x)))
                    for x in range(side)
                ]
                for y in range(side)
            ]
            numbers = (number for row in code.sandwich(matrix, seen) for number in row)
            for index, number in enumerate(numbers):
                code.store(number, code.at(tile.out, channel, code.times(tile.out_stride, index)))


class TileOutputs(NamedTuple):
    """AT m A for the products m of a tile: side x side outputs of a convolution, for all channels; see `winograd`."""

    kernel: int
    side: int
    products: InMemory
    products_stride: int
    out: InMemory
    row_stride: int
    column_stride: int
    channels: int


def _outputs_of_tile(code: Code, tile: TileOutputs) -> None:
    """Write the instructions of `TileOutputs`, once for each kernel and number of outputs."""
    for kernel_side, outputs in ((kernel_side, m) for kernel_side, choices in OUTPUTS.items() for m in choices):
        matrix = matrices(outputs, kernel_side).outputs
        side = outputs + kernel_side - 1
        with (
            code.when_equal(tile.kernel, kernel_side),
            code.when_equal(tile.side, outputs),
            code.loop(tile.channels, code.lanes) as channel,
        ):
            first = code.at(tile.products, channel)
            numbers = [code.load(code.at(first, code.times(tile.products_stride, i))) for i in range(side * side)]
            rows = [numbers[side * y : side * (y + 1)] for y in range(side)]
            for y, row in enumerate(code.sandwich(matrix, rows)):
                for x, number in enumerate(row):
                    place = code.at(
                        tile.out, channel, code.times(tile.row_stride, y), code.times(tile.column_stride, x)
                    )
                    code.store(number, place)


class FinishedRow(NamedTuple):
    """raw = points + vector + bias + old, post = activation(raw * scale + shift), for a row of points.

    norm: bias, scale and shift, `channels` numbers each. Arrays that are not needed have a stride of 0.
    """

    activation: int
    points: InMemory
    points_stride: int
    columns: int
    channels: int
    vector: InMemory
    old: InMemory
    old_stride: int
    raw: InMemory
    raw_stride: int
    norm: InWeights
    post: InMemory
    post_stride: int


def _finish_row(code: Code, row: FinishedRow) -> None:
    """Write the instructions of a `FinishedRow`, once for each activation."""
    builder = code.builder
    for index, kind in enumerate(ACTIVATIONS):
        with code.when_equal(row.activation, index), code.loop(row.channels, code.lanes) as channel:
            factors = code.at(row.norm, channel)
            bias, scale, shift = (code.load(code.at(factors, code.times(row.channels, part))) for part in range(3))
            added = builder.fadd(bias, code.load(code.at(row.vector, channel)))
            with code.loop(row.columns) as column:
                number = code.load(code.at(row.points, channel, code.times(column, row.points_stride)))
                before = code.load(code.at(row.old, channel, code.times(column, row.old_stride)))
                number, activated = code.finish(number, before, added, scale, shift, kind)
                code.store(number, code.at(row.raw, channel, code.times(column, row.raw_stride)))
                code.store(activated, code.at(row.post, channel, code.times(column, row.post_stride)))


class Pool(NamedTuple):
    """The sum of each channel over all points, and, `channels` further, its maximum."""

    points: InMemory
    row_stride: int
    column_stride: int
    rows: int
    columns: int
    channels: int
    out: InMemory


def _pool_points(code: Code, pool: Pool) -> None:
    """Write the instructions of a `Pool`."""
    builder = code.builder
    with code.loop(pool.channels, code.lanes) as channel:
        total, largest = code.variable(code.number(0.0)), code.variable(code.number(-np.inf))
        with code.loop(pool.rows) as row, code.loop(pool.columns) as column:
            line, point = code.times(row, pool.row_stride), code.times(column, pool.column_stride)
            number = code.load(code.at(pool.points, channel, line, point))
            builder.store(builder.fadd(builder.load(total), number), total)
            builder.store(code.larger(number, builder.load(largest)), largest)
        code.store(builder.load(total), code.at(pool.out, channel))
        code.store(builder.load(largest), code.at(pool.out, channel, pool.channels))


class CopiedFloats(NamedTuple):
    """out[i] = source[i] for i from 0 to length - 1, a multiple of the lanes."""

    source: InMemory
    length: int
    out: InMemory


def _copy_floats(code: Code, copied: CopiedFloats) -> None:
    """Write the instructions of `CopiedFloats`."""
    with code.loop(copied.length, code.lanes) as index:
        code.store(code.load(code.at(copied.source, index)), code.at(copied.out, index))


multiply_rows = vector_intrinsic(_multiply_rows, FEATURES_OF_PRODUCTS)
transform_tile = vector_intrinsic(_transform_tile)
outputs_of_tile = vector_intrinsic(_outputs_of_tile)
finish_row = vector_intrinsic(_finish_row)
copy_floats = vector_intrinsic(_copy_floats)
pool_points = vector_intrinsic(_pool_points)
