"""The inner loops of products in integers of 16 bits, which a CPU multiplies up to twice as fast as floats.

`vpmaddwd` (AVX2) multiplies 16 pairs of integers and adds neighbors. With the addition to the sums that makes 16
products by two instructions, of which a Zen 3 executes four in a cycle: 32 products, and 16 in float32. `vpdpwssd`
(AVX-VNNI, and AVX-512 VNNI with 32 pairs) does both in the time of one instruction that multiplies as many floats as
there are pairs.

Numbers are rounded in steps of their own for each row of the left side of a product and each column of the right side,
so that the largest of them uses all bits (dynamic quantization): nothing has to be calibrated. The sums are exact, and
none can exceed int32: see `LARGEST`, `largest_of_keys` and `packing.in_integers`. Indices, strides and lengths are in
floats, counts of channels in numbers; counts of channels are whole vectors.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from engine.native.instructions import ir
from engine.nets.kernels.code import FLOAT, INTEGER, Code, InMemory, InWeights, Value, vector_intrinsic
from engine.nets.kernels.operands import FEATURES_OF_INTEGER_PRODUCTS, FEATURES_OF_INTEGERS
from engine.nets.kernels.vectors import ROWS, in_blocks

PANELS = {8: 2, 16: 6}
"""Most vectors in a row of a product, by lanes.

