"""Measures how many positions per second a backend computes, without encoding and without a search."""

import threading
import time

from engine.evaluators.network import Backend

_BATCH = 8
"""Positions in a call, if the slots have as many rows."""


def positions_per_second(backend: Backend, width: int, height: int, seconds: float, batch: int = _BATCH) -> float:
    """Return the positions per second of as many threads as the backend computes in at the same time.

    Waits until the network is compiled. Each thread makes at least one call, of `batch` empty positions; the last calls
    end after `seconds`. The slots must not be in use. Raises what a call raises.
    """
    slots = backend.slots(width, height)[: backend.parallel]
    rows = min(batch, len(slots[0].planes))
    for slot in slots:
        backend.infer(slot, rows)
    done = [0] * len(slots)
    failed: list[BaseException] = []
    end = time.perf_counter() + seconds

    def work(place: int) -> None:
        try:
            while done[place] == 0 or time.perf_counter() < end:
                backend.infer(slots[place], rows)
                done[place] += rows
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            failed.append(error)

    workers = [threading.Thread(target=work, args=(place,)) for place in range(len(slots))]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failed:
        raise failed[0]
    return sum(done) / (time.perf_counter() - start)
