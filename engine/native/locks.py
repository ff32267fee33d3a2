"""Spin locks shared by threads that run kernels and threads that run Python.

Spin locks, because a kernel cannot call Python's locks without the global lock, and holds one for microseconds only.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from engine.native.atomics import OWNER, WAITING, has_python_waiting, pause, put_back, ticks, try_take, yield_core
from engine.native.jit import has_private_means, kernel

__all__ = ["acquire", "acquire_first", "holding", "new_lock", "pause", "release", "ticks", "yield_core"]

_SPINS = 200
"""Failed attempts to take a lock between two calls of `yield_core`: the owner may need this core to go on."""
_PYTHON_LOCK = threading.RLock()
"""Replaces every lock if kernels cannot use locks, and so do not run beside Python."""


def new_lock() -> NDArray[np.int64]:
    """Create a free lock: [8] int64, whether it is taken and the cells `WAITING` and `OWNER`."""
    # A whole cache line of 64 bytes, so that waiting threads do not slow down writes to neighboring data.
    return np.zeros(8, dtype=np.int64)


@kernel
def _spin(spins: int) -> None:
    """Wait after the failed attempt number `spins` to take a lock."""
    if spins % _SPINS == 0:
        yield_core()
    else:
        pause()


@kernel
def acquire(lock: NDArray[np.int64]) -> None:
    """Wait for a lock and take it; a waiting Python thread goes first. The lock is not reentrant."""
    spins = 0
    while has_python_waiting(lock) or not try_take(lock):
        spins += 1
        _spin(spins)


@kernel
def acquire_first(lock: NDArray[np.int64], owner: int) -> None:
    """Wait for a lock and take it before threads that use `acquire`. owner: the identifier of the Python thread."""
    # Without this, kernels that take the lock again at once would leave a Python thread no chance.
    spins = 0
    lock[WAITING] = 1
    while not try_take(lock):
        spins += 1
        _spin(spins)
    lock[WAITING] = 0
    lock[OWNER] = owner


@kernel
def release(lock: NDArray[np.int64]) -> None:
    """Release a lock."""
    lock[OWNER] = 0
    put_back(lock)


@contextmanager
def holding(lock: NDArray[np.int64]) -> Iterator[None]:
    """Hold a lock in Python during the block; kernels of other threads wait for it."""
    if not has_private_means():
        with _PYTHON_LOCK:
            yield
        return
    owner = threading.get_ident()
    try:
        # Ctrl-C during the wait is raised when the kernel returns, which then has taken the lock.
        acquire_first(lock, owner)
        yield
    finally:
        if lock[OWNER] == owner:
            release(lock)
