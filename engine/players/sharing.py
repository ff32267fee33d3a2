"""Counts the searches that run on one evaluator, for players that share it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class RunningSearches:
    """The number of running searches of several players; each takes its share of the evaluator."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()

    def __call__(self) -> int:
        """Return the number of running searches, at least 1."""
        return max(1, self._count)

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """Count one more search while the block runs."""
        with self._lock:
            self._count += 1
        try:
            yield
        finally:
            with self._lock:
                self._count -= 1
