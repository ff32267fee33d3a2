"""Compiles kernels with private parts of numba; `engine.native.jit` decides whether they are used.

A dispatcher is numba's object for a function: it compiles an overload for each combination of argument types.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NoReturn

import numba

from engine.native.bitcode import callee_of, with_python_entry
from engine.native.cache_directory import cache_directory
from engine.native.instructions import types
from engine.native.kernel_cache import BitcodeCache, KernelCache
from engine.native.numba_internals import PRIVATE_OPTIONS, WITHOUT_PYTHON_ENTRY, CPUDispatcher, _FunctionCompiler

OPTIONS = {"nogil": True, "error_model": "numpy"}
"""Documented options of every kernel. With numpy's error model a division by zero is not checked."""


def _widened(given: Any) -> Any:
    """Return int64 for the type of a narrower integer, and any other type unchanged."""
    given = types.unliteral(given)
    is_narrow = isinstance(given, types.Integer) and given not in (types.uint64, types.int64)
    return types.int64 if is_narrow else given


class _Callee(CPUDispatcher):  # type: ignore[misc]
    """A kernel as other kernels call it, with one overload for integers of every width, instead of one for each."""

    def __call__(self, *args: Any, **kws: Any) -> NoReturn:
        raise TypeError(f"only kernels can call {self.py_func.__qualname__}: its name begins with an underscore")

    def get_call_template(self, args: Any, kws: Any) -> Any:
        folded = self._compiler.fold_argument_types(args, kws)[1]
        return super().get_call_template(tuple(_widened(each) for each in folded), {})

    def add_overload(self, result: Any) -> None:
        self.overloads[tuple(result.signature.args)] = callee_of(result)


class _CalleeCompiler(_FunctionCompiler):  # type: ignore[misc]
    """Compiles a kernel to LLVM code."""

    def _customize_flags(self, flags: Any) -> Any:
        flags.no_compile = True
        return flags


class _Kernel(CPUDispatcher):  # type: ignore[misc]
    """A kernel that Python can call: an entry in front of the code of its `callee`, which kernels call."""

    @cached_property
    def callee(self) -> _Callee:
        return _new_callee(self.py_func)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self.callee.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return self.callee.get_overload(sig)


class _EntryCompiler(_FunctionCompiler):  # type: ignore[misc]
    """Compiles the entry of a kernel."""

    kernel: _Kernel

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        callee = self.kernel.callee
        callee.compile(args)
        return with_python_entry(callee.overloads[tuple(args)])


def compile_kernel(function: Callable[..., Any]) -> Any:
    """Return a function as a kernel; see `engine.native.jit.kernel`."""
    if function.__name__.startswith("_"):
        return _new_callee(function)
    compiled = _compiled(function, KernelCache)
    # `njit` creates dispatchers; changing their class is the only way to give them another one.
    compiled.__class__, compiled._compiler.__class__ = _Kernel, _EntryCompiler
    compiled._compiler.kernel = compiled
    return compiled


def _new_callee(function: Callable[..., Any]) -> _Callee:
    compiled = _compiled(function, BitcodeCache, **WITHOUT_PYTHON_ENTRY)
    compiled.__class__, compiled._compiler.__class__ = _Callee, _CalleeCompiler
    return compiled  # type: ignore[no-any-return]


def _compiled(function: Callable[..., Any], new_cache: Callable[..., Any], **options: bool) -> Any:
    """Return numba's dispatcher of a function, with Keima's cache if there is a directory for it."""
    compiled: Any = numba.njit(**OPTIONS, **PRIVATE_OPTIONS, **options)(function)
    if cache_directory():
        compiled._cache = new_cache(function)
    return compiled


def code_address(function: Callable[..., Any], *given: Any) -> tuple[int, object]:
    """Compile a function as a kernel that only kernels call; return the address of its code, and its owner.

    given: numba's types of its arguments. The code exists as long as its owner. It has numba's calling convention: a
    pointer to the result, a pointer to the error (not read), then the arguments; it returns 0 unless the kernel raised.
    """
    compiled = _compiled(function, KernelCache, **WITHOUT_PYTHON_ENTRY)
    compiled.compile(given)
    result = compiled.overloads[given]
    return result.library.get_pointer_to_function(result.fndesc.llvm_func_name), compiled
