"""Compiles kernels by `numba.njit` alone, where numba's private parts do not work with the installed version."""

import logging
from collections.abc import Callable
from functools import cache
from typing import Any

import numba

from engine.native.cache_directory import cache_directory
from engine.support.installation import is_frozen, make_writable

_log = logging.getLogger(__name__)
_PLAIN = "plain"
"""Folder inside the cache directory for kernels compiled by plain `numba.njit`."""


def compile_kernel(function: Callable[..., Any]) -> Any:
    """Compile a function; numba's cache is inside Keima's directory, so it is never stale."""
    return numba.njit(nogil=True, error_model="numpy", cache=_has_cache())(function)


@cache
def _has_cache() -> bool:
    """Set numba's cache directory; return whether it is writable."""
    directory = cache_directory()
    if directory is None or is_frozen():
        return False
    try:
        make_writable(directory)
        (directory / _PLAIN).mkdir(exist_ok=True)
    except OSError as error:
        _log.warning("compiled kernels cannot be written to %s: %s", directory, error.strerror)
        return False
    numba.config.CACHE_DIR = str(directory / _PLAIN)
    return True
