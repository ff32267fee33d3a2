"""A pool of threads that analyze positions, one search each, with one shared evaluator.

Tasks are taken by priority. While many positions are searched, each search evaluates one leaf or a few at a time, and
the evaluator's batches are filled with leaves of many positions; a single position fills the batches alone.
"""

import heapq
import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count

import numpy as np

from engine.apps.analysis_server.task import Report, Task
from engine.color import for_color
from engine.evaluation.evaluator import Evaluator
from engine.evaluators.joined import JoinedEvaluator
from engine.players.judge import dead_chains
from engine.players.passing import dead_matter
from engine.search.analysis import snapshot
from engine.search.avoided import avoid_table
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.search.stoppers import EventStopper, SearchStats, Stopper, TimeStopper, VisitStopper
from engine.search.tree import bytes_per_node
from engine.vertex import from_policy_index

_LOG = logging.getLogger(__name__)
_MEBIBYTE = 1 << 20
_NODES_PER_VISIT = 1.1
"""Nodes of a search limited by visits: one each, and some for evaluations that are in flight when it ends."""
_MOST_THREADS = 32
"""More threads would wait for Python's global lock rather than for the evaluator."""


def default_threads(evaluator: Evaluator) -> int:
    """Return the number of positions, with one leaf or one thread each, that keeps an evaluator busy."""
    attributes = evaluator.attributes
    return attributes.threads or min(_MOST_THREADS, attributes.concurrent * max(2, attributes.preferred_batch))


