"""A process that works while this one has nothing to do, and is stopped when it has."""

import atexit
import subprocess
import threading
from collections.abc import Sequence

_ATTEMPTS = 3


class IdleProcess:
    """Runs commands, each once, in times of rest. One is stopped at the end of a rest, and started again in the next.

    seconds: from the start of a rest to that of the command; pauses between a script's commands are shorter. After
    three attempts, or when a command has ended by itself, it is not started any more.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._left: dict[tuple[str, ...], int] = {}
        self._running: tuple[str, ...] = ()
        self._timer: threading.Timer | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def begin(self, command: Sequence[str]) -> None:
        """Note the start of a rest, in which `command` may run."""
        with self._lock:
            if self._left.setdefault(tuple(command), _ATTEMPTS) > 0:
                self._timer = threading.Timer(self._seconds, self._start, [tuple(command)])
                self._timer.daemon = True
                self._timer.start()

    def end(self) -> None:
        """Note the end of a rest: stop the command, and wait until it is gone. Does nothing without a rest."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            process, self._process = self._process, None
            if process is None:
                return
            if process.poll() is not None:
                self._left[self._running] = 0
                return
            process.kill()
            process.wait()

    def _start(self, command: tuple[str, ...]) -> None:
        with self._lock:
            if self._timer is None:  # the rest has ended
                return
            self._left[command] -= 1
            self._running = command
            nothing = subprocess.DEVNULL
            try:
                self._process = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing)
            except OSError:
                self._left[command] = 0
                return
        atexit.register(self.end)
