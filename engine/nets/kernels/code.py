"""Instructions on vectors and tiles, written once and compiled for several kinds of CPU.

What numba compiles by itself cannot hold a tile of a matrix product in registers, and it is compiled for AVX2. What is
written here becomes functions of LLVM's for AVX2, AVX-512 and AMX, which kernels call. Which of them runs is decided
when it runs: one set of compiled kernels serves every computer.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.native.instructions import cgutils, compile_for, intrinsic, ir, types
from engine.native.jit import has_private_means
from engine.native.processor import instruction_sets
from engine.nets.layers import Activation

Value: TypeAlias = Any
"""A value of LLVM's; llvmlite has no types."""

_FEATURES = {8: "+avx2,+fma", 16: "+avx512f"}
"""The instructions that functions on vectors of so many lanes are compiled for, besides those of all kernels."""
ACTIVATIONS = tuple(Activation)
"""Kernels know an activation by its place here."""
INTEGER, FLOAT = ir.IntType(64), ir.FloatType()
FLOAT_BYTES = 4


def lanes_here() -> int:
    """Return the floats of the longest vectors that this CPU computes with, 0 where there are no functions for it."""
    found = set(instruction_sets()) if has_private_means() else set()
    if "avx512f" in found:
        return 16
    return 8 if {"avx2", "fma"} <= found else 0


class Code:
    """Writes instructions on vectors of so many lanes."""

    def __init__(self, builder: Any, lanes: int) -> None:
        self.builder, self.lanes = builder, lanes
        self._type = ir.VectorType(FLOAT, lanes)
        self._integers = ir.VectorType(ir.IntType(32), lanes)

    def number(self, value: float) -> Value:
        """Return a vector of one constant."""
        return ir.Constant(self._type, [float(value)] * self.lanes)

    def spread(self, pointer: Value) -> Value:
        """Return a vector of the one float at a pointer."""
        undefined = ir.Constant(self._type, ir.Undefined)
        single = self.builder.insert_element(undefined, self.builder.load(pointer), ir.IntType(32)(0))
        return self.builder.shuffle_vector(single, undefined, ir.Constant(self._integers, [0] * self.lanes))

    def at(self, pointer: Value, *places: Value) -> Value:
        """Return a pointer so many floats further."""
        for place in places:
            pointer = self.builder.gep(pointer, [place])
        return pointer

    def times(self, left: Value, right: Value | int) -> Value:
        """Return a product of whole numbers."""
        return self.builder.mul(left, INTEGER(right) if isinstance(right, int) else right)

    def load(self, pointer: Value) -> Value:
        """Return the vector at a pointer."""
        loaded = self.builder.load(self.builder.bitcast(pointer, self._type.as_pointer()))
        loaded.align = FLOAT_BYTES
        return loaded

    def store(self, vector: Value, pointer: Value) -> None:
        """Write a vector to where a pointer shows."""
        stored = self.builder.store(vector, self.builder.bitcast(pointer, self._type.as_pointer()))
        stored.align = FLOAT_BYTES

    def fma(self, left: Value, right: Value, added: Value) -> Value:
        """Return left * right + added."""
        return self.call(f"llvm.fma.v{self.lanes}f32", self._type, left, right, added)

    def call(self, name: str, result: Any, *operands: Value) -> Value:
        """Return what one of LLVM's intrinsics returns, of that type."""
        function = self.builder.module.globals.get(name)
        if function is None:
            kind = ir.FunctionType(result, [each.type for each in operands])
            function = ir.Function(self.builder.module, kind, name)
        return self.builder.call(function, operands)

    def variable(self, value: Value) -> Value:
        """Return a new local variable with a vector."""
        pointer = cgutils.alloca_once(self.builder, self._type)
        self.builder.store(value, pointer)
        return pointer

    def whole(self, value: int) -> Value:
        """Return a new local variable with a whole number."""
        pointer = cgutils.alloca_once(self.builder, INTEGER)
        self.builder.store(INTEGER(value), pointer)
        return pointer

    def load_whole(self, pointer: Value) -> Value:
        """Return the whole number that lies in the place of a float."""
        kind = ir.IntType(32)
        return self.builder.sext(self.builder.load(self.builder.bitcast(pointer, kind.as_pointer())), INTEGER)

    @contextmanager
    def loop(self, count: Value, step: int = 1) -> Iterator[Value]:
        """Write a loop over 0, step, ... below count: its context is the index."""
        with cgutils.for_range_slice(self.builder, INTEGER(0), count, INTEGER(step), INTEGER) as (index, _):
            yield index

    @contextmanager
    def loop_between(self, start: Value, end: Value) -> Iterator[Value]:
        """Write a loop over start, start + 1, ... below end: its context is the index."""
        with cgutils.for_range_slice(self.builder, start, end, INTEGER(1), INTEGER) as (index, _):
            yield index

    @contextmanager
    def when_equal(self, value: Value, number: int) -> Iterator[None]:
        """Write code that runs only where a whole number is the given one."""
        with self.builder.if_then(self.builder.icmp_signed("==", value, INTEGER(number))):
            yield

    def smaller(self, left: Value, right: Value) -> Value:
        """Return the lesser numbers."""
        return self.builder.select(self.builder.fcmp_ordered("<", left, right), left, right)

    def larger(self, left: Value, right: Value) -> Value:
        """Return the greater numbers."""
        return self.builder.select(self.builder.fcmp_ordered(">", left, right), left, right)

    def exp(self, x: Value) -> Value:
        """Return e^x to about float32's precision for x of -87 to 88; beyond, the result at that end.

        e^x = 2^n * e^r, n the whole number next to x / log(2) and e^r its Taylor series, |r| <= log(2) / 2.
        """
        builder, shift = self.builder, self.number(1.5 * 2**23)  # adding it leaves n in the lowest bits
        x = self.smaller(self.larger(x, self.number(-87.0)), self.number(88.0))
        shifted = self.fma(x, self.number(1.0 / np.log(2.0)), shift)
        n = builder.fsub(shifted, shift)
        high = float(np.float32(355.0 / 512.0))  # log(2) in two parts, n times the first of which is exact
        r = self.fma(n, self.number(-high), x)
        r = self.fma(n, self.number(high - np.log(2.0)), r)
        result = self.number(1.0 / 5040.0)
        for factorial in (720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0):
            result = self.fma(result, r, self.number(1.0 / factorial))
        exponent = builder.sub(builder.bitcast(shifted, self._integers), builder.bitcast(shift, self._integers))
        power = builder.shl(exponent, ir.Constant(self._integers, [23] * self.lanes))
        return builder.bitcast(builder.add(builder.bitcast(result, self._integers), power), self._type)

    def activate(self, x: Value, kind: Activation) -> Value:
        """Return the activation of numbers."""
        builder = self.builder
        match kind:
            case Activation.IDENTITY:
                return x
            case Activation.RELU:
                return self.larger(x, self.number(0.0))
            case Activation.MISH:  # tanh(log(1 + p)) = r / (r + 2) with r = p * (p + 2); from 20 on it is 1
                p = self.exp(self.smaller(x, self.number(20.0)))
                r = builder.fmul(p, builder.fadd(p, self.number(2.0)))
                return builder.fmul(x, builder.fdiv(r, builder.fadd(r, self.number(2.0))))
            case Activation.SILU:
                power = self.exp(builder.fneg(x))
                return builder.fdiv(x, builder.fadd(power, self.number(1.0)))

    def finish(
        self, number: Value, old: Value, added: Value, scale: Value, shift: Value, kind: Activation
    ) -> tuple[Value, Value]:
        """Return raw = number + old + added, and the activation of raw * scale + shift."""
        raw = self.builder.fadd(self.builder.fadd(number, old), added)
        return raw, self.activate(self.fma(raw, scale, shift), kind)

    def combine(self, factors: Sequence[float], vectors: Sequence[Value]) -> Value:
        """Return the sum of vectors times constants, of which one at least is not 0."""
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


