"""Compiles kernels with private parts of numba; `engine.native.jit` decides whether they are used.

A dispatcher is numba's object for a function: it compiles an overload for each combination of argument types.
"""

from collections.abc import Callable
from typing import Any, NoReturn

import numba

from engine.native.cache_directory import cache_directory
from engine.native.instructions import types
from engine.native.kernel_cache import KernelCache
from engine.native.numba_internals import PRIVATE_OPTIONS, WITHOUT_PYTHON_ENTRY, CPUDispatcher

OPTIONS = {"nogil": True, "error_model": "numpy"}
"""Documented options of every kernel. With numpy's error model a division by zero is not checked."""


def _widened(given: Any) -> Any:
    """Return int64 for the type of a narrower integer, and any other type unchanged."""
    given = types.unliteral(given)
    is_narrow = isinstance(given, types.Integer) and given not in (types.uint64, types.int64)
    return types.int64 if is_narrow else given


class _Kernel(CPUDispatcher):  # type: ignore[misc]
    """A kernel with one overload for integers of every width, instead of one for each."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        folded = self._compiler.fold_argument_types(args, kws)[1]
        return super().get_call_template(tuple(_widened(each) for each in folded), {})


class _InnerKernel(_Kernel):
    """A kernel that only kernels can call."""

    def __call__(self, *args: Any, **kws: Any) -> NoReturn:
        raise TypeError(f"only kernels can call {self.py_func.__qualname__}: its name begins with an underscore")


def compile_kernel(function: Callable[..., Any]) -> Any:
    """Return a function as a kernel; see `engine.native.jit.kernel`."""
    is_inner = function.__name__.startswith("_")
    compiled = _compiled(function, has_python_entry=not is_inner)
    # `njit` creates the dispatcher; changing its class is the only way to give it another one.
    compiled.__class__ = _InnerKernel if is_inner else _Kernel
    return compiled


def _compiled(function: Callable[..., Any], *, has_python_entry: bool) -> Any:
    """Return numba's dispatcher of a function, with Keima's cache if there is a directory for it."""
    entry = {} if has_python_entry else WITHOUT_PYTHON_ENTRY
    compiled: Any = numba.njit(**OPTIONS, **PRIVATE_OPTIONS, **entry)(function)
    if cache_directory():
        compiled._cache = KernelCache(function)
    return compiled


def code_address(function: Callable[..., Any], *given: Any) -> tuple[int, object]:
    """Compile a function as a kernel that only kernels call; return the address of its code, and its owner.

    given: numba's types of its arguments. The code exists as long as its owner. It has numba's calling convention: a
    pointer to the result, a pointer to the error (not read), then the arguments; it returns 0 unless the kernel raised.
    """
    compiled = _compiled(function, has_python_entry=False)
    compiled.compile(given)
    result = compiled.overloads[given]
    return result.library.get_pointer_to_function(result.fndesc.llvm_func_name), compiled
