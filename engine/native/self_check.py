"""Checks that numba's private parts work with the installed version, by using each of them once.

The kernels below are compiled and cached like all others, so a warm start only loads and runs them, in 7 ms
(docs/kernels.md). A crash of the process cannot be caught.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.native.atomics import has_python_waiting, put_back, try_take
from engine.native.cache_directory import cache_directory
from engine.native.calls import arguments_of, call_address, cells
from engine.native.dispatcher import code_address, compile_kernel
from engine.native.instructions import Bfloat16, compile_for, ir, typeof, types
from engine.native.kernel_cache import BitcodeCache, KernelCache
from engine.native.progress import compilations
from engine.support.installation import is_frozen


def _sum(first: int, second: int) -> int:
    return first + second


_inner_sum = compile_kernel(_sum)


def _weighted(numbers: NDArray[np.int8], pair: tuple[float, bool], number: int) -> int:
    total = pair[0] * number
    for each in numbers:
        total += each
    return int(total) if pair[1] else 0


_inner_weighted = compile_kernel(_weighted)
_FIXED = np.array([3, -5], dtype=np.int8), (2.5, True)
_arguments = arguments_of(tuple(typeof(each) for each in _FIXED))


def _entry(frame: int, number: int) -> int:
    return _inner_weighted(*(_arguments(frame) + (number,)))  # type: ignore[no-any-return]  # noqa: RUF005


def used_means(numbers: NDArray[np.int8], lock: NDArray[np.int64], code: int, frame: int) -> int:
    """Return a number that is right only if the widening of types, locks and calls by address work."""
    is_taken = not has_python_waiting(lock) and try_take(lock) and not try_take(lock)
    put_back(lock)
    # Read as int8 and int64: one overload of `_sum` takes both.
    return (_inner_sum(numbers[0], numbers[1]) + _inner_sum(lock[0], call_address(code, frame, 4))) * is_taken  # type: ignore[no-any-return]


def check() -> None:
    """Raise the error of a private part that fails, or AssertionError for a wrong result."""
    _check_llvmlite()
    compiled_before = compilations()
    values = [np.array(list(cells(each)), dtype=np.int64) for each in _FIXED]
    frame = np.array([each.ctypes.data for each in values], dtype=np.int64)
    code, _owner = code_address(_entry, types.int64, types.int64)
    numbers, lock = np.array([100, 27], dtype=np.int8), np.zeros(8, dtype=np.int64)
    checked = compile_kernel(used_means)
    _require(checked(numbers, lock, code, frame.ctypes.data) == 127 + 8, "a kernel returned a wrong number")
    # Only after a compilation: kernels loaded from disk have passed these two checks before.
    if compilations() > compiled_before:
        overloads = len(_inner_sum.signatures)
        _require(overloads <= 1, f"integers of two widths made {overloads} overloads")
        _check_cache(checked)


def _check_cache(checked: Any) -> None:
    """Load what was just written to the cache: machine code, and the LLVM code of a callee."""
    directory = cache_directory()
    if directory is None or is_frozen() or not any(directory.glob("self_check.used_means*")):
        return  # there is no cache, which is reported elsewhere
    for new_cache, function, compiled in ((KernelCache, used_means, checked), (BitcodeCache, _sum, _inner_sum)):
        for signature in compiled.signatures:
            cached = new_cache(function)
            # A folder that cannot be written is no fault of numba's; it may hold damaged files and another CPU's.
            if compiled._cache.enabled and cached.has_saved(signature, compiled.targetctx):
                loaded = cached.load_overload(signature, compiled.targetctx)
                _require(loaded is not None, "a cached kernel cannot be loaded")


def _check_llvmlite() -> None:
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), []), "checked")
    compile_for(function, "+avx2")
    _require('"target-features"="+avx2"' in str(function), "LLVM functions take no target features")
    _require(str(Bfloat16()) == "bfloat", "llvmlite writes new types in another way")


def _require(is_right: bool, message: str) -> None:
    if not is_right:
        raise AssertionError(message)
