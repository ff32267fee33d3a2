"""Convolutions by AMX tiles: products of points in bf16 or in bytes, finished between the instructions that multiply.

g170-b6c96 on one core of a Granite Rapids takes 469 us a position in bf16 on 19x19 at batch 2, where OpenVINO's bf16
takes 540 at batch 8.
"""

from functools import partial, reduce
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from engine.native.instructions import cgutils, compile_for, ir
from engine.native.processor import IS_X86
from engine.nets.kernels.code import (
    ACTIVATIONS,
    FLOAT_BYTES,
    INTEGER,
    Code,
    InMemory,
    InWeights,
    Value,
    vector_intrinsic,
)
from engine.nets.kernels.tiles import (
    BF16,
    DEPTH,
    FEATURES_OF_TILES,
    FLOATS,
    IN_A_FLOAT,
    POINTS,
    SIGNED,
    TILE_FLOATS,
    TILE_ROWS,
    TOGETHER,
    UNSIGNED,
    Tiles,
)
from engine.nets.spec import Activation, Array, Norm, RmsNorm

SUMS = 2 * POINTS * DEPTH
"""Floats of two products: the one that is computed and the one before it, which is finished meanwhile."""
_LEAST_AT_ONCE = 4
"""Fewest points that are finished after a step: each call reads the factors of 32 channels first."""
FACTORS = 5
"""Numbers of each channel in `TiledConvolution.norm`."""
_BIAS, _SCALE, _SHIFT, STEP_OF_SUMS, INVERSE = range(FACTORS)
"""Their places."""
_CURRENT_ROUNDING = 4
_SCALED_BEFORE = Activation.IDENTITY, Activation.RELU
"""Activations for which f(a * x) = a * f(x) with a > 0."""


def factors_of(channels: int, bias: Array | None, norm: Norm | None) -> Array:
    """Return the factors [FACTORS, channels] of a convolution; beside tiles, steps use the first three."""
    factors = np.zeros((FACTORS, channels), dtype=np.float32)
    factors[_SCALE] = 1.0
    if bias is not None:
        factors[_BIAS, : len(bias)] = bias
    if norm is not None:
        set_norm(factors, norm)
    return factors


def set_norm(factors: Array, norm: Norm | RmsNorm) -> None:
    """Set scale and shift of a norm."""
    scale, shift = (norm.weight, norm.bias) if isinstance(norm, RmsNorm) else norm.affine()
    factors[_SCALE, : len(scale)] = scale
    if shift is not None:
        factors[_SHIFT, : len(shift)] = shift


class TiledConvolution(NamedTuple):
    """For each point p: sum over parts q of left[p + q] . right[q], finished as in `vectors.FinishedRow`.

    operands, format: of `left` and of `post`, see `tiles.FLOATS`; not FLOATS, and any. groups: number of groups of
    POINTS points. left: point p of part q begins at p * left_stride + q * part_stride and has depth * 16 floats. right:
    the result of `in_order_of_tiles`, with pairs * DEPTH numbers a point. places: int32; the results of point p are
    written to point places[p] of old, raw and post or, if that is negative (a border point), to the point `spare`,
    which nobody reads. sums: SUMS floats of working memory. norm: bias, scale and shift, then what one of the integers
    of a sum stands for, and 1 / what one of those of `post` stands for. adds: 1 to add `old` and write `raw`, else 0.
    """

    activation: int
    operands: int
    groups: int
    left: InMemory
    left_stride: int
    parts: int
    part_stride: int
    depth: int
    right: InWeights
    pairs: int
    sums: InMemory
    places: InWeights
    spare: int
    vector: InMemory
    adds: int
    old: InMemory
    old_stride: int
    raw: InMemory
    raw_stride: int
    norm: InWeights
    post: InMemory
    post_stride: int
    format: int


def _convolve_points(code: Code, convolution: TiledConvolution) -> None:
    """Write the instructions of a `TiledConvolution`, once for each format of the operands.

    And once for each frequent way of finishing: with calls of a function, 9x9 in bf16 took 4 to 8 % more time.
    """
    writer, builder = _ConvolutionWriter(code, convolution), code.builder
    writer.tiles.configure()
    for operands in (BF16, UNSIGNED, SIGNED):
        with code.when_equal(convolution.operands, operands):
            is_written: Value = ir.IntType(1)(0)
            for kind in filter(partial(_is_frequent, operands), _kinds(are_integers=operands != BF16)):
                is_kind = _is_of(code, convolution, kind)
                is_written = builder.or_(is_written, is_kind)
                with builder.if_then(is_kind):
                    writer.write(operands, kind)
            with builder.if_then(builder.not_(is_written)):
                writer.write(operands)
    writer.tiles.release()


