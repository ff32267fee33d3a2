"""The only file that imports numba's private names; each of them may change with any release of numba.

Nothing else in Keima imports this file but the code that runs behind the self-check (`engine.native.self_check`), so
a name that is missing here leads to plain compilation, not to a failure. docs/kernels.md says what each is used for.
"""

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.registry import CPUDispatcher

PRIVATE_OPTIONS = {"no_cfunc_wrapper": True, "_nrt": False}
"""Options of `numba.njit` that its documentation does not have: no entry for C, no counting of references."""
WITHOUT_PYTHON_ENTRY = {"no_cpython_wrapper": True}

__all__ = [
    "PRIVATE_OPTIONS",
    "WITHOUT_PYTHON_ENTRY",
    "CPUDispatcher",
    "CompileResultCacheImpl",
    "FunctionCache",
    "IndexDataCacheFile",
    "_CacheLocator",
]