class AnalysisPool:
    """Searches many positions at the same time.

    threads: number of positions at a time. memory_mib: memory limit of all their trees together.
    inner: the evaluator that was passed in; `close` does not close it. evaluator: what the searches call: a
    JoinedEvaluator over `inner`, or `inner` itself if kernels can call it without Python.
    """

    def __init__(self, evaluator: Evaluator, threads: int, memory_mib: int) -> None:
        self.threads, self.inner = threads, evaluator
        self._calls = self._rows = 0
        # An evaluator that kernels call gains nothing from larger batches: each thread computes its own leaves. With
        # any other, a dozen positions at a time make 1.3 to 1.5 times the positions/s (19x19, 8 visits,
        # docs/performance.md).
        self.evaluator = evaluator if evaluator.attributes.threads else JoinedEvaluator(evaluator)
        self._share_mib = max(1, memory_mib // threads)
        self._tasks: list[tuple[int, int, Task]] = []
        self._numbers = count()
        self._open: dict[int, Task] = {}
        self._searching = 0
        self._change = threading.Condition()
        self._closing = False
        self._workers = [
            threading.Thread(target=self._work, name=f"analysis-{number}", daemon=True) for number in range(threads)
        ]
        for worker in self._workers:
            worker.start()

    @property
    def calls(self) -> int:
        """Number of evaluated batches. Without joined calls, batches of roots are not counted."""
        return self.evaluator.calls if isinstance(self.evaluator, JoinedEvaluator) else self._calls

    @property
    def rows(self) -> int:
        """Number of positions in these batches."""
        return self.evaluator.rows if isinstance(self.evaluator, JoinedEvaluator) else self._rows

    def submit(self, tasks: Iterable[Task]) -> None:
        """Queue tasks by priority, in the given order within a priority."""
        with self._change:
            for task in tasks:
                self._open[id(task)] = task
                heapq.heappush(self._tasks, (-task.priority, next(self._numbers), task))
            self._change.notify_all()

    def cancel(self, chosen: Callable[[Task], bool]) -> None:
        """Cancel the chosen tasks: running ones report their analysis so far, queued ones report None."""
        with self._change:
            ended = [task for task in self._open.values() if chosen(task) and not task.cancelled.is_set()]
            for task in ended:
                task.cancelled.set()
            waiting = {id(task) for _, _, task in self._tasks}
            dropped = [task for task in ended if id(task) in waiting]
            gone = {id(task) for task in dropped}
            self._tasks = [each for each in self._tasks if id(each[2]) not in gone]
            heapq.heapify(self._tasks)
            for task in dropped:
                del self._open[id(task)]
        # Without the lock, so that a slow callback does not keep workers from the queue.
        for task in dropped:
            task.on_report(task, Report(None))

    def close(self, *, wait: bool = True) -> None:
        """End the threads after all tasks are done or, without `wait`, cancel all tasks first."""
        if not wait:
            self.cancel(lambda task: True)
        with self._change:
            self._closing = True
            self._change.notify_all()
        for worker in self._workers:
            worker.join()

    def _work(self) -> None:
        """Analyze tasks until the pool closes. One search serves all of them, so its memory is allocated once."""
        search = self._new_search()
        while (task := self._next_task()) is not None:
            try:
                self._analyze(search, task)
            except Exception as error:  # noqa: BLE001 - reported as the task's answer
                _LOG.exception("an analysis failed")
                task.on_report(task, Report(None, failure=f"{error}" or repr(error)))
                # The tree may be inconsistent after an error in the middle of a search.
                search.close()
                search = self._new_search()
            finally:
                with self._change:
                    self._searching -= 1
                    self._open.pop(id(task), None)
        search.close()

    def _new_search(self) -> Search:
        search = Search(self.evaluator, SearchParams(seed=0), self._sharing)
        search.doubts_counts = True
        return search

    def _next_task(self) -> Task | None:
        """Wait for the next task and return it; None once the pool is closing and the queue is empty."""
        with self._change:
            while not self._tasks:
                if self._closing:
                    return None
                self._change.wait()
            self._searching += 1
            return heapq.heappop(self._tasks)[2]

    def _sharing(self) -> int:
        """Return the number of searches that share the evaluator now; each scales its batches by it."""
        return max(1, self._searching)

    def _analyze(self, search: Search, task: Task) -> None:
        """Search one position and report the result."""
        if task.cancelled.is_set():
            task.on_report(task, Report(None))
            return
        search.params = replace(task.params, max_memory_mib=self.memory_of(task))
        search.forget()
        if task.params.seed:
            # Start again from the seed: the result must not depend on what this thread searched before.
            search.restart()
        legal, avoid = _legal_vertices(task), avoid_table(task.avoided, task.game.board.shape[1])
        search.begin(task.game, task.color, legal, avoid=avoid)
        if dead_matter(task.game, task.color):
            search.begin(task.game, task.color, legal, _dead(search, task), avoid=avoid)
        stoppers: list[Stopper] = [EventStopper(task.cancelled)]
        if task.visits is not None:
            stoppers.append(VisitStopper(task.visits))
        if task.seconds is not None:
            stoppers.append(TimeStopper(task.seconds))
        calls, rows = search.driver.answers, search.driver.rows
        search.run(stoppers, task.visits, _Reporter(task, search).watch if task.report_every else None)
        with self._change:
            self._calls += search.driver.answers - calls
            self._rows += search.driver.rows - rows
        task.on_report(task, Report(snapshot(search, task.wanted, task.view), search.root_evaluation))

    def memory_of(self, task: Task) -> int:
        """Return the memory limit of a task's tree in MiB: what its visits need, at most an equal share."""
        if task.visits is None:
            return self._share_mib
        attributes, area = self.evaluator.attributes, task.game.width * task.game.height
        node = bytes_per_node(area, rave=attributes.has_first_play, ownership=attributes.has_ownership)
        return min(self._share_mib, int(task.visits * _NODES_PER_VISIT * node) // _MEBIBYTE + 1)


class _Reporter:
    """Sends snapshots of a running search at the intervals that its task asks for."""

    def __init__(self, task: Task, search: Search) -> None:
        self._task, self._search = task, search
        first = task.report_every if task.first_report is None else task.first_report
        self._due = time.monotonic() + (first or 0.0)

    def watch(self, stats: SearchStats) -> None:
        """Send a report if one is due. The search calls this between batches."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + (self._task.report_every or 0.0)
        analysis = snapshot(self._search, self._task.wanted, self._task.view)
        if analysis is not None:
            self._task.on_report(self._task, Report(analysis, self._search.root_evaluation, is_final=False))


def _dead(search: Search, task: Task) -> list[int]:
    """Return the dead stones of the root position, by its evaluation; the tree's final scores remove them."""
    search.run([VisitStopper(1)], 1)
    if search.root_evaluation is None:  # the task was cancelled
        return []
    ownership = for_color(search.root_evaluation.ownership[0].astype(np.float64), task.color)
    return [vertex for chain in dead_chains(task.game, ownership) for vertex in chain]


def _legal_vertices(task: Task) -> list[int]:
    """Return the legal points of a task's position under its rules, superko included."""
    legal, _, _ = task.game.legal_arrays(task.color)
    size = task.game.width, task.game.height
    return [from_policy_index(index, *size) for index in np.flatnonzero(legal[:-1]).tolist()]
