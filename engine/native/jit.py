"""The `kernel` decorator: compiles a function on flat arrays to machine code that runs without Python's global lock.

Kernels are compiled with private parts of numba if these work with the installed version, which saves compile time and
is needed for closures; otherwise by plain `numba.njit`.
"""

import logging
import tempfile
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numba

from engine.native.cache_directory import cache_directory, is_frozen
from engine.native.progress import say
from engine.support.installation import make_private

F = TypeVar("F", bound=Callable[..., Any])

_log = logging.getLogger(__name__)
_PLAIN = "plain"
"""Folder inside the cache directory for kernels compiled by plain `numba.njit`."""


def compiles() -> bool:
    """Return whether kernels are compiled; with NUMBA_DISABLE_JIT=1 they run as plain Python."""
    return not numba.config.DISABLE_JIT


def _private_compiler() -> Any:
    """Return the module that uses numba's private parts, or None if these do not work or nothing is compiled."""
    if not compiles():
        return None
    try:
        from engine.native import dispatcher
        from engine.native.self_check import check

        check()
    except Exception as error:  # noqa: BLE001 - a numba that changed can raise anything
        say(
            f"keima: numba {numba.__version__} does not work as expected ({type(error).__name__}: {error}): "
            "kernels are compiled without its private parts and run slower\n"
        )
        _log.debug("the self-check failed", exc_info=True)
        return None
    return dispatcher


_PRIVATE = _private_compiler()


def has_private_means() -> bool:
    """Return whether kernels are compiled with numba's private parts, which closures and intrinsics need."""
    return _PRIVATE is not None


def kernel(function: F) -> F:
    """Compile a free function on flat arrays: no Python objects, no allocation, no GIL, cached on disk.

    A function that allocates, or returns an array that it did not receive, does not compile. A kernel whose name begins
    with an underscore can be called by kernels only.
    """
    # No reference counting: it took half of a search's own time where structures of many arrays are passed on. No entry
    # for Python in inner kernels: entries took a tenth of all compile time.
    return (_PRIVATE.compile_kernel if _PRIVATE else _compile_plainly)(function)


def _compile_plainly(function: F) -> F:
    """Compile a function with `numba.njit` alone; its cache is inside Keima's directory, so it is never stale."""
    is_cached = _has_plain_cache()
    return numba.njit(nogil=True, error_model="numpy", cache=is_cached)(function)  # type: ignore[no-any-return]


@cache
def _has_plain_cache() -> bool:
    """Set numba's cache directory; return whether it is writable."""
    directory = cache_directory()
    if directory is None or is_frozen():
        return False
    try:
        make_private(directory)
        (directory / _PLAIN).mkdir(exist_ok=True)
        tempfile.TemporaryFile(dir=directory / _PLAIN).close()
    except OSError as error:
        _log.warning("compiled kernels cannot be written to %s: %s", directory, error.strerror)
        return False
    numba.config.CACHE_DIR = str(directory / _PLAIN)
    return True


def code_address(function: Callable[..., Any], *given: Any) -> tuple[int, object]:
    """Return the address of a compiled function and its owner, see `engine.native.dispatcher.code_address`."""
    return _PRIVATE.code_address(function, *given)  # type: ignore[no-any-return]
