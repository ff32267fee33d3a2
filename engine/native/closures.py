"""Closures: kernels with all arguments but one fixed, which other kernels call by address.

A call from Python converts hundreds of arguments that are the same in every call, such as the arrays of a tree, and
holds Python's global lock meanwhile. A `Closure` converts them once.
"""

import hashlib
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.native.calls import FAILED, arguments_of, call_address, cells
from engine.native.instructions import typeof, types
from engine.native.jit import code_address, has_private_means, kernel
from engine.native.kinds import kind_of, type_name
from engine.native.processor import IS_ARM64, IS_X86

__all__ = ["FAILED", "Closure", "Fixed", "invoke", "runs_closures"]


def runs_closures() -> bool:
    """Return whether closures work here: numba's private parts do, and the CPU's clock can be read (x86-64, ARM64)."""
    return has_private_means() and (IS_X86 or IS_ARM64)


class Fixed:
    """A number, an array or a tuple of these, written to memory for closures. Keeps its arrays alive."""

    def __init__(self, value: Any) -> None:
        self.value, self.kind = value, kind_of(value)
        self.cells = np.array(cells(value), dtype=np.int64)


class Closure:
    """A kernel with all its arguments fixed but the last, an integer. Calling it returns an integer, or FAILED.

    fixed: the arguments, each a `Fixed` or a plain value. address: [2] int64, the argument of `invoke`. The closure
    keeps the arrays alive, and must itself be kept alive as long as its address is used.
    """

    def __init__(self, function: Callable[..., int], *fixed: Any) -> None:
        self._fixed = [each if isinstance(each, Fixed) else Fixed(each) for each in fixed]
        self._frame = np.array([each.cells.ctypes.data for each in self._fixed], dtype=np.int64)
        kinds = function, *(each.kind for each in self._fixed)
        # Threads that start at the same time would all load the same code, for some tenths of a second each.
        with _LOADING:
            if kinds not in _ENTRIES:
                _ENTRIES[kinds] = _entry(function, [each.value for each in self._fixed])
        code, _ = _ENTRIES[kinds]
        self.address = np.array([code, self._frame.ctypes.data], dtype=np.int64)


CLOSURE = "-"
"""Separates the name of a kernel from the hash of the fixed types in the name of a closure's entry."""
_function: Any = None
_arguments: Any = None
"""Placeholders: `_entry` copies `_template` with other values for these two names."""


def _template(frame: int, number: int) -> int:
    return _function(*(_arguments(frame) + (number,)))  # type: ignore[no-any-return]  # noqa: RUF005 - numba takes no star here


_ENTRIES: dict[Any, tuple[int, object]] = {}
"""Address of the entry code, and its owner, by kernel and types of the fixed arguments."""
_LOADING = threading.RLock()


def _entry(function: Any, values: list[Any]) -> tuple[int, object]:
    """Compile code that reads arguments of these types from a frame and calls a kernel; return address and owner."""
    kind = hashlib.sha256(",".join(map(type_name, values)).encode()).hexdigest()[:16]
    python = function.py_func
    names = {"_function": function, "_arguments": arguments_of(tuple(map(typeof, values)))}
    # The name of its file in the cache, so it must differ for each kernel and each combination of types.
    entry = FunctionType(_template.__code__, names, python.__name__)
    entry.__module__, entry.__qualname__ = python.__module__, f"{python.__qualname__}{CLOSURE}{kind}"
    return code_address(entry, types.int64, types.int64)


@kernel
def invoke(address: NDArray[np.int64], number: int) -> int:
    """Call the closure at `address` with `number`; return its result, or FAILED."""
    return int(call_address(address[0], address[1], number))
