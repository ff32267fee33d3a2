"""Writes LLVM instructions on vectors, for several kinds of CPU.

Code that numba compiles does not keep a tile of a matrix product in registers, and it is compiled for AVX2 (x86-64-v3)
only. Functions written with `Code` are compiled for AVX2, AVX-512 and AMX, and kernels choose one of them at run time,
so that one set of compiled kernels serves every computer.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Annotated, Any, TypeAlias, get_type_hints

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray

from engine.native.instructions import Bfloat16, cgutils, compile_for, intrinsic, ir, types
from engine.nets.kernels.operands import (
    ALL_FUSED,
    FEATURES,
    FEATURES_OF_INTEGER_PRODUCTS,
    LANES_OF,
    LONG_INTEGERS,
    ROUNDED,
    TILED,
    VECTORS_OF_INTEGERS,
)
from engine.nets.layers import Activation

Value: TypeAlias = Any
"""An LLVM value; llvmlite has no annotations."""

_CURRENT_ROUNDING, _DOWN = 4, 1
"""For instructions of AVX-512: how results are rounded, and that a number is taken apart at the integer below it."""
ACTIVATIONS = tuple(Activation)
"""Kernels identify an activation by its index in this tuple."""
INTEGER, FLOAT = ir.IntType(64), ir.FloatType()
FLOAT_BYTES = 4
_MEMORY, _WEIGHTS = "memory", "weights"
InMemory: TypeAlias = Annotated[int, _MEMORY]
"""A field of an intrinsic's arguments that is an index into `memory`; the instructions get it as a pointer."""
InWeights: TypeAlias = Annotated[int, _WEIGHTS]
"""The same for an index into `weights`."""


_SHIFT = 1.5 * 2**23
"""A number above 2^22 in size: the sum with it is rounded to an integer, which is in the lowest bits of the sum."""


@cache
def _polynomial(degree: int, start: float) -> list[float]:
    """Return the coefficients of a polynomial for 2^r, r from start to start + 1, the constant first: Chebyshev's."""
    return Chebyshev.interpolate(np.exp2, degree, [start, start + 1.0]).convert(kind=Polynomial).coef.tolist()


