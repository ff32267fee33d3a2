"""Writes LLVM instructions on vectors, for several kinds of CPU.

Code that numba compiles does not keep a tile of a matrix product in registers, and it is compiled for AVX2 (x86-64-v3)
only. Functions written with `Code` are compiled for AVX2, AVX-512 and AMX, and kernels choose one of them at run time,
so that one set of compiled kernels serves every computer.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, TypeAlias, get_type_hints

import numpy as np
from numpy.typing import NDArray

from engine.native.instructions import cgutils, compile_for, intrinsic, ir, types
from engine.native.jit import has_private_means
from engine.native.processor import instruction_sets
from engine.nets.layers import Activation

Value: TypeAlias = Any
"""An LLVM value; llvmlite has no annotations."""

_FEATURES = {8: "+avx2,+fma", 16: "+avx512f"}
"""Instruction sets of functions by the lanes (floats in a vector) that they use, beyond those of all kernels."""
ACTIVATIONS = tuple(Activation)
"""Kernels identify an activation by its index in this tuple."""
INTEGER, FLOAT = ir.IntType(64), ir.FloatType()
FLOAT_BYTES = 4
_MEMORY, _WEIGHTS = "memory", "weights"
InMemory: TypeAlias = Annotated[int, _MEMORY]
"""A field of an intrinsic's arguments that is an index into `memory`; the instructions get it as a pointer."""
InWeights: TypeAlias = Annotated[int, _WEIGHTS]
"""The same for an index into `weights`."""


def lanes_here() -> int:
    """Return the number of floats in the longest vectors of this CPU; 0 if the kernels do not support it."""
    found = set(instruction_sets()) if has_private_means() else set()
    if "avx512f" in found:
        return 16
    return 8 if {"avx2", "fma"} <= found else 0


class Code:
    """Writes instructions on vectors of `lanes` floats at the current position of `builder`."""

    def __init__(self, builder: Any, lanes: int) -> None:
        self.builder, self.lanes = builder, lanes
        self._type = ir.VectorType(FLOAT, lanes)
        self._integers = ir.VectorType(ir.IntType(32), lanes)

    def number(self, value: float) -> Value:
        """Return a vector with the same constant in all lanes."""
        return ir.Constant(self._type, [float(value)] * self.lanes)

    def spread(self, pointer: Value) -> Value:
        """Return a vector with the float at `pointer` in all lanes."""
        undefined = ir.Constant(self._type, ir.Undefined)
        single = self.builder.insert_element(undefined, self.builder.load(pointer), ir.IntType(32)(0))
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
    def loop_between(self, start: Value, end: Value) -> Iterator[Value]:
        """Loop over the indices start, start + 1, ... below `end`, as `loop` does."""
        with cgutils.for_range_slice(self.builder, start, end, INTEGER(1), INTEGER) as (index, _):
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
        """Return e^x to about the precision of float32; x is clipped to [-87, 88].

        e^x = 2^n * e^r with n the integer nearest to x / log(2), and e^r by its Taylor series, |r| <= log(2) / 2.
        """
        # LLVM's own exp would be a call of a function for each lane.
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
        """Return the activation of each number."""
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


def _function(module: Any, operands: Sequence[Value], lanes: int, features: str, write: Callable[..., None]) -> Any:
    """Return the function of a module for vectors of `lanes` floats; write it at the first call."""
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


def vector_intrinsic(
    write: Callable[[Code, Any], None], features: Mapping[int, str] = _FEATURES
) -> Callable[..., None]:
    """Return an intrinsic that kernels call with (lanes, memory, weights, arguments); both arrays are float32.

    write: writes the instructions. Its second parameter is annotated with the NamedTuple of the arguments; fields of
    type `InMemory` or `InWeights` are passed to it as pointers, all others as integers. features: the instruction sets
    to compile for, by the number of lanes that the intrinsic can be called with.
    """
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
        for lanes, enabled in features.items():
            with builder.if_then(builder.icmp_signed("==", values[0], INTEGER(lanes))):
                builder.call(_function(builder.module, operands, lanes, enabled, write_unpacked), operands)
        return context.get_dummy_value()

    return intrinsic(typed)  # type: ignore[no-any-return]
