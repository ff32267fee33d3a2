"""The kernels that compute a network, step by step as `engine.nets.kernels.model` has planned it.

A step is a row of whole numbers, named below. It reads and writes the one array `memory`, where places count floats.
Points lie there as [position, row, column, channel], with a border of zeros around every board; vectors as
[position, number]. To multiply vectors by a matrix is to convolve one row of so many points. Points that tiles are
made of are bf16, two numbers in the place of a float; everything else is float32.
"""

from typing import NamedTuple

import numpy as np

from engine.native.jit import kernel
from engine.nets.kernels.tiles import DEPTH, POINTS, convolve_points, round_row
from engine.nets.kernels.vectors import finish_row, multiply_rows, outputs_of_tile, pool_points, transform_tile
from engine.nets.spec import Array

READ_PLANES, READ_GLOBALS, CONVOLVE, WINOGRAD, TILED, NORMALIZE, POOL, FLATTEN, GIVE_POINTS, GIVE_VECTOR = range(10)
"""What a step does. There are three ways to convolve."""
(
    KIND,
    IS_VECTOR,  # whether the rows are vectors
    SOURCE,
    SOURCE_STRIDE,
    INNER,  # numbers read of each point or vector
    CHANNELS,  # numbers written, filled up to whole vectors
    KERNEL_HEIGHT,
    KERNEL_WIDTH,
    SIDE,  # Winograd's m
    PANELS,  # parts of about one width that the numbers written are computed in
    WEIGHTS,
    NORM,
    ACTIVATION,
    VECTOR,
    VECTOR_STRIDE,
    OLD,
    OLD_STRIDE,
    RAW,
    RAW_STRIDE,
    POST,
    POST_STRIDE,
    ROUNDED,  # whether post is bf16
    ROWS,  # of a board with its border, in memory, where TILED reads and READ_PLANES writes
    COLUMNS,
    PLACES,  # where the results of the points that TILED reads belong
    OUTPUT,
    OUTPUT_FIRST,
    OUTPUT_STRIDE,
    FIELDS,
) = range(29)
"""The numbers of a step: see `engine.nets.kernels.vectors.finish_row` for norm, vector, old, raw and post. A place of
points is that of the first point of the first board."""