class _ConvolutionWriter:
    """Writes the loops of a `TiledConvolution`.

    A CPU multiplies tiles and computes on vectors at the same time. So the results of a product are finished between
    the instructions that multiply the next one: `at_once` points of the previous product after each step.
    """

    def __init__(self, code: Code, given: TiledConvolution) -> None:
        self.tiles, self._code, self._given = Tiles(code), code, given
        builder = code.builder
        self._steps = code.times(given.parts, given.depth)
        # Rounded up, so that all points are finished when the steps end.
        self._at_once = builder.sdiv(builder.add(self._steps, INTEGER(POINTS - 1)), self._steps)
        self._below = code.times(given.left_stride, TILE_ROWS)
        self._finish = _Finish(code, given)

    def write(self, operands: int, kind: "_Kind | None" = None) -> None:
        """Write the loops for one format of the operands. kind: how points are finished; None to call a function."""
        code, builder, given = self._code, self._code.builder, self._given
        # The last product: its first point and channel, how many of its points are to be finished, and how many are.
        first, channel, waiting, done = (code.whole(0) for _ in range(4))
        # Which half of `sums` has its results; those of the next product go into the other.
        there, here = code.whole(0), code.whole(POINTS * DEPTH)
        at_once = self._at_once
        if kind is None:
            self._finish.choose(are_integers=operands != BF16)
            few = builder.icmp_signed("<", at_once, INTEGER(_LEAST_AT_ONCE))
            at_once = builder.select(few, INTEGER(_LEAST_AT_ONCE), at_once)

        def finish(start: Value, end: Value) -> None:
            """Finish points of the last product."""
            product = [start, end, *map(builder.load, (first, channel, there))]
            if kind is None:
                self._finish.call(product)
            else:
                _finish_points(code, given, kind, product)

        def multiply(group: Value, pair: Value) -> None:
            """Compute a product, and finish the one before it."""
            for tile in range(TOGETHER * TOGETHER):
                self.tiles.zero(tile)
            builder.store(INTEGER(0), done)
            lines = code.at(given.left, code.times(code.times(group, POINTS), given.left_stride))
            block = code.at(given.right, code.times(code.times(pair, self._steps), TOGETHER * TILE_FLOATS))
            with code.loop(given.parts) as part, code.loop(given.depth) as index:
                self._multiply(lines, block, part, index, operands)
                start, most = builder.load(done), builder.load(waiting)
                end = builder.add(start, at_once)
                end = builder.select(builder.icmp_signed("<", end, most), end, most)
                with builder.if_then(builder.icmp_signed("<", start, end)):
                    finish(start, end)
                    builder.store(end, done)
            results = builder.load(here)
            self._store_sums(results)
            builder.store(builder.load(there), here)
            builder.store(results, there)
            builder.store(code.times(group, POINTS), first)
            builder.store(code.times(pair, DEPTH), channel)
            builder.store(INTEGER(POINTS), waiting)

        if operands == BF16:
            with code.loop(given.groups) as group, code.loop(given.pairs) as pair:
                multiply(group, pair)
        else:
            # The weights of a pair are read again for each group: in int8 those of 96 channels stay in the first cache.
            with code.loop(given.pairs) as pair, code.loop(given.groups) as group:
                multiply(group, pair)
        finish(INTEGER(0), builder.load(waiting))

    def _multiply(self, lines: Value, block: Value, part: Value, index: Value, operands: int) -> None:
        """Add the products of one part and one depth to the tiles 0 to 3; tiles 4 to 7 hold the operands."""
        code, given = self._code, self._given
        rows, columns = range(4, 4 + TOGETHER), range(6, 6 + TOGETHER)
        source = code.builder.add(code.times(part, given.depth), index)
        source = code.at(block, code.times(source, TOGETHER * TILE_FLOATS))
        for column, tile in enumerate(columns):
            self.tiles.load(tile, code.at(source, INTEGER(column * TILE_FLOATS)), INTEGER(TILE_ROWS))
        points = code.at(lines, code.times(part, given.part_stride), code.times(index, TILE_ROWS))
        for row, tile in enumerate(rows):
            self.tiles.load(tile, code.at(points, code.times(self._below, row)), given.left_stride)
            for column, result in zip(columns, _RESULTS[row], strict=True):
                self.tiles.multiply(result, tile, column, operands)

    def _store_sums(self, half: Value) -> None:
        """Write the tiles 0 to 3 to a half of `sums`, as [POINTS, DEPTH]."""
        for row, line in enumerate(_RESULTS):
            for column, tile in enumerate(line):
                place = INTEGER(row * TILE_ROWS * DEPTH + column * TILE_ROWS)
                self.tiles.store(tile, self._code.at(self._given.sums, half, place), INTEGER(DEPTH))


