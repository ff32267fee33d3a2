"""Keeps the memory of a process that runs for weeks from growing."""

import ctypes
from contextlib import suppress

LARGE = 1 << 20
# M_MMAP_THRESHOLD of glibc's malloc.h.
_MMAP_THRESHOLD = -3


def return_large_blocks() -> bool:
    """Make malloc return freed blocks of at least LARGE bytes to the system; return True if that worked.

    Does nothing with other C libraries than glibc.
    """
    # glibc raises its threshold for such blocks, up to 32 MiB, each time one is freed, and keeps smaller ones in
    # per-thread arenas, which fragment (mallopt(3)): an engine that plays on boards of several sizes grew by 200 MiB
    # within an hour, two thirds of it unused.
    with suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        if library.gnu_get_libc_version is not None:
            return bool(library.mallopt(_MMAP_THRESHOLD, LARGE))
    return False
