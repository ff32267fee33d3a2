"""Intrinsics that call a compiled kernel by its address, with arguments read from memory.

A frame is an array of addresses, one for each argument. An argument is stored in cells of 8 bytes: an integer or a
float in one cell; an array as its size, item size, address, shape and strides; a tuple as the cells of its elements.
"""

import struct
from typing import Any

import numpy as np

from engine.native.instructions import cgutils, intrinsic, ir, types

FAILED = -1
"""Result of a call whose kernel raised."""
_INTEGER, _BYTES = ir.IntType(64), ir.IntType(8).as_pointer()
_AS_FLOAT, _AS_INTEGER = struct.Struct("<d"), struct.Struct("<q")


def cells(value: Any) -> list[int]:
    """Return the cells of a value; `_loaded` writes the instructions that read them."""
    found: list[int] = []
    _append_cells(value, found)
    return found


def _append_cells(value: Any, found: list[int]) -> None:
    if isinstance(value, np.ndarray):
        # The interface has the address for a third of the time that `ctypes.data` takes, and searches of a few visits
        # write hundreds of arrays.
        found += (value.size, value.itemsize, value.__array_interface__["data"][0], *value.shape, *value.strides)
    elif isinstance(value, tuple):
        for each in value:
            _append_cells(each, found)
    elif isinstance(value, float):
        found.append(_AS_INTEGER.unpack(_AS_FLOAT.pack(value))[0])
    else:
        found.append(int(value))


def arguments_of(kinds: tuple[Any, ...]) -> Any:
    """Return an intrinsic that reads the arguments in a frame as one tuple. kinds: numba's types of the arguments."""
    result = types.BaseTuple.from_types(kinds)

    @intrinsic  # type: ignore[untyped-decorator]
    def arguments(typing_context: Any, frame: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            addresses = _Cells(builder, given[0])
            values = [_loaded(context, builder, kind, _Cells(builder, addresses.take())) for kind in kinds]
            return context.make_tuple(builder, result, values)

        return result(types.int64), codegen

    return arguments


class _Cells:
    """Writes instructions that read consecutive cells from an address on."""

    def __init__(self, builder: Any, address: Any) -> None:
        self._builder, self._index = builder, 0
        self._first = builder.inttoptr(address, _INTEGER.as_pointer())

    def take(self) -> Any:
        """Return the next cell."""
        cell = self._builder.gep(self._first, [_INTEGER(self._index)])
        self._index += 1
        return self._builder.load(cell)


def _loaded(context: Any, builder: Any, kind: Any, source: _Cells) -> Any:
    """Write the instructions that read a value of numba's type `kind` from its cells; return the value."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder)
        _, itemsize, data = (source.take() for _ in range(3))
        shape, strides = ([source.take() for _ in range(kind.ndim)] for _ in range(2))
        pointer = builder.inttoptr(data, context.get_data_type(kind.dtype).as_pointer())
        # No meminfo: the array belongs to Python, which keeps it alive.
        context.populate_array(array, data=pointer, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        return context.make_tuple(builder, kind, [_loaded(context, builder, each, source) for each in kind.types])
    cell = source.take()
    if isinstance(kind, types.Boolean):
        return builder.trunc(cell, ir.IntType(1))
    return builder.bitcast(cell, ir.DoubleType()) if isinstance(kind, types.Float) else cell


@intrinsic  # type: ignore[untyped-decorator]
def call_address(typing_context: Any, code: Any, frame: Any, number: Any) -> Any:
    """Call the code at an address with a frame and an integer; return its result, or FAILED.

    The code has numba's calling convention: (result, error, arguments) -> status, 0 if nothing was raised.
    """

    def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        arguments = [_INTEGER.as_pointer(), _BYTES.as_pointer(), _INTEGER, _INTEGER]
        pointer = builder.inttoptr(given[0], ir.FunctionType(ir.IntType(32), arguments).as_pointer())
        result, error = cgutils.alloca_once(builder, _INTEGER), cgutils.alloca_once(builder, _BYTES)
        status = builder.call(pointer, [result, error, given[1], given[2]])
        is_done = builder.icmp_signed("==", status, ir.IntType(32)(0))
        return builder.select(is_done, builder.load(result), _INTEGER(FAILED))

    return types.int64(types.int64, types.int64, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def call_c(typing_context: Any, code: Any, argument: Any) -> Any:
    """Call the C function at an address, `int32_t function(void *)`, and return its result."""

    def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        pointer = builder.inttoptr(given[0], ir.FunctionType(ir.IntType(32), [_BYTES]).as_pointer())
        result = builder.call(pointer, [builder.inttoptr(given[1], _BYTES)])
        return builder.sext(result, _INTEGER)

    return types.int64(types.int64, types.int64), codegen