class Code:
    """Writes instructions on vectors of `lanes` floats at the current position of `builder`.

    numbers: numbers in a vector of operands of a matrix product, a key of `FEATURES_OF_PRODUCTS`. If it is ROUNDED, the
    operands are pairs of bf16, each in the place of a float. If it is one of VECTORS_OF_INTEGERS, they are pairs of
    int16, and the products are int32. Functions are computed to the precision of the operands only.
    """

    def __init__(self, builder: Any, numbers: int) -> None:
        self.builder, self.lanes, self.rounded = builder, LANES_OF[numbers], numbers in (ROUNDED, TILED)
        self.are_integers = numbers in VECTORS_OF_INTEGERS
        self.are_fused = numbers in ALL_FUSED
        """Whether one instruction multiplies integers and adds the products."""
        self.has_powers = self.rounded or numbers == LONG_INTEGERS
        """Whether `power` is computed by instructions for it, to which any exponent may be given."""
        self._type = ir.VectorType(FLOAT, self.lanes)
        self._integers = ir.VectorType(ir.IntType(32), self.lanes)
        self._every = ir.Constant(ir.IntType(self.lanes), -1)

    def number(self, value: float) -> Value:
        """Return a vector with the same constant in all lanes."""
        return ir.Constant(self._type, [float(value)] * self.lanes)

    def spread(self, pointer: Value) -> Value:
        """Return a vector with the float at `pointer` in all lanes."""
        return self.every(self.builder.load(pointer))

    def every(self, number: Value) -> Value:
        """Return a vector with a float in all lanes."""
        undefined = ir.Constant(self._type, ir.Undefined)
        single = self.builder.insert_element(undefined, number, ir.IntType(32)(0))
        return self.builder.shuffle_vector(single, undefined, ir.Constant(self._integers, [0] * self.lanes))

    def at(self, pointer: Value, *places: Value) -> Value:
        """Return `pointer` moved by the sum of `places`, in floats."""
        for place in places:
            pointer = self.builder.gep(pointer, [place])
        return pointer

    def times(self, left: Value, right: Value | int) -> Value:
        """Return a product of integers."""
        return self.builder.mul(left, INTEGER(right) if isinstance(right, int) else right)

    def load(self, pointer: Value) -> Value:
        """Return the vector at a pointer."""
        # The alignment of a float: rows begin anywhere, and unaligned loads cost nothing on data that is aligned.
        loaded = self.builder.load(self.builder.bitcast(pointer, self._type.as_pointer()))
        loaded.align = FLOAT_BYTES
        return loaded

    def store(self, vector: Value, pointer: Value) -> None:
        """Write a vector to a pointer."""
        stored = self.builder.store(vector, self.builder.bitcast(pointer, self._type.as_pointer()))
        stored.align = FLOAT_BYTES

    def fma(self, left: Value, right: Value, added: Value) -> Value:
        """Return left * right + added."""
        return self.call(f"llvm.fma.v{self.lanes}f32", self._type, left, right, added)

    def multiply(self, left: Value, right: Value, added: Value) -> Value:
        """Return left * right + added for vectors of operands: of pairs, the products of both numbers of each pair."""
        if self.are_fused:
            added, left, right = (self.builder.bitcast(each, self._integers) for each in (added, left, right))
            sums = self.call(f"llvm.x86.avx512.vpdpwssd.{32 * self.lanes}", self._integers, added, left, right)
            return self.builder.bitcast(sums, self._type)
        if self.are_integers:
            pairs = ir.VectorType(ir.IntType(16), 2 * self.lanes)
            left, right = (self.builder.bitcast(each, pairs) for each in (left, right))
            products = self.call("llvm.x86.avx2.pmadd.wd", self._integers, left, right)
            return self.total_of(self.builder.bitcast(products, self._type), added)
        if not self.rounded:
            return self.fma(left, right, added)
        pairs = ir.VectorType(Bfloat16(), 2 * self.lanes)
        left, right = (self.builder.bitcast(each, pairs) for each in (left, right))
        return self.call("llvm.x86.avx512bf16.dpbf16ps.512", self._type, added, left, right)

    def total_of(self, left: Value, right: Value) -> Value:
        """Return the sums of two vectors of sums of products."""
        if not self.are_integers:
            return self.builder.fadd(left, right)
        left, right = (self.builder.bitcast(each, self._integers) for each in (left, right))
        return self.builder.bitcast(self.builder.add(left, right), self._type)

    def from_integers(self, vector: Value) -> Value:
        """Return a vector of int32 as float32."""
        return self.builder.sitofp(self.builder.bitcast(vector, self._integers), self._type)

    def whole_numbers(self, vector: Value) -> Value:
        """Return a vector of float32 rounded to int32, ties to even."""
        if self.lanes == LANES_OF[LONG_INTEGERS]:
            given = ir.Constant(self._integers, None), self._every, ir.IntType(32)(_CURRENT_ROUNDING)
            return self.call("llvm.x86.avx512.mask.cvtps2dq.512", self._integers, vector, *given)
        return self.call("llvm.x86.avx.cvt.ps2dq.256", self._integers, vector)

    def store_integers(self, vector: Value, pointer: Value) -> None:
        """Write a vector of float32, rounded to int16 and cut off at its ends, to a pointer."""
        whole, kind = self.whole_numbers(vector), ir.VectorType(ir.IntType(16), self.lanes)
        if self.lanes == LANES_OF[LONG_INTEGERS]:
            narrow = self.call("llvm.x86.avx512.mask.pmovs.dw.512", kind, whole, ir.Constant(kind, None), self._every)
        else:
            halves = [self.shuffle(whole, whole, range(start, start + 4)) for start in (0, 4)]
            narrow = self.call("llvm.x86.sse2.packssdw.128", kind, *halves)
        stored = self.builder.store(narrow, self.builder.bitcast(pointer, narrow.type.as_pointer()))
        stored.align = FLOAT_BYTES

    def floats(self, numbers: Value | int) -> Value:
        """Return the floats that take the place of as many operands; `numbers` is even."""
        numbers = INTEGER(numbers) if isinstance(numbers, int) else numbers
        return self.builder.lshr(numbers, INTEGER(1)) if self.rounded else numbers

    def rounded_vector(self, vector: Value) -> Value:
        """Return a vector of float32 as one of bf16."""
        kind = ir.VectorType(Bfloat16(), self.lanes)
        return self.call("llvm.x86.avx512bf16.cvtneps2bf16.512", kind, vector)

    def store_operands(self, vector: Value, pointer: Value) -> None:
        """Write a vector of float32 to a pointer as operands: with bf16, in half as many bytes."""
        if not self.rounded:
            self.store(vector, pointer)
            return
        narrow = self.rounded_vector(vector)
        stored = self.builder.store(narrow, self.builder.bitcast(pointer, narrow.type.as_pointer()))
        stored.align = FLOAT_BYTES

    def store_in_pairs(self, first: Value, second: Value, pointer: Value) -> None:
        """Write two vectors of float32 as one vector of pairs of bf16."""
        kind = ir.VectorType(ir.IntType(16), self.lanes)
        left, right = (self.builder.bitcast(self.rounded_vector(each), kind) for each in (first, second))
        order = [place for lane in range(self.lanes) for place in (lane, self.lanes + lane)]
        self.store(self.builder.bitcast(self.shuffle(left, right, order), self._type), pointer)

    def shuffle(self, first: Value, second: Value, order: Sequence[int]) -> Value:
        """Return the numbers of two vectors at the places in `order`, counted through both."""
        return self.builder.shuffle_vector(
            first, second, ir.Constant(ir.VectorType(ir.IntType(32), len(order)), list(order))
        )

    def transposed(self, rows: Sequence[Value]) -> list[Value]:
        """Return the transpose of a matrix of as many vectors as these have lanes."""
        # Bit by bit: the rows i and i + distance exchange the numbers whose index differs from their own in this bit.
        found, lanes = list(rows), self.lanes
        for distance in (2**bit for bit in range(lanes.bit_length() - 1)):
            for row in (row for row in range(lanes) if not row & distance):
                low, high = found[row], found[row + distance]
                kept = [lane if not lane & distance else lanes + lane - distance for lane in range(lanes)]
                found[row] = self.shuffle(low, high, kept)
                moved = [lane + distance if not lane & distance else lanes + lane for lane in range(lanes)]
                found[row + distance] = self.shuffle(low, high, moved)
        return found

    def total(self, vector: Value, combine: Callable[[Value, Value], Value]) -> Value:
        """Return a vector with the sum, or another combination, of all numbers of a vector in each lane."""
        for distance in (2**bit for bit in range(self.lanes.bit_length() - 1)):
            order = [lane ^ distance for lane in range(self.lanes)]
            vector = combine(vector, self.shuffle(vector, vector, order))
        return vector

    def first(self, vector: Value, count: Value, instead: float) -> Value:
        """Return a vector whose lanes from `count` on have another number."""
        kind = ir.VectorType(INTEGER, self.lanes)
        single = self.builder.insert_element(ir.Constant(kind, ir.Undefined), count, ir.IntType(32)(0))
        counts = self.shuffle(single, single, [0] * self.lanes)
        is_kept = self.builder.icmp_signed("<", ir.Constant(kind, list(range(self.lanes))), counts)
        return self.builder.select(is_kept, vector, self.number(instead))

    def call(self, name: str, result: Any, *operands: Value) -> Value:
        """Call an LLVM intrinsic by its name; result: the type that it returns."""
        function = self.builder.module.globals.get(name)
        if function is None:
            kind = ir.FunctionType(result, [each.type for each in operands])
            function = ir.Function(self.builder.module, kind, name)
        return self.builder.call(function, operands)

    def variable(self, value: Value) -> Value:
        """Return a pointer to a new local variable that holds a vector."""
        # In memory here, because the loops of `loop` carry no value but their index; LLVM turns it into a register.
        pointer = cgutils.alloca_once(self.builder, self._type)
        self.builder.store(value, pointer)
        return pointer

    def whole(self, value: int) -> Value:
        """Return a pointer to a new local variable that holds an integer."""
        pointer = cgutils.alloca_once(self.builder, INTEGER)
        self.builder.store(INTEGER(value), pointer)
        return pointer

    def load_whole(self, pointer: Value) -> Value:
        """Return the int32 that is stored at a pointer to float."""
        kind = ir.IntType(32)
        return self.builder.sext(self.builder.load(self.builder.bitcast(pointer, kind.as_pointer())), INTEGER)

    @contextmanager
    def loop(self, count: Value, step: int = 1) -> Iterator[Value]:
        """Loop over the indices 0, step, ... below `count`: the instructions in the block are its body."""
        with cgutils.for_range_slice(self.builder, INTEGER(0), count, INTEGER(step), INTEGER) as (index, _):
            yield index

    @contextmanager
    def loop_between(self, start: Value, end: Value, step: int = 1) -> Iterator[Value]:
        """Loop over the indices start, start + step, ... below `end`, as `loop` does."""
        with cgutils.for_range_slice(self.builder, start, end, INTEGER(step), INTEGER) as (index, _):
            yield index

    @contextmanager
    def when_equal(self, value: Value, number: int) -> Iterator[None]:
        """Run the instructions in the block only if `value` equals `number`."""
        with self.builder.if_then(self.builder.icmp_signed("==", value, INTEGER(number))):
            yield

    def smaller(self, left: Value, right: Value) -> Value:
        """Return the smaller number of each pair."""
        return self.builder.select(self.builder.fcmp_ordered("<", left, right), left, right)

    def larger(self, left: Value, right: Value) -> Value:
        """Return the larger number of each pair."""
        return self.builder.select(self.builder.fcmp_ordered(">", left, right), left, right)

    def exp(self, x: Value) -> Value:
        """Return e^x to about the precision of float32; x is clipped to [-87, 88]. With other operands see `power`.

        e^x = 2^n * e^r with n the integer nearest to x / log(2), and e^r by its Taylor series, |r| <= log(2) / 2.
        """
        # LLVM's own exp would be a call of a function for each lane.
        builder, shift = self.builder, self.number(_SHIFT)
        if self.has_powers:
            return self.power(builder.fmul(x, self.number(1.0 / np.log(2.0))))
        x = self.smaller(self.larger(x, self.number(-87.0)), self.number(88.0))
        if self.are_integers:
            return self.power(builder.fmul(x, self.number(1.0 / np.log(2.0))))
        shifted = self.fma(x, self.number(1.0 / np.log(2.0)), shift)
        n = builder.fsub(shifted, shift)
        high = float(np.float32(355.0 / 512.0))  # log(2) in two parts, n times the first of which is exact
        r = self.fma(n, self.number(-high), x)
        r = self.fma(n, self.number(high - np.log(2.0)), r)
        result = self.number(1.0 / 5040.0)
        for factorial in (720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0):
            result = self.fma(result, r, self.number(1.0 / factorial))
        return self._scaled(result, shifted)

    def power(self, x: Value) -> Value:
        """Return 2^x: relative error below 3e-7 or, with operands in int16, 4e-6, and in bf16, 2e-4.

        2^x = 2^n * 2^r with n the integer nearest to x, from -126 to 127, and 2^r by a polynomial, |r| <= 1/2. If
        `has_powers`, n is the integer below x, and the result is 0 or infinite where float32 has no number for it.
        """
        builder, shift = self.builder, self.number(_SHIFT)
        degree = 3 if self.rounded else 4 if self.are_integers else 6
        if not self.has_powers:
            shifted = builder.fadd(x, shift)
            r = builder.fsub(x, builder.fsub(shifted, shift))
            return self._scaled(self._polynomial_of(r, _polynomial(degree, -0.5)), shifted)
        whole_part = ir.IntType(32)
        given = (self.number(0.0), self._every, whole_part(_CURRENT_ROUNDING))
        r = self.call("llvm.x86.avx512.mask.reduce.ps.512", self._type, x, whole_part(_DOWN), *given)
        result = self._polynomial_of(r, _polynomial(degree, 0.0))
        return self.call("llvm.x86.avx512.mask.scalef.ps.512", self._type, result, x, *given)

    def _polynomial_of(self, x: Value, coefficients: Sequence[float]) -> Value:
        """Return a polynomial, given its coefficients, the constant first."""
        result = self.number(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self.fma(result, x, self.number(coefficient))
        return result

    def _scaled(self, number: Value, shifted: Value) -> Value:
        """Return number * 2^n, for shifted = n + _SHIFT."""
        # The shift by 23 bits drops all bits of _SHIFT, whose lowest nine are zero.
        builder = self.builder
        power = builder.shl(builder.bitcast(shifted, self._integers), ir.Constant(self._integers, [23] * self.lanes))
        return builder.bitcast(builder.add(builder.bitcast(number, self._integers), power), self._type)

    def divide(self, left: Value, right: Value) -> Value:
        """Return left / right; with operands of 16 bits in AVX-512 with a relative error of 2^-14."""
        if self.lanes != LANES_OF[LONG_INTEGERS]:
            return self.builder.fdiv(left, right)
        zero = self.number(0.0)
        inverse = self.call("llvm.x86.avx512.rcp14.ps.512", self._type, right, zero, self._every)
        if not self.has_powers:
            # One step of Newton's method makes it exact to float32.
            error = self.fma(self.builder.fneg(right), inverse, self.number(1.0))
            inverse = self.fma(inverse, error, inverse)
        return self.builder.fmul(left, inverse)

    def activate(self, x: Value, kind: Activation) -> Value:
        """Return the activation of each number."""
        builder = self.builder
        match kind:
            case Activation.IDENTITY:
                return x
            case Activation.RELU:
                return self.larger(self.number(0.0), x)  # in this order NaN stays NaN, and is found in the answers
            case Activation.MISH:  # tanh(log(1 + p)) = r / (r + 2) with r = p * (p + 2); from 20 on it is 1
                p = self.exp(self.smaller(x, self.number(20.0)))
                r = builder.fmul(p, builder.fadd(p, self.number(2.0)))
                return builder.fmul(x, self.divide(r, builder.fadd(r, self.number(2.0))))
            case Activation.SILU:
                power = self.exp(builder.fneg(x))
                return self.divide(x, builder.fadd(power, self.number(1.0)))

    def finish(
        self, number: Value, old: Value, added: Value, scale: Value, shift: Value, kind: Activation
    ) -> tuple[Value, Value]:
        """Return raw = number + old + added, and the activation of raw * scale + shift."""
        raw = self.builder.fadd(self.builder.fadd(number, old), added)
        return raw, self.activate(self.fma(raw, scale, shift), kind)

    def combine(self, factors: Sequence[float], vectors: Sequence[Value]) -> Value:
        """Return the sum of vectors times constants, of which at least one is not 0."""
        # The matrices of Winograd's transforms are mostly 0, 1 and -1: these cost no multiplication.
        result = None
        for factor, vector in zip(factors, vectors, strict=True):
            if factor == 0.0:
                continue
            if result is None:
                result = vector if factor == 1.0 else self.builder.fmul(vector, self.number(factor))
            elif abs(factor) == 1.0:
                result = (self.builder.fadd if factor > 0.0 else self.builder.fsub)(result, vector)
            else:
                result = self.fma(vector, self.number(factor), result)
        return result

    def sandwich(self, matrix: NDArray[np.float64], tile: list[list[Value]]) -> list[list[Value]]:
        """Return matrix . tile . its transpose."""
        columns = list(zip(*tile, strict=True))
        half = [[self.combine(row, column) for column in columns] for row in matrix]
        return [[self.combine(row, each) for row in matrix] for each in half]


def _function(module: Any, operands: Sequence[Value], numbers: int, features: str, write: Callable[..., None]) -> Any:
    """Return the function of a module for vectors of `numbers` operands; write it at the first call."""
    name = f"keima.{write.__name__}.{numbers}"
    found = module.globals.get(name)
    if found is not None:
        return found
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [each.type for each in operands]), name)
    function.linkage = "internal"
    if features:
        compile_for(function, features)
    # Inlined into a kernel for older processors, its instructions could not be selected.
    if numbers in FEATURES_OF_INTEGER_PRODUCTS:
        function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block())
    write(Code(builder, numbers), *function.args)
    builder.ret_void()
    return function


