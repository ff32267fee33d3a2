"""The only file that imports numba's private names; any release of numba may change them.

It is imported only by code that runs after the self-check (`engine.native.self_check`), so a missing name leads to
plain compilation, not to a failure. docs/kernels.md lists the use of each name.
"""

from numba import _helperlib
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import compile_result
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.registry import CPUDispatcher
from numba.np.numpy_support import as_dtype

PRIVATE_OPTIONS = {"no_cfunc_wrapper": True, "_nrt": False}
"""Undocumented options of `numba.njit`: no entry for C, no reference counting."""
WITHOUT_PYTHON_ENTRY = {"no_cpython_wrapper": True}

__all__ = [
    "PRIVATE_OPTIONS",
    "WITHOUT_PYTHON_ENTRY",
    "CPUDispatcher",
    "CompileResultCacheImpl",
    "FunctionCache",
    "IndexDataCacheFile",
    "JITCodeLibrary",
    "_CacheLocator",
    "_FunctionCompiler",
    "as_dtype",
    "compile_result",
    "helper_library",
]


def helper_library() -> str:
    """Return the file of the functions in C that kernels called from Python use."""
    return str(_helperlib.__file__)
