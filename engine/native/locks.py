"""Locks between threads that run kernels and threads that run Python."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from engine.native.atomics import WAITING, has_python_waiting, pause, put_back, ticks, try_take, yield_core
from engine.native.jit import has_private_means, kernel

__all__ = ["acquire", "acquire_first", "holding", "new_lock", "pause", "release", "ticks"]

_SPINS = 200
"""Failed attempts to take a lock before the thread lets others have its core."""
_PYTHON_LOCK = threading.RLock()
"""Replaces every lock where no kernel runs beside Python."""


def new_lock() -> NDArray[np.int64]:
    """Return a free lock: [8] int64, a whole cache line, with whether it is taken and the cell `WAITING`."""
    return np.zeros(8, dtype=np.int64)


@kernel
def _spin(spins: int) -> None:
    """Wait after failed attempt number `spins` to take a lock."""
    if spins % _SPINS == 0:
        yield_core()
    else:
        pause()


@kernel
def acquire(lock: NDArray[np.int64]) -> None:
    """Wait for a lock and take it, after a Python thread that waits for it. No thread may take a lock twice."""
    spins = 0
    while has_python_waiting(lock) or not try_take(lock):
        spins += 1
        _spin(spins)


@kernel
def acquire_first(lock: NDArray[np.int64]) -> None:
    """Wait for a lock and take it before other threads: kernels that do hardly anything else would leave no gap."""
    spins = 0
    lock[WAITING] = 1
    while not try_take(lock):
        spins += 1
        _spin(spins)
    lock[WAITING] = 0


@kernel
def release(lock: NDArray[np.int64]) -> None:
    """Let other threads take a lock."""
    put_back(lock)


@contextmanager
def holding(lock: NDArray[np.int64]) -> Iterator[None]:
    """Hold a lock, which kernels of other threads may wait for, in Python."""
    if not has_private_means():
        with _PYTHON_LOCK:
            yield
        return
    acquire_first(lock)
    try:
        yield
    finally:
        release(lock)
