"""Checks cases of one target in this process, and reports each on stdout.

Run by `tests.fuzz.watch` as `python -m tests.fuzz.child NAME SEED REPLAYED FIRST`. The process that reads the reports
notices a crash, a hang and memory that grows.
"""

import ctypes
import gc
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from engine.support.memory import return_large_blocks
from tests.fuzz.target import all_cases, load_target

_LINES_OF_ERROR = 12


def _delays() -> dict[str, int]:
    """Return the nanoseconds that each thread has waited for a processor so far; nothing where Linux does not run."""
    found = {}
    for path in Path("/proc/self/task").glob("*/schedstat"):
        try:
            found[str(path)] = int(path.read_text().split()[1])
        except (OSError, IndexError):  # the thread has ended
            continue
    return found


def seconds_of(check: Callable[[bytes], int], data: bytes) -> float:
    """Check a case and return the seconds that it took, without those in which a busy machine let it wait."""
    before, start = _delays(), time.monotonic()
    check(data)
    seconds, after = time.monotonic() - start, _delays()
    return seconds - max((after[each] - before.get(each, 0) for each in after), default=0) / 1e9


def peak_mebibytes() -> float:
    """Return the largest resident memory of this process or of one that it ran; 0 where the system does not know it."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / unit
    status = Path("/proc/self/status")
    if status.exists():
        # Linux counts what the parent had into `ru_maxrss`.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return max(children, int(line.split()[1]) / unit)
    return max(children, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)


def give_back() -> None:
    """Give freed memory back to the system, where glibc can: what then stays is in use, or was at once."""
    # Sessions end as cycles of few objects with large arrays, which the collector would leave for thousands of cases.
    gc.collect()
    gc.freeze()  # what is left stays, and need not be looked through again
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def run(name: str, seed: int, replayed: int, first: int, reports: TextIO) -> None:
    """Check the corpus, then cases until the process is ended."""
    return_large_blocks()  # as the program does at its start
    target = load_target(name)

    def report(**what: Any) -> None:
        reports.write(json.dumps(what) + "\n")
        reports.flush()

    for label, data in all_cases(name, seed, replayed, first):
        give_back()
        report(case=label, peak=peak_mebibytes())
        start = time.monotonic()
        try:
            units = target.check(data)
            seconds = time.monotonic() - start
            if seconds > target.seconds:
                # Once more, without the kernels that were loaded or compiled for it.
                seconds = seconds_of(target.check, data)
        except Exception:  # noqa: BLE001 - whatever the program raises is what this looks for
            text = traceback.format_exc().strip().splitlines()[-_LINES_OF_ERROR:]
            report(failed=label, why="\n".join(text))
            continue
        if seconds > target.seconds:
            report(failed=label, why=f"it took {seconds:.1f} s, twice")
        report(done=label, units=units, seconds=seconds, peak=peak_mebibytes())


def main() -> None:
    """Report on the real stdout; whatever else is printed goes to stderr."""
    reports = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    name, *numbers = sys.argv[1:]
    seed, replayed, first = map(int, numbers)
    run(name, seed, replayed, first, reports)


if __name__ == "__main__":
    main()
