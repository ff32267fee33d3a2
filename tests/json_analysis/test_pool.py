"""The pool of searches: how many threads it has."""

import queue
import threading

from engine.apps.analysis_server.pool import AnalysisPool
from engine.apps.analysis_server.task import Report, Task
from engine.color import BLACK
from engine.game import Game
from engine.search.params import SearchParams
from tests.search.fakes import FakeEvaluator


def workers() -> int:
    """Return the number of threads that search."""
    return sum(thread.name.startswith("analysis-") for thread in threading.enumerate())


def threads_after_a_submission() -> int:
    """Submit three positions to a new pool with one thread; return the number of its threads, after all are done."""
    before, reports = workers(), queue.SimpleQueue[Report]()
    pool = AnalysisPool(FakeEvaluator(), threads=1, memory_mib=16)
    options = {"params": SearchParams(max_memory_mib=8), "on_report": lambda _, report: reports.put(report)}
    pool.submit(Task(Game(5), BLACK, BLACK, **options, visits=4) for _ in range(3))
    started = workers() - before
    assert [reports.get(timeout=300).failure for _ in range(3)] == ["", "", ""]
    pool.close()
    return started


def test_a_pool_has_no_more_threads_than_it_was_given_if_there_is_one_client() -> None:
    # Its thread may not have asked for a task yet when the first one comes: that must not start another.
    assert [threads_after_a_submission() for _ in range(20)] == [1] * 20