WRITERS: list[tuple[Callable[[Code, Any], None], Mapping[int, str]]] = []
"""What `vector_intrinsic` was called with."""


def vector_intrinsic(write: Callable[[Code, Any], None], features: Mapping[int, str] = FEATURES) -> Callable[..., None]:
    """Return an intrinsic that kernels call with (numbers, memory, weights, arguments); both arrays are float32.

    write: writes the instructions. Its second parameter is annotated with the NamedTuple of the arguments; fields of
    type `InMemory` or `InWeights` are passed to it as pointers, all others as integers. features: the instruction sets
    to compile for, by the numbers in a vector of operands (see `Code`) that the intrinsic can be called with.
    """
    WRITERS.append((write, features))
    arguments: Any = list(get_type_hints(write).values())[1]
    hints = get_type_hints(arguments, include_extras=True).values()
    arrays = [getattr(hint, "__metadata__", [None])[0] for hint in hints]

    def write_unpacked(code: Code, *operands: Value) -> None:
        write(code, arguments(*operands))

    write_unpacked.__name__ = write.__name__

    def typed(_: Any, lanes: Any, memory: Any, weights: Any, given: Any) -> tuple[Any, Callable[..., Value]]:
        return types.void(types.int64, memory, weights, given), code

    def code(context: Any, builder: Any, signature: Any, values: Sequence[Value]) -> Value:
        data = {
            name: context.make_array(kind)(context, builder, value).data
            for name, kind, value in zip((_MEMORY, _WEIGHTS), signature.args[1:3], values[1:3], strict=True)
        }
        operands = []
        for index, (kind, array) in enumerate(zip(signature.args[3].types, arrays, strict=True)):
            value = context.cast(builder, builder.extract_value(values[3], index), kind, types.int64)
            operands.append(builder.gep(data[array], [value]) if array else value)
        # A separate function for each width: instruction sets are an attribute of a whole function.
        for numbers, enabled in features.items():
            with builder.if_then(builder.icmp_signed("==", values[0], INTEGER(numbers))):
                builder.call(_function(builder.module, operands, numbers, enabled, write_unpacked), operands)
        return context.get_dummy_value()

    return intrinsic(typed)  # type: ignore[no-any-return]
