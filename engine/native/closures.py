"""Kernels that kernels call by their address, and locks between threads: what runs for long without Python.

A kernel that Python calls takes over hundreds of numbers that stay the same from call to call, such as where the arrays
of a tree lie, and holds Python's global lock meanwhile. A `Closure` takes them over once.
"""

import hashlib
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from platform import machine
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.native.jit import cgutils, code_address, compiles, intrinsic, ir, kernel, typeof, types

FAILED = -1
"""What a closure returns that could not do its work."""
_SPINS = 200
"""Looks at a lock that is held before the thread lets others have its core."""
_INTEGER, _BYTES = ir.IntType(64), ir.IntType(8).as_pointer()


_IS_X86 = machine().lower() in ("x86_64", "amd64")


def runs_closures() -> bool:
    """Return whether there are closures here: kernels are compiled, for a CPU whose clock can be read."""
    return compiles() and _IS_X86


class Held:
    """A number, an array or a tuple of such in memory, where closures find it. Arrays stay alive as long as it does."""

    def __init__(self, value: Any) -> None:
        self.value, self.kind = value, _kind_of(value)
        self.cells = np.array(list(_cells(value)), dtype=np.int64)


def _kind_of(value: Any) -> Any:
    """Return what the type of a value depends on; to ask numba for the type takes longer."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        return value.dtype, value.ndim, flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned
    return (type(value), *map(_kind_of, value)) if isinstance(value, tuple) else type(value)


def _cells(value: Any) -> Iterator[int]:
    """Yield what a value is in memory, in whole numbers; `_loaded` makes the value of them again."""
    if isinstance(value, np.ndarray):
        yield from (value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides)
    elif isinstance(value, tuple):
        for each in value:
            yield from _cells(each)
    elif isinstance(value, float):
        yield struct.unpack("<q", struct.pack("<d", value))[0]
    else:
        yield int(value)


class Closure:
    """A kernel with all its arguments but the last, a whole number. It returns a whole number, too, or FAILED.

    fixed: the arguments, each a `Held` or the value of one. address: [2] int64, what `invoke` takes.
    """

    def __init__(self, function: Callable[..., int], *fixed: Any) -> None:
        self._held = [each if isinstance(each, Held) else Held(each) for each in fixed]
        self._frame = np.array([each.cells.ctypes.data for each in self._held], dtype=np.int64)
        kinds = function, *(each.kind for each in self._held)
        if kinds not in _ENTRIES:
            _ENTRIES[kinds] = _entry(function, tuple(typeof(each.value) for each in self._held))
        code, _ = _ENTRIES[kinds]
        self.address = np.array([code, self._frame.ctypes.data], dtype=np.int64)


_function: Any = None
_arguments: Any = None
"""What `_template` calls, as names of its own for each entry."""


def _template(frame: int, number: int) -> int:
    return _function(*(_arguments(frame) + (number,)))  # type: ignore[no-any-return]  # noqa: RUF005 - numba takes no star here


_ENTRIES: dict[Any, tuple[int, object]] = {}


def _entry(function: Any, kinds: tuple[Any, ...]) -> tuple[int, object]:
    """Return the code that calls a kernel with arguments of these types, found by a frame, and one number."""
    kind = hashlib.sha256(repr(kinds).encode()).hexdigest()[:16]
    python = function.py_func
    names = {"_function": function, "_arguments": _arguments_of(kinds)}
    entry = FunctionType(_template.__code__, names, python.__name__)
    entry.__module__, entry.__qualname__ = python.__module__, f"{python.__qualname__}-{kind}"
    return code_address(entry, types.int64, types.int64)


def _arguments_of(kinds: tuple[Any, ...]) -> Any:
    """Return an intrinsic that reads the arguments of a frame: one address for each."""
    result = types.BaseTuple.from_types(kinds)  # type: ignore[attr-defined]

    @intrinsic  # type: ignore[untyped-decorator]
    def arguments(typing_context: Any, frame: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            addresses = _Cells(builder, given[0])
            values = [_loaded(context, builder, kind, _Cells(builder, addresses.take())) for kind in kinds]
            return context.make_tuple(builder, result, values)

        return result(types.int64), codegen

    return arguments


class _Cells:
    """Reads whole numbers from an address on, one after the other."""

    def __init__(self, builder: Any, address: Any) -> None:
        self._builder, self._place = builder, 0
        self._first = builder.inttoptr(address, _INTEGER.as_pointer())

    def take(self) -> Any:
        """Return the next one."""
        place = self._builder.gep(self._first, [_INTEGER(self._place)])
        self._place += 1
        return self._builder.load(place)


def _loaded(context: Any, builder: Any, kind: Any, cells: _Cells) -> Any:
    """Return the value of a type that was written as cells."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder)
        _, itemsize, data = (cells.take() for _ in range(3))
        shape, strides = ([cells.take() for _ in range(kind.ndim)] for _ in range(2))
        pointer = builder.inttoptr(data, context.get_data_type(kind.dtype).as_pointer())
        context.populate_array(array, data=pointer, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):  # type: ignore[attr-defined]
        return context.make_tuple(builder, kind, [_loaded(context, builder, each, cells) for each in kind.types])
    cell = cells.take()
    if isinstance(kind, types.Boolean):
        return builder.trunc(cell, ir.IntType(1))
    return builder.bitcast(cell, ir.DoubleType()) if isinstance(kind, types.Float) else cell


