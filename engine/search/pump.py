"""A search by as many threads as there are cores, each of which walks, evaluates and backs up, without Python.

Where an evaluator can be called by kernels, nobody has to be woken or waited for: a thread that has its evaluation
takes the tree's lock, backs up, collects its next leaves, and evaluates them. With batches of a size, fewer leaves are
under way than when one thread walks for all, and so less is chosen in ignorance of what others find. Who comes first is
a matter of chance: a search that shall be repeatable goes another way.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.evaluation.evaluator import NativeEvaluator
from engine.native.closures import FAILED, Closure, Held, invoke
from engine.native.jit import kernel
from engine.native.locks import acquire, holding, new_lock, pause, release, ticks
from engine.search.backup import back_up
from engine.search.expansion import Sorting
from engine.search.position import Root, Scratch
from engine.search.pruning import make_room
from engine.search.selection import Exploration
from engine.search.slot import Slot, draw_symmetries
from engine.search.throughput import Throughput
from engine.search.tree import IS_FULL, ROOT, Tree, playouts_without_evaluation
from engine.search.values import Values
from engine.search.walk import Conduct, collect
from engine.symmetry import applicable

_CONTROL = _STOP, _WANTED, _ROWS_UNDER_WAY, _ANSWERS, _ROWS_ANSWERED = range(5)
"""Whether to stop, the rows of a batch, those under way, and what was answered so far."""
_LANE = _STATE, _ROWS, _TICKS = range(3)
"""Of one thread: what it does, with how many rows, and from `_TICKS` on the time spent in each part."""
_WALKING, _EVALUATING, _GIVEN_UP, _HAS_FAILED, _IS_BROKEN = range(5)
"""The last where a kernel of the search itself failed, which only checks of indices find out."""
_SELECT, _BACK_UP, _FIRST_STEP = range(3)
"""Parts whose time is kept; the program's steps come last."""
_MOST_STEPS = 16
_PAUSES = 64
"""Pauses of a thread that found nothing to evaluate, before it looks again."""
_ANSWERS_TO_MEASURE, _SECONDS_TO_MEASURE = 24, 0.01
"""What a measurement of the speed takes at least."""
_LOOKS_UP = 0.004
"""Seconds after which the caller of a search is asked again whether it is over."""
IDLE_STEPS = 2
"""Steps in a row without any progress after which no playout is possible, or the visits are reached."""
_FULL = 0.9
"""Share of the wanted rows that batches must have on average for their speed to count."""


@kernel
def ticks_now() -> int:
    """Return the CPU's clock in its own units."""
    return int(ticks())


@kernel
def pump(
    lock: NDArray[np.int64],
    counters: NDArray[np.int64],
    control: NDArray[np.int64],
    lane: NDArray[np.int64],
    back_up_address: NDArray[np.int64],
    collect_address: NDArray[np.int64],
    program: NDArray[np.int64],
) -> None:
    """Search until told to stop, until the evaluation fails, or until nothing is found and nothing is under way.

    lock: of the tree and all that follows. counters: the tree's. program: [steps, 2], the addresses of closures.
    """
    rows = answered = 0
    while True:
        acquire(lock)
        start = ticks()
        if rows > 0:
            if lane[_STATE] == _GIVEN_UP:
                break
            control[_ROWS_UNDER_WAY] -= rows
            lane[_STATE] = _WALKING if answered != FAILED else _HAS_FAILED
            if answered == FAILED:
                control[_STOP] = 1
            elif invoke(back_up_address, rows) == FAILED:
                control[_STOP], lane[_STATE] = 1, _IS_BROKEN
            else:
                control[_ANSWERS] += 1
                control[_ROWS_ANSWERED] += rows
        if control[_STOP] != 0:
            break
        between, before = ticks(), playouts_without_evaluation(counters)
        lane[_TICKS + _BACK_UP] += between - start
        rows = invoke(collect_address, control[_WANTED])
        lane[_TICKS + _SELECT] += ticks() - between
        if rows == FAILED:
            control[_STOP], lane[_STATE] = 1, _IS_BROKEN
            break
        if rows > 0:
            lane[_STATE], lane[_ROWS] = _EVALUATING, rows
            control[_ROWS_UNDER_WAY] += rows
        elif control[_ROWS_UNDER_WAY] == 0 and playouts_without_evaluation(counters) == before:
            break
        release(lock)
        if rows == 0:
            for _ in range(_PAUSES):
                pause()
            continue
        answered = rows
        for step in range(len(program)):
            start = ticks()
            answered = invoke(program[step], answered)
            lane[_TICKS + _FIRST_STEP + step] += ticks() - start
            if answered == FAILED:
                break
    release(lock)


