"""The inner loops of a transformer on rows of numbers, one for each point, as vector instructions.

"Operands" are what `vectors.multiply_rows` multiplies: float32 or, with `operands.ROUNDED`, bf16, two in the place of a
float. Indices, strides and lengths are in floats, counts of channels in numbers; counts of channels are whole vectors.
"""

from collections.abc import Sequence
from typing import NamedTuple

from engine.nets.kernels.code import ACTIVATIONS, INTEGER, Code, InMemory, InWeights, Value, vector_intrinsic
from engine.nets.kernels.operands import FEATURES_OF_INTEGERS, FEATURES_OF_PRODUCTS

_LOWEST = -1e30
"""Score of a key that there is not."""


class Squares(NamedTuple):
    """out[r] = sum of the squares of the channels of row r."""

    points: InMemory
    stride: int
    rows: int
    channels: int
    out: InMemory


def _sum_squares(code: Code, squares: Squares) -> None:
    """Write the instructions of `Squares`."""
    builder = code.builder
    with code.loop(squares.rows) as row:
        first = code.at(squares.points, code.times(row, squares.stride))
        total = code.variable(code.number(0.0))
        with code.loop(squares.channels, code.lanes) as channel:
            number = code.load(code.at(first, channel))
            builder.store(code.fma(number, number, builder.load(total)), total)
        result = code.total(builder.load(total), builder.fadd)
        builder.store(builder.extract_element(result, INTEGER(0)), code.at(squares.out, row))


class ScaledRows(NamedTuple):
    """out[r] = points[r] * factors[r], as operands; the factor of row r is at r * factor_stride."""

    points: InMemory
    stride: int
    rows: int
    channels: int
    factors: InMemory
    factor_stride: int
    out: InMemory
    out_stride: int


def _scale_rows(code: Code, scaled: ScaledRows) -> None:
    """Write the instructions of `ScaledRows`."""
    with code.loop(scaled.rows) as row:
        factor = code.spread(code.at(scaled.factors, code.times(row, scaled.factor_stride)))
        source = code.at(scaled.points, code.times(row, scaled.stride))
        result = code.at(scaled.out, code.times(row, scaled.out_stride))
        with code.loop(scaled.channels, code.lanes) as channel:
            number = code.builder.fmul(code.load(code.at(source, channel)), factor)
            code.store_operands(number, code.at(result, code.floats(channel)))


class GatedRows(NamedTuple):
    """out[r] = activation(points[r]) * gate[r], as operands; gate: `channels` after points, if `is_gated` is 1."""

    activation: int
    is_gated: int
    points: InMemory
    stride: int
    rows: int
    channels: int
    out: InMemory
    out_stride: int


def _gate_rows(code: Code, gated: GatedRows) -> None:
    """Write the instructions of `GatedRows`, once for each activation, with and without gate."""
    for index, kind in enumerate(ACTIVATIONS):
        for is_gated in (False, True):
            with (
                code.when_equal(gated.activation, index),
                code.when_equal(gated.is_gated, int(is_gated)),
                code.loop(gated.rows) as row,
            ):
                source = code.at(gated.points, code.times(row, gated.stride))
                result = code.at(gated.out, code.times(row, gated.out_stride))
                with code.loop(gated.channels, code.lanes) as channel:
                    number = code.activate(code.load(code.at(source, channel)), kind)
                    if is_gated:
                        number = code.builder.fmul(number, code.load(code.at(source, channel, gated.channels)))
                    code.store_operands(number, code.at(result, code.floats(channel)))


class TurnedRows(NamedTuple):
    """Rotates pairs of channels of the row of each point, of which the first are in one half and the second in another.

    out[r] = [a * cos - b * sin, a * sin + b * cos], as operands, with points[r] = [a, b], `half` numbers each. turns:
    [rows, 2, half], cosines and sines.
    """

    points: InMemory
    stride: int
    rows: int
    half: int
    turns: InWeights
    out: InMemory
    out_stride: int


