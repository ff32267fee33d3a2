"""The kernels that compute the blocks of transformers: what all share, and feed forward; see docs/kernels.md.

The points of all positions are rows that follow each other. "Operands" are what matrix products read: float32, or
pairs of bf16 or int16 in the place of a float32, see `engine.nets.kernels.rows`. Those in int16 are computed in float32
first, and rounded when the largest number of a row is known, see `engine.nets.kernels.integer_rows`.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from engine.native.jit import kernel
from engine.nets.kernels.integer_rows import (
    LARGEST,
    PANELS,
    IntegerRows,
    round_rows,
)
from engine.nets.kernels.operands import ROUNDED, TILED, VECTORS_OF_INTEGERS
from engine.nets.kernels.plan import Layout, Step
from engine.nets.kernels.products import Operands, Results, RightSide, multiply_operands, panel_bounds, rounding_of
from engine.nets.kernels.rows import (
    GatedRows,
    ScaledRows,
    Squares,
    gate_rows,
    scale_rows,
    sum_squares,
)
from engine.nets.kernels.tiled_rows import TileUse, set_tiles
from engine.nets.kernels.tiles import DEPTH
from engine.nets.kernels.vectors import WIDEST_PANEL
from engine.nets.spec import Array

CHUNK = 32
"""Most rows that are multiplied by a matrix at a time; even."""
TILED_CHUNK = 96
"""The same by tiles, which read more weights in the time of a product. A board of 9x9 at a time, in place of 64 rows
and 17, saves 4 % of keima-t7c96 (one position, median of 13 turns)."""
INTEGER_CHUNK = 24
"""The same for rows of int16: whole blocks of rows, whose numbers in float32 and int16 are in the nearest cache."""
ROWS_TOGETHER = 400
"""Rows of a feed forward block from which on positions are computed one by one: more would not fit in the cache."""
_LONG, _SHORT = WIDEST_PANEL[16], WIDEST_PANEL[8]
_LONG_OF_INTEGERS, _SHORT_OF_INTEGERS = PANELS[16], PANELS[8]

Matrix: TypeAlias = Any
"""A record of MATRIX; NumPy has no type for its fields."""


class PointRows(NamedTuple):
    """Rows in memory: index of the first, floats from one to the next, and their number."""

    first: int
    stride: int
    length: int


@kernel
def are_integers(layout: Layout) -> bool:
    """Return whether operands are int16."""
    return layout.numbers in VECTORS_OF_INTEGERS


@kernel
def is_paired(layout: Layout) -> bool:
    """Return whether two operands take the place of a float."""
    return layout.numbers in (ROUNDED, TILED) or are_integers(layout)


@kernel
def floats_of(layout: Layout, numbers: int) -> int:
    """Return the floats that take the place of operands."""
    return numbers // 2 if is_paired(layout) else numbers


@kernel
def written_numbers(layout: Layout) -> int:
    """Return what functions on rows are called with: operands in a vector or, before they are int16, float32."""
    if layout.numbers == TILED:
        return ROUNDED
    return layout.lanes if are_integers(layout) else layout.numbers


@kernel
def function_numbers(layout: Layout) -> int:
    """Return what activations and powers are called with: `written_numbers`, but to the precision of int16."""
    return rounding_of(layout.numbers) if are_integers(layout) else written_numbers(layout)


@kernel
def chunk_of(layout: Layout) -> int:
    """Return the most rows that are multiplied by a matrix at a time."""
    if layout.numbers == TILED:
        return TILED_CHUNK
    return INTEGER_CHUNK if are_integers(layout) else CHUNK


@kernel
def whole_tiles(numbers: int) -> int:
    """Round up to the numbers of whole tiles, which products by tiles multiply."""
    return (numbers + DEPTH - 1) // DEPTH * DEPTH


@kernel
def use_tiles(layout: Layout, memory: Array, begins: int) -> None:
    """Prepare the tiles for the products of a step, or clear them afterwards."""
    if layout.numbers == TILED:
        set_tiles(TILED, memory, memory, TileUse(begins))


@kernel
def panels_of(layout: Layout, vectors: int) -> int:
    """Return the number of panels of a row, as `packing.panels_of` does."""
    widest = _LONG if layout.lanes == 16 else _SHORT
    if are_integers(layout):
        widest = _LONG_OF_INTEGERS if layout.lanes == 16 else _SHORT_OF_INTEGERS
    return (vectors + widest - 1) // widest


@kernel
def normalize_rows(layout: Layout, step: Step, memory: Array, count: int) -> None:
    """Divide the rows of all positions by the root of the mean of their squares, in place."""
    area, stride, factors = layout.width * layout.height, step.source.stride, step.rooms.factors
    for position in range(count):
        rows = PointRows(step.source.first + position * area * stride, stride, area)
        _write_factors(layout.lanes, step, memory, rows, factors)
        scaled = ScaledRows(rows.first, stride, area, step.channels, factors, 1, rows.first, stride)
        scale_rows(layout.lanes, memory, memory, scaled)


@kernel
def _write_factors(numbers: int, step: Step, memory: Array, rows: PointRows, factors: int) -> None:
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
def normalize_position(layout: Layout, step: Step, memory: Array, rows: PointRows, out: Operands) -> None:
    """Write the rows of a position as operands, divided by the root of the mean of their squares."""
    _write_factors(written_numbers(layout), step, memory, rows, out.factors)
    if are_integers(layout):
        round_points(layout, memory, rows, step.channels, LARGEST, out)
        return
    scaled = ScaledRows(rows.first, rows.stride, rows.length, step.channels, out.factors, 1, out.first, out.stride)
    scale_rows(written_numbers(layout), memory, memory, scaled)


@kernel
def round_points(layout: Layout, memory: Array, rows: PointRows, channels: int, largest: int, out: Operands) -> None:
    """Write rows as int16, and multiply their factors by what an integer of each stands for."""
    rounded = IntegerRows(rows.first, rows.stride, rows.length, channels, largest, out.factors, out.first, out.stride)
    round_rows(rounding_of(layout.numbers), memory, memory, rounded)


@kernel
def feed_forward(layout: Layout, step: Step, weights: Array, memory: Array, count: int) -> None:
    """Add contract(activation(expand(h)) * gate(h)) to the rows of all positions, with h the normalized rows."""
    area, stride, operands = layout.width * layout.height, step.source.stride, floats_of(layout, step.channels)
    rooms, chunk, together = step.rooms, chunk_of(layout), max(1, ROWS_TOGETHER // area)
    use_tiles(layout, memory, 1)
    for begin in range(0, count, together):
        positions = min(together, count - begin)
        first = step.source.first + begin * area * stride
        for position in range(positions):
            rows, before = PointRows(first + position * area * stride, stride, area), position * area
            out = Operands(rooms.units + before * operands, operands, area, rooms.factors + before)
            normalize_position(layout, step, memory, rows, out)
        for row in range(0, positions * area, chunk):
            length = min(chunk, positions * area - row)
            units = Operands(rooms.units + row * operands, operands, length, rooms.factors + row)
            wide = _expand(layout, step, weights, memory, units)
            multiply_matrix(
                layout, step.second, weights, memory, wide, PointRows(first + row * stride, stride, length), 1
            )
    use_tiles(layout, memory, 0)


@kernel
def _expand(layout: Layout, step: Step, weights: Array, memory: Array, rows: Operands) -> Operands:
    """Compute activation(expand(h)) * gate(h) as operands, for rows h of operands."""
    lanes, matrix, rooms = layout.lanes, step.first, step.rooms
    vectors, panels, parts = matrix.channels // lanes, matrix.panels, 2 if step.is_gated else 1
    is_rounded_later = are_integers(layout)
    out, out_stride = rooms.operands, floats_of(layout, matrix.channels)
    if is_rounded_later:
        out, out_stride = rooms.floats, matrix.channels
    for panel in range(panels):
        begin, end = panel_bounds(panel, panels, vectors)
        width = (end - begin) * parts * lanes
        sums = PointRows(rooms.sums, width, rows.length)
        _multiply_panel(layout, matrix, weights, memory, rows, sums, _Panel(begin * parts * lanes, width, 0))
        gated = GatedRows(
            activation=step.activation,
            is_gated=step.is_gated,
            points=sums.first,
            stride=width,
            rows=rows.length,
            channels=(end - begin) * lanes,
            out=out + (begin * lanes if is_rounded_later else floats_of(layout, begin * lanes)),
            out_stride=out_stride,
        )
        gate_rows(function_numbers(layout), memory, weights, gated)
    wide = Operands(rooms.operands, floats_of(layout, matrix.channels), rows.length, rooms.head_factors)
    if is_rounded_later:
        memory[wide.factors : wide.factors + rows.length] = 1.0
        round_points(layout, memory, PointRows(out, out_stride, rows.length), matrix.channels, LARGEST, wide)
    return wide


class _Panel(NamedTuple):
    """A panel of a matrix: its first channel, its number of channels, and whether the product is added to `out`."""

    channel: int
    width: int
    adds: int


@kernel
def multiply_matrix(
    layout: Layout, matrix: Matrix, weights: Array, memory: Array, rows: Operands, out: PointRows, adds: int
) -> None:
    """Write rows times a matrix, plus its bias, to `out`, or add it there."""
    lanes, panels = layout.lanes, matrix.panels
    vectors = matrix.channels // lanes
    for panel in range(panels):
        begin, end = panel_bounds(panel, panels, vectors)
        part = PointRows(out.first + begin * lanes, out.stride, out.length)
        _multiply_panel(layout, matrix, weights, memory, rows, part, _Panel(begin * lanes, (end - begin) * lanes, adds))


@kernel
def _multiply_panel(
    layout: Layout, matrix: Matrix, weights: Array, memory: Array, rows: Operands, out: PointRows, panel: _Panel
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
