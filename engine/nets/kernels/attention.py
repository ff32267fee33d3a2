"""The kernels of attention, one kind of block of a transformer; see `engine.nets.kernels.transformers`."""

from typing import NamedTuple

from engine.native.jit import kernel
from engine.nets.kernels.integer_rows import (
    LARGEST,
    IntegerShares,
    IntegerValues,
    pack_integer_values,
    round_shares,
)
from engine.nets.kernels.operands import TILED
from engine.nets.kernels.plan import Layout, Step
from engine.nets.kernels.products import Operands, Results, RightSide, multiply_operands, panel_bounds, rounding_of
from engine.nets.kernels.rows import (
    PackedKeys,
    PackedValues,
    ScaledRows,
    SoftenedRows,
    TurnedRows,
    pack_keys,
    pack_values,
    scale_rows,
    soften_rows,
    turn_rows,
)
from engine.nets.kernels.transformers import (
    PointRows,
    are_integers,
    chunk_of,
    floats_of,
    function_numbers,
    is_paired,
    multiply_matrix,
    normalize_position,
    panels_of,
    round_points,
    use_tiles,
    whole_tiles,
    written_numbers,
)
from engine.nets.spec import Array

QUERIES = 32
"""Most queries whose scores are computed at a time: whole blocks of rows of vectors and of tiles."""


@kernel
def _value_rows(layout: Layout) -> int:
    """Return the rows of packed values: points or, in bf16, pairs of them."""
    area = layout.width * layout.height
    if layout.numbers == TILED:
        return whole_tiles(area) // 2
    return (area + 1) // 2 if is_paired(layout) else area


@kernel
def attend(layout: Layout, step: Step, weights: Array, memory: Array, count: int) -> None:
    """Add the output of an attention block to the rows of all positions."""
    area, stride, operands = layout.width * layout.height, step.source.stride, floats_of(layout, step.channels)
    attention, rooms, chunk = step.attention, step.rooms, chunk_of(layout)
    use_tiles(layout, memory, 1)
    for position in range(count):
        rows = PointRows(step.source.first + position * area * stride, stride, area)
        normalize_position(layout, step, memory, rows, Operands(rooms.units, operands, area, rooms.factors))
        for first in range(0, area, chunk):
            length = min(chunk, area - first)
            units = Operands(rooms.units + first * operands, operands, length, rooms.factors + first)
            sums = PointRows(rooms.sums, step.first.channels, length)
            multiply_matrix(layout, step.first, weights, memory, units, sums, 0)
            _split_heads(layout, step, weights, memory, first, length)
        if layout.numbers == TILED:
            _fill_values(layout, step, memory)
        for head in range(attention.kv_heads):
            _pack_keys(layout, step, memory, head)
            if are_integers(layout):
                _pack_integer_values(layout, step, memory, head)
        for head in range(attention.heads):
            for first in range(0, area, QUERIES):
                _answer(layout, step, memory, head, first, min(QUERIES, area - first))
        channels = attention.heads * attention.value_width
        mixed = Operands(rooms.operands, floats_of(layout, channels), area, rooms.factors)
        if are_integers(layout):
            memory[mixed.factors : mixed.factors + area] = 1.0
            round_points(layout, memory, PointRows(rooms.floats, channels, area), channels, LARGEST, mixed)
        multiply_matrix(layout, step.second, weights, memory, mixed, rows, 1)
    use_tiles(layout, memory, 0)


@kernel
def _head_rows(layout: Layout, step: Step) -> PointRows:
    """Return the rows of the first head of queries; those of the others, and of the keys, follow them."""
    area, lanes = layout.width * layout.height, layout.lanes
    # Whole vectors of keys are packed, and whole tiles are multiplied, so that there is room for some more.
    length = whole_tiles(area) if layout.numbers == TILED else (area + lanes - 1) // lanes * lanes
    return PointRows(step.rooms.heads, floats_of(layout, step.attention.query_width), length)


@kernel
def _split_heads(layout: Layout, step: Step, weights: Array, memory: Array, first: int, count: int) -> None:
    """Write the sums of points first..first+count-1 as queries and keys of each head, rotated, and packed values.

    Operands in int16 have values in float32 here, which `_pack_integer_values` packs.
    """
    attention = step.attention
    for head in range(attention.heads + attention.kv_heads):
        _write_head(layout, step, weights, memory, head, PointRows(first, 0, count))
    begin_of_values = step.rooms.sums + (attention.heads + attention.kv_heads) * attention.query_width
    stride, lanes = step.first.channels, layout.lanes
    if are_integers(layout):
        memory[step.rooms.one] = 1.0
        width = attention.kv_heads * attention.value_width
        out = step.rooms.value_rows + first * width
        copied = ScaledRows(begin_of_values, stride, count, width, step.rooms.one, 0, out, width)
        scale_rows(lanes, memory, weights, copied)
        return
    vectors, rows = attention.value_width // lanes, _value_rows(layout)
    panels = panels_of(layout, vectors)
    for head in range(attention.kv_heads):
        points = begin_of_values + head * attention.value_width
        values = step.rooms.values + head * rows * attention.value_width
        for panel in range(panels):
            begin, end = panel_bounds(panel, panels, vectors)
            channel, channels = begin * lanes, (end - begin) * lanes
            out = values + channel * rows + floats_of(layout, first) * channels
            packed = PackedValues(count, points + channel, stride, channels, out)
            pack_values(written_numbers(layout), memory, weights, packed)