class Layout(NamedTuple):
    """What all steps share.

    lanes: floats of a vector. rows, columns: of a board with its border, in memory, unless a step has others.
    tiles, products, row: places for Winograd's tiles, their products, and rows of points before they are finished.
    spare: a point of every board's memory, counted from the first one, that nobody reads.
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


@kernel
def infer(
    layout: Layout,
    steps: np.ndarray,
    weights: Array,
    memory: Array,
    planes: Array,
    globals_: Array,
    outputs: tuple[Array, Array, Array, Array],
    first: int,
    count: int,
) -> None:
    """Compute a network for the positions first..first + count - 1.

    steps [steps, FIELDS] int64; weights, memory: flat. planes [rows, planes * area], globals_ [rows, globals] and
    outputs [rows, numbers], in the order of `RawOutputs`.
    """
    for index in range(len(steps)):
        step = steps[index]
        kind = step[KIND]
        if kind == CONVOLVE:
            _convolve(layout, step, weights, memory, count)
        elif kind == WINOGRAD:
            _convolve_by_winograd(layout, step, weights, memory, count)
        elif kind == TILED:
            _convolve_by_tiles(layout, step, weights, memory, count)
        elif kind == NORMALIZE:
            _normalize(layout, step, weights, memory, count)
        elif kind == POOL:
            _pool(layout, step, memory, count)
        elif kind == READ_PLANES:
            _read_planes(layout, step, memory, planes, first, count)
        elif kind == READ_GLOBALS:
            for position in range(count):
                for number in range(step[INNER]):
                    memory[step[POST] + position * step[POST_STRIDE] + number] = globals_[first + position, number]
        elif kind == FLATTEN:
            _flatten(layout, step, memory, count)
        elif kind == GIVE_POINTS:
            _give_points(layout, step, memory, outputs[step[OUTPUT]], first, count)
        else:
            _give_vector(step, memory, outputs[step[OUTPUT]], first, count)


@kernel
def infer_rows(
    layout: Layout,
    steps: np.ndarray,
    weights: Array,
    memory: Array,
    planes: Array,
    globals_: Array,
    outputs: tuple[Array, Array, Array, Array],
    together: int,
    count: int,
) -> int:
    """Compute a network for the positions 0..count-1 as `infer` does, so many at a time; return their number."""
    for first in range(0, count, together):
        infer(layout, steps, weights, memory, planes, globals_, outputs, first, min(together, count - first))
    return count


@kernel
def _convolve(layout: Layout, step: np.ndarray, weights: Array, memory: Array, count: int) -> None:
    """Convolve row by row: each row of a kernel is one product with points that lie side by side."""
    lanes, channels, stride = layout.lanes, step[CHANNELS], step[SOURCE_STRIDE]
    kernel_height, kernel_width = step[KERNEL_HEIGHT], step[KERNEL_WIDTH]
    positions, height, width = count, layout.height, layout.width
    if step[IS_VECTOR]:
        positions, height, width = 1, 1, count
    inner = step[INNER] if kernel_width == 1 else kernel_width * stride
    vectors, panels = channels // lanes, step[PANELS]
    corner = (kernel_height // 2 * layout.columns + kernel_width // 2) * stride
    for position in range(positions):
        for y in range(height):
            row = (position * layout.rows + y) * layout.columns
            for panel in range(panels):
                begin, end = panel * vectors // panels, (panel + 1) * vectors // panels
                multiply_rows(
                    lanes,
                    end - begin,
                    memory,
                    step[SOURCE] + row * stride - corner,
                    stride,
                    width,
                    kernel_height,
                    layout.columns * stride,
                    inner,
                    weights,
                    step[WEIGHTS] + begin * lanes * kernel_height * inner,
                    memory,
                    layout.row + begin * lanes,
                    channels,
                )
            _finish(layout, step, weights, memory, layout.row, channels, position, row, width)


@kernel
def _convolve_by_winograd(layout: Layout, step: np.ndarray, weights: Array, memory: Array, count: int) -> None:
    """Convolve by tiles of all positions at once, see `engine.nets.kernels.winograd`."""
    lanes, channels, inner, stride = layout.lanes, step[CHANNELS], step[INNER], step[SOURCE_STRIDE]
    side, kernel_side = step[SIDE], step[KERNEL_HEIGHT]
    tile_side, border = side + kernel_side - 1, kernel_side // 2
    across, down = (layout.width + side - 1) // side, (layout.height + side - 1) // side
    tiles = count * down * across
    # A vector more keeps the numbers of one tile out of one set of the cache.
    tiles_stride = tiles * stride + lanes
    products_stride = tiles * channels + lanes
    tile = 0
    for position in range(count):
        for y in range(down):
            row = (position * layout.rows + y * side - border) * layout.columns - border
            for x in range(across):
                transform_tile(
                    lanes,
                    tile_side,
                    memory,
                    step[SOURCE] + (row + x * side) * stride,
                    layout.columns * stride,
                    stride,
                    memory,
                    layout.tiles + tile * stride,
                    tiles_stride,
                    stride,
                )
                tile += 1
    vectors, panels = channels // lanes, step[PANELS]
    for number in range(tile_side * tile_side):
        for panel in range(panels):
            begin, end = panel * vectors // panels, (panel + 1) * vectors // panels
            multiply_rows(
                lanes,
                end - begin,
                memory,
                layout.tiles + number * tiles_stride,
                stride,
                tiles,
                1,
                0,
                inner,
                weights,
                step[WEIGHTS] + (number * channels + begin * lanes) * inner,
                memory,
                layout.products + number * products_stride + begin * lanes,
                channels,
            )
    row_stride = across * side * channels
    tile = 0
    for position in range(count):
        for y in range(down):
            for x in range(across):
                outputs_of_tile(
                    lanes,
                    kernel_side,
                    side,
                    memory,
                    layout.products + tile * channels,
                    products_stride,
                    memory,
                    layout.row + x * side * channels,
                    row_stride,
                    channels,
                    channels,
                )
                tile += 1
            for line in range(min(side, layout.height - y * side)):
                row = (position * layout.rows + y * side + line) * layout.columns
                points = layout.row + line * row_stride
                _finish(layout, step, weights, memory, points, channels, position, row, layout.width)


@kernel
def _convolve_by_tiles(layout: Layout, step: np.ndarray, weights: Array, memory: Array, count: int) -> None:
    """Convolve so many points at a time, in the order in which they lie in memory, those of the border with them.

    A border lies between the rows of a board once, so that few products are of no use.
    """
    rows, columns, stride = step[ROWS], step[COLUMNS], step[SOURCE_STRIDE]
    kernel_height, kernel_width = step[KERNEL_HEIGHT], step[KERNEL_WIDTH]
    corner = (kernel_height // 2 * columns + kernel_width // 2) * stride
    groups = ((layout.height - 1) * columns + layout.width + POINTS - 1) // POINTS
    for position in range(count):
        source = step[SOURCE] + position * rows * columns * stride - corner
        row = position * layout.rows * layout.columns
        convolve_points(
            layout.lanes,
            step[ACTIVATION],
            groups,
            memory,
            source,
            stride,
            kernel_height,
            columns * stride,
            kernel_width * stride // (DEPTH // 2),
            weights,
            step[WEIGHTS],
            step[CHANNELS] // DEPTH,
            memory,
            layout.row,
            weights,
            step[PLACES],
            layout.spare - row,
            memory,
            step[VECTOR] + position * step[VECTOR_STRIDE],
            memory,
            step[OLD] + row * step[OLD_STRIDE],
            step[OLD_STRIDE],
            memory,
            step[RAW] + row * step[RAW_STRIDE],
            step[RAW_STRIDE],
            weights,
            step[NORM],
            memory,
            step[POST] + row * step[POST_STRIDE],
            step[POST_STRIDE],
            step[ROUNDED],
        )


@kernel
def _normalize(layout: Layout, step: np.ndarray, weights: Array, memory: Array, count: int) -> None:
    for position in range(count):
        for y in range(layout.height):
            row = (position * layout.rows + y) * layout.columns
            points, stride = step[SOURCE] + row * step[SOURCE_STRIDE], step[SOURCE_STRIDE]
            _finish(layout, step, weights, memory, points, stride, position, row, layout.width)


@kernel
def _finish(
    layout: Layout,
    step: np.ndarray,
    weights: Array,
    memory: Array,
    points: int,
    stride: int,
    position: int,
    row: int,
    columns: int,
) -> None:
    """Write what a step makes of a row of points, the numbers of which lie at `points`, to that row of memory."""
    post, post_stride = step[POST] + row * step[POST_STRIDE], step[POST_STRIDE]
    if step[ROUNDED]:
        post, post_stride = layout.row, step[CHANNELS]
    finish_row(
        layout.lanes,
        step[ACTIVATION],
        memory,
        points,
        stride,
        columns,
        step[CHANNELS],
        memory,
        step[VECTOR] + position * step[VECTOR_STRIDE],
        memory,
        step[OLD] + row * step[OLD_STRIDE],
        step[OLD_STRIDE],
        memory,
        step[RAW] + row * step[RAW_STRIDE],
        step[RAW_STRIDE],
        weights,
        step[NORM],
        memory,
        post,
        post_stride,
    )
    if step[ROUNDED]:
        _round(layout, step, memory, row, columns)


@kernel
def _round(layout: Layout, step: np.ndarray, memory: Array, row: int, columns: int) -> None:
    """Write a row of points in bf16 to that row of memory."""
    post, stride = step[POST] + row * step[POST_STRIDE], step[POST_STRIDE]
    round_row(layout.lanes, memory, layout.row, step[CHANNELS], columns, step[CHANNELS], memory, post, stride)


@kernel
def _pool(layout: Layout, step: np.ndarray, memory: Array, count: int) -> None:
    """Write the sum and the maximum of each channel."""
    stride = step[SOURCE_STRIDE]
    for position in range(count):
        pool_points(
            layout.lanes,
            memory,
            step[SOURCE] + position * layout.rows * layout.columns * stride,
            layout.columns * stride,
            stride,
            layout.height,
            layout.width,
            step[CHANNELS],
            memory,
            step[POST] + position * step[POST_STRIDE],
        )


@kernel
def _read_planes(layout: Layout, step: np.ndarray, memory: Array, planes: Array, first: int, count: int) -> None:
    area, channels = layout.width * layout.height, step[CHANNELS]
    for position in range(count):
        for y in range(layout.height):
            row = (position * step[ROWS] + y) * step[COLUMNS]
            points, stride = step[POST] + row * step[POST_STRIDE], step[POST_STRIDE]
            if step[ROUNDED]:
                points, stride = layout.row, channels
                memory[points : points + layout.width * stride] = 0.0
            for plane in range(step[INNER]):
                for x in range(layout.width):
                    memory[points + x * stride + plane] = planes[first + position, plane * area + y * layout.width + x]
            if step[ROUNDED]:
                _round(layout, step, memory, row, layout.width)


@kernel
def _flatten(layout: Layout, step: np.ndarray, memory: Array, count: int) -> None:
    """Write points as a vector, channel by channel."""
    area, stride = layout.width * layout.height, step[SOURCE_STRIDE]
    for position in range(count):
        for y in range(layout.height):
            row = step[SOURCE] + (position * layout.rows + y) * layout.columns * stride
            out = step[POST] + position * step[POST_STRIDE] + y * layout.width
            for x in range(layout.width):
                for channel in range(step[INNER]):
                    memory[out + channel * area + x] = memory[row + x * stride + channel]


@kernel
def _give_points(layout: Layout, step: np.ndarray, memory: Array, output: Array, first: int, count: int) -> None:
    stride = step[SOURCE_STRIDE]
    for position in range(count):
        for y in range(layout.height):
            row = step[SOURCE] + (position * layout.rows + y) * layout.columns * stride
            for channel in range(step[INNER]):
                place = step[OUTPUT_FIRST] + channel * step[OUTPUT_STRIDE] + y * layout.width
                for x in range(layout.width):
                    output[first + position, place + x] = memory[row + x * stride + channel]


@kernel
def _give_vector(step: np.ndarray, memory: Array, output: Array, first: int, count: int) -> None:
    for position in range(count):
        for number in range(step[INNER]):
            place = step[OUTPUT_FIRST] + number * step[OUTPUT_STRIDE]
            output[first + position, place] = memory[step[SOURCE] + position * step[SOURCE_STRIDE] + number]