def _turn_rows(code: Code, turned: TurnedRows) -> None:
    """Write the instructions of `TurnedRows`."""
    builder, half = code.builder, turned.half
    with code.loop(turned.rows) as row:
        source = code.at(turned.points, code.times(row, turned.stride))
        result = code.at(turned.out, code.times(row, turned.out_stride))
        turns = code.at(turned.turns, code.times(code.times(row, half), 2))
        with code.loop(half, code.lanes) as channel:
            first, second = code.load(code.at(source, channel)), code.load(code.at(source, channel, half))
            cosine, sine = code.load(code.at(turns, channel)), code.load(code.at(turns, channel, half))
            left = code.fma(first, cosine, builder.fneg(builder.fmul(second, sine)))
            right = code.fma(first, sine, builder.fmul(second, cosine))
            code.store_operands(left, code.at(result, code.floats(channel)))
            code.store_operands(right, code.at(result, code.floats(channel), code.floats(half)))


class PackedKeys(NamedTuple):
    """Writes `vectors` * lanes rows of operands, `floats` each, as the right side of a product: transposed.

    out: [floats, vectors * lanes].
    """

    rows: InMemory
    stride: int
    vectors: int
    floats: int
    out: InMemory


def _pack_keys(code: Code, packed: PackedKeys) -> None:
    """Write the instructions of `PackedKeys`."""
    lanes = code.lanes
    width = code.times(packed.vectors, lanes)
    with code.loop(packed.vectors) as vector, code.loop(packed.floats, lanes) as column:
        first = code.at(packed.rows, code.times(code.times(vector, lanes), packed.stride), column)
        square = [code.load(code.at(first, code.times(packed.stride, row))) for row in range(lanes)]
        result = code.at(packed.out, code.times(column, width), code.times(vector, lanes))
        for row, line in enumerate(code.transposed(square)):
            code.store(line, code.at(result, code.times(width, row)))


class PackedValues(NamedTuple):
    """Writes rows of float32 as the right side of a product: [rows, channels], or pairs of rows of bf16.

    The last row of an odd number is paired with zeros.
    """

    rows: int
    points: InMemory
    stride: int
    channels: int
    out: InMemory


def _pack_values(code: Code, packed: PackedValues) -> None:
    """Write the instructions of `PackedValues`."""
    with code.loop(packed.channels, code.lanes) as channel:
        first, out = code.at(packed.points, channel), code.at(packed.out, channel)
        if code.rounded:
            _pack_pairs(code, packed, first, out)
        else:
            with code.loop(packed.rows) as row:
                number = code.load(code.at(first, code.times(row, packed.stride)))
                code.store(number, code.at(out, code.times(row, packed.channels)))


def _pack_pairs(code: Code, packed: PackedValues, first: Value, out: Value) -> None:
    """Write the instructions for the channels of a vector in bf16; first, out: where they begin."""
    pairs = code.floats(packed.rows)
    with code.loop(pairs) as pair:
        upper = code.at(first, code.times(code.times(pair, 2), packed.stride))
        lower = code.load(code.at(upper, packed.stride))
        code.store_in_pairs(code.load(upper), lower, code.at(out, code.times(pair, packed.channels)))
    with code.when_equal(code.builder.and_(packed.rows, INTEGER(1)), 1):
        upper = code.at(first, code.times(code.times(pairs, 2), packed.stride))
        code.store_in_pairs(code.load(upper), code.number(0.0), code.at(out, code.times(pairs, packed.channels)))


class SoftenedRows(NamedTuple):
    """out[r] = 2^(scores[r] - highest[r]), as operands, and factors[r] = 1 / their sum, for some keys of each row.

    keys: numbers in a row. Beyond them, up to whole vectors, scores are changed, and out is written as at most 2^-126.
    begins: 1 for the first keys of a row, whose maximum becomes `highest`; powers of others are at most 2^100. ends: 1
    for the last ones. totals: a vector for each row, which holds its sums until then.
    """

    scores: InMemory
    stride: int
    rows: int
    keys: int
    out: InMemory
    out_stride: int
    highest: InMemory
    totals: InMemory
    factors: InMemory
    begins: int
    ends: int


_LARGEST_POWER = 100.0
"""Powers of 2 above it could exceed float32 when they are multiplied and added up."""
_SOFTENED_TOGETHER = 4
"""Rows whose softmax is computed at a time: a maximum or a sum waits four cycles for the one before it."""


