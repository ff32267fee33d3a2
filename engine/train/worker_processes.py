"""Worker processes on this machine: how many to start, and how they end with their parent."""

import multiprocessing
import os
import signal
import sys
import threading


def usable_processes() -> int:
    """Return the number of cores that this process may use: the number of workers that keeps the machine busy."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def divide_threads(threads: int, processes: int) -> tuple[int, int]:
    """Return the number of processes and the threads of each; 0 means as many as there are cores."""
    threads = threads or usable_processes()
    processes = processes or threads
    return processes, max(1, threads // processes)


def become_worker() -> None:
    """Ignore interrupts and exit when the parent does. Call this first in a process started by `multiprocessing`."""
    # Ctrl-C goes to the whole process group, but only the parent can stop a run in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        os.setpgrp()
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()


def _end_with_parent() -> None:
    """Exit when the parent process has ended for any reason, also by SIGKILL, which sends no signal to children."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        # `sys.exit` would only end this thread.
        os._exit(1)
