"""How a process that runs for weeks keeps its memory flat."""

import ctypes
from contextlib import suppress

LARGE = 1 << 20
_MMAP_THRESHOLD = -3
"""M_MMAP_THRESHOLD of glibc's malloc.h."""


def return_large_blocks() -> bool:
    """Have blocks of LARGE bytes and more go back to the system when they are freed; return whether that is done.

    glibc raises its bound for such blocks, up to 32 MiB, each time one is freed, and keeps what is below in arenas, a
    few for each thread, which fragment: an engine that plays on boards of several sizes grew by 200 MiB within an
    hour, two thirds of them unused (mallopt(3)). Other C libraries are left alone.
    """
    with suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        if library.gnu_get_libc_version is not None:
            return bool(library.mallopt(_MMAP_THRESHOLD, LARGE))
    return False
