"""Worker processes on this machine: how many keep it busy, and that none outlives its parent."""

import multiprocessing
import os
import signal
import sys
import threading


def usable_processes() -> int:
    """Return how many worker processes keep this machine busy: one for each core that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def divide_threads(threads: int, processes: int) -> tuple[int, int]:
    """Return how many processes there are, and how many threads each has; 0 stands for what keeps this machine busy."""
    threads = threads or usable_processes()
    processes = processes or threads
    return processes, max(1, threads // processes)


def become_worker() -> None:
    """Leave signals to the parent, and end with it. Call it first in a process that `multiprocessing` started."""
    # Ctrl-C, and whatever else is sent to the whole group, is the parent's to answer.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        os.setpgrp()
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent is gone, however that happened: nobody else would tell it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
