"""The kernels that compute a network by the steps of its plan.

Each step reads and writes one array, `memory`; `engine.nets.kernels.plan` describes its layout.
"""

from typing import NamedTuple

from engine.native.jit import kernel
from engine.nets.kernels.attention import attend
from engine.nets.kernels.integer_rows import IntegerRows, round_rows
from engine.nets.kernels.plan import (
    ATTEND,
    CONVOLVE,
    CONVOLVE_BY_TILES,
    CONVOLVE_BY_WINOGRAD,
    CONVOLVE_POINTS,
    FEED_FORWARD,
    FLATTEN,
    FROM_ROWS,
    NORMALIZE,
    NORMALIZE_ROWS,
    POINTS_TOGETHER,
    POOL,
    READ_GLOBALS,
    READ_PLANES,
    TO_ROWS,
    WRITE_POINTS,
    Layout,
    Plan,
    Rows,
    Step,
)
from engine.nets.kernels.products import Operands, Results, RightSide, multiply_operands, panel_bounds, rounding_of
from engine.nets.kernels.tiled_convolutions import INVERSE, RoundedRow, TiledConvolution, convolve_points, round_row
from engine.nets.kernels.tiles import DEPTH, FLOATS, POINTS, TILE_ROWS
from engine.nets.kernels.transfers import copy_points, flatten, read_globals, write_points, write_vector
from engine.nets.kernels.transformers import feed_forward, normalize_rows
from engine.nets.kernels.vectors import (
    FinishedRow,
    Pool,
    Product,
    TileInputs,
    TileOutputs,
    finish_row,
    multiply_rows,
    outputs_of_tile,
    pool_points,
    transform_tile,
)
from engine.nets.kernels.winograd import LARGEST
from engine.nets.spec import Array


class _Row(NamedTuple):
    """A row of points to be finished, see `vectors.FinishedRow`.

    points, stride: index of the first point in memory, and floats from one point to the next. position: the position
    that it belongs to. place: number of the first point among the points of all boards. columns: number of points.
    """

    points: int
    stride: int
    position: int
    place: int
    columns: int


@kernel
def infer(plan: Plan, memory: Array, rows: Rows, first: int, count: int) -> None:
    """Compute a network for the positions first..first+count-1 of `rows`.

    memory: flat float32, used by this call only, with zeros at the borders of boards (`Model.new_memory`).
    """
    # A loop over steps instead of code for each network: no network has to be compiled when it is loaded.
    layout, weights = plan.layout, plan.weights
    for index in range(len(plan.steps)):
        step = plan.steps[index]
        kind = step.kind
        if kind == CONVOLVE:
            _convolve(layout, step, weights, memory, count)
        elif kind == CONVOLVE_BY_WINOGRAD:
            _convolve_by_winograd(layout, step, weights, memory, count)
        elif kind == CONVOLVE_POINTS:
            _convolve_points(layout, step, weights, memory, count)
        elif kind == CONVOLVE_BY_TILES:
            _convolve_by_tiles(layout, step, weights, memory, count)
        elif kind == ATTEND:
            attend(layout, step, weights, memory, count)
        elif kind == FEED_FORWARD:
            feed_forward(layout, step, weights, memory, count)
        elif kind == NORMALIZE_ROWS:
            normalize_rows(layout, step, memory, count)
        elif kind in (TO_ROWS, FROM_ROWS):
            copy_points(layout, step, memory, count)
        elif kind == NORMALIZE:
            _normalize(layout, step, weights, memory, count)
        elif kind == POOL:
            _pool(layout, step, weights, memory, count)
        elif kind == READ_PLANES:
            _read_planes(layout, step, weights, memory, rows.planes[first : first + count])
        elif kind == READ_GLOBALS:
            read_globals(step, memory, rows.globals[first : first + count])
        elif kind == FLATTEN:
            flatten(layout, step, memory, count)
        elif kind == WRITE_POINTS:
            write_points(layout, step, memory, rows.outputs[step.output][first : first + count])
        else:
            write_vector(step, memory, rows.outputs[step.output][first : first + count])


@kernel
def infer_rows(plan: Plan, memory: Array, rows: Rows, together: int, count: int) -> int:
    """Compute a network for the positions 0..count-1, at most `together` of them at a time; return count."""
    for first in range(0, count, together):
        infer(plan, memory, rows, first, min(together, count - first))
    return count


