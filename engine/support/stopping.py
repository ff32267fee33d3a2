"""Turns signals into an event or an interrupt, so that a program can save its work before it ends."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

INTERRUPTED = 130
"""Exit status after Ctrl-C, SIGTERM or SIGHUP: the shells' value for Ctrl-C."""

_STOPPING = b"\nkeima: stopping; a second Ctrl-C ends at once\n"
_ENDING = ("SIGTERM", "SIGHUP")
"""Signals that end a program; the second comes when its terminal is closed."""
WAIT_SECONDS = 0.5
"""For waits in a loop: one without a timeout cannot be interrupted by Ctrl-C on Windows."""


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C, SIGTERM and SIGHUP set; a second signal raises KeyboardInterrupt.

    A person at a terminal is told so after the first Ctrl-C.

    An ignored SIGHUP, as under `nohup`, stays ignored. Outside the main thread, which alone receives signals, nothing
    sets the event.
    """
    stop = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        # A second Ctrl-C means now.
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        if number == signal.SIGINT and sys.stderr is not None and sys.stderr.isatty():
            # Not by `write`, which fails within another one that the signal interrupted.
            with suppress(OSError):
                os.write(sys.stderr.fileno(), _STOPPING)

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    with _handling(("SIGINT", *_ENDING), handle):
        yield stop


@contextmanager
def interrupting() -> Iterator[None]:
    """Make SIGTERM, and SIGHUP when a terminal is closed, raise KeyboardInterrupt as Ctrl-C does.

    An ignored SIGHUP, as under `nohup`, stays ignored. Outside the main thread, which alone receives signals, nothing
    changes.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _handling(_ENDING, handle):
        yield


@contextmanager
def _handling(names: Sequence[str], handle: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle the named signals that this system has; an ignored SIGHUP stays ignored."""
    known = {name: number for name in names if (number := getattr(signal, name, None)) is not None}
    if "SIGHUP" in known and signal.getsignal(known["SIGHUP"]) == signal.SIG_IGN:
        del known["SIGHUP"]
    # Not so SIGINT, which a shell without job control lets its background commands ignore.
    before = {number: signal.signal(number, handle) for number in known.values()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
