"""Locks between threads that run kernels and threads that run Python."""

import signal
import threading
import time

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.native.atomics import WAITING
from engine.native.closures import runs_closures
from engine.native.jit import kernel
from engine.native.locks import acquire, holding, new_lock, release

pytestmark = pytest.mark.skipif(not runs_closures(), reason="needs compiled kernels on x86-64 or ARM64")


@kernel
def count_up(lock: NDArray[np.int64], counts: NDArray[np.int64], times: int) -> None:
    """Count, in two steps that another thread must not come between."""
    for _ in range(times):
        acquire(lock)
        seen = counts[0]
        counts[1] += 1
        counts[0] = seen + 1
        release(lock)


def test_who_holds_a_lock_is_alone() -> None:
    lock, counts = new_lock(), np.zeros(2, dtype=np.int64)
    threads = [threading.Thread(target=count_up, args=(lock, counts, 50_000)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        with holding(lock):
            assert counts[0] == counts[1]
    for thread in threads:
        thread.join()
    assert counts.tolist() == [200_000, 200_000]


def test_a_lock_is_released_by_an_error() -> None:
    lock = new_lock()
    with pytest.raises(ZeroDivisionError), holding(lock):
        1 / 0  # noqa: B018
    with holding(lock):
        assert lock[0] == 1
    assert lock[0] == 0


def test_an_interruption_while_python_waits_leaves_the_lock_free() -> None:
    lock, is_held, may_end = new_lock(), threading.Event(), threading.Event()

    def hold() -> None:
        with holding(lock):
            is_held.set()
            may_end.wait(60)

    def interrupt() -> None:
        deadline = time.monotonic() + 60
        while not lock[WAITING] and time.monotonic() < deadline:
            time.sleep(0.001)
        signal.raise_signal(signal.SIGINT)  # Python hears it in the main thread, when the kernel returns
        may_end.set()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threads = [threading.Thread(target=each) for each in (hold, interrupt)]
    threads[0].start()
    assert is_held.wait(60)
    threads[1].start()
    try:
        with pytest.raises(KeyboardInterrupt), holding(lock):
            for _ in range(1000):
                time.sleep(0.001)
    finally:
        signal.signal(signal.SIGINT, before)
        for thread in threads:
            thread.join()
    assert lock[0] == 0
    with holding(lock):
        pass
