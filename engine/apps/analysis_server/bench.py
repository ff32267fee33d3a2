"""How much faster many positions are analyzed together than one by one."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.apps.analysis_server.pool import AnalysisPool
from engine.apps.analysis_server.task import Report, Task
from engine.evaluation.evaluator import Evaluator


@dataclass(frozen=True)
class Way:
    """One way to analyze the positions. threads: positions at a time. batch: mean positions a call of the evaluator."""

    threads: int
    positions_per_second: float
    visits_per_second: float
    batch: float


@dataclass(frozen=True)
class Comparison:
    """The same positions both ways, in turns; figures are medians of the rounds."""

    positions: int
    one_by_one: Way
    together: Way

    @property
    def gain(self) -> float:
        """How many times as many positions a second."""
        return self.together.positions_per_second / self.one_by_one.positions_per_second


def compare(
    evaluator: Evaluator,
    tasks: Callable[[], Sequence[Task]],
    threads: int,
    memory_mib: int,
    *,
    rounds: int,
    forget: Callable[[], None],
) -> Comparison:
    """Analyze the tasks one by one and `threads` at a time, in turns, after one round that does not count.

    tasks: creates them; their reports are ignored. forget: clears the evaluator's cache.
    """
    ways: tuple[list[Way], list[Way]] = ([], [])
    for number in range(rounds + 1):
        for way, count in zip(ways, (1, threads), strict=True):
            forget()
            measured = _measure(evaluator, tasks(), count, memory_mib)
            if number > 0:
                way.append(measured)
    return Comparison(len(tasks()), *(_median(each) for each in ways))


def _measure(evaluator: Evaluator, tasks: Sequence[Task], threads: int, memory_mib: int) -> Way:
    visits: list[int] = []

    def count(_: Task, report: Report) -> None:
        visits.append(0 if report.analysis is None else report.analysis.root.visits)

    for task in tasks:
        task.on_report = count
    pool = AnalysisPool(evaluator, threads, memory_mib)
    start = time.perf_counter()
    pool.submit(tasks)
    pool.close()
    seconds = time.perf_counter() - start
    return Way(threads, len(tasks) / seconds, sum(visits) / seconds, pool.rows / max(1, pool.calls))


def _median(ways: Sequence[Way]) -> Way:
    return sorted(ways, key=lambda way: way.positions_per_second)[len(ways) // 2]
