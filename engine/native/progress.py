"""Counts compilations, and reports on one line of stderr that kernels are being compiled."""

import logging
import sys
import time
from contextlib import suppress
from typing import Any

from numba.core import event

from engine.native.cache_directory import cache_directory, remove_old_caches
from engine.support.installation import is_frozen

_log = logging.getLogger(__name__)


def compilations() -> int:
    """Return the number of kernels that this process has compiled, without those loaded from disk."""
    return _PROGRESS.compilations


def say(text: str) -> None:
    """Write to stderr; ignore the error if a controller has closed it."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # no stderr, or a closed one
        return False


class _Progress(event.Listener):  # type: ignore[misc]
    """Listens to the start and the end of each compilation."""

    def __init__(self) -> None:
        self.compilations = 0
        self._began = 0.0
        self._starting: Any = None

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if function is self._starting:
            return  # the entry for Python of a kernel is compiled, and now the kernel itself
        self._starting = function
        if self.compilations == 0:
            self._began = time.monotonic()
            directory = cache_directory()
            if directory and not is_frozen():
                remove_old_caches(directory)
            if not _is_terminal():
                say("keima: compiling kernels, once after each update; this takes about a minute ...\n")
        self.compilations += 1
        _log.info("compiling %s", function.__qualname__)
        _log.debug("argument types of %s: %s", function.__qualname__, event.data["args"])
        self._show()

    def on_end(self, event: Any) -> None:
        self._starting = None
        self._show()

    def _show(self) -> None:
        if _is_terminal():
            # The carriage return lets the next text on stderr overwrite this line.
            say(f"keima: compiling kernels, {time.monotonic() - self._began:.0f} s ...\r")


_PROGRESS = _Progress()
event.register("numba:compile", _PROGRESS)
