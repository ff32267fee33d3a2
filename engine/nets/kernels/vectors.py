"""The inner loops of a network in fp32 as vector instructions, for kernels to call; see `engine.nets.kernels.code`.

Every array is followed by the place in it where a loop begins; places, strides and lengths are in floats.
"""

import numpy as np

from engine.nets.kernels.code import ACTIVATIONS, INTEGER, Code, Value, vector_intrinsic
from engine.nets.kernels.winograd import OUTPUTS, TILES, matrices

_ROWS = 4
"""Rows of a tile of a matrix product."""
WIDEST_PANEL = {8: 3, 16: 6}
"""Most vectors in a row of such a tile: with _ROWS of them and the operands, they fill the registers."""


def _multiply_rows(
    code: Code,
    panel: Value,
    left: Value,
    left_stride: Value,
    rows: Value,
    parts: Value,
    part_stride: Value,
    k: Value,
    right: Value,
    out: Value,
    out_stride: Value,
) -> None:
    """out[r] = sum over parts p of left[r + p] . right[p], for so many rows r.

    Matrices by rows: left row r of part p begins at r * left_stride + p * part_stride and has k numbers; right
    [parts, k, panel * lanes], panel 1 to WIDEST_PANEL[lanes]; out row r begins at r * out_stride.
    """
    rest = code.builder.srem(rows, INTEGER(_ROWS))
    whole = code.builder.sub(rows, rest)

    def multiply(row: Value, count: int, vectors: int) -> None:
        """Write the product of so many rows from `row` on."""
        first = code.at(left, code.times(row, left_stride))
        sums = [[code.variable(code.number(0.0)) for _ in range(vectors)] for _ in range(count)]
        with code.loop(parts) as part:
            begin = code.at(first, code.times(part, part_stride))
            lines = [code.at(begin, code.times(left_stride, line)) for line in range(count)]
            block = code.at(right, code.times(code.times(part, k), vectors * code.lanes))
            with code.loop(k) as index:
                source = code.at(block, code.times(index, vectors * code.lanes))
                factors = [code.load(code.at(source, INTEGER(v * code.lanes))) for v in range(vectors)]
                for line, line_sums in zip(lines, sums, strict=True):
                    value = code.spread(code.at(line, index))
                    for factor, each in zip(factors, line_sums, strict=True):
                        code.builder.store(code.fma(value, factor, code.builder.load(each)), each)
        result = code.at(out, code.times(row, out_stride))
        for line, line_sums in enumerate(sums):
            for v, each in enumerate(line_sums):
                place = code.at(result, code.times(out_stride, line), INTEGER(v * code.lanes))
                code.store(code.builder.load(each), place)

    for vectors in range(1, WIDEST_PANEL[code.lanes] + 1):
        with code.when_equal(panel, vectors):
            with code.loop(whole, _ROWS) as row:
                multiply(row, _ROWS, vectors)
            for count in range(1, _ROWS):
                with code.when_equal(rest, count):
                    multiply(whole, count, vectors)


def _transform_tile(
    code: Code,
    side: Value,
    points: Value,
    row_stride: Value,
    column_stride: Value,
    out: Value,
    out_stride: Value,
    channels: Value,
) -> None:
    """Write BT d B of a tile d of side x side points, for all channels, number i of the result at i * out_stride."""
    for tile in TILES:
        matrix = matrices(tile - 2, 3).inputs
        with code.when_equal(side, tile), code.loop(channels, code.lanes) as channel:
            first = code.at(points, channel)
            seen = [
                [
                    code.load(code.at(first, code.times(row_stride, y), code.times(column_stride, x)))
                    for x in range(tile)
                ]
                for y in range(tile)
            ]
            numbers = (number for row in code.sandwich(matrix, seen) for number in row)
            for index, number in enumerate(numbers):
                code.store(number, code.at(out, channel, code.times(out_stride, index)))


def _outputs_of_tile(
    code: Code,
    kernel: Value,
    side: Value,
    products: Value,
    products_stride: Value,
    out: Value,
    row_stride: Value,
    column_stride: Value,
    channels: Value,
) -> None:
    """Write AT m A of the products m of a tile, side x side outputs of a kernel, for all channels; see above."""
    for kernel_side, outputs in ((kernel_side, m) for kernel_side, choices in OUTPUTS.items() for m in choices):
        matrix = matrices(outputs, kernel_side).outputs
        tile = outputs + kernel_side - 1
        with (
            code.when_equal(kernel, kernel_side),
            code.when_equal(side, outputs),
            code.loop(channels, code.lanes) as channel,
        ):
            first = code.at(products, channel)
            numbers = [code.load(code.at(first, code.times(products_stride, i))) for i in range(tile * tile)]
            rows = [numbers[tile * y : tile * (y + 1)] for y in range(tile)]
            for y, row in enumerate(code.sandwich(matrix, rows)):
                for x, number in enumerate(row):
                    place = code.at(out, channel, code.times(row_stride, y), code.times(column_stride, x))
                    code.store(number, place)


def _finish_row(
    code: Code,
    activation: Value,
    points: Value,
    points_stride: Value,
    columns: Value,
    channels: Value,
    vector: Value,
    old: Value,
    old_stride: Value,
    raw: Value,
    raw_stride: Value,
    norm: Value,
    post: Value,
    post_stride: Value,
) -> None:
    """raw = points + vector + bias + old, post = activation(raw * scale + shift), for a row of points.

    norm: bias, scale and shift, `channels` numbers each. Of what is not wanted the stride is 0.
    """
    builder = code.builder
    for place, kind in enumerate(ACTIVATIONS):
        with code.when_equal(activation, place), code.loop(channels, code.lanes) as channel:
            factors = code.at(norm, channel)
            bias, scale, shift = (code.load(code.at(factors, code.times(channels, part))) for part in range(3))
            added = builder.fadd(bias, code.load(code.at(vector, channel)))
            with code.loop(columns) as column:
                number = code.load(code.at(points, channel, code.times(column, points_stride)))
                before = code.load(code.at(old, channel, code.times(column, old_stride)))
                number, activated = code.finish(number, before, added, scale, shift, kind)
                code.store(number, code.at(raw, channel, code.times(column, raw_stride)))
                code.store(activated, code.at(post, channel, code.times(column, post_stride)))


def _pool_points(
    code: Code,
    points: Value,
    row_stride: Value,
    column_stride: Value,
    rows: Value,
    columns: Value,
    channels: Value,
    out: Value,
) -> None:
    """Write the sums over all points, and `channels` further the largest numbers."""
    builder = code.builder
    with code.loop(channels, code.lanes) as channel:
        total, largest = code.variable(code.number(0.0)), code.variable(code.number(-np.inf))
        with code.loop(rows) as row, code.loop(columns) as column:
            place = code.at(points, channel, code.times(row, row_stride), code.times(column, column_stride))
            number = code.load(place)
            builder.store(builder.fadd(builder.load(total), number), total)
            builder.store(code.larger(number, builder.load(largest)), largest)
        code.store(builder.load(total), code.at(out, channel))
        code.store(builder.load(largest), code.at(out, channel, channels))


multiply_rows = vector_intrinsic(_multiply_rows, arrays=3)
transform_tile = vector_intrinsic(_transform_tile, arrays=2)
outputs_of_tile = vector_intrinsic(_outputs_of_tile, arrays=2)
finish_row = vector_intrinsic(_finish_row, arrays=6)
pool_points = vector_intrinsic(_pool_points, arrays=2)
