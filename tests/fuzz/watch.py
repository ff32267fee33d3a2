"""Watches a process that checks cases: it may not crash, hang, grow, or fail a check. What it fails is saved."""

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.target import CORPUS, case, corpus, load_target

ROOT = Path(__file__).resolve().parents[2]
_START_SECONDS = 900.0
"""For the first case: kernels may have to be compiled."""
_STUCK_SECONDS = 60.0
"""No case takes so long on a busy machine, its repetition included."""
_MOST_FAILURES = 20


@dataclass
class Outcome:
    """What came of a target. slowest: seconds of the slowest case. grown: MiB of the largest growth of a process.

    failures: (label of the case, what went wrong). following: number of the first case that was not checked.
    """

    name: str
    seed: int
    following: int
    cases: int = 0
    units: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    grown: float = 0.0
    failures: list[tuple[str, str]] = field(default_factory=list)

    def report(self) -> str:
        """Return one line of figures, and one for each failure."""
        target = load_target(self.name)
        lines = [
            f"{self.name}: {self.cases} cases, {self.units} {target.unit}, {len(self.failures)} failures, "
            f"{self.seconds:.0f} s, slowest {self.slowest:.2f} s, memory +{self.grown:.0f} MiB "
            f"(seed {self.seed}, continue with --first {self.following})"
        ]
        for label, why in self.failures:
            lines.append(f"  case {label}: {why.splitlines()[-1]}")
        return "\n".join(lines)


class _Child:
    """A process that checks cases."""

    def __init__(self, name: str, seed: int, replayed: int, first: int) -> None:
        command = [sys.executable, "-m", "tests.fuzz.child", name, *map(str, (seed, replayed, first))]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.reports: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.reports.put(json.loads(line))
        self.reports.put(None)

    def end(self) -> int:
        """End the process and return its exit code."""
        self.process.kill()
        code = self.process.wait()
        self._thread.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


class Watch:
    """Runs the cases of one target, up to a deadline or to a number of cases."""

    def __init__(self, name: str, seed: int, first: int = 0, stuck_seconds: float = _STUCK_SECONDS) -> None:
        self.outcome = Outcome(name, seed, first)
        self._target = load_target(name)
        self._stuck_seconds = stuck_seconds
        self._first = first
        self._replayed = 0

    def run(self, count: int | None, seconds: float | None, on_failure: Callable[[str, str], None]) -> Outcome:
        """Check cases; return what came of them. A process that dies or grows is replaced by one for the cases after.

        count, seconds: where to stop, None for no limit. on_failure: called with each failure, as in `Outcome`.
        """
        outcome, began = self.outcome, time.monotonic()
        last = None if count is None else self._first + count
        deadline = None if seconds is None else began + seconds

        def is_over() -> bool:
            return (
                (last is not None and outcome.following >= last)
                or (deadline is not None and time.monotonic() > deadline)
                or len(outcome.failures) >= _MOST_FAILURES
            )

        while not is_over():
            child = _Child(outcome.name, outcome.seed, self._replayed, outcome.following)
            try:
                for failure in self._failures(child):
                    if failure is not None:
                        outcome.failures.append(failure)
                        on_failure(*failure)
                    if is_over():
                        break
            finally:
                child.end()
        outcome.seconds = time.monotonic() - began
        return outcome

    def _failures(self, child: _Child) -> Iterator[tuple[str, str] | None]:
        """Yield the failure of each case of a process, or None; end with a failure of the process itself."""
        current, before, baseline, patience = "", 0.0, None, _START_SECONDS
        while True:
            try:
                report = child.reports.get(timeout=patience)
            except queue.Empty:
                yield self._over(current), f"hangs: no answer within {patience:g} s"
                return
            if report is None:
                yield self._over(current), f"crashes: the process ended with {child.process.wait()}"
                return
            if "case" in report:
                current, before = report["case"], report["peak"]
                continue
            patience = self._stuck_seconds
            self._over(current)
            self.outcome.cases += 1
            if "failed" in report:
                yield current, report["why"]
                continue
            # Against the process after its first case, which loads what all need, and against that before this case.
            baseline = report["peak"] if baseline is None else baseline
            grown = report["peak"] - min(baseline, before)
            self._add(report, grown)
            if grown > self._target.memory:
                yield current, f"memory: {grown:.0f} MiB more than before"
                return
            yield None

    def _add(self, report: dict[str, Any], grown: float) -> None:
        outcome = self.outcome
        outcome.units += report["units"]
        outcome.slowest = max(outcome.slowest, report["seconds"])
        outcome.grown = max(outcome.grown, grown)

    def _over(self, label: str) -> str:
        """Note that a case is done, whatever came of it; return its label."""
        if label.isdigit():
            self.outcome.following = int(label) + 1
        else:
            self._replayed += 1
        return label


def save(name: str, seed: int, label: str) -> Path:
    """Write a failing case into the corpus and return its file."""
    if label in corpus(name):
        return CORPUS / name / label
    path = CORPUS / name / f"found-{seed}-{label}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(case(name, seed, int(label)))
    return path