def _soften_rows(code: Code, softened: SoftenedRows) -> None:
    """Write the instructions of `SoftenedRows`."""
    builder = code.builder
    rest = builder.srem(softened.rows, INTEGER(_SOFTENED_TOGETHER))
    whole = builder.sub(softened.rows, rest)
    with code.loop_between(INTEGER(0), whole, _SOFTENED_TOGETHER) as row:
        _soften(code, softened, row, _SOFTENED_TOGETHER)
    with code.loop_between(whole, softened.rows) as row:
        _soften(code, softened, row, 1)


def _soften(code: Code, softened: SoftenedRows, first: Value, count: int) -> None:
    """Write the instructions for `count` rows from `first` on."""
    builder, lanes = code.builder, code.lanes
    rows = [builder.add(first, INTEGER(index)) for index in range(count)]
    sources = [code.at(softened.scores, code.times(row, softened.stride)) for row in rows]
    results = [code.at(softened.out, code.times(row, softened.out_stride)) for row in rows]
    rest = builder.srem(softened.keys, INTEGER(lanes))
    with builder.if_then(builder.icmp_signed(">", rest, INTEGER(0))):
        for source in sources:
            last = code.at(source, builder.sub(softened.keys, rest))
            code.store(code.first(code.load(last), rest, _LOWEST), last)
    with code.when_equal(softened.begins, 1):
        _find_highest(code, softened, rows, sources)
    # The maximum of the first keys is enough: a power needs no limit but that of float32, which bf16 has, too.
    highest = [code.spread(code.at(softened.highest, row)) for row in rows]
    places = [code.at(softened.totals, code.times(row, lanes)) for row in rows]
    totals = [code.variable(code.load(place)) for place in places]
    with code.loop(softened.keys, lanes) as key:
        for source, result, most, total in zip(sources, results, highest, totals, strict=True):
            below = code.smaller(builder.fsub(code.load(code.at(source, key)), most), code.number(_LARGEST_POWER))
            chance = code.power(below if code.has_powers else code.larger(below, code.number(-126.0)))
            builder.store(builder.fadd(builder.load(total), chance), total)
            code.store_operands(chance, code.at(result, code.floats(key)))
    for place, total in zip(places, totals, strict=True):
        code.store(builder.load(total), place)
    with code.when_equal(softened.ends, 1):
        for row, total in zip(rows, totals, strict=True):
            inverse = builder.fdiv(code.number(1.0), code.total(builder.load(total), builder.fadd))
            builder.store(builder.extract_element(inverse, INTEGER(0)), code.at(softened.factors, row))


def _find_highest(code: Code, softened: SoftenedRows, rows: Sequence[Value], sources: Sequence[Value]) -> None:
    """Write the instructions that store the maximum of rows, and that begin their sums with 0."""
    builder = code.builder
    largest = [code.variable(code.number(_LOWEST)) for _ in rows]
    with code.loop(softened.keys, code.lanes) as key:
        for source, each in zip(sources, largest, strict=True):
            builder.store(code.larger(code.load(code.at(source, key)), builder.load(each)), each)
    for row, each in zip(rows, largest, strict=True):
        highest = code.total(builder.load(each), code.larger)
        builder.store(builder.extract_element(highest, INTEGER(0)), code.at(softened.highest, row))
        code.store(code.number(0.0), code.at(softened.totals, code.times(row, code.lanes)))


sum_squares = vector_intrinsic(_sum_squares, FEATURES_OF_PRODUCTS)
scale_rows = vector_intrinsic(_scale_rows, FEATURES_OF_PRODUCTS)
gate_rows = vector_intrinsic(_gate_rows, FEATURES_OF_PRODUCTS | FEATURES_OF_INTEGERS)
turn_rows = vector_intrinsic(_turn_rows, FEATURES_OF_PRODUCTS)
pack_keys = vector_intrinsic(_pack_keys, FEATURES_OF_PRODUCTS)
pack_values = vector_intrinsic(_pack_values, FEATURES_OF_PRODUCTS)
soften_rows = vector_intrinsic(_soften_rows, FEATURES_OF_PRODUCTS | FEATURES_OF_INTEGERS)
