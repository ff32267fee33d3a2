"""Worker processes on this machine: how many to start, what they answer, how they fail, how they end with their parent.

The function of a worker process calls `serve`, which answers tasks one after the other; `WorkerProcesses` is their
other side. Errors are raised in the parent process, which shows them.
"""

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from engine.errors import GoError
from engine.support.cores import usable_cores

# Time for a process that has closed its connection to end, in which its status is known.
_STATUS_SECONDS = 5.0


@dataclass(frozen=True)
class _Failed:
    """A message about a task that failed. kind: what the parent raises with this text."""

    kind: type[Exception]
    text: str


class WorkerProcesses:
    """Processes that run one function, each with a connection to this process.

    name: of one of them, in messages. advice: what the message about one that died ends with. target: called in each
    with its end of the connection and its arguments; it must be picklable. arguments: of each process.
    A script that starts some must be guarded by `if __name__ == "__main__"`.
    """

    def __init__(
        self, name: str, advice: str, target: Callable[..., None], arguments: Iterable[tuple[Any, ...]]
    ) -> None:
        self._name, self._advice = name, advice
        self._processes: dict[Connection, Any] = {}
        # A forked process would inherit locks held by torch's and numba's threads; a spawned one starts clean.
        context = multiprocessing.get_context("spawn")
        for number, each in enumerate(arguments, 1):
            here, there = context.Pipe()
            process = context.Process(target=target, args=(there, *each), name=f"{name} {number}", daemon=True)
            with _without_interrupts():
                process.start()
            there.close()
            self._processes[here] = process

    @property
    def connections(self) -> Sequence[Connection]:
        """The connection to each process."""
        return list(self._processes)

    def send(self, connection: Connection, task: Any) -> None:
        """Send a task to one of the processes. Raises GoError if it has died, as `messages` does."""
        try:
            connection.send(task)
        except OSError:
            with suppress(OSError):
                if connection.poll():
                    self._received(connection)  # raises what the process reported before its end
            raise self._death(connection) from None

    def messages(self, asked: Iterable[Connection], seconds: float | None = None) -> Iterator[tuple[Connection, Any]]:
        """Wait for some of the processes, and yield one message of each that has sent any.

        seconds: the longest time to wait; None for no limit. Raises GoError if a process died and for errors that the
        user can fix, MemoryError, and RuntimeError with a traceback for all others.
        """
        asked = list(asked)
        ready = wait(asked, seconds)
        for connection in asked:
            if connection in ready:
                yield connection, self._received(connection)

    def _received(self, connection: Connection) -> Any:
        """Return the next message of a process."""
        try:
            message = connection.recv()
        except (EOFError, OSError):
            raise self._death(connection) from None
        if isinstance(message, _Failed):
            raise message.kind(message.text)
        return message

    def _death(self, connection: Connection) -> GoError:
        """Return the error of a process that no longer has its end of the connection."""
        process = self._processes[connection]
        process.join(_STATUS_SECONDS)
        return GoError(f"a {self._name} died with status {process.exitcode}; {self._advice}")

    def close(self, seconds: float = 0.0) -> None:
        """End the processes. seconds: time for each to end by itself before it is killed."""
        for connection in self._processes:
            with suppress(OSError):
                connection.send(None)
            connection.close()
        for process in self._processes.values():
            process.join(seconds)
            process.kill()
            process.join()


def serve(connection: Connection, perform: Callable[[Any], Any], expected: tuple[type[Exception], ...]) -> None:
    """Send what `perform` returns for each task, until the parent process sends None or has ended.

    expected: errors that the user can fix, which the parent raises as GoError. Call this in a process of
    `WorkerProcesses`.
    """
    become_worker()
    with suppress(EOFError, OSError):
        while (task := connection.recv()) is not None:
            connection.send(_outcome(perform, task, expected))


def _outcome(perform: Callable[[Any], Any], task: Any, expected: tuple[type[Exception], ...]) -> Any:
    try:
        return perform(task)
    except expected as error:
        return _Failed(GoError, str(error))
    except MemoryError as error:
        return _Failed(MemoryError, str(error))
    except Exception:  # noqa: BLE001 - raised again in the process that shows it
        return _Failed(RuntimeError, traceback.format_exc())


def divide_threads(threads: int, processes: int) -> tuple[int, int]:
    """Return the number of processes and the threads of each; 0 means as many as there are cores."""
    threads = threads or usable_cores()
    processes = processes or threads
    return processes, max(1, threads // processes)


def become_worker() -> None:
    """Ignore interrupts and exit when the parent does. Call this first in a process started by `multiprocessing`."""
    # Ctrl-C goes to the whole process group, but only the parent can stop a run in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        os.setpgrp()
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Start a process in here that Ctrl-C does not reach while it still loads, before it calls `become_worker`."""
    if sys.platform == "win32":
        yield
        return
    # The resource tracker is otherwise started with the first process, and unblocks the signal then.
    resource_tracker.ensure_running()
    # Blocked signals are inherited, and one that comes meanwhile waits for this process.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """Exit when the parent process has ended for any reason, also by SIGKILL, which sends no signal to children."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        # `sys.exit` would only end this thread.
        os._exit(1)
