"""The driver of every search: workers that walk, evaluate and back up at the same time.

Each worker has a batch. It backs up its evaluated batch and collects the next one while it holds the lock, and
evaluates without the lock (see `engine.search.advance`). No thread has to be woken or waited for, and fewer leaves are
in flight than if one thread collected for all, so fewer moves are chosen without the results of others. `Driver`
searches one tree; `engine.search.batched_search` searches many in the same loop.

An evaluator that kernels can call is called from a compiled loop without Python; with any other evaluator the same loop
runs in a Python thread, as with many trees. The order of the workers depends on chance unless they work in turn.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator, Program, program_of
from engine.evaluation.positions import PositionBatch
from engine.native.closures import FAILED, Closure, Fixed, invoke, runs_closures
from engine.native.locks import holding, new_lock
from engine.search.advance import (
    CONTROL,
    GO_ON,
    HAS_FAILED,
    IS_BROKEN,
    OVER,
    WAIT,
    WALKING,
    expand_batch,
    finish_batch,
    run_worker,
    start_batch,
    ticks_now,
)
from engine.search.kernel_params import SCORE_TABLE
from engine.search.position import Scratch
from engine.search.pruning import make_room
from engine.search.throughput import Load, Throughput
from engine.search.tree import IS_FULL, Tree, playouts_without_evaluation
from engine.search.worker import Worker

Step = Callable[[int], int]
_Evaluate = Callable[[PositionBatch, int, Evaluation], None]
_PARTS = ("select", "backup", "encode", "evaluate")
_ANSWERS_TO_MEASURE, _SECONDS_TO_MEASURE = 24, 0.01
"""Minimum of batches for each worker, and of seconds, in a measurement of the speed."""
POLL_SECONDS, PATIENT_SECONDS = 0.004, 0.02
"""Interval at which the stoppers of a search are asked; of a search that its visits or another thread will end."""
_IDLE_ROUNDS = 2
"""Consecutive rounds without progress that end a search: no playout is possible, or the visits are reached."""
_FULL = 0.9
"""Minimum mean share of the wanted rows in batches whose speed is recorded."""


def worker_count(evaluator: Evaluator) -> int:
    """Return the number of workers that keep an evaluator busy."""
    return evaluator.attributes.threads or evaluator.attributes.concurrent


class WorkerThreads:
    """Runs each worker in a thread: the base of the drivers of one tree and of many.

    control: [1] CONTROL. seconds: time of all workers together in each part of the work; "all" is the total time that
    they had.
    """

    def __init__(self, workers: Sequence[Worker], control: NDArray[np.void]) -> None:
        self.seconds = dict.fromkeys((*_PARTS, "all"), 0.0)
        self._workers, self._control = workers, control
        self._changed = threading.Condition()
        self._threads = ThreadPoolExecutor(len(workers), thread_name_prefix="search")

    @property
    def answers(self) -> int:
        """Number of batches that were backed up."""
        return int(self._control[0]["answers"])

    @property
    def rows(self) -> int:
        """Number of leaves in these batches."""
        return int(self._control[0]["rows_answered"])

    def _run_in_python(self, worker: Worker, evaluate: _Evaluate, advance: Step) -> None:
        """Run a worker until it is over, as `run_worker` does.

        advance: called with the lock held and the last number of rows; returns the rows to evaluate, WAIT, OVER,
        FAILED, or GO_ON to be called again.
        """
        try:
            rows, seconds = 0, 0.0
            while rows != OVER:
                with self._changed:
                    self.seconds["evaluate"] += seconds
                    while (rows := advance(rows)) == WAIT:
                        self._changed.wait()
                    self._changed.notify_all()
                if rows == FAILED:
                    raise IndexError("index out of range in a search kernel")
                seconds = 0.0
                if rows > 0:
                    begun = time.perf_counter()
                    evaluate(worker.positions, rows, worker.evaluation)
                    seconds = time.perf_counter() - begun
        except BaseException:
            with self._changed:
                self._control[0]["stop"] = 1
                self._changed.notify_all()
            raise

    def wait(self) -> None:
        """Wait until all workers have ended, with evaluations that were given up."""
        for worker in self._workers:
            worker.wait()

    def close(self) -> None:
        """Stop the threads. The driver cannot be used afterwards."""
        self._threads.shutdown()


class Driver(WorkerThreads):
    """Searches one tree with several workers. Not thread-safe.

    trees, params: those of one tree, with one more axis in front, see `engine.search.advance`. scratches: one for each
    worker, which may share `ownership_sum`.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        trees: Any,
        scratches: Sequence[Scratch],
        params: NDArray[np.void],
        workers: Sequence[Worker],
    ) -> None:
        super().__init__(workers, np.zeros(1, dtype=CONTROL))
        self.is_native = evaluator.attributes.threads > 0
        self._evaluator, self._params = evaluator, params
        self._trees, self._tree = trees, Tree(*(array[0] for array in trees))
        self._lock = new_lock()
        self._tree_argument, shared = argument(trees), tuple(map(argument, (params, SCORE_TABLE, self._control)))
        pairs = zip(scratches, workers, strict=True)
        self._shared = [(argument(scratch), *shared, argument(worker.arrays)) for scratch, worker in pairs]
        self._finish = [step(finish_batch, self._tree_argument, *each) for each in self._shared]
        self._expand = [
            step(expand_batch, self._tree_argument, scratch, numbers, arrays)
            for scratch, numbers, _, _, arrays in (self._shared if self.is_native else ())
        ]
        self._programs: dict[int, tuple[object, Program]] = {}
        self._roots: Any = None
        self._begin: list[Step] = []
        self._spent: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64) for _ in workers]
        self._names: tuple[str, ...] = ()
        self._running: dict[int, Future[None]] = {}
        self._ended: SimpleQueue[None] = SimpleQueue()
        self._left = 0
        self._load, self._most_rows = Load(1, 1), workers[0].positions.capacity
        self._throughput: Throughput | None = None

    @property
    def throughput(self) -> Throughput:
        """The speeds that were measured on this board."""
        if self._throughput is None:
            attributes = replace(self._evaluator.attributes, concurrent=len(self._workers))
            self._throughput = Throughput(attributes, most=self._most_rows)
        return self._throughput

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Hold the lock of the tree."""
        # Python workers wait for the condition without using a core; kernels can only spin.
        with holding(self._lock) if self.is_native else self._changed:
            yield

    def run(
        self,
        roots: Any,
        load: Callable[[], Load],
        is_over: Callable[[], bool],
        *,
        is_in_turn: bool = False,
        poll_seconds: float = POLL_SECONDS,
    ) -> bool:
        """Search until `is_over`, until the visits are reached, or until no playout is possible.

        roots: the root position, with one more axis in front; the next search is prepared faster if its root is
        written into the same arrays. load: called repeatedly; returns the number of workers and the rows of a batch.
        is_over: called every `poll_seconds` and at the end, with the lock held, in this thread or a worker's.
        is_in_turn: let the workers take turns, so that the same load gives the same tree.
        Returns whether `is_over` ended the search. Raises the errors of `evaluate`.
        """
        idle, control = 0, self._control[0]
        control["is_in_turn"] = is_in_turn
        self._is_over, self._has_been_over, self._next_look, self._poll_seconds = is_over, False, 0.0, poll_seconds
        if roots is not self._roots:
            self._roots, root = roots, argument(roots)
            self._begin = [step(start_batch, self._tree_argument, root, *each) for each in self._shared]
        works = {0: self._work(0)}
        while idle < _IDLE_ROUNDS:
            before = self._progress()
            control["stop"] = control["turn"] = 0
            self._set_load(load())
            self._start(works)
            while not self._has_ended(poll_seconds):
                with self.holding():
                    if self._has_been_over or is_over():
                        return True
                self._measure()
                wanted = load()
                if wanted != self._load and not is_in_turn:
                    with self.holding():
                        self._set_load(wanted)
                    self._start(works)
            # Most searches end here, with all their visits. Another round would only start the workers again in vain.
            with self.holding():
                if self._has_been_over or is_over():
                    return True
            # Only here, where no evaluation is in flight: pruning renumbers the nodes.
            if self._tree.counters[IS_FULL]:
                make_room(self._tree, float(self._params[0]["subtree_value_bias_free_share"]))
            idle = 0 if self._progress() > before else idle + 1
        return False

    def _work(self, number: int) -> Callable[[], None]:
        """Return a function that runs a worker; the function keeps its arrays and closures alive."""
        worker, program = self._workers[number], self._program_of(number)
        finish, start = self._finish[number], self._begin[number]
        if program is None:
            advance = partial(self._advance, finish, start)
            return partial(self._run_in_python, worker, self._evaluator.evaluate, advance)
        self._most_rows = min(program.rows, worker.positions.capacity)
        self._names = ("backup", "select", *(each.name for each in program.steps), "backup")
        self._spent[number] = np.zeros(len(self._names), dtype=np.int64)
        closures = [finish, start, *(each.closure for each in program.steps), self._expand[number]]
        return partial(self._run_native, worker, closures, self._spent[number])

    def evaluate_first(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Evaluate rows of the first worker's batch, as `Evaluator.evaluate` does, by its program if it has one.

        No worker may run. Without a program, arguments are converted at each call.
        """
        # The first search of a board size has none yet, and one visit is not worth creating it.
        program = self._known_program(0)
        if program is None or count > program.rows or _run(program, count) == FAILED:
            self._evaluator.evaluate(positions, count, out)

    def _known_program(self, number: int) -> Program | None:
        """Return the program of a worker's earlier evaluations if it still holds."""
        known = self._programs.get(number)
        values = self._workers[number].positions.common_values()
        return known[1] if known is not None and known[0] == values and known[1].is_current() else None

    def _program_of(self, number: int) -> Program | None:
        """Return the program of a worker's evaluations, None if there is none.

        Creating one takes as long as several evaluations, and new memory; a search of few visits would notice.
        """
        worker, known = self._workers[number], self._known_program(number)
        if known is not None:
            return known
        self._programs.pop(number, None)  # now, so that the memory of both is never needed at a time
        program = program_of(self._evaluator, worker.positions, worker.evaluation)
        if program is not None:
            self._programs[number] = worker.positions.common_values(), program
        return program

    def _run_native(self, worker: Worker, closures: list[Any], spent: NDArray[np.int64]) -> None:
        addresses = np.array([closure.address for closure in closures])
        run_worker(self._lock, self._control, worker.state, addresses, spent)

    def _look(self) -> None:
        """Call `is_over` if that is due, so that a Python worker stops without waiting for the driver's thread."""
        # Not after the search was stopped: the caller may already have answered an analysis.
        if self._control[0]["stop"]:
            return
        now = time.monotonic()
        if now >= self._next_look and not self._has_been_over:
            self._next_look = now + self._poll_seconds
            self._has_been_over = self._is_over()
            self._control[0]["stop"] |= self._has_been_over

    def _advance(self, finish: Step, start: Step, answered: int) -> int:
        """Back up a worker's batch and collect the next one, while the lock is held."""
        self._look()
        turn, begun = self._control[0]["turn"], time.perf_counter()
        rows = finish(answered)
        between = time.perf_counter()
        self.seconds["backup"] += between - begun
        if rows == GO_ON:
            rows = start(0)
            self.seconds["select"] += time.perf_counter() - between
        if rows == WAIT and self._control[0]["turn"] != turn:
            self._changed.notify_all()
        return rows

    def _progress(self) -> int:
        """Return a number that grows with every playout."""
        return self.answers + int(playouts_without_evaluation(self._tree.counters))

    def _set_load(self, load: Load) -> None:
        self._load = Load(min(load.calls, len(self._workers)), min(load.batch, self._most_rows))
        self._control[0]["workers"], self._control[0]["batch"] = self._load
        self._measured, self._since = (self.answers, self.rows), time.perf_counter()

    def _start(self, works: dict[int, Callable[[], None]]) -> None:
        """Start those workers of the present load that are not running. works: those that were started before."""
        if not self._running:
            self._ticks, self._began = ticks_now() if self.is_native else 0, time.perf_counter()
            # A new queue: workers that were given up still write into the old one.
            self._ended, self._left = SimpleQueue(), 0
        for number in range(self._load.calls):
            running = self._running.get(number)
            if running is None or (running.done() and running.exception() is None):
                # Not for workers that are not used: a program of OpenVINO's has its own requests and memory.
                if number not in works:
                    works[number] = self._work(number)
                worker = self._workers[number]
                worker.wait()
                worker.state[0]["state"] = WALKING
                self._left += 1
                task = partial(_run_and_note, works[number], self._ended)
                worker.future = self._running[number] = self._threads.submit(task)

    def _has_ended(self, seconds: float) -> bool:
        """Wait at most `seconds`; return whether all workers have ended. Raises the errors of `evaluate`."""
        try:
            while self._left > 0:
                self._ended.get(timeout=seconds)
                self._left -= 1
        except Empty:
            return False
        running, self._running = self._running, {}
        self._add_up()
        for future in running.values():
            future.result()
        for worker in self._workers:
            state, rows = worker.state[0]["state"], worker.rows
            if state == IS_BROKEN:
                raise IndexError("index out of range in a search kernel")
            if state == HAS_FAILED:
                # A program reports only that it failed; `evaluate` raises the error.
                self._evaluator.evaluate(worker.positions, rows, worker.evaluation)
                raise RuntimeError(f"{self._evaluator.attributes.name} failed without Python, but not in Python")
        return True

    def _measure(self) -> None:
        """Record the speed of the present load after enough batches."""
        answers, rows = self.answers - self._measured[0], self.rows - self._measured[1]
        seconds, (calls, batch) = time.perf_counter() - self._since, self._load
        if answers < _ANSWERS_TO_MEASURE * calls or seconds < _SECONDS_TO_MEASURE:
            return
        if rows >= _FULL * batch * answers:
            self.throughput.record(calls, batch, seconds * calls * batch / rows)
        self._measured, self._since = (self.answers, self.rows), time.perf_counter()

    def close(self) -> None:
        """Stop the threads and free the memory of their programs."""
        super().close()
        self._programs.clear()

    def stop(self) -> None:
        """Stop all workers and take back the leaves in flight, without waiting for their evaluations."""
        with self.holding():
            self._control[0]["stop"] = 1
            for worker in self._workers:
                worker.give_up(self._trees, self._params)
            if not self.is_native:
                self._changed.notify_all()
        if self._running:
            self._running = {}
            self._add_up()

    def _add_up(self) -> None:
        """Add the time since the start of the workers to `seconds`."""
        elapsed = time.perf_counter() - self._began
        if self.is_native:
            second = max(1.0, float(ticks_now() - self._ticks)) / elapsed
            for spent in self._spent:
                for name, ticks in zip(self._names, spent.tolist(), strict=False):
                    self.seconds[name] += ticks / second
                spent[:] = 0
        self.seconds["all"] += elapsed * self._load.calls


def _run(program: Program, count: int) -> int:
    """Run a program for `count` rows; return FAILED if it failed."""
    for each in program.steps:
        if (count := int(invoke(each.closure.address, count))) == FAILED:
            break
    return count


def _run_and_note(work: Callable[[], None], ended: SimpleQueue[None]) -> None:
    """Run a worker, and put an item into a queue at its end, which the driver waits for."""
    try:
        work()
    finally:
        ended.put(None)


def argument(value: Any) -> Any:
    """Return arrays in the form that `step` takes: converted once for closures, or unchanged."""
    return Fixed(value) if runs_closures() else value


def step(function: Callable[..., int], *fixed: Any) -> Step:
    """Return a kernel with all arguments fixed but the last."""
    return _Closure(function, *fixed) if runs_closures() else partial(function, *fixed)


class _Closure(Closure):
    """A closure that Python can call. Converting all arguments at each call would take longer than a walk."""

    def __call__(self, number: int) -> int:
        return int(invoke(self.address, number))
