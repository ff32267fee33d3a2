"""Measures how much faster positions are analyzed together than one by one."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.apps.analysis_server.pool import AnalysisPool
from engine.apps.analysis_server.task import Report, Task
from engine.evaluation.evaluator import Evaluator
from engine.support.progress import ProgressBar


@dataclass(frozen=True)
class Speed:
    """Speed of an analysis. threads: positions at a time. batch: mean positions in a call of the evaluator."""

    threads: int
    positions_per_second: float
    visits_per_second: float
    batch: float


@dataclass(frozen=True)
class Comparison:
    """Speeds on the same positions; medians over the rounds."""

    positions: int
    one_by_one: Speed
    together: Speed

    @property
    def gain(self) -> float:
        """Positions per second together, divided by those one by one."""
        return self.together.positions_per_second / self.one_by_one.positions_per_second


def compare(
    evaluator: Evaluator,
    tasks: Callable[[], Sequence[Task]],
    threads: int,
    memory_mib: int,
    *,
    rounds: int,
    forget: Callable[[], None],
    bar: ProgressBar,
) -> Comparison:
    """Analyze the tasks one by one and `threads` at a time, in turns, after one round that does not count.

    tasks: creates the tasks; their reports are ignored. forget: clears the evaluator's cache. bar: shows the positions
    analyzed.
    """
    count, done = len(tasks()), 0

    def show() -> None:
        nonlocal done
        done += 1
        bar.update(f"round {(done - 1) // (2 * count) + 1} of {rounds + 1}", done, 2 * (rounds + 1) * count)

    speeds: tuple[list[Speed], list[Speed]] = ([], [])
    for number in range(rounds + 1):
        for found, at_once in zip(speeds, (1, threads), strict=True):
            # A cached position would cost the second analysis nothing.
            forget()
            measured = _measure(evaluator, tasks(), at_once, memory_mib, show)
            # The first round loads kernels and compiles networks.
            if number > 0:
                found.append(measured)
    return Comparison(count, *(_median(each) for each in speeds))


def _measure(
    evaluator: Evaluator, tasks: Sequence[Task], threads: int, memory_mib: int, show: Callable[[], None]
) -> Speed:
    visits: list[int] = []
    lock = threading.Lock()

    def count(_: Task, report: Report) -> None:
        with lock:
            visits.append(0 if report.analysis is None else report.analysis.root.visits)
            show()

    for task in tasks:
        task.on_report = count
    pool = AnalysisPool(evaluator, threads, memory_mib)
    start = time.perf_counter()
    pool.submit(tasks)
    pool.close()
    seconds = time.perf_counter() - start
    return Speed(threads, len(tasks) / seconds, sum(visits) / seconds, pool.rows / max(1, pool.calls))


def _median(speeds: Sequence[Speed]) -> Speed:
    return sorted(speeds, key=lambda speed: speed.positions_per_second)[len(speeds) // 2]
