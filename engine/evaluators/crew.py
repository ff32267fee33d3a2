"""Threads that compute, one for each core, and callers who compute instead of waiting.

To wake a thread takes about 70 us, most of what a position on 9x9 takes. So a job that is short is left to whoever
waits for one, as long as that does not keep more threads at work than there are cores, and the crew has a thread less.
"""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple

_SHORT = 0.01
"""Seconds that a caller may be kept from looking up, by a job that somebody else may have sent."""


class Job(NamedTuple):
    """Something to compute, and whether it is. seconds: that it is expected to take."""

    run: Callable[[], None]
    seconds: float
    future: Future[None]

    @property
    def is_short(self) -> bool:
        """Whether callers compute it."""
        return self.seconds <= _SHORT


class Crew:
    """So many threads at most, which begin jobs in the order in which they come."""

    def __init__(self, threads: int, name: str) -> None:
        self._threads = threads
        self._members = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._waiting: deque[Job] = deque()
        self._awake = self._helping = 0

    def send(self, run: Callable[[], None], seconds: float) -> Job:
        """Have something computed and return at once. seconds: that it is expected to take."""
        job = Job(run, seconds, Future())
        with self._lock:
            self._waiting.append(job)
            # All for what takes long, which nobody helps with.
            wakes = self._awake < max(1, self._threads - job.is_short) and self._has_core()
            self._awake += wakes
        if wakes:
            self._members.submit(self._work)
        return job

    def _has_core(self) -> bool:
        """Whether fewer threads are at work than there are cores. To be called with the lock held."""
        return self._awake + self._helping < self._threads

    def wait(self, job: Job, seconds: float | None = None) -> bool:
        """Wait so many seconds, or without end, for a job to be computed; return whether it is.

        Computes others meanwhile, which may keep it from returning in time by as much as a short job takes.
        """
        while not job.future.done():
            if not self._help():
                with suppress(TimeoutError):
                    job.future.exception(seconds)
                return job.future.done()
            if seconds is not None:
                break
        return job.future.done()

    def _work(self) -> None:
        """Compute what waits until nothing does."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._awake -= 1
                    return
                job = self._waiting.popleft()
            _compute(job)

    def _help(self) -> bool:
        """Compute the next job in the caller's thread if it is short and a core is free; return whether it did."""
        with self._lock:
            if not self._waiting or not self._waiting[0].is_short or not self._has_core():
                return False
            job = self._waiting.popleft()
            self._helping += 1
        _compute(job)
        with self._lock:
            self._helping -= 1
            # Its caller may have nothing else to wait for, and others may not wait yet.
            wakes = bool(self._waiting) and self._awake == 0
            self._awake += wakes
        if wakes:
            self._members.submit(self._work)
        return True

    def close(self) -> None:
        """Stop the threads once everything is computed."""
        self._members.shutdown()


def _compute(job: Job) -> None:
    try:
        job.run()
    except BaseException as error:  # noqa: BLE001 - whoever waits for the job raises it
        job.future.set_exception(error)
    else:
        job.future.set_result(None)
