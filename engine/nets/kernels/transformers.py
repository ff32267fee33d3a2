"""The kernels that compute the blocks of transformers: attention and feed forward, see docs/kernels.md.

The points of all positions are rows that follow each other. "Operands" are what matrix products read: float32, or
pairs of bf16 or int16 in the place of a float32, see `engine.nets.kernels.rows`. Those in int16 are computed in float32
first, and rounded when the largest number of a row is known, see `engine.nets.kernels.integer_rows`.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from engine.native.jit import kernel
from engine.nets.kernels.code import INTEGERS, ROUNDED, TILED
from engine.nets.kernels.integer_rows import (
    LARGEST,
    PANEL,
    IntegerRows,
    IntegerShares,
    IntegerValues,
    pack_integer_values,
    round_rows,
    round_shares,
)
from engine.nets.kernels.plan import Layout, Step
from engine.nets.kernels.products import Operands, Results, RightSide, multiply_operands, panel_bounds
from engine.nets.kernels.rows import (
    GatedRows,
    PackedKeys,
    PackedValues,
    ScaledRows,
    SoftenedRows,
    Squares,
    TurnedRows,
    gate_rows,
    pack_keys,
    pack_values,
    scale_rows,
    soften_rows,
    sum_squares,
    turn_rows,
)
from engine.nets.kernels.tiled_rows import TileUse, set_tiles
from engine.nets.kernels.tiles import DEPTH
from engine.nets.kernels.vectors import WIDEST_PANEL
from engine.nets.spec import Array

CHUNK = 32
"""Most rows that are multiplied by a matrix at a time; even."""
TILED_CHUNK = 64
"""The same by tiles, which read more weights in the time of a product."""
INTEGER_CHUNK = 24
"""The same for rows of int16: whole blocks of rows, whose numbers in float32 and int16 are in the nearest cache."""
QUERIES = 32
"""Most queries whose scores are computed at a time: whole blocks of rows of vectors and of tiles."""
ROWS_TOGETHER = 400
"""Rows of a feed forward block from which on positions are computed one by one: more would not fit in the cache."""
_LONG, _SHORT = WIDEST_PANEL[16], WIDEST_PANEL[8]

Matrix: TypeAlias = Any
"""A record of MATRIX; NumPy has no type for its fields."""


class _Rows(NamedTuple):
    """Rows in memory: index of the first, floats from one to the next, and their number."""

    first: int
    stride: int
    length: int


@kernel
def _is_paired(layout: Layout) -> bool:
    """Return whether two operands take the place of a float."""
    return layout.numbers in (ROUNDED, INTEGERS, TILED)


@kernel
def _floats(layout: Layout, numbers: int) -> int:
    """Return the floats that take the place of operands."""
    return numbers // 2 if _is_paired(layout) else numbers


@kernel
def _written(layout: Layout) -> int:
    """Return what functions on rows are called with: operands in a vector or, before they are int16, float32."""
    if layout.numbers == TILED:
        return ROUNDED
    return layout.lanes if layout.numbers == INTEGERS else layout.numbers


@kernel
def _chunk(layout: Layout) -> int:
    """Return the most rows that are multiplied by a matrix at a time."""
    if layout.numbers == TILED:
        return TILED_CHUNK
    return INTEGER_CHUNK if layout.numbers == INTEGERS else CHUNK


@kernel
def _value_rows(layout: Layout) -> int:
    """Return the rows of packed values: points or, in bf16, pairs of them."""
    area = layout.width * layout.height
    if layout.numbers == TILED:
        return _whole_tiles(area) // 2
    return (area + 1) // 2 if _is_paired(layout) else area


@kernel
def _whole_tiles(numbers: int) -> int:
    """Round up to the numbers of whole tiles, which products by tiles multiply."""
    return (numbers + DEPTH - 1) // DEPTH * DEPTH


@kernel
def _use_tiles(layout: Layout, memory: Array, begins: int) -> None:
    """Prepare the tiles for the products of a step, or clear them afterwards."""
    if layout.numbers == TILED:
        set_tiles(TILED, memory, memory, TileUse(begins))


@kernel
def _panels_of(layout: Layout, vectors: int) -> int:
    """Return the number of panels of a row, as `packing.panels_of` does."""
    widest = PANEL if layout.numbers == INTEGERS else _LONG if layout.lanes == 16 else _SHORT
    return (vectors + widest - 1) // widest


@kernel
def normalize_rows(layout: Layout, step: Step, memory: Array, count: int) -> None:
    """Divide the rows of all positions by the root of the mean of their squares, in place."""
    area, stride, factors = layout.width * layout.height, step.source.stride, step.rooms.factors
    for position in range(count):
        rows = _Rows(step.source.first + position * area * stride, stride, area)
        _write_factors(layout.lanes, step, memory, rows, factors)
        scaled = ScaledRows(rows.first, stride, area, step.channels, factors, 1, rows.first, stride)
        scale_rows(layout.lanes, memory, memory, scaled)


@kernel
def _write_factors(numbers: int, step: Step, memory: Array, rows: _Rows, factors: int) -> None:
    """Write 1 / root of the mean of the squares of each row of a position."""
    count = rows.length
    sum_squares(numbers, memory, memory, Squares(rows.first, rows.stride, count, step.channels, factors))
    if step.is_spatial:
        total = 0.0
        for row in range(count):
            total += memory[factors + row]
        memory[factors : factors + count] = total / count
    for row in range(count):
        memory[factors + row] = 1.0 / np.sqrt(memory[factors + row] / step.inner + step.epsilon)


@kernel
def _normalize(layout: Layout, step: Step, memory: Array, rows: _Rows, out: Operands) -> None:
    """Write the rows of a position as operands, divided by the root of the mean of their squares."""
    _write_factors(_written(layout), step, memory, rows, out.factors)
    if layout.numbers == INTEGERS:
        _round(memory, rows, step.channels, LARGEST, out)
        return
    scaled = ScaledRows(rows.first, rows.stride, rows.length, step.channels, out.factors, 1, out.first, out.stride)
    scale_rows(_written(layout), memory, memory, scaled)


@kernel
def _round(memory: Array, rows: _Rows, channels: int, largest: int, out: Operands) -> None:
    """Write rows as int16, and multiply their factors by what an integer of each stands for."""
    rounded = IntegerRows(rows.first, rows.stride, rows.length, channels, largest, out.factors, out.first, out.stride)
    round_rows(INTEGERS, memory, memory, rounded)


@kernel
def feed_forward(layout: Layout, step: Step, weights: Array, memory: Array, count: int) -> None:
    """Add contract(activation(expand(h)) * gate(h)) to the rows of all positions, with h the normalized rows."""
    area, stride, operands = layout.width * layout.height, step.source.stride, _floats(layout, step.channels)
    rooms, chunk, together = step.rooms, _chunk(layout), max(1, ROWS_TOGETHER // area)
    _use_tiles(layout, memory, 1)
    for begin in range(0, count, together):
        positions = min(together, count - begin)
        first = step.source.first + begin * area * stride
        for position in range(positions):
            rows, before = _Rows(first + position * area * stride, stride, area), position * area
            out = Operands(rooms.units + before * operands, operands, area, rooms.factors + before)
            _normalize(layout, step, memory, rows, out)
        for row in range(0, positions * area, chunk):
            length = min(chunk, positions * area - row)
            units = Operands(rooms.units + row * operands, operands, length, rooms.factors + row)
            wide = _expand(layout, step, weights, memory, units)
            _multiply(layout, step.second, weights, memory, wide, _Rows(first + row * stride, stride, length), 1)
    _use_tiles(layout, memory, 0)


@kernel
def _expand(layout: Layout, step: Step, weights: Array, memory: Array, rows: Operands) -> Operands:
    """Compute activation(expand(h)) * gate(h) as operands, for rows h of operands."""
    lanes, matrix, rooms = layout.lanes, step.first, step.rooms
    vectors, panels, parts = matrix.channels // lanes, matrix.panels, 2 if step.is_gated else 1
    is_rounded_later = layout.numbers == INTEGERS
    out, out_stride = rooms.operands, _floats(layout, matrix.channels)
    if is_rounded_later:
        out, out_stride = rooms.floats, matrix.channels
    for panel in range(panels):
        begin, end = panel_bounds(panel, panels, vectors)
        width = (end - begin) * parts * lanes
        sums = _Rows(rooms.sums, width, rows.length)
        _multiply_panel(layout, matrix, weights, memory, rows, sums, _Panel(begin * parts * lanes, width, 0))
        gated = GatedRows(
            activation=step.activation,
            is_gated=step.is_gated,
            points=sums.first,
            stride=width,
            rows=rows.length,
            channels=(end - begin) * lanes,
            out=out + (begin * lanes if is_rounded_later else _floats(layout, begin * lanes)),
            out_stride=out_stride,
        )
        gate_rows(_written(layout), memory, weights, gated)
    wide = Operands(rooms.operands, _floats(layout, matrix.channels), rows.length, rooms.head_factors)
    if is_rounded_later:
        memory[wide.factors : wide.factors + rows.length] = 1.0
        _round(memory, _Rows(out, out_stride, rows.length), matrix.channels, LARGEST, wide)
    return wide


class _Panel(NamedTuple):
    """A panel of a matrix: its first channel, its number of channels, and whether the product is added to `out`."""

    channel: int
    width: int
    adds: int


@kernel
def _multiply(
    layout: Layout, matrix: Matrix, weights: Array, memory: Array, rows: Operands, out: _Rows, adds: int
) -> None:
    """Write rows times a matrix, plus its bias, to `out`, or add it there."""
    lanes, panels = layout.lanes, matrix.panels
    vectors = matrix.channels // lanes
    for panel in range(panels):
        begin, end = panel_bounds(panel, panels, vectors)
        part = _Rows(out.first + begin * lanes, out.stride, out.length)
        _multiply_panel(layout, matrix, weights, memory, rows, part, _Panel(begin * lanes, (end - begin) * lanes, adds))


@kernel
def _multiply_panel(
    layout: Layout, matrix: Matrix, weights: Array, memory: Array, rows: Operands, out: _Rows, panel: _Panel
) -> None:
    """Write rows times a panel of a matrix, plus its bias, to `out`, or add it there."""
    adds = panel.adds
    if matrix.bias >= 0:
        bias = matrix.bias + panel.channel
        for row in range(rows.length):
            for channel in range(panel.width):
                place = out.first + row * out.stride + channel
                memory[place] = weights[bias + channel] + (memory[place] if adds else 0.0)
        adds = 1
    right = RightSide(matrix.weights + panel.channel * matrix.k, matrix.k, matrix.steps + panel.channel)
    results = Results(out.first, out.stride, panel.width // layout.lanes)
    multiply_operands(layout.numbers, memory, weights, rows, right, results, adds)


@kernel
def attend(layout: Layout, step: Step, weights: Array, memory: Array, count: int) -> None:
    """Add the output of an attention block to the rows of all positions."""
    area, stride, operands = layout.width * layout.height, step.source.stride, _floats(layout, step.channels)
    attention, rooms, chunk = step.attention, step.rooms, _chunk(layout)
    _use_tiles(layout, memory, 1)
    for position in range(count):
        rows = _Rows(step.source.first + position * area * stride, stride, area)
        _normalize(layout, step, memory, rows, Operands(rooms.units, operands, area, rooms.factors))
        for first in range(0, area, chunk):
            length = min(chunk, area - first)
            units = Operands(rooms.units + first * operands, operands, length, rooms.factors + first)
            sums = _Rows(rooms.sums, step.first.channels, length)
            _multiply(layout, step.first, weights, memory, units, sums, 0)
            _split_heads(layout, step, weights, memory, first, length)
        if layout.numbers == TILED:
            _fill_values(layout, step, memory)
        for head in range(attention.kv_heads):
            _pack_keys(layout, step, memory, head)
            if layout.numbers == INTEGERS:
                _pack_integer_values(layout, step, memory, head)
        for head in range(attention.heads):
            for first in range(0, area, QUERIES):
                _answer(layout, step, memory, head, first, min(QUERIES, area - first))
        channels = attention.heads * attention.value_width
        mixed = Operands(rooms.operands, _floats(layout, channels), area, rooms.factors)
        if layout.numbers == INTEGERS:
            memory[mixed.factors : mixed.factors + area] = 1.0
            _round(memory, _Rows(rooms.floats, channels, area), channels, LARGEST, mixed)
        _multiply(layout, step.second, weights, memory, mixed, rows, 1)
    _use_tiles(layout, memory, 0)


@kernel
def _head_rows(layout: Layout, step: Step) -> _Rows:
    """Return the rows of the first head of queries; those of the others, and of the keys, follow them."""
    area, lanes = layout.width * layout.height, layout.lanes
    # Whole vectors of keys are packed, and whole tiles are multiplied, so that there is room for some more.
    length = _whole_tiles(area) if layout.numbers == TILED else (area + lanes - 1) // lanes * lanes
    return _Rows(step.rooms.heads, _floats(layout, step.attention.query_width), length)


@kernel
def _split_heads(layout: Layout, step: Step, weights: Array, memory: Array, first: int, count: int) -> None:
    """Write the sums of points first..first+count-1 as queries and keys of each head, rotated, and packed values.

    Operands in int16 have values in float32 here, which `_pack_integer_values` packs.
    """
    attention = step.attention
    for head in range(attention.heads + attention.kv_heads):
        _write_head(layout, step, weights, memory, head, _Rows(first, 0, count))
    begin_of_values = step.rooms.sums + (attention.heads + attention.kv_heads) * attention.query_width
    stride, lanes = step.first.channels, layout.lanes
    if layout.numbers == INTEGERS:
        memory[step.rooms.one] = 1.0
        width = attention.kv_heads * attention.value_width
        out = step.rooms.value_rows + first * width
        copied = ScaledRows(begin_of_values, stride, count, width, step.rooms.one, 0, out, width)
        scale_rows(lanes, memory, weights, copied)
        return
    vectors, rows = attention.value_width // lanes, _value_rows(layout)
    panels = _panels_of(layout, vectors)
    for head in range(attention.kv_heads):
        points = begin_of_values + head * attention.value_width
        values = step.rooms.values + head * rows * attention.value_width
        for panel in range(panels):
            begin, end = panel_bounds(panel, panels, vectors)
            channel, channels = begin * lanes, (end - begin) * lanes
            out = values + channel * rows + _floats(layout, first) * channels
            packed = PackedValues(count, points + channel, stride, channels, out)
            pack_values(_written(layout), memory, weights, packed)


@kernel
def _fill_values(layout: Layout, step: Step, memory: Array) -> None:
    """Write zeros below the last point of packed values: tiles have more rows than there are points."""
    lanes, width, rows = layout.lanes, step.attention.value_width, _value_rows(layout)
    filled, panels = (layout.width * layout.height + 1) // 2, _panels_of(layout, width // lanes)
    for head in range(step.attention.kv_heads):
        for panel in range(panels):
            begin, end = panel_bounds(panel, panels, width // lanes)
            first, channels = step.rooms.values + (head * width + begin * lanes) * rows, (end - begin) * lanes
            memory[first + filled * channels : first + rows * channels] = 0.0


@kernel
def _write_head(layout: Layout, step: Step, weights: Array, memory: Array, head: int, rows: _Rows) -> None:
    """Write the sums of some points as rotated queries of a head, or as keys, whose heads follow."""
    attention, of_head = step.attention, _head_rows(layout, step)
    heads, width, stride = attention.heads, attention.query_width, step.first.channels
    points, place = step.rooms.sums + head * width, head * of_head.length + rows.first
    out = Operands(of_head.first + place * of_head.stride, of_head.stride, rows.length, step.rooms.head_factors + place)
    is_rounded_later = layout.numbers == INTEGERS
    written = _Rows(points if is_rounded_later else out.first, stride if is_rounded_later else out.stride, rows.length)
    if attention.is_turned:
        turning = head // (heads // attention.kv_heads) if head < heads else head - heads
        turns = attention.turns + turning * attention.turns_stride + rows.first * width
        turned = TurnedRows(points, stride, rows.length, width // 2, turns, written.first, written.stride)
        turn_rows(_written(layout), memory, weights, turned)
    elif not is_rounded_later:
        memory[step.rooms.one] = 1.0
        scaled = ScaledRows(points, stride, rows.length, width, step.rooms.one, 0, written.first, written.stride)
        scale_rows(_written(layout), memory, weights, scaled)
    if is_rounded_later:
        memory[out.factors : out.factors + rows.length] = 1.0
        _round(memory, written, width, LARGEST if head < heads else attention.largest_key, out)


@kernel
def _pack_keys(layout: Layout, step: Step, memory: Array, head: int) -> None:
    """Write the keys of a head as the right side of a product."""
    lanes, of_head = layout.lanes, _head_rows(layout, step)
    keys = step.rooms.keys + head * of_head.length * of_head.stride
    rows = of_head.first + (step.attention.heads + head) * of_head.length * of_head.stride
    vectors = of_head.length // lanes
    panels = _panels_of(layout, vectors)
    for panel in range(panels):
        begin, end = panel_bounds(panel, panels, vectors)
        place = begin * lanes * of_head.stride
        packed = PackedKeys(rows + place, of_head.stride, end - begin, of_head.stride, keys + place)
        pack_keys(_written(layout), memory, memory, packed)


@kernel
def _pack_integer_values(layout: Layout, step: Step, memory: Array, head: int) -> None:
    """Write the values of a head in int16 as the right side of a product."""
    attention, rooms, lanes, rows = step.attention, step.rooms, layout.lanes, _value_rows(layout)
    width = attention.value_width
    vectors = width // lanes
    panels = _panels_of(layout, vectors)
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
        pack_integer_values(INTEGERS, memory, memory, packed)


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
    chances = Operands(rooms.chances, _floats(layout, keys), count, rooms.factors)
    if layout.numbers == INTEGERS:
        _multiply_inside(layout, memory, queries, right, _Rows(rooms.scores, keys, keys))
        scores = Operands(rooms.scores, keys, count, rooms.factors)
        _soften(layout, step, memory, scores, scores, _Keys(area, 1, 1))
        shares = IntegerShares(rooms.scores, keys, count, area, rooms.factors, chances.first, chances.stride)
        round_shares(INTEGERS, memory, memory, shares)
        channels = attention.heads * width
        out = _Rows(rooms.floats + first * channels + head * width, channels, width)
        _multiply_inside(layout, memory, chances, values, out)
        return
    if layout.numbers == TILED:
        _soften_by_panels(layout, step, memory, queries, right, chances)
    else:
        _multiply_inside(layout, memory, queries, right, _Rows(rooms.scores, keys, keys))
        scores = Operands(rooms.scores, keys, count, rooms.factors)
        _soften(layout, step, memory, scores, chances, _Keys(area, 1, 1))
    _multiply_inside(layout, memory, chances, values, _Rows(rooms.answers, width, width))
    stride = _floats(layout, attention.heads * width)
    out_first = rooms.operands + first * stride + _floats(layout, head * width)
    scaled = ScaledRows(rooms.answers, width, count, width, rooms.factors, 1, out_first, stride)
    scale_rows(_written(layout), memory, memory, scaled)


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
    soften_rows(_written(layout), memory, memory, softened)


@kernel
def _soften_by_panels(
    layout: Layout, step: Step, memory: Array, queries: Operands, right: RightSide, chances: Operands
) -> None:
    """Write the softmax of the scores of some queries, panel by panel of keys."""
    # A panel of scores stays in the nearest cache, those of all keys of 19x19 with their keys do not: 2.5 us instead of
    # 4.1 for 32 queries.
    lanes, area, keys = layout.lanes, layout.width * layout.height, 2 * chances.stride
    vectors = keys // lanes
    panels = _panels_of(layout, vectors)
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
def _multiply_inside(layout: Layout, memory: Array, rows: Operands, right: RightSide, out: _Rows) -> None:
    """Write the product of rows and a matrix that is in memory, too; out.length: numbers in a row of the result."""
    lanes = layout.lanes
    vectors = out.length // lanes
    panels = _panels_of(layout, vectors)
    for panel in range(panels):
        begin, end = panel_bounds(panel, panels, vectors)
        channel = begin * lanes
        columns = RightSide(right.first + channel * right.k, right.k, right.factors + channel)
        results = Results(out.first + channel, out.stride, end - begin)
        multiply_operands(layout.numbers, memory, memory, rows, columns, results, 0)
