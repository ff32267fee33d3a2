"""The kernels that compute the blocks of transformers: attention and feed forward, see docs/kernels.md.

The points of all positions are rows that follow each other. "Operands" are what matrix products read, see
`engine.nets.kernels.rows`.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from engine.native.jit import kernel
from engine.nets.kernels.code import ROUNDED
from engine.nets.kernels.plan import Layout, Step
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
from engine.nets.kernels.vectors import WIDEST_PANEL, Product, multiply_rows
from engine.nets.spec import Array

CHUNK = 32
"""Most rows that are multiplied by a matrix at a time; even."""
QUERIES = 24
"""Most queries whose scores are computed at a time."""
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
def _floats(layout: Layout, numbers: int) -> int:
    """Return the floats that take the place of operands."""
    return numbers // 2 if layout.numbers == ROUNDED else numbers


@kernel
def _value_rows(layout: Layout) -> int:
    """Return the rows of packed values: points or, in bf16, pairs of them."""
    area = layout.width * layout.height
    return (area + 1) // 2 if layout.numbers == ROUNDED else area


@kernel
def _panels_of(layout: Layout, vectors: int) -> int:
    """Return the number of panels of a row, as `packing.panels_of` does."""
    widest = _LONG if layout.lanes == 16 else _SHORT
    return (vectors + widest - 1) // widest


@kernel
def normalize_rows(layout: Layout, step: Step, memory: Array, count: int) -> None:
    """Divide the rows of all positions by the root of the mean of their squares, in place."""
    area = layout.width * layout.height
    for position in range(count):
        rows = _Rows(step.source.first + position * area * step.source.stride, step.source.stride, area)
        _normalize(layout.lanes, step, memory, rows, rows)


@kernel
def _normalize(numbers: int, step: Step, memory: Array, rows: _Rows, out: _Rows) -> None:
    """Write the rows of a position as operands, divided by the root of the mean of their squares."""
    factors, count = step.rooms.factors, rows.length
    sum_squares(numbers, memory, memory, Squares(rows.first, rows.stride, count, step.channels, factors))
    if step.is_spatial:
        total = 0.0
        for row in range(count):
            total += memory[factors + row]
        memory[factors : factors + count] = total / count
    for row in range(count):
        memory[factors + row] = 1.0 / np.sqrt(memory[factors + row] / step.inner + step.epsilon)
    scaled = ScaledRows(rows.first, rows.stride, count, step.channels, factors, 1, out.first, out.stride)
    scale_rows(numbers, memory, memory, scaled)


@kernel
def feed_forward(layout: Layout, step: Step, weights: Array, memory: Array, count: int) -> None:
    """Add contract(activation(expand(h)) * gate(h)) to the rows of all positions, with h the normalized rows."""
    area, stride, operands = layout.width * layout.height, step.source.stride, _floats(layout, step.channels)
    hidden = _floats(layout, step.first.channels)
    together = max(1, ROWS_TOGETHER // area)
    for begin in range(0, count, together):
        positions = min(together, count - begin)
        first = step.source.first + begin * area * stride
        for position in range(positions):
            rows = _Rows(first + position * area * stride, stride, area)
            units = step.rooms.units + position * area * operands
            _normalize(layout.numbers, step, memory, rows, _Rows(units, operands, area))
        for row in range(0, positions * area, CHUNK):
            length = min(CHUNK, positions * area - row)
            _expand(layout, step, weights, memory, _Rows(step.rooms.units + row * operands, operands, length))
            wide = _Rows(step.rooms.operands, hidden, length)
            _multiply(layout, step.second, weights, memory, wide, _Rows(first + row * stride, stride, length), 1)


@kernel
def _expand(layout: Layout, step: Step, weights: Array, memory: Array, rows: _Rows) -> None:
    """Write activation(expand(h)) * gate(h) as operands, for rows h of operands."""
    lanes, matrix = layout.lanes, step.first
    vectors, panels, parts = matrix.channels // lanes, matrix.panels, 2 if step.is_gated else 1
    for panel in range(panels):
        begin, end = panel * vectors // panels, (panel + 1) * vectors // panels
        width = (end - begin) * parts * lanes
        sums = _Rows(step.rooms.sums, width, rows.length)
        _multiply_panel(layout, matrix, weights, memory, rows, sums, _Panel(begin * parts * lanes, width, 0))
        gated = GatedRows(
            activation=step.activation,
            is_gated=step.is_gated,
            points=sums.first,
            stride=width,
            rows=rows.length,
            channels=(end - begin) * lanes,
            out=step.rooms.operands + _floats(layout, begin * lanes),
            out_stride=_floats(layout, matrix.channels),
        )
        gate_rows(layout.numbers, memory, weights, gated)


class _Panel(NamedTuple):
    """A panel of a matrix: its first channel, its number of channels, and whether the product is added to `out`."""

    channel: int
    width: int
    adds: int


@kernel
def _multiply(
    layout: Layout, matrix: Matrix, weights: Array, memory: Array, rows: _Rows, out: _Rows, adds: int
) -> None:
    """Write rows times a matrix, plus its bias, to `out`, or add it there."""
    lanes, panels = layout.lanes, matrix.panels
    vectors = matrix.channels // lanes
    for panel in range(panels):
        begin, end = panel * vectors // panels, (panel + 1) * vectors // panels
        part = _Rows(out.first + begin * lanes, out.stride, out.length)
        _multiply_panel(layout, matrix, weights, memory, rows, part, _Panel(begin * lanes, (end - begin) * lanes, adds))


@kernel
def _multiply_panel(
    layout: Layout, matrix: Matrix, weights: Array, memory: Array, rows: _Rows, out: _Rows, panel: _Panel
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
    product = Product(
        panel=panel.width // layout.lanes,
        left=rows.first,
        left_stride=rows.stride,
        rows=rows.length,
        parts=1,
        part_stride=0,
        k=matrix.k,
        right=matrix.weights + panel.channel * matrix.k,
        out=out.first,
        out_stride=out.stride,
        adds=adds,
    )
    multiply_rows(layout.numbers, memory, weights, product)


@kernel
def attend(layout: Layout, step: Step, weights: Array, memory: Array, count: int) -> None:
    """Add the output of an attention block to the rows of all positions."""
    area, stride, operands = layout.width * layout.height, step.source.stride, _floats(layout, step.channels)
    attention = step.attention
    mixed = _Rows(step.rooms.operands, _floats(layout, attention.heads * attention.value_width), area)
    for position in range(count):
        rows = _Rows(step.source.first + position * area * stride, stride, area)
        _normalize(layout.numbers, step, memory, rows, _Rows(step.rooms.units, operands, area))
        for first in range(0, area, CHUNK):
            length = min(CHUNK, area - first)
            units = _Rows(step.rooms.units + first * operands, operands, length)
            sums = _Rows(step.rooms.sums, step.first.channels, length)
            _multiply(layout, step.first, weights, memory, units, sums, 0)
            _split_heads(layout, step, weights, memory, first, length)
        for head in range(attention.kv_heads):
            _pack_keys(layout, step, memory, head)
        for head in range(attention.heads):
            for first in range(0, area, QUERIES):
                _answer(layout, step, memory, head, first, min(QUERIES, area - first))
        _multiply(layout, step.second, weights, memory, mixed, rows, 1)


@kernel
def _head_rows(layout: Layout, step: Step) -> _Rows:
    """Return the rows of the first head of queries; those of the others, and of the keys, follow them."""
    area, lanes = layout.width * layout.height, layout.lanes
    # Whole vectors of keys are packed, so that there is room for some more.
    return _Rows(step.rooms.heads, _floats(layout, step.attention.query_width), (area + lanes - 1) // lanes * lanes)


@kernel
def _split_heads(layout: Layout, step: Step, weights: Array, memory: Array, first: int, count: int) -> None:
    """Write the sums of points first..first+count-1 as queries and keys of each head, rotated, and packed values."""
    numbers, attention = layout.numbers, step.attention
    heads, width, stride = attention.heads, attention.query_width, step.first.channels
    group, of_head = heads // attention.kv_heads, _head_rows(layout, step)
    memory[step.rooms.factors] = 1.0
    for head in range(heads + attention.kv_heads):
        points = step.rooms.sums + head * width
        out = of_head.first + (head * of_head.length + first) * of_head.stride
        if attention.is_turned:
            turning = head // group if head < heads else head - heads
            turns = attention.turns + turning * attention.turns_stride + first * width
            turned = TurnedRows(points, stride, count, width // 2, turns, out, of_head.stride)
            turn_rows(numbers, memory, weights, turned)
        else:
            scaled = ScaledRows(points, stride, count, width, step.rooms.factors, 0, out, of_head.stride)
            scale_rows(numbers, memory, weights, scaled)
    begin_of_values, lanes = step.rooms.sums + (heads + attention.kv_heads) * width, layout.lanes
    vectors, rows = attention.value_width // lanes, _value_rows(layout)
    panels = _panels_of(layout, vectors)
    for head in range(attention.kv_heads):
        points = begin_of_values + head * attention.value_width
        values = step.rooms.values + head * rows * attention.value_width
        for panel in range(panels):
            begin, end = panel * vectors // panels * lanes, (panel + 1) * vectors // panels * lanes
            out = values + begin * rows + _floats(layout, first) * (end - begin)
            packed = PackedValues(count, points + begin, stride, end - begin, out)
            pack_values(numbers, memory, weights, packed)


@kernel
def _pack_keys(layout: Layout, step: Step, memory: Array, head: int) -> None:
    """Write the keys of a head as the right side of a product."""
    lanes, of_head = layout.lanes, _head_rows(layout, step)
    keys = step.rooms.keys + head * of_head.length * of_head.stride
    rows = of_head.first + (step.attention.heads + head) * of_head.length * of_head.stride
    vectors = of_head.length // lanes
    panels = _panels_of(layout, vectors)
    for panel in range(panels):
        begin, end = panel * vectors // panels, (panel + 1) * vectors // panels
        place = begin * lanes * of_head.stride
        packed = PackedKeys(rows + place, of_head.stride, end - begin, of_head.stride, keys + place)
        pack_keys(layout.numbers, memory, memory, packed)


@kernel
def _answer(layout: Layout, step: Step, memory: Array, head: int, first: int, count: int) -> None:
    """Write the answers to the queries first..first+count-1 of a head, as operands."""
    area, numbers, attention = layout.width * layout.height, layout.numbers, step.attention
    of_head, rooms = _head_rows(layout, step), step.rooms
    shared, keys, width = head // (attention.heads // attention.kv_heads), of_head.length, attention.value_width
    queries = _Rows(of_head.first + (head * keys + first) * of_head.stride, of_head.stride, count)
    right = rooms.keys + shared * keys * of_head.stride
    _multiply_inside(layout, memory, queries, of_head.stride, right, _Rows(rooms.scores, keys, keys))
    softened = SoftenedRows(rooms.scores, keys, count, area, rooms.chances, _floats(layout, keys), rooms.factors)
    soften_rows(numbers, memory, memory, softened)
    chances = _Rows(rooms.chances, _floats(layout, keys), count)
    right = rooms.values + shared * _value_rows(layout) * width
    _multiply_inside(layout, memory, chances, _value_rows(layout), right, _Rows(rooms.answers, width, width))
    stride = _floats(layout, attention.heads * width)
    out = rooms.operands + first * stride + _floats(layout, head * width)
    scale_rows(numbers, memory, memory, ScaledRows(rooms.answers, width, count, width, rooms.factors, 1, out, stride))


@kernel
def _multiply_inside(layout: Layout, memory: Array, rows: _Rows, k: int, right: int, out: _Rows) -> None:
    """Write the product of rows and a matrix that is in memory, too; out.length: numbers in a row of the result."""
    lanes = layout.lanes
    vectors = out.length // lanes
    panels = _panels_of(layout, vectors)
    for panel in range(panels):
        begin, end = panel * vectors // panels, (panel + 1) * vectors // panels
        product = Product(
            panel=end - begin,
            left=rows.first,
            left_stride=rows.stride,
            rows=rows.length,
            parts=1,
            part_stride=0,
            k=k,
            right=right + begin * lanes * k,
            out=out.first + begin * lanes,
            out_stride=out.stride,
            adds=0,
        )
        multiply_rows(layout.numbers, memory, memory, product)