_RESULTS = [[TOGETHER * row + column for column in range(TOGETHER)] for row in range(TOGETHER)]
"""The tiles of the results: row by row of tiles of points, column by column of tiles of channels."""


class _Kind(NamedTuple):
    """How points are finished. adds: whether `old` is added and `raw` is written."""

    are_integers: bool
    activation: Activation
    format: int
    adds: bool


def _kinds(*, are_integers: bool) -> list[_Kind]:
    """Return all ways in which sums may be finished: after ReLU, bytes have no sign."""
    kinds = (_Kind(are_integers, *each) for each in product(ACTIVATIONS, range(len(IN_A_FLOAT)), (False, True)))
    unused = {Activation.RELU: SIGNED}
    return [each for each in kinds if each.format != unused.get(each.activation, UNSIGNED)]


def _is_frequent(operands: int, kind: _Kind) -> bool:
    """Return whether convolutions of whole networks are finished in this way: in bytes those between blocks."""
    if operands == BF16:
        return kind.format in (FLOATS, BF16)
    return kind.format == operands and kind.activation == (Activation.RELU if operands == UNSIGNED else Activation.MISH)


def _is_of(code: Code, given: TiledConvolution, kind: _Kind) -> Value:
    """Return whether points are finished in this way."""
    builder = code.builder
    wanted = (
        (given.activation, ACTIVATIONS.index(kind.activation)),
        (given.format, kind.format),
        (given.adds, kind.adds),
    )
    return reduce(builder.and_, (builder.icmp_signed("==", field, INTEGER(int(value))) for field, value in wanted))


class _Finish:
    """Calls the function that finishes points of a product in the way of a convolution.

    A function for each way: written into the loops, all would have to be there for each format of the operands. They
    read the fields of the convolution from memory, once a call.
    """

    def __init__(self, code: Code, given: TiledConvolution) -> None:
        self._code, self._given = code, given
        values: tuple[Value, ...] = given
        self._fields = cgutils.alloca_once(code.builder, ir.LiteralStructType([each.type for each in values]))
        for number, each in enumerate(values):
            code.builder.store(each, cgutils.gep_inbounds(code.builder, self._fields, 0, number))
        kind = ir.FunctionType(ir.VoidType(), [self._fields.type, *[INTEGER] * 5])
        self._type, self._chosen = kind, cgutils.alloca_once(code.builder, kind.as_pointer())

    def choose(self, *, are_integers: bool) -> None:
        """Choose the function for a convolution. are_integers: whether its sums are."""
        given, code = self._given, self._code
        for kind in _kinds(are_integers=are_integers):
            with code.builder.if_then(_is_of(code, given, kind)):
                code.builder.store(self._function(kind), self._chosen)

    def call(self, operands: list[Value]) -> None:
        """Finish points; operands: see `_finish_points`."""
        self._code.builder.call(self._code.builder.load(self._chosen), [self._fields, *operands])

    def _function(self, kind: _Kind) -> Any:
        """Return the function for one way, which is written at the first call."""
        module = self._code.builder.module
        name = f"keima.finish_points.{int(kind.are_integers)}.{kind.activation.name}.{kind.format}.{int(kind.adds)}"
        found = module.globals.get(name)
        if found is not None:
            return found
        function = ir.Function(module, self._type, name)
        function.linkage = "internal"
        compile_for(function, FEATURES_OF_TILES)
        function.attributes.add("noinline")
        builder = ir.IRBuilder(function.append_basic_block())
        fields, *operands = function.args
        values = [builder.load(cgutils.gep_inbounds(builder, fields, 0, place)) for place in range(len(self._given))]
        _finish_points(Code(builder, self._code.lanes), TiledConvolution(*values), kind, operands)
        builder.ret_void()
        return function


def _finish_points(code: Code, given: TiledConvolution, kind: _Kind, operands: list[Value]) -> None:
    """Write the instructions that finish points start..end-1 of a product.

    operands: start, end, the first point and the first channel of the product, and which half of `sums` it is in.
    """
    builder = code.builder
    start, end, first, channel, there = operands
    halves = [_Channels(code, given, kind, builder.add(channel, INTEGER(half))) for half in (0, TILE_ROWS)]
    places, lines = code.at(given.places, first), code.at(given.sums, there)
    with code.loop_between(start, end) as index:
        place = code.load_whole(code.at(places, index))
        place = builder.select(builder.icmp_signed("<", place, INTEGER(0)), given.spare, place)
        line = code.at(lines, code.times(index, DEPTH))
        for half, channels in enumerate(halves):
            channels.finish(code.at(line, INTEGER(half * TILE_ROWS)), place)