@intrinsic  # type: ignore[untyped-decorator]
def _call(typing_context: Any, code: Any, frame: Any, number: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        arguments = [_INTEGER.as_pointer(), _BYTES.as_pointer(), _INTEGER, _INTEGER]
        pointer = builder.inttoptr(given[0], ir.FunctionType(ir.IntType(32), arguments).as_pointer())
        result, unread = cgutils.alloca_once(builder, _INTEGER), cgutils.alloca_once(builder, _BYTES)
        status = builder.call(pointer, [result, unread, given[1], given[2]])
        is_done = builder.icmp_signed("==", status, ir.IntType(32)(0))
        return builder.select(is_done, builder.load(result), _INTEGER(FAILED))

    return types.int64(types.int64, types.int64, types.int64), codegen


@kernel
def invoke(address: NDArray[np.int64], number: int) -> int:
    """Call a closure."""
    return int(_call(address[0], address[1], number))


_WANTED = 1
"""Place in a lock that is not 0 while a thread of Python's waits for it."""
_WITHOUT_KERNELS = threading.RLock()
"""Stands for every lock where kernels are plain Python."""


def new_lock() -> NDArray[np.int64]:
    """Return a lock that nobody holds: [8] int64, a cache line of its own: whether it is held, and `_WANTED`."""
    return np.zeros(8, dtype=np.int64)


@intrinsic  # type: ignore[untyped-decorator]
def _take(typing_context: Any, lock: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, given[0]).data
        before = builder.cmpxchg(data, _INTEGER(0), _INTEGER(1), "acquire", "monotonic")
        return builder.extract_value(before, 1)

    return types.boolean(lock), codegen


@intrinsic  # type: ignore[untyped-decorator]
def _put(typing_context: Any, lock: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, given[0]).data
        builder.store_atomic(_INTEGER(0), data, "release", 8)
        return context.get_dummy_value()

    return types.void(lock), codegen


@intrinsic  # type: ignore[untyped-decorator]
def _is_wanted(typing_context: Any, lock: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, given[0]).data
        wanted = builder.load_atomic(builder.gep(data, [_INTEGER(_WANTED)]), "monotonic", 8)
        return builder.icmp_signed("!=", wanted, _INTEGER(0))

    return types.boolean(lock), codegen


def _without_arguments(builder: Any, name: str, returned: Any) -> Any:
    """Return a call of a function that takes no arguments."""
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(returned, []), name)
    return builder.call(function, [])


@intrinsic  # type: ignore[untyped-decorator]
def pause(typing_context: Any) -> Any:
    """Wait a moment, where the CPU can."""

    def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        if _IS_X86:
            _without_arguments(builder, "llvm.x86.sse2.pause", ir.VoidType())
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic  # type: ignore[untyped-decorator]
def give_way(typing_context: Any) -> Any:
    """Let another thread have the core, if one waits for it; under Windows the thread goes on."""

    def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        if sys.platform != "win32":
            _without_arguments(builder, "sched_yield", ir.IntType(32))
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic  # type: ignore[untyped-decorator]
def ticks(typing_context: Any) -> Any:
    """Return the CPU's clock, in units of its own."""

    def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return _without_arguments(builder, "llvm.readcyclecounter", _INTEGER)

    return types.int64(), codegen


@kernel
def _spin(spins: int) -> None:
    """Wait a moment, for the so-and-so-manyth time."""
    if spins % _SPINS == 0:
        give_way()
    else:
        pause()


@kernel
def acquire(lock: NDArray[np.int64]) -> None:
    """Wait for a lock and take it, after a thread of Python's that wants it. No thread may take one twice."""
    spins = 0
    while _is_wanted(lock) or not _take(lock):
        spins += 1
        _spin(spins)


@kernel
def acquire_first(lock: NDArray[np.int64]) -> None:
    """Wait for a lock and take it as the next: kernels that do hardly anything else would leave no gap."""
    spins = 0
    lock[_WANTED] = 1
    while not _take(lock):
        spins += 1
        _spin(spins)
    lock[_WANTED] = 0


@kernel
def release(lock: NDArray[np.int64]) -> None:
    """Let others take a lock."""
    _put(lock)


@contextmanager
def holding(lock: NDArray[np.int64]) -> Iterator[None]:
    """Hold a lock, which kernels of other threads may wait for, in Python."""
    if not compiles():
        with _WITHOUT_KERNELS:
            yield
        return
    acquire_first(lock)
    try:
        yield
    finally:
        release(lock)
