"""Stops a running search when a later line of input asks for it. Reads no stream.

Lines of input are numbered as they arrive. A search that belongs to one line stops when a later line asks for enough:
an analysis at any line, a search for a move only at `# interrupt`.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum

# Seconds between calls of `stop`: one that comes just before a search begins would be lost.
_REPEAT = 0.02


class Signal(IntEnum):
    """What a line of input stops; each signal includes those before it."""

    LINE = 0
    """Any line, even an empty one: stops analysis, pondering and cancellable searches."""
    STOP = 1
    """The command `stop`: stops every search that plays no move."""
    INTERRUPT = 2
    """GoGui's `# interrupt`: stops every search."""


class Interrupts:
    """Records the lines of one session and calls `stop` repeatedly until the search that they stop has ended."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._lines = 0
        self._last_line = dict.fromkeys(Signal, 0)
        self._running: tuple[int, Signal] | None = None
        self._changed = threading.Condition()
        self._closed = False
        # A daemon: a session that ends by an error must not hang on it.
        self._thread = threading.Thread(target=self._repeat_stop, name="interrupts", daemon=True)

    def start(self) -> None:
        """Start to repeat calls of `stop`; without this, each line calls it once."""
        self._thread.start()

    def receive(self, signal: Signal = Signal.LINE) -> int:
        """Record a line and return its number; the searches that it stops are stopped before this returns."""
        with self._changed:
            self._lines += 1
            for each in Signal:
                if each <= signal:
                    self._last_line[each] = self._lines
            if self.is_ending:
                self._stop()
            self._changed.notify_all()
            return self._lines

    def requested(self, line: int, signal: Signal) -> bool:
        """True if a line after number `line` has sent `signal`."""
        return self._last_line[signal] > line

    def wait_until_requested(self, line: int, signal: Signal) -> None:
        """Wait until a line after number `line` has sent `signal`."""
        with self._changed:
            self._changed.wait_for(lambda: self.requested(line, signal))

    @contextmanager
    def searching(self, line: int, signal: Signal) -> Iterator[None]:
        """Within the block, the player searches for line `line` and is stopped when a later line sends `signal`."""
        with self._changed:
            # Blocks nest: an analysis runs inside its command, and the outer signal applies again afterwards.
            before, self._running = self._running, (line, signal)
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._running = before

    @property
    def is_ending(self) -> bool:
        """True if a later line has stopped the running search."""
        return self._running is not None and self.requested(*self._running)

    def _repeat_stop(self) -> None:
        with self._changed:
            while not self._closed:
                if self.is_ending:
                    self._stop()
                    self._changed.wait(_REPEAT)
                else:
                    self._changed.wait()

    def close(self) -> None:
        """Stop the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()
