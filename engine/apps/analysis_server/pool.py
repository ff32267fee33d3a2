"""A pool of threads that analyze positions, one search each, with one shared evaluator.

Clients take turns, and the tasks of a client are taken by priority. While many positions are searched, each search
evaluates one leaf or a few at a time, and the evaluator's batches are filled with leaves of many positions; a single
position fills the batches alone.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from itertools import compress

import numpy as np

from engine.apps.analysis_server.task import Report, Task
from engine.apps.analysis_server.turns import TurnQueue
from engine.color import for_color
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluators.joined import JoinedEvaluator, joined
from engine.game import Game
from engine.players.judge import dead_chains
from engine.players.passing import dead_matter
from engine.search.analysis import Wanted, snapshot
from engine.search.avoided import avoid_table
from engine.search.memory import Memory
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.search.stoppers import EventStopper, SearchStats, Stopper, TimeStopper, VisitStopper
from engine.search.tree import bytes_per_node
from engine.support.stopping import WAIT_SECONDS
from engine.vertex import points

_LOG = logging.getLogger(__name__)
_MEBIBYTE = 1 << 20
_NODES_PER_VISIT = 1.1
"""Nodes of a search limited by visits: one each, and some for evaluations that are in flight when it ends."""
_LEAST_MIB = 2
"""Memory of a tree, in MiB, when the trees of other clients have taken all of it."""
_WARM_UP_VISITS = 4
_MOST_THREADS = 32
"""More threads would wait for Python's global lock rather than for the evaluator."""


def default_threads(evaluator: Evaluator) -> int:
    """Return the number of positions, with one leaf or one thread each, that keeps an evaluator busy."""
    attributes = evaluator.attributes
    if attributes.threads > 1:
        # One more: while Python takes the answer of a position, its thread searches nothing. 60 games of 9x9 at
        # 40 visits with two threads: 3,500 evaluations/s instead of 3,000.
        return attributes.threads + 1
    return attributes.threads or min(_MOST_THREADS, attributes.concurrent * max(2, attributes.preferred_batch))


