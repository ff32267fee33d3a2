"""What the controller says while the engine thinks, and which thinking it ends. Reads no stream.

Lines of input are numbered as they arrive. Thinking that belongs to one line ends when a later line
asks for enough: an analysis at any line, a search at `# interrupt` only.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum

_REPEAT = 0.02
"""Seconds between calls of `stop`: a search that begins only now would not have seen an earlier one."""


class Signal(IntEnum):
    """How much a line asks for; each includes those before it."""

    LINE = 0
    """Any line, also an empty one: ends analysis, pondering and searches that may be cancelled."""
    STOP = 1
    """The command `stop`: ends every search that plays nothing."""
    INTERRUPT = 2
    """GoGui's `# interrupt`: ends every search."""


class Interrupts:
    """Hears the lines of one session, and calls `stop` from when thinking is to end until it has ended."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._lines = 0
        self._last_line = dict.fromkeys(Signal, 0)
        self._running: tuple[int, Signal] | None = None
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._repeat_stop, name="interrupts", daemon=True)

    def start(self) -> None:
        """Begin to repeat calls of `stop` that have not ended the thinking; without this there is one call a line."""
        self._thread.start()

    def receive(self, signal: Signal = Signal.LINE) -> int:
        """Take note of one more line and return its number; what it ends is stopped before this returns."""
        with self._changed:
            self._lines += 1
            for each in Signal:
                if each <= signal:
                    self._last_line[each] = self._lines
            if self._must_end():
                self._stop()
            self._changed.notify_all()
            return self._lines

    def requested(self, line: int, signal: Signal) -> bool:
        """Return whether a line after number `line` has asked for `signal`."""
        return self._last_line[signal] > line

    def wait_until_requested(self, line: int, signal: Signal) -> None:
        """Return once a line after number `line` has asked for `signal`."""
        with self._changed:
            self._changed.wait_for(lambda: self.requested(line, signal))

    @contextmanager
    def searching(self, line: int, signal: Signal) -> Iterator[None]:
        """Within the block the player works for a line, and is stopped when a later one asks for `signal`."""
        with self._changed:
            before, self._running = self._running, (line, signal)
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._running = before

    def _must_end(self) -> bool:
        return self._running is not None and self.requested(*self._running)

    def _repeat_stop(self) -> None:
        with self._changed:
            while not self._closed:
                if self._must_end():
                    self._stop()
                    self._changed.wait(_REPEAT)
                else:
                    self._changed.wait()

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()