@kernel
def _convolve(layout: Layout, step: Step, weights: Array, memory: Array, count: int) -> None:
    """Convolve row by row: each row of the convolution's kernel is one matrix product with neighboring points."""
    # Points are stored channel by channel, so the points under a row of the kernel are consecutive in memory, and are
    # multiplied as one row of kernel_width * channels numbers without copying them.
    lanes, channels, stride = layout.lanes, step.channels, step.source.stride
    positions, height, width = count, layout.height, layout.width
    if step.is_vector:
        positions, height, width = 1, 1, count
    inner = step.inner if step.kernel_width == 1 else step.kernel_width * stride
    vectors, panels = channels // lanes, step.panels
    corner = (step.kernel_height // 2 * layout.columns + step.kernel_width // 2) * stride
    for position in range(positions):
        for y in range(height):
            place = (position * layout.rows + y) * layout.columns
            for panel in range(panels):
                begin, end = panel_bounds(panel, panels, vectors)
                product = Product(
                    panel=end - begin,
                    left=step.source.first + place * stride - corner,
                    left_stride=stride,
                    rows=width,
                    parts=step.kernel_height,
                    part_stride=layout.columns * stride,
                    k=inner,
                    right=step.weights + begin * lanes * step.kernel_height * inner,
                    out=layout.row + begin * lanes,
                    out_stride=channels,
                    adds=0,
                )
                multiply_rows(lanes, memory, weights, product)
            _finish(layout, step, weights, memory, _Row(layout.row, channels, position, place, width))


@kernel
def _convolve_points(layout: Layout, step: Step, weights: Array, memory: Array, count: int) -> None:
    """Convolve by a kernel of one point in int16: some rows of a board at a time, each point in steps of its own."""
    lanes, channels, stride, width = layout.lanes, step.channels, step.source.stride, layout.width
    floats, lines = stride // 2, max(1, POINTS_TOGETHER // width)
    for position in range(count):
        for first in range(0, layout.height, lines):
            end_line = min(first + lines, layout.height)
            rows = Operands(layout.tiles, floats, (end_line - first) * width, layout.factors)
            memory[rows.factors : rows.factors + rows.length] = 1.0
            for y in range(first, end_line):
                done = (y - first) * width
                rounded = IntegerRows(
                    points=step.source.first + (position * layout.rows + y) * layout.columns * stride,
                    stride=stride,
                    rows=width,
                    channels=stride,
                    largest=LARGEST,
                    factors=rows.factors + done,
                    out=rows.first + done * floats,
                    out_stride=floats,
                )
                round_rows(rounding_of(step.numbers), memory, weights, rounded)
            for panel in range(step.panels):
                begin, end = panel_bounds(panel, step.panels, channels // lanes)
                right = RightSide(step.weights + begin * lanes * step.inner, step.inner, step.steps + begin * lanes)
                out = Results(layout.row + begin * lanes, channels, end - begin)
                multiply_operands(step.numbers, memory, weights, rows, right, out, 0)
            for y in range(first, end_line):
                place = (position * layout.rows + y) * layout.columns
                row = _Row(layout.row + (y - first) * width * channels, channels, position, place, width)
                _finish(layout, step, weights, memory, row)


@kernel
def _convolve_by_winograd(layout: Layout, step: Step, weights: Array, memory: Array, count: int) -> None:
    """Convolve by Winograd's algorithm, with the tiles of all positions together; see `winograd`."""
    side = step.side
    tiles = count * ((layout.width + side - 1) // side) * ((layout.height + side - 1) // side)
    _transform_tiles(layout, step, weights, memory, count, tiles)
    _multiply_tiles(layout, step, weights, memory, tiles)
    _finish_tiles(layout, step, weights, memory, count, tiles)


@kernel
def _tile_floats(step: Step) -> int:
    """Return the floats that a number of one tile takes for all channels: in int16 two channels are one float."""
    floats: int = step.source.stride
    return floats // 2 if step.numbers else floats


@kernel
def _tiles_stride(layout: Layout, tiles: int, floats: int) -> int:
    """Return the floats from a number of the first tile to its next number. floats: of a number of one tile."""
    # One vector more than needed: with a power of two, all numbers of a tile would lie in the same set of the cache.
    return tiles * floats + layout.lanes


@kernel
def _transform_tiles(layout: Layout, step: Step, weights: Array, memory: Array, count: int, tiles: int) -> None:
    """Write the transforms of the tiles of all positions: each of their numbers as the left side of a product."""
    side, border, stride = step.side, step.kernel_height // 2, step.source.stride
    across, down = (layout.width + side - 1) // side, (layout.height + side - 1) // side
    are_integers, tile = step.numbers != 0, 0
    for position in range(count):
        for y in range(down):
            place = (position * layout.rows + y * side - border) * layout.columns - border
            for x in range(across):
                inputs = TileInputs(
                    side=side + step.kernel_height - 1,
                    points=step.source.first + (place + x * side) * stride,
                    row_stride=layout.columns * stride,
                    column_stride=stride,
                    out=layout.row if are_integers else layout.tiles + tile * stride,
                    out_stride=_tiles_stride(layout, 1 if are_integers else tiles, stride),
                    channels=stride,
                )
                transform_tile(layout.lanes, memory, weights, inputs)
                if are_integers:
                    _round_tile(layout, step, weights, memory, tile, tiles)
                tile += 1


@kernel
def _round_tile(layout: Layout, step: Step, weights: Array, memory: Array, tile: int, tiles: int) -> None:
    """Write the transform of a tile, which is at `layout.row`, as int16, each number in steps of its own."""
    stride, numbers = step.source.stride, (step.side + step.kernel_height - 1) ** 2
    factors = layout.factors + numbers * tiles
    for number in range(numbers):
        memory[factors + number] = 1.0
    rounded = IntegerRows(
        points=layout.row,
        stride=_tiles_stride(layout, 1, stride),
        rows=numbers,
        channels=stride,
        largest=LARGEST,
        factors=factors,
        out=layout.tiles + tile * _tile_floats(step),
        out_stride=_tiles_stride(layout, tiles, _tile_floats(step)),
    )
    round_rows(rounding_of(step.numbers), memory, weights, rounded)
    for number in range(numbers):
        memory[layout.factors + number * tiles + tile] = memory[factors + number]


@kernel
def _multiply_tiles(layout: Layout, step: Step, weights: Array, memory: Array, tiles: int) -> None:
    """Multiply the transforms by the weights: one matrix product for each number of a tile."""
    lanes, channels, floats = layout.lanes, step.channels, _tile_floats(step)
    numbers = step.numbers or lanes
    tiles_stride, products_stride = _tiles_stride(layout, tiles, floats), _tiles_stride(layout, tiles, channels)
    for number in range((step.side + step.kernel_height - 1) ** 2):
        rows = Operands(layout.tiles + number * tiles_stride, floats, tiles, layout.factors + number * tiles)
        for panel in range(step.panels):
            begin, end = panel_bounds(panel, step.panels, channels // lanes)
            column = number * channels + begin * lanes
            right = RightSide(step.weights + column * step.inner, step.inner, step.steps + column)
            out = Results(layout.products + number * products_stride + begin * lanes, channels, end - begin)
            multiply_operands(numbers, memory, weights, rows, right, out, 0)


@kernel
def _finish_tiles(layout: Layout, step: Step, weights: Array, memory: Array, count: int, tiles: int) -> None:
    """Transform the products back into points, and finish them, by rows of tiles."""
    # By rows of tiles, so that the points are still in the cache when they are finished.
    side, channels = step.side, step.channels
    across, down = (layout.width + side - 1) // side, (layout.height + side - 1) // side
    row_stride = across * side * channels
    tile = 0
    for position in range(count):
        for y in range(down):
            for x in range(across):
                outputs = TileOutputs(
                    kernel=step.kernel_height,
                    side=side,
                    products=layout.products + tile * channels,
                    products_stride=_tiles_stride(layout, tiles, channels),
                    out=layout.row + x * side * channels,
                    row_stride=row_stride,
                    column_stride=channels,
                    channels=channels,
                )
                outputs_of_tile(layout.lanes, memory, weights, outputs)
                tile += 1
            for line in range(min(side, layout.height - y * side)):
                place = (position * layout.rows + y * side + line) * layout.columns
                row = _Row(layout.row + line * row_stride, channels, position, place, layout.width)
                _finish(layout, step, weights, memory, row)


@kernel
def _convolve_by_tiles(layout: Layout, step: Step, weights: Array, memory: Array, count: int) -> None:
    """Convolve in bf16 or int8, POINTS points at a time in memory order, border points included."""
    # A tile has 16 points, which rows of a board do not fill; consecutive points in memory do. The right border of a
    # row is the left border of the next one, so that few products are wasted on borders.
    columns, stride = step.columns, step.source.stride
    corner = (step.kernel_height // 2 * columns + step.kernel_width // 2) * stride
    groups = ((layout.height - 1) * columns + layout.width + POINTS - 1) // POINTS
    adds = step.old.stride != 0 or step.raw.stride != 0
    for position in range(count):
        place = position * layout.rows * layout.columns
        convolution = TiledConvolution(
            activation=step.activation,
            operands=step.operands,
            groups=groups,
            left=step.source.first + position * step.rows * columns * stride - corner,
            left_stride=stride,
            parts=step.kernel_height,
            part_stride=columns * stride,
            depth=(step.kernel_width * stride + TILE_ROWS - 1) // TILE_ROWS,
            right=step.weights,
            pairs=step.channels // DEPTH,
            sums=layout.row,
            places=step.places,
            spare=layout.spare - place,
            vector=step.vector.first + position * step.vector.stride,
            adds=adds,
            old=step.old.first + place * step.old.stride,
            old_stride=step.old.stride,
            raw=step.raw.first + place * step.raw.stride,
            raw_stride=step.raw.stride,
            norm=step.norm,
            post=step.post.first + place * step.post.stride,
            post_stride=step.post.stride,
            format=step.format,
        )
        convolve_points(layout.lanes, memory, weights, convolution)


@kernel
def _normalize(layout: Layout, step: Step, weights: Array, memory: Array, count: int) -> None:
    """Apply norm and activation to points that were not computed by the step before."""
    for position in range(count):
        for y in range(layout.height):
            place, stride = (position * layout.rows + y) * layout.columns, step.source.stride
            points = step.source.first + place * stride
            row = _Row(points, stride, position, place, layout.width)
            _finish(layout, step, weights, memory, row)


@kernel
def _finish(layout: Layout, step: Step, weights: Array, memory: Array, row: _Row) -> None:
    """Write raw and post of a step for a row of points, see `vectors.FinishedRow`."""
    post, post_stride = step.post.first + row.place * step.post.stride, step.post.stride
    if step.format != FLOATS:
        post, post_stride = layout.row, step.channels
    finished = FinishedRow(
        activation=step.activation,
        points=row.points,
        points_stride=row.stride,
        columns=row.columns,
        channels=step.channels,
        vector=step.vector.first + row.position * step.vector.stride,
        old=step.old.first + row.place * step.old.stride,
        old_stride=step.old.stride,
        raw=step.raw.first + row.place * step.raw.stride,
        raw_stride=step.raw.stride,
        norm=step.norm,
        post=post,
        post_stride=post_stride,
    )
    finish_row(layout.lanes, memory, weights, finished)
    if step.format != FLOATS:
        _round(layout, step, weights, memory, row)


@kernel
def _round(layout: Layout, step: Step, weights: Array, memory: Array, row: _Row) -> None:
    """Round the row of points at `layout.row` to the format of a step's post, and write it there."""
    post, stride = step.post.first + row.place * step.post.stride, step.post.stride
    inverse = step.norm + INVERSE * step.channels
    rounded = RoundedRow(layout.row, step.channels, row.columns, step.channels, inverse, post, stride, step.format)
    round_row(layout.lanes, memory, weights, rounded)


@kernel
def _pool(layout: Layout, step: Step, weights: Array, memory: Array, count: int) -> None:
    """Write the sum and the maximum of each channel over all points."""
    stride = step.source.stride
    for position in range(count):
        pool = Pool(
            points=step.source.first + position * layout.rows * layout.columns * stride,
            row_stride=layout.columns * stride,
            column_stride=stride,
            rows=layout.height,
            columns=layout.width,
            channels=step.channels,
            out=step.post.first + position * step.post.stride,
        )
        pool_points(layout.lanes, memory, weights, pool)


@kernel
def _read_planes(layout: Layout, step: Step, weights: Array, memory: Array, planes: Array) -> None:
    """Copy planes [positions, planes * area] to points."""
    area, channels = layout.width * layout.height, step.channels
    for position in range(len(planes)):
        for y in range(layout.height):
            place = (position * step.rows + y) * step.columns
            points, stride = step.post.first + place * step.post.stride, step.post.stride
            if step.format != FLOATS:
                points, stride = layout.row, channels
                memory[points : points + layout.width * stride] = 0.0
            for plane in range(step.inner):
                for x in range(layout.width):
                    memory[points + x * stride + plane] = planes[position, plane * area + y * layout.width + x]
            if step.format != FLOATS:
                _round(layout, step, weights, memory, _Row(points, stride, position, place, layout.width))