6 x 2 sums, 2 vectors of the right side, one of the left side and one of products fill AVX2's 16 registers, 4 x 6 sums
and their operands AVX-512's 32.
"""
LARGEST = 2**13 - 1
"""Largest number on the left side of a product with weights, in a query and in a key."""
LARGEST_SHARE = 2**15 - 1
"""The integer for a softmax of 1, and the largest value. A row of shares adds up to about this."""
LARGEST_SUM = 2**31 - 1
_ROWS = {8: dict.fromkeys(range(1, PANELS[8] + 1), (6, 3, 1)), 16: ROWS[16]}
"""Numbers of rows that are multiplied at the same time, by lanes and vectors in a row, the preferred one first."""
_SMALLEST = 1e-30
"""Rows and columns of smaller numbers become zeros."""


def largest_of_keys(width: int) -> int:
    """Return the largest number of a key such that no score exceeds int32. width: numbers of a key and of a query."""
    return min(LARGEST, LARGEST_SUM // (LARGEST * width))


class IntegerProduct(NamedTuple):
    """out[r, c] = (left[r] . right[:, c]) * row_factors[r] * column_factors[c]; if `adds` is 1, added to out[r, c].

    Row r of left begins at r * left_stride and has k pairs of int16, each in the place of a float; right is
    [k, panel * lanes] pairs with panel from 1 to PANELS[lanes]; row r of out begins at r * out_stride.
    """

    panel: int
    left: InMemory
    left_stride: int
    rows: int
    k: int
    right: InWeights
    row_factors: InMemory
    column_factors: InWeights
    out: InMemory
    out_stride: int
    adds: int


def _multiply_integers(code: Code, product: IntegerProduct) -> None:
    """Write the instructions of an `IntegerProduct`."""
    in_blocks(code, product, _ROWS[code.lanes], partial(_multiply, code, product))


def _multiply(code: Code, product: IntegerProduct, row: Value, count: int, vectors: int) -> None:
    """Write the product of `count` rows from `row` on, with all sums in registers."""
    builder = code.builder
    first = code.at(product.left, code.times(row, product.left_stride))
    lines = [code.at(first, code.times(product.left_stride, line)) for line in range(count)]
    sums = [[code.variable(code.number(0.0)) for _ in range(vectors)] for _ in range(count)]
    with code.loop(product.k) as index:
        source = code.at(product.right, code.times(index, vectors * code.lanes))
        right = [code.load(code.at(source, INTEGER(v * code.lanes))) for v in range(vectors)]
        for line, line_sums in zip(lines, sums, strict=True):
            added = _add_products(
                code, code.spread(code.at(line, index)), right, [builder.load(each) for each in line_sums]
            )
            for each, total in zip(added, line_sums, strict=True):
                builder.store(each, total)
    columns = [code.load(code.at(product.column_factors, INTEGER(v * code.lanes))) for v in range(vectors)]
    result = code.at(product.out, code.times(row, product.out_stride))
    for is_added in (False, True):
        with code.when_equal(product.adds, int(is_added)):
            for line, line_sums in enumerate(sums):
                factor = code.spread(code.at(product.row_factors, row, INTEGER(line)))
                for v, (column, total) in enumerate(zip(columns, line_sums, strict=True)):
                    place = code.at(result, code.times(product.out_stride, line), INTEGER(v * code.lanes))
                    number = builder.fmul(code.from_integers(builder.load(total)), factor)
                    scaled = code.fma(number, column, code.load(place)) if is_added else builder.fmul(number, column)
                    code.store(scaled, place)


def _add_products(code: Code, left: Value, right: Sequence[Value], sums: Sequence[Value]) -> Sequence[Value]:
    """Return the sums plus the products of the pairs in `left` and in each of some vectors."""
    if len(right) == 1 or code.are_fused:
        return [code.multiply(left, each, total) for each, total in zip(right, sums, strict=True)]
    # LLVM would write each addition behind its product. A Zen 3 deals out instructions to its units in turn, and only
    # two of the four multiply: a product takes 0.69 cycles then, and 0.62 in this order.
    text = "vpmaddwd $4, $3, $2\nvpmaddwd $5, $3, $3\nvpaddd $2, $0, $0\nvpaddd $3, $1, $1"
    kind = ir.FunctionType(ir.LiteralStructType([left.type] * 4), [left.type] * 5)
    found = code.builder.asm(kind, text, "=x,=x,=&x,=x,x,x,3,0,1", [*right, left, *sums], False)
    return [code.builder.extract_value(found, place) for place in range(2)]


class IntegerRows(NamedTuple):
    """out[r] = points[r] rounded to multiples of m / largest, with m the largest number of the row by its size.

    factors[r] is multiplied by m / largest. channels: whole vectors. largest: at most 2^15 - 1.
    """

    points: InMemory
    stride: int
    rows: int
    channels: int
    largest: int
    factors: InMemory
    out: InMemory
    out_stride: int


def _round_rows(code: Code, rounded: IntegerRows) -> None:
    """Write the instructions of `IntegerRows`."""
    builder = code.builder
    limit = builder.sitofp(rounded.largest, FLOAT)
    unit = builder.fdiv(FLOAT(1.0), limit)
    with code.loop(rounded.rows) as row:
        source = code.at(rounded.points, code.times(row, rounded.stride))
        result = code.at(rounded.out, code.times(row, rounded.out_stride))
        largest = code.variable(code.number(_SMALLEST))
        with code.loop(rounded.channels, code.lanes) as channel:
            builder.store(
                code.larger(_sizes(code, code.load(code.at(source, channel))), builder.load(largest)), largest
            )
        size = builder.extract_element(code.total(builder.load(largest), code.larger), INTEGER(0))
        scale = code.every(builder.fdiv(limit, size))
        with code.loop(rounded.channels, code.lanes) as channel:
            number = builder.fmul(code.load(code.at(source, channel)), scale)
            code.store_integers(number, code.at(result, _floats(code, channel)))
        place = code.at(rounded.factors, row)
        builder.store(builder.fmul(builder.load(place), builder.fmul(size, unit)), place)


class IntegerShares(NamedTuple):
    """out[r] = points[r] * factors[r] * LARGEST_SHARE, rounded, for numbers from 0 to 1; keys: numbers in a row.

    Beyond them, up to whole vectors, points are read as well. factors[r] becomes 1 / LARGEST_SHARE.
    """

    points: InMemory
    stride: int
    rows: int
    keys: int
    factors: InMemory
    out: InMemory
    out_stride: int


def _round_shares(code: Code, shares: IntegerShares) -> None:
    """Write the instructions of `IntegerShares`."""
    builder = code.builder
    with code.loop(shares.rows) as row:
        source = code.at(shares.points, code.times(row, shares.stride))
        result = code.at(shares.out, code.times(row, shares.out_stride))
        place = code.at(shares.factors, row)
        factor = builder.fmul(code.spread(place), code.number(LARGEST_SHARE))
        with code.loop(shares.keys, code.lanes) as key:
            number = builder.fmul(code.load(code.at(source, key)), factor)
            code.store_integers(number, code.at(result, _floats(code, key)))
        builder.store(FLOAT(1.0 / LARGEST_SHARE), place)


class IntegerValues(NamedTuple):
    """Writes rows of float32 as the right side of a product: pairs of rows, [rows / 2 rounded up, channels].

    Channel c is rounded to multiples of factors[c] = m / LARGEST_SHARE, with m its largest number by size. The last row
    of an odd number is paired with zeros.
    """

    points: InMemory
    stride: int
    rows: int
    channels: int
    factors: InMemory
    out: InMemory


def _pack_integer_values(code: Code, packed: IntegerValues) -> None:
    """Write the instructions of `IntegerValues`."""
    builder = code.builder
    limit, pairs = code.number(LARGEST_SHARE), _floats(code, packed.rows)
    with code.loop(packed.channels, code.lanes) as channel:
        first, out = code.at(packed.points, channel), code.at(packed.out, channel)
        largest = code.variable(code.number(_SMALLEST))
        with code.loop(packed.rows) as row:
            number = code.load(code.at(first, code.times(row, packed.stride)))
            builder.store(code.larger(_sizes(code, number), builder.load(largest)), largest)
        size = builder.load(largest)
        scale = builder.fdiv(limit, size)
        code.store(builder.fdiv(size, limit), code.at(packed.factors, channel))

        def store(pair: Value, upper: Value, lower: Value) -> None:
            """Write a row of pairs."""
            place = code.at(out, code.times(pair, packed.channels))
            code.store(_in_pairs(code, builder.fmul(upper, scale), builder.fmul(lower, scale)), place)

        with code.loop(pairs) as pair:
            place = code.at(first, code.times(code.times(pair, 2), packed.stride))
            store(pair, code.load(place), code.load(code.at(place, packed.stride)))
        with code.when_equal(builder.and_(packed.rows, INTEGER(1)), 1):
            place = code.at(first, code.times(code.times(pairs, 2), packed.stride))
            store(pairs, code.load(place), code.number(0.0))


def _in_pairs(code: Code, first: Value, second: Value) -> Value:
    """Return two vectors of float32, rounded, as one of pairs of int16; the numbers must fit."""
    lower, upper = (code.whole_numbers(each) for each in (first, second))
    mask, half = (ir.Constant(lower.type, [number] * code.lanes) for number in (0xFFFF, 16))
    pairs = code.builder.or_(code.builder.and_(lower, mask), code.builder.shl(upper, half))
    return code.builder.bitcast(pairs, first.type)


def _sizes(code: Code, vector: Value) -> Value:
    """Return the absolute value of each number."""
    return code.call(f"llvm.fabs.v{code.lanes}f32", vector.type, vector)


def _floats(code: Code, numbers: Value) -> Value:
    """Return the floats that take the place of as many int16, rounded down."""
    return code.builder.lshr(numbers, INTEGER(1))


multiply_integers = vector_intrinsic(_multiply_integers, FEATURES_OF_INTEGER_PRODUCTS)
round_rows = vector_intrinsic(_round_rows, FEATURES_OF_INTEGERS)
round_shares = vector_intrinsic(_round_shares, FEATURES_OF_INTEGERS)
pack_integer_values = vector_intrinsic(_pack_integer_values, FEATURES_OF_INTEGERS)