Writer: TypeAlias = Callable[..., None]
"""Writes a function's instructions: of a `Code` and the function's arguments."""


def _function(module: Any, operands: Sequence[Value], lanes: int, features: str, write: Writer) -> Any:
    """Return a function of a module on vectors of so many lanes, written when it is first needed."""
    name = f"keima.{write.__name__}.{lanes}"
    found = module.globals.get(name)
    if found is not None:
        return found
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [each.type for each in operands]), name)
    function.linkage = "internal"
    compile_for(function, features)
    builder = ir.IRBuilder(function.append_basic_block())
    write(Code(builder, lanes), *function.args)
    builder.ret_void()
    return function


def vector_intrinsic(write: Writer, arrays: int, features: Mapping[int, str] = _FEATURES) -> Callable[..., None]:
    """Return what kernels call to run what `write` writes: of the lanes and its arguments, so many of them arrays.

    Each array is followed by the place in it that the function's pointer shows. features: the instructions that a
    function is compiled for, by the lanes that there are functions for.
    """

    def typed(_: Any, *given: Any) -> tuple[Any, Callable[..., Value]]:
        return types.void(*(each if isinstance(each, types.Array) else types.int64 for each in given)), code

    def code(context: Any, builder: Any, signature: Any, arguments: Sequence[Value]) -> Value:
        operands, rest = list[Value](), iter(zip(signature.args[1:], arguments[1:], strict=True))
        for kind, value in rest:
            if isinstance(kind, types.Array):
                data = context.make_array(kind)(context, builder, value).data
                operands.append(builder.gep(data, [next(rest)[1]]))
            else:
                operands.append(value)
        for lanes, enabled in features.items():
            with builder.if_then(builder.icmp_signed("==", arguments[0], INTEGER(lanes))):
                builder.call(_function(builder.module, operands, lanes, enabled, write), operands)
        return context.get_dummy_value()

    # Numba takes what it calls to have so many arguments, and no rest.
    count = len(inspect.signature(write).parameters) + arrays
    names = ("context", "lanes", *(f"argument{index}" for index in range(1, count)))
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    typed.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore[attr-defined]
    return intrinsic(typed)  # type: ignore[no-any-return]
