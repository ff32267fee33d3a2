"""Intrinsics for threads that run kernels: atomic access to a lock, waiting, and the CPU's clock.

Written as LLVM instructions, because numba has no atomic operations on the CPU.
"""

import sys
from typing import Any

from engine.native.instructions import cgutils, intrinsic, ir, types
from engine.native.processor import IS_ARM64, IS_X86

WAITING = 1
"""Index of the cell of a lock that is not 0 while a Python thread waits for the lock."""
OWNER = 2
"""Index of the cell of a lock with the identifier of the Python thread that holds it, 0 if none does."""
_INTEGER = ir.IntType(64)


def _data_of(context: Any, builder: Any, signature: Any, given: Any) -> Any:
    """Return a pointer to the cells of a lock, the only argument."""
    return context.make_array(signature.args[0])(context, builder, given[0]).data


@intrinsic  # type: ignore[untyped-decorator]
def try_take(typing_context: Any, lock: Any) -> Any:
    """Take a lock if it is free; return whether it was."""

    def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        data = _data_of(context, builder, signature, given)
        # "acquire" pairs with the "release" of `put_back`: what the last owner wrote is visible to the next one. A
        # failed attempt reads nothing that the lock protects, so "monotonic" is enough there.
        before = builder.cmpxchg(data, _INTEGER(0), _INTEGER(1), "acquire", "monotonic")
        return builder.extract_value(before, 1)

    return types.boolean(lock), codegen


@intrinsic  # type: ignore[untyped-decorator]
def put_back(typing_context: Any, lock: Any) -> Any:
    """Release a lock."""

    def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        builder.store_atomic(_INTEGER(0), _data_of(context, builder, signature, given), "release", 8)
        return context.get_dummy_value()

    return types.void(lock), codegen


@intrinsic  # type: ignore[untyped-decorator]
def has_python_waiting(typing_context: Any, lock: Any) -> Any:
    """Return whether a Python thread waits for a lock."""

    def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        cell = builder.gep(_data_of(context, builder, signature, given), [_INTEGER(WAITING)])
        return builder.icmp_signed("!=", builder.load_atomic(cell, "monotonic", 8), _INTEGER(0))

    return types.boolean(lock), codegen


def _call(builder: Any, name: str, returned: Any, *given: Any) -> Any:
    """Write a call of a function of LLVM or of the C library."""
    kind = ir.FunctionType(returned, [each.type for each in given])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), given)


def write_pause(builder: Any) -> None:
    """Write the instruction of `pause` for the CPU at hand."""
    if IS_X86:
        _call(builder, "llvm.x86.sse2.pause", ir.VoidType())
    elif IS_ARM64:
        # A barrier of all kinds (15): the instruction "yield" takes no time on cores without hyper-threads.
        _call(builder, "llvm.aarch64.isb", ir.VoidType(), ir.IntType(32)(15))


@intrinsic  # type: ignore[untyped-decorator]
def pause(typing_context: Any) -> Any:
    """Wait a few cycles in a spinning loop; does nothing on CPUs other than x86-64 and ARM64."""

    def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        write_pause(builder)
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic  # type: ignore[untyped-decorator]
def yield_core(typing_context: Any) -> Any:
    """Let another thread run on this core if one waits for it; under Windows, only pause."""

    def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        if sys.platform == "win32":
            write_pause(builder)
        else:
            _call(builder, "sched_yield", ir.IntType(32))
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic  # type: ignore[untyped-decorator]
def sleep_millisecond(typing_context: Any) -> Any:
    """Leave the core to other threads for a millisecond; under Windows, only pause.

    A loop that waits with it reads its condition anew each time: LLVM knows that other code may run meanwhile.
    """

    def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        if sys.platform == "win32":
            write_pause(builder)
        else:
            _call(builder, "usleep", ir.IntType(32), ir.IntType(32)(1000))
        return context.get_dummy_value()

    return types.void(), codegen


def write_ticks(builder: Any) -> Any:
    """Write the instruction of `ticks` for the CPU at hand, and return its value."""
    if IS_ARM64:
        # Its timer: programs may not read the counter of cycles, which LLVM's other function reads there.
        register = builder.module.add_metadata(["cntvct_el0"])
        return _call(builder, "llvm.read_volatile_register.i64", _INTEGER, register)
    return _call(builder, "llvm.readcyclecounter", _INTEGER)


@intrinsic  # type: ignore[untyped-decorator]
def ticks(typing_context: Any) -> Any:
    """Return a counter of the CPU that goes on evenly. Only the ratio of two differences has a meaning."""

    def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return write_ticks(builder)

    return types.int64(), codegen
