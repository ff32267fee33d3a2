"""Ending politely: signals set an event, or interrupt as Ctrl-C does, so that what is done is put in order first."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
"""Exit status after Ctrl-C, SIGTERM or SIGHUP, as shells have it for the first."""


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C and SIGTERM set; the second of them raises KeyboardInterrupt.

    In another than the main thread, which gets no signals, nothing sets the event.
    """
    stop = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def interrupting() -> Iterator[None]:
    """Have SIGTERM, and SIGHUP when a terminal is closed, raise KeyboardInterrupt as Ctrl-C does.

    A SIGHUP that is ignored, as `nohup` has it, stays so. In another than the main thread, which gets no signals,
    nothing changes.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    known = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]
    before = {number: signal.getsignal(number) for number in known if signal.getsignal(number) != signal.SIG_IGN}
    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