def _work(
    closures: Sequence[Closure],
    lock: NDArray[np.int64],
    counters: NDArray[np.int64],
    control: NDArray[np.int64],
    lane: NDArray[np.int64],
) -> None:
    """Run `pump` by closures that back up, collect and evaluate.

    Holds them until the thread ends: a search that was given up may be forgotten before.
    """
    backing, collecting, *program = (closure.address for closure in closures)
    pump(lock, counters, control, lane, backing, collecting, np.array(program))


class Pump:
    """The threads of one search on one board size, and what they share. Not thread-safe.

    lock: the tree's; to be held by whoever reads or changes the tree while threads are at work.
    seconds: spent by all threads together in "select", "backup", "encode" and "evaluate"; those in which they might
        have worked in "all".
    """

    def __init__(self, evaluator: NativeEvaluator, slots: Sequence[Slot]) -> None:
        self._evaluator, self._threads = evaluator, evaluator.attributes.threads
        self.lock = new_lock()
        self.seconds = dict.fromkeys(("select", "backup", "encode", "evaluate", "all"), 0.0)
        self._slots = slots[: self._threads]
        self._control = np.zeros(len(_CONTROL), dtype=np.int64)
        # Longer than what is used of them, so that no two threads write to one cache line.
        self._lanes = np.zeros((self._threads, _TICKS + _FIRST_STEP + _MOST_STEPS), dtype=np.int64)
        self._members = ThreadPoolExecutor(self._threads, thread_name_prefix="search")
        self._running: list[Future[None]] = []
        self._throughput: Throughput | None = None
        self._batch = 0
        self._kept: dict[int, Held] = {}

    def prepare(
        self,
        tree: Tree,
        root: Root,
        scratch: Scratch,
        exploration: Exploration,
        values: Values,
        conduct: Conduct,
        backing: tuple[Sorting, NDArray[np.int16], NDArray[np.float64]],
        *,
        seed: int | None,
        batch: int,
    ) -> bool:
        """Make ready for a search whose slots have their settings; return False if it has to go another way.

        backing: sorting, moves and ownership_sum of `back_up`. seed: of random symmetries, None for none.
        batch: positions of a batch; 0 to choose.
        """
        self._tree = tree
        position = self._hold(tree), Held(root), self._hold(scratch)
        told, self._closures = (exploration, values, conduct), []
        self._names: tuple[str, ...] = ()
        sorting, moves, ownership_sum = backing
        rows = 0
        for slot in self._slots:
            slot.finish()
            program = self._evaluator.program(slot.positions, slot.evaluation)
            if program is None:
                return False
            positions, held_batch = slot.positions, self._hold(slot.batch)
            positions.symmetry[:] = 0
            width, choices = positions.width, len(applicable(positions.width, positions.height))
            closures = [
                Closure(
                    back_up,
                    *(position[0], held_batch, self._hold(slot.answers), values, width),
                    *(sorting, scratch.work, scratch.amaf, moves, ownership_sum),
                ),
                Closure(collect, *position, held_batch, *told, 0),
            ]
            names = [step.name for step in program.steps]
            if seed is not None:
                closures.append(Closure(draw_symmetries, positions.hashes, positions.symmetry, choices, seed))
                names.insert(0, "encode")
            closures += [step.closure for step in program.steps]
            self._closures.append(closures)
            self._names, rows = tuple(names), min(program.rows, positions.capacity)
        if self._throughput is None:
            attributes = replace(self._evaluator.attributes, concurrent=self._threads)
            self._throughput = Throughput(attributes, most=rows)
        self._batch = min(batch, rows)
        return True

    def answered(self) -> tuple[int, int]:
        """Return the evaluations that came back so far, and their positions."""
        return int(self._control[_ANSWERS]), int(self._control[_ROWS_ANSWERED])

    def _hold(self, value: Any) -> Held:
        """Return a tuple of arrays in memory, where it is left for the next search."""
        held = self._kept.get(id(value))
        if held is None:
            held = self._kept[id(value)] = Held(value)
        return held

    def run(self, is_over: Callable[[], bool]) -> None:
        """Search until it is over, or nothing is found any more. Raises as `evaluate`.

        is_over: called every few milliseconds, with the lock held.
        """
        idle = 0
        while idle < IDLE_STEPS:
            before = self._progress()
            self._start()
            while not self._wait(_LOOKS_UP):
                with holding(self.lock):
                    if is_over():
                        return
                self._adapt()
            if self._tree.counters[IS_FULL]:
                make_room(self._tree)
            idle = 0 if self._progress() > before else idle + 1

    def _progress(self) -> int:
        """Return a number that grows by every playout."""
        return int(self._control[_ANSWERS] + playouts_without_evaluation(self._tree.counters))

    def _start(self) -> None:
        """Set all threads to work."""
        assert not self._running
        self._control[_STOP] = self._control[_ROWS_UNDER_WAY] = 0
        self._lanes[:] = 0  # what given up evaluations took after the stop is told by nobody
        self._set_batch()
        for slot, lane, closures in zip(self._slots, self._lanes, self._closures, strict=True):
            future = self._members.submit(_work, closures, self.lock, self._tree.counters, self._control, lane)
            slot.future = future
            self._running.append(future)
        self._ticks, self._began = ticks_now(), time.perf_counter()

    def _wait(self, seconds: float) -> bool:
        """Wait so many seconds at most; return whether all threads have ended of themselves."""
        if wait(self._running, seconds).not_done:
            return False
        for future in self._running:
            future.result()
        self._running.clear()
        self._tell()
        for slot, lane in zip(self._slots, self._lanes, strict=True):
            if lane[_STATE] == _IS_BROKEN:
                raise IndexError("a kernel of the search reached beyond an array")
            if lane[_STATE] == _HAS_FAILED:
                self._evaluator.evaluate(slot.positions, int(lane[_ROWS]), slot.evaluation)
                raise RuntimeError(f"{self._evaluator.attributes.name} failed in one way and not in the other")
        return True

    def _adapt(self) -> None:
        """Choose how many positions are collected at a time, once enough is known of the present number."""
        answers, rows = (now - before for now, before in zip(self.answered(), self._measured, strict=True))
        seconds = time.perf_counter() - self._since
        if answers < _ANSWERS_TO_MEASURE * self._threads or seconds < _SECONDS_TO_MEASURE:
            return
        assert self._throughput is not None
        wanted = int(self._control[_WANTED])
        if rows >= _FULL * wanted * answers:
            self._throughput.record(self._threads, wanted, seconds * self._threads * wanted / rows)
        self._set_batch()

    def _set_batch(self) -> None:
        assert self._throughput is not None
        self._control[_WANTED] = self._batch or self._throughput.load(int(self._tree.nodes[ROOT]["visits"])).batch
        self._measured, self._since = self.answered(), time.perf_counter()

    def stop(self) -> list[Slot]:
        """Stop all threads; return the slots whose evaluations are given up, busy until they end. To be called once."""
        given_up = []
        with holding(self.lock):
            self._control[_STOP] = 1
            for slot, lane in zip(self._slots, self._lanes, strict=True):
                if lane[_STATE] in (_EVALUATING, _HAS_FAILED):
                    lane[_STATE], slot.rows = _GIVEN_UP, int(lane[_ROWS])
                    given_up.append(slot)
        if self._running:
            self._running.clear()
            self._tell()
        return given_up

    def _tell(self) -> None:
        """Add up the time since the start."""
        elapsed = time.perf_counter() - self._began
        second = max(1.0, float(ticks_now() - self._ticks)) / elapsed
        spent = self._lanes[:, _TICKS:].sum(axis=0) / second
        for name, seconds in zip(("select", "backup", *self._names), spent, strict=False):
            self.seconds[name] += float(seconds)
        self.seconds["all"] += elapsed * self._threads

    def close(self) -> None:
        """Stop the threads for good."""
        self._members.shutdown()
