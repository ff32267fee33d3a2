"""Compiles kernels in a second process while this one compiles others: numba compiles one at a time in a process."""

import os
import subprocess
import sys
from contextlib import suppress

from engine.native.cache_directory import cache_directory
from engine.native.frozen import is_frozen

_LONGEST = 300.0
"""Seconds to wait for the other process; what it has not compiled by then is compiled here."""


class CompilingBeside:
    """Calls a function of a module in another process, where a kernel is not in the cache yet; ignores its failure.

    name: of the kernel, the last that the function compiles.
    """

    def __init__(self, name: str, module: str, function: str) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        directory = cache_directory()
        is_cold = directory is not None and not any(directory.glob(f"*{name}-*.nbc"))
        if is_frozen() or not is_cold or (os.cpu_count() or 1) < 2:
            return
        code = f"import sys; sys.path[:] = {sys.path!r}; from {module} import {function}; {function}()"
        nothing = subprocess.DEVNULL
        with suppress(OSError):
            self._process = subprocess.Popen(
                [sys.executable, "-c", code], stdin=nothing, stdout=nothing, stderr=nothing
            )

    def wait(self) -> None:
        """Wait until the other process has ended."""
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_LONGEST)

    def close(self) -> None:
        """End the other process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
