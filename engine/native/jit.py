"""The `kernel` decorator: compiles a function on flat arrays to machine code that runs without Python's global lock.

Kernels are compiled with private parts of numba if these work with the installed version, which saves compile time and
is needed for closures; otherwise by plain `numba.njit`. The frozen program may have them linked, and no numba.
"""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from engine.native.frozen import is_linked

F = TypeVar("F", bound=Callable[..., Any])

_log = logging.getLogger(__name__)


def compiles() -> bool:
    """Return whether kernels are machine code; with NUMBA_DISABLE_JIT=1 they run as plain Python."""
    if is_linked():
        return True
    import numba

    return not numba.config.DISABLE_JIT


def _private_compiler() -> Any:
    """Return the module that uses numba's private parts, or None if these do not work or nothing is compiled."""
    if is_linked():
        from engine.native import linked

        return linked
    if not compiles():
        return None
    import numba

    from engine.native.progress import say

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
    """Return whether kernels can run closures and intrinsics: they are linked, or compiled with private parts."""
    return _PRIVATE is not None


def kernel(function: F) -> F:
    """Compile a free function on flat arrays: no Python objects, no allocation, no GIL, cached on disk.

    A function that allocates, or returns an array that it did not receive, does not compile. A kernel whose name begins
    with an underscore can be called by kernels only.
    """
    # No reference counting: it took half of a search's own time where structures of many arrays are passed on. No entry
    # for Python in inner kernels: entries took a tenth of all compile time.
    if _PRIVATE:
        return _PRIVATE.compile_kernel(function)  # type: ignore[no-any-return]
    from engine.native.plain import compile_kernel

    return compile_kernel(function)  # type: ignore[no-any-return]


def code_address(function: Callable[..., Any], *given: Any) -> tuple[int, object]:
    """Return the address of a compiled function and its owner, see `engine.native.dispatcher.code_address`."""
    return _PRIVATE.code_address(function, *given)  # type: ignore[no-any-return]