@kernel
def _fill_values(layout: Layout, step: Step, memory: Array) -> None:
    """Write zeros below the last point of packed values: tiles have more rows than there are points."""
    lanes, width, rows = layout.lanes, step.attention.value_width, _value_rows(layout)
    filled, panels = (layout.width * layout.height + 1) // 2, panels_of(layout, width // lanes)
    for head in range(step.attention.kv_heads):
        for panel in range(panels):
            begin, end = panel_bounds(panel, panels, width // lanes)
            first, channels = step.rooms.values + (head * width + begin * lanes) * rows, (end - begin) * lanes
            memory[first + filled * channels : first + rows * channels] = 0.0


@kernel
def _write_head(layout: Layout, step: Step, weights: Array, memory: Array, head: int, rows: PointRows) -> None:
    """Write the sums of some points as rotated queries of a head, or as keys, whose heads follow."""
    attention, of_head = step.attention, _head_rows(layout, step)
    heads, width, stride = attention.heads, attention.query_width, step.first.channels
    points, place = step.rooms.sums + head * width, head * of_head.length + rows.first
    out = Operands(of_head.first + place * of_head.stride, of_head.stride, rows.length, step.rooms.head_factors + place)
    is_rounded_later = are_integers(layout)
    written = PointRows(
        points if is_rounded_later else out.first, stride if is_rounded_later else out.stride, rows.length
    )
    if attention.is_turned:
        turning = head // (heads // attention.kv_heads) if head < heads else head - heads
        turns = attention.turns + turning * attention.turns_stride + rows.first * width
        turned = TurnedRows(points, stride, rows.length, width // 2, turns, written.first, written.stride)
        turn_rows(written_numbers(layout), memory, weights, turned)
    elif not is_rounded_later:
        memory[step.rooms.one] = 1.0
        scaled = ScaledRows(points, stride, rows.length, width, step.rooms.one, 0, written.first, written.stride)
        scale_rows(written_numbers(layout), memory, weights, scaled)
    if is_rounded_later:
        memory[out.factors : out.factors + rows.length] = 1.0
        round_points(layout, memory, written, width, LARGEST if head < heads else attention.largest_key, out)


@kernel
def _pack_keys(layout: Layout, step: Step, memory: Array, head: int) -> None:
    """Write the keys of a head as the right side of a product."""
    lanes, of_head = layout.lanes, _head_rows(layout, step)
    keys = step.rooms.keys + head * of_head.length * of_head.stride
    rows = of_head.first + (step.attention.heads + head) * of_head.length * of_head.stride
    vectors = of_head.length // lanes
    panels = panels_of(layout, vectors)
    for panel in range(panels):
        begin, end = panel_bounds(panel, panels, vectors)
        place = begin * lanes * of_head.stride
        packed = PackedKeys(rows + place, of_head.stride, end - begin, of_head.stride, keys + place)
        pack_keys(written_numbers(layout), memory, memory, packed)


@kernel
def _pack_integer_values(layout: Layout, step: Step, memory: Array, head: int) -> None:
    """Write the values of a head in int16 as the right side of a product."""
    attention, rooms, lanes, rows = step.attention, step.rooms, layout.lanes, _value_rows(layout)
    width = attention.value_width
    vectors = width // lanes
    panels = panels_of(layout, vectors)
    for panel in range(panels):
        begin, end = panel_bounds(panel, panels, vectors)
        channel = begin * lanes
        packed = IntegerValues(
            points=rooms.value_rows + head * width + channel,
            stride=attention.kv_heads * width,
            rows=layout.width * layout.height,
            channels=(end - begin) * lanes,
            factors=rooms.value_factors + head * width + channel,
            out=rooms.values + head * rows * width + channel * rows,
        )
        pack_integer_values(rounding_of(layout.numbers), memory, memory, packed)


@kernel
def _answer(layout: Layout, step: Step, memory: Array, head: int, first: int, count: int) -> None:
    """Write the answers to the queries first..first+count-1 of a head, as operands or, if these are int16, float32."""
    area, attention, rooms = layout.width * layout.height, step.attention, step.rooms
    of_head, width = _head_rows(layout, step), attention.value_width
    shared, keys = head // (attention.heads // attention.kv_heads), of_head.length
    place, stride = head * keys + first, of_head.stride
    queries = Operands(of_head.first + place * stride, stride, count, rooms.head_factors + place)
    factors = rooms.head_factors + (attention.heads + shared) * keys
    right = RightSide(rooms.keys + shared * keys * stride, stride, factors)
    values = RightSide(
        rooms.values + shared * _value_rows(layout) * width, _value_rows(layout), rooms.value_factors + shared * width
    )
    chances = Operands(rooms.chances, floats_of(layout, keys), count, rooms.factors)
    if are_integers(layout):
        _multiply_inside(layout, memory, queries, right, PointRows(rooms.scores, keys, keys))
        scores = Operands(rooms.scores, keys, count, rooms.factors)
        _soften(layout, step, memory, scores, scores, _Keys(area, 1, 1))
        shares = IntegerShares(rooms.scores, keys, count, area, rooms.factors, chances.first, chances.stride)
        round_shares(rounding_of(layout.numbers), memory, memory, shares)
        channels = attention.heads * width
        out = PointRows(rooms.floats + first * channels + head * width, channels, width)
        _multiply_inside(layout, memory, chances, values, out)
        return
    if layout.numbers == TILED:
        _soften_by_panels(layout, step, memory, queries, right, chances)
    else:
        _multiply_inside(layout, memory, queries, right, PointRows(rooms.scores, keys, keys))
        scores = Operands(rooms.scores, keys, count, rooms.factors)
        _soften(layout, step, memory, scores, chances, _Keys(area, 1, 1))
    _multiply_inside(layout, memory, chances, values, PointRows(rooms.answers, width, width))
    stride = floats_of(layout, attention.heads * width)
    out_first = rooms.operands + first * stride + floats_of(layout, head * width)
    scaled = ScaledRows(rooms.answers, width, count, width, rooms.factors, 1, out_first, stride)
    scale_rows(written_numbers(layout), memory, memory, scaled)


class _Keys(NamedTuple):
    """Some keys of each row of scores; begins, ends: whether they are its first and its last ones."""

    length: int
    begins: int
    ends: int


@kernel
def _soften(layout: Layout, step: Step, memory: Array, scores: Operands, out: Operands, keys: _Keys) -> None:
    """Write the softmax of scores as operands, see `rows.SoftenedRows`."""
    softened = SoftenedRows(
        scores=scores.first,
        stride=scores.stride,
        rows=scores.length,
        keys=keys.length,
        out=out.first,
        out_stride=out.stride,
        highest=step.rooms.highest,
        totals=step.rooms.totals,
        factors=step.rooms.factors,
        begins=keys.begins,
        ends=keys.ends,
    )
    soften_rows(function_numbers(layout), memory, memory, softened)


@kernel
def _soften_by_panels(
    layout: Layout, step: Step, memory: Array, queries: Operands, right: RightSide, chances: Operands
) -> None:
    """Write the softmax of the scores of some queries, panel by panel of keys."""
    # A panel of scores stays in the nearest cache, those of all keys of 19x19 with their keys do not. With their
    # answers, 32 queries take 3.7 us instead of 4.4.
    lanes, area, keys = layout.lanes, layout.width * layout.height, 2 * chances.stride
    vectors = keys // lanes
    panels = panels_of(layout, vectors)
    for panel in range(panels):
        begin, end = panel_bounds(panel, panels, vectors)
        key, width = begin * lanes, (end - begin) * lanes
        columns = RightSide(right.first + key * right.k, right.k, right.factors)
        out = Results(step.rooms.scores, width, end - begin)
        multiply_operands(layout.numbers, memory, memory, queries, columns, out, 0)
        scores = Operands(step.rooms.scores, width, queries.length, 0)
        part = Operands(chances.first + key // 2, chances.stride, queries.length, 0)
        found = _Keys(min(area, end * lanes) - key, 1 if panel == 0 else 0, 1 if panel == panels - 1 else 0)
        _soften(layout, step, memory, scores, part, found)
    # Beyond the whole vectors of keys: any number but NaN, for it is multiplied by the zeros of `_fill_values`.
    written = (area + lanes - 1) // lanes * lanes // 2
    for row in range(queries.length):
        for place in range(written, chances.stride):
            memory[chances.first + row * chances.stride + place] = 0.0


@kernel
def _multiply_inside(layout: Layout, memory: Array, rows: Operands, right: RightSide, out: PointRows) -> None:
    """Write the product of rows and a matrix that is in memory, too; out.length: numbers in a row of the result."""
    lanes = layout.lanes
    vectors = out.length // lanes
    panels = panels_of(layout, vectors)
    for panel in range(panels):
        begin, end = panel_bounds(panel, panels, vectors)
        channel = begin * lanes
        columns = RightSide(right.first + channel * right.k, right.k, right.factors + channel)
        results = Results(out.first + channel, out.stride, end - begin)
        multiply_operands(layout.numbers, memory, memory, rows, columns, results, 0)