class AnalysisPool:
    """Searches many positions at the same time.

    threads: number of positions at a time; where more clients wait, each has one, so that no search of others, however
    long, keeps a client waiting. memory_mib: memory limit of all trees together. human: a human network beside the
    evaluator, see `HumanParams`. memory: what searches remember, a new one if None; closed with the pool.
    inner: the evaluator that was passed in; `close` does not close it. evaluator: what the searches call: a
    JoinedEvaluator over `inner`, or `inner` itself if kernels can call it without Python.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        threads: int,
        memory_mib: int,
        human: Evaluator | None = None,
        memory: Memory | None = None,
    ) -> None:
        self.threads, self.inner = threads, evaluator
        self._calls = self._rows = 0
        # With an evaluator that kernels cannot call, a dozen positions at a time make 1.3 to 1.5 times the positions/s
        # (19x19, 8 visits, docs/performance.md).
        self.evaluator = joined(evaluator)
        self._human = human
        self._memory_mib, self._taken_mib = memory_mib, 0
        self._queue = TurnQueue()
        self._open: dict[int, Task] = {}
        # Workers that wait for a task, and those that have not asked for one yet.
        self._idle, self._starting = 0, threads
        self._change = threading.Condition()
        self._closing = False
        self.memory = memory or Memory()
        self._workers = [self._new_worker(number, is_extra=False) for number in range(threads)]
        for worker in self._workers:
            worker.start()

    def _new_worker(self, number: int, *, is_extra: bool) -> threading.Thread:
        return threading.Thread(target=self._work, args=(is_extra,), name=f"analysis-{number}", daemon=True)

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
                self._queue.put(task)
            self._change.notify_all()
            self._workers = [each for each in self._workers if each.is_alive()]
            for _ in range(self._queue.starved - self._idle - self._starting):
                self._starting += 1
                worker = self._new_worker(len(self._workers), is_extra=True)
                self._workers.append(worker)
                worker.start()

    def warm_up(self, width: int, height: int, params: SearchParams) -> None:
        """Analyze a position of this size, so that every kernel and the network are there; wait for it."""
        done, game = threading.Event(), Game(width, height)
        wanted = Wanted(ownership=True, moves_ownership=True)
        view = color = game.to_play
        self.submit([Task(game, color, view, params, lambda *_: done.set(), visits=_WARM_UP_VISITS, wanted=wanted)])
        while not done.wait(WAIT_SECONDS):
            pass

    def cancel(self, chosen: Callable[[Task], bool]) -> None:
        """Cancel the chosen tasks: running ones report their analysis so far, queued ones report None."""
        with self._change:
            ended = [task for task in self._open.values() if chosen(task) and not task.cancelled.is_set()]
            for task in ended:
                task.cancelled.set()
            gone = {id(task) for task in ended}
            removed = {id(task) for task in self._queue.remove(lambda task: id(task) in gone)}
            dropped = [task for task in ended if id(task) in removed]
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
            workers = list(self._workers)
        for worker in workers:
            worker.join()
        self.memory.close()

    def _work(self, is_extra: bool) -> None:
        """Analyze tasks until the pool closes. One search serves all of them, so its memory is allocated once.

        is_extra: the worker was started for a client that waited while all others were busy; it ends when no client is
        in this situation.
        """
        search = self._new_search()
        with self._change:
            # With the lock until it waits: a client that comes in between would get an extra worker for nothing.
            self._starting -= 1
            task = self._next_task(is_extra)
        while task is not None:
            memory = self._take_memory(task)
            try:
                self._analyze(search, task, memory)
            except Exception as error:  # noqa: BLE001 - reported as the task's answer
                _LOG.exception("an analysis failed")
                task.on_report(task, Report(None, failure=f"{error}" or repr(error)))
                # The tree may be inconsistent after an error in the middle of a search.
                search.close()
                search = self._new_search()
            finally:
                with self._change:
                    self._taken_mib -= memory
                    self._queue.done(task)
                    self._open.pop(id(task), None)
            task = self._next_task(is_extra)
        search.close()

    def _new_search(self) -> Search:
        search = Search(self.evaluator, SearchParams(seed=0), self._sharing, self._human)
        search.doubts_counts, search.memory = True, self.memory
        return search

    def _next_task(self, is_extra: bool) -> Task | None:
        """Wait for the next task and return it; None once the pool is closing and the queue is empty."""
        with self._change:
            if is_extra and not self._queue.starved:
                return None
            while (task := self._queue.take()) is None:
                if self._closing:
                    return None
                self._idle += 1
                self._change.wait()
                self._idle -= 1
            return task

    def _sharing(self) -> int:
        """Return the number of searches that share the evaluator now; each scales its batches by it."""
        return max(1, self._queue.running)

    def _analyze(self, search: Search, task: Task, memory_mib: int) -> None:
        """Search one position and report the result."""
        if task.cancelled.is_set():
            task.on_report(task, Report(None))
            return
        search.params = _within(task.params, memory_mib)
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
            # An answer has a move at least, also where the time was not enough for one, as with KataGo.
            stoppers.append(TimeStopper(task.seconds, least_visits=2))
        calls, rows = search.driver.answers, search.driver.rows
        search.run(stoppers, task.visits, _Reporter(task, search).watch if task.report_every else None)
        with self._change:
            self._calls += search.driver.answers - calls
            self._rows += search.driver.rows - rows
        task.on_report(task, Report(snapshot(search, task.wanted, task.view), *_roots(search)))

    def _take_memory(self, task: Task) -> int:
        """Reserve memory for a task's tree and return it in MiB: what is left, if other clients have taken much."""
        with self._change:
            left = max(_LEAST_MIB, self._memory_mib - self._taken_mib)
            memory = min(self.memory_of(task), left)
            self._taken_mib += memory
            return memory

    def memory_of(self, task: Task) -> int:
        """Return the memory limit of a task's tree in MiB: what its visits need, at most an equal share."""
        share = max(1, self._memory_mib // (self.threads + max(0, self._queue.clients - 1)))
        if task.visits is None:
            return share
        attributes, area = self.evaluator.attributes, task.game.width * task.game.height
        node = bytes_per_node(
            area, rave=attributes.has_first_play, ownership=attributes.has_ownership, human=self._human is not None
        )
        return min(share, int(task.visits * _NODES_PER_VISIT * node) // _MEBIBYTE + 1)


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
            self._task.on_report(self._task, Report(analysis, *_roots(self._search), is_final=False))


@lru_cache(maxsize=64)
def _within(params: SearchParams, memory_mib: int) -> SearchParams:
    """Return parameters with a limit of memory: the same object each time, which a search recognizes."""
    return replace(params, max_memory_mib=memory_mib)


def _roots(search: Search) -> tuple[Evaluation | None, Evaluation | None]:
    """Return the root's evaluation, and the human network's."""
    return search.root_evaluation, search.human_evaluation


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
    return list(compress(points(task.game.width, task.game.height), legal.tolist()))