class _Channels:
    """Writes the instructions that finish 16 channels of points."""

    def __init__(self, code: Code, given: TiledConvolution, kind: _Kind, first: Value) -> None:
        self._code, self._given, self._kind, self._first = code, given, kind, first
        builder, size, norm = code.builder, code.times(given.pairs, DEPTH), code.at(given.norm, first)
        numbers = [code.load(code.at(norm, code.times(size, part))) for part in range(FACTORS)]
        self._step, self._inverse = numbers[STEP_OF_SUMS], numbers[INVERSE]
        self._added = builder.fadd(numbers[_BIAS], code.load(code.at(given.vector, first)))
        self._scale, self._shift = numbers[_SCALE], numbers[_SHIFT]
        self._is_scaled = kind.format in (UNSIGNED, SIGNED) and kind.activation not in _SCALED_BEFORE
        if kind.format in (UNSIGNED, SIGNED) and not self._is_scaled:
            self._scale, self._shift = (builder.fmul(each, self._inverse) for each in (self._scale, self._shift))
        if not kind.adds:
            self._shift = code.fma(self._added, self._scale, self._shift)
            if kind.are_integers:
                self._scale = builder.fmul(self._scale, self._step)

    def finish(self, sums: Value, place: Value) -> None:
        """Finish a point. sums: pointer to those of its channels. place: number of the point of old, raw and post."""
        code, builder, given = self._code, self._code.builder, self._given
        number = code.load(sums)
        if self._kind.are_integers:
            number = code.from_integers(number)
        if self._kind.adds:
            before = builder.fadd(code.load(self._at(given.old, given.old_stride, place)), self._added)
            number = code.fma(number, self._step, before) if self._kind.are_integers else builder.fadd(number, before)
            code.store(number, self._at(given.raw, given.raw_stride, place))
        number = code.activate(code.fma(number, self._scale, self._shift), self._kind.activation)
        if self._is_scaled:
            number = builder.fmul(number, self._inverse)
        post = self._at(given.post, given.post_stride, place, IN_A_FLOAT[self._kind.format])
        _store(code, number, post, self._kind.format)

    def _at(self, points: Value, stride: Value, place: Value, in_a_float: int = 1) -> Value:
        """Return a pointer to the channels of a point."""
        builder = self._code.builder
        begin = builder.lshr(self._first, INTEGER(in_a_float.bit_length() - 1))
        return self._code.at(points, begin, self._code.times(place, stride))


def _store(code: Code, vector: Value, pointer: Value, form: int) -> None:
    """Write a vector of 16 floats in a format; what does not fit into a byte becomes the nearest one that does."""
    if form == FLOATS:
        code.store(vector, pointer)
        return
    narrow = code.rounded_vector(vector) if form == BF16 else _in_bytes(code, vector, form)
    stored = code.builder.store(narrow, code.builder.bitcast(pointer, narrow.type.as_pointer()))
    stored.align = FLOAT_BYTES


def _in_bytes(code: Code, vector: Value, form: int) -> Value:
    """Return a vector of 16 floats rounded to bytes, ties to even; UNSIGNED: of numbers that are not negative."""
    every, (wide, narrow) = ir.Constant(ir.IntType(16), -1), (ir.VectorType(ir.IntType(bits), 16) for bits in (32, 8))
    rounding = ir.IntType(32)(_CURRENT_ROUNDING)
    whole = code.call("llvm.x86.avx512.mask.cvtps2dq.512", wide, vector, ir.Constant(wide, None), every, rounding)
    name = "pmovus" if form == UNSIGNED else "pmovs"
    return code.call(f"llvm.x86.avx512.mask.{name}.db.512", narrow, whole, ir.Constant(narrow, None), every)


class RoundedRow(NamedTuple):
    """A row of points in float32, and where to write it in another format.

    inverse: 1 / what one of the integers of each channel stands for.
    """

    points: InMemory
    points_stride: int
    columns: int
    channels: int
    inverse: InWeights
    out: InMemory
    out_stride: int
    format: int


def _round_row(code: Code, row: RoundedRow) -> None:
    """Write the instructions of a `RoundedRow`, once for each format."""
    for form in (BF16, UNSIGNED, SIGNED):
        with (
            code.when_equal(row.format, form),
            code.loop(row.columns) as column,
            code.loop(row.channels, TILE_ROWS) as channel,
        ):
            begin = code.builder.lshr(channel, INTEGER(IN_A_FLOAT[form].bit_length() - 1))
            number = code.load(code.at(row.points, code.times(column, row.points_stride), channel))
            if form != BF16:
                number = code.builder.fmul(number, code.load(code.at(row.inverse, channel)))
            _store(code, number, code.at(row.out, code.times(column, row.out_stride), begin), form)


_FEATURES = {TILE_ROWS: FEATURES_OF_TILES} if IS_X86 else {}
convolve_points = vector_intrinsic(_convolve_points, _FEATURES)
round_row = vector_intrinsic(_round_row, _FEATURES)
