"""Compiles kernels in a second process while this one compiles others: numba compiles one at a time in a process."""

import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from engine.native.cache_directory import cache_directory
from engine.support.cores import usable_cores
from engine.support.installation import is_frozen, make_writable

_LONGEST = 300.0
"""Seconds to wait for the other process; what it has not compiled by then is compiled here."""
_LOOK_SECONDS = 0.05


class CompilingBeside:
    """Calls a function of a module in another process, where a kernel is not in the cache yet; ignores its failure.

    names: of kernels that the function compiles.
    """

    def __init__(self, names: Sequence[str], module: str, function: str) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        directory = cache_directory()
        if is_frozen() or directory is None or usable_cores() < 2:
            return
        self._directory = directory
        if all(map(self._is_compiled, names)) or not _is_writable(directory):
            return
        code = f"import sys; sys.path[:] = {sys.path!r}; from {module} import {function}; {function}()"
        nothing = subprocess.DEVNULL
        with suppress(OSError):
            self._process = subprocess.Popen(
                [sys.executable, "-c", code], stdin=nothing, stdout=nothing, stderr=nothing
            )

    def _is_compiled(self, name: str) -> bool:
        return any(self._directory.glob(f"*{name}-*.nbc"))

    def wait(self, names: Sequence[str] = ()) -> None:
        """Wait until the other process has ended, or until it has compiled kernels, if there are names of any."""
        if self._process is None:
            return
        end = time.monotonic() + _LONGEST
        while self._process.poll() is None and time.monotonic() < end:
            if names and all(map(self._is_compiled, names)):
                return
            time.sleep(_LOOK_SECONDS)

    def close(self) -> None:
        """End the other process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def _is_writable(directory: Path) -> bool:
    """Return whether the other process could hand over what it compiles."""
    try:
        make_writable(directory)
    except OSError:
        return False
    return True
