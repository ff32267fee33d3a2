"""A wrapper that joins the calls of many searches into few large batches.

One of many searches evaluates few positions at a time; an evaluator is fast with large batches. Calls that arrive while
the evaluator is busy are queued, and one of their threads evaluates them together. No call waits for others to join:
if the evaluator is free, a call is evaluated at once, alone.
"""

import threading
from collections import deque
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch

_Key = tuple[int, int, object, float, int]


class _Call:
    """One call of a search. group: the calls that its thread evaluates, once it was chosen to lead them."""

    def __init__(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        self.positions, self.count, self.out = positions, count, out
        self.group: list[_Call] = []
        self.failure: BaseException | None = None
        self.woken = threading.Event()

    def key(self) -> _Key:
        """Return the values that all positions of a batch share; only calls with equal ones can be joined."""
        positions = self.positions
        return (positions.width, positions.height, positions.rules, positions.playout_doubling, id(positions.metadata))


class JoinedEvaluator:
    """Joins calls from many threads into calls of another evaluator, of which at most `concurrent` run at a time.

    calls, rows: number of calls of the inner evaluator, and of their positions.
    """

    def __init__(self, inner: Evaluator) -> None:
        self.attributes = replace(inner.attributes, name=f"joined {inner.attributes.name}", threads=0)
        self.calls = self.rows = 0
        self._inner = inner
        self._waiting: deque[_Call] = deque()
        self._running = 0
        self._lock = threading.Lock()
        self._buffers: list[tuple[PositionBatch, Evaluation]] = []

    @property
    def waiting(self) -> int:
        """Number of queued calls."""
        return len(self._waiting)

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the evaluation of rows 0..count-1, possibly in one batch with rows of other calls.

        Raises ValueError if count exceeds `max_batch`, and the errors of the inner evaluator.
        """
        if count > self.attributes.max_batch:
            raise ValueError(f"{count} positions exceed the batch of {self.attributes.max_batch}")
        call = _Call(positions, count, out)
        with self._lock:
            if self._running < self.attributes.concurrent and not self._waiting:
                self._running += 1
                call.group = [call]
            else:
                self._waiting.append(call)
        if not call.group:
            self._wait(call)
        if call.group:
            self._lead(call.group)
        if call.failure is not None:
            raise call.failure

    def _wait(self, call: _Call) -> None:
        """Wait until a call is evaluated or leads a group; one that an interrupt ends leaves nobody waiting for it."""
        try:
            call.woken.wait()
        except BaseException:
            with self._lock:
                is_queued = call in self._waiting
                if is_queued:
                    self._waiting.remove(call)
            if not is_queued:
                call.woken.wait()
                if call.group:
                    self._lead(call.group)
            raise

    def _lead(self, group: list[_Call]) -> None:
        """Evaluate a group; then wake the leader of the next group, and the threads of this one."""
        failure: BaseException | None = None
        try:
            self._evaluate(group)
        except BaseException as error:  # noqa: BLE001 - raised again in the threads of the calls
            failure = error
        with self._lock:
            self.calls += 1
            self.rows += sum(each.count for each in group)
            self._running -= 1
            following = self._next_group()
            if following:
                self._running += 1
                following[0].group = following
        # The next leader first: the evaluator must not be idle while this group's threads wake up.
        if following:
            following[0].woken.set()
        for each in group:
            each.failure = failure
            each.woken.set()

    def _next_group(self) -> list[_Call]:
        """Take a fair share of the queued calls that can be joined with the oldest one, oldest first."""
        if not self._waiting:
            return []
        attributes, key = self.attributes, self._waiting[0].key()
        alike = [each for each in self._waiting if each.key() == key]
        # A fair share, so that `concurrent` calls run beside each other instead of one with everything.
        share = -(-sum(each.count for each in alike) // attributes.concurrent)
        room = min(attributes.max_batch, max(attributes.preferred_batch, share))
        group: list[_Call] = []
        for each in alike:
            if group and each.count > room:
                break
            group.append(each)
            room -= each.count
        taken = {id(each) for each in group}
        self._waiting = deque(each for each in self._waiting if id(each) not in taken)
        return group

    def _evaluate(self, group: list[_Call]) -> None:
        if len(group) == 1:
            self._inner.evaluate(group[0].positions, group[0].count, group[0].out)
            return
        positions, out = self._take_buffers(group[0].positions)
        try:
            count = _gather(group, positions)
            self._inner.evaluate(positions, count, out)
            _scatter(group, out)
        finally:
            with self._lock:
                self._buffers.append((positions, out))

    def _take_buffers(self, like: PositionBatch) -> tuple[PositionBatch, Evaluation]:
        """Return unused buffers for a batch; drop those of other board sizes."""
        size = (like.width, like.height)
        with self._lock:
            self._buffers = [each for each in self._buffers if (each[0].width, each[0].height) == size]
            if self._buffers:
                return self._buffers.pop()
        capacity = self.attributes.max_batch
        return PositionBatch(capacity, *size), Evaluation(capacity, *size)

    def close(self) -> None:
        """Close the inner evaluator."""
        self._inner.close()


def _gather(group: list[_Call], batch: PositionBatch) -> int:
    """Copy the positions of all calls into one batch and return their number."""
    first = group[0].positions
    batch.rules, batch.playout_doubling, batch.metadata = first.rules, first.playout_doubling, first.metadata
    for name, value in vars(batch).items():
        if isinstance(value, np.ndarray) and name != "metadata":
            parts = [getattr(each.positions, name)[: each.count] for each in group]
            np.concatenate(parts, out=value[: sum(each.count for each in group)])
    return sum(each.count for each in group)


def _scatter(group: list[_Call], out: Evaluation) -> None:
    """Copy the evaluation of a joint batch to its calls."""
    row = 0
    for each in group:
        rows = slice(row, row + each.count)
        for source, target in zip(_parts(out), _parts(each.out), strict=True):
            target[: each.count] = source[rows]
        row += each.count


def _parts(out: Evaluation) -> tuple[NDArray[np.float32] | NDArray[np.int8], ...]:
    return out.policy, out.value, out.score, out.ownership, out.first_play, out.details


def joined(evaluator: Evaluator) -> Evaluator:
    """Return what many searches at a time should call: a JoinedEvaluator, or the evaluator itself if kernels call it.

    Such an evaluator gains nothing from larger batches, and then searches need no Python: games of 9x9 with 16 to 47
    visits a move take half the processor time.
    """
    return evaluator if evaluator.attributes.threads else JoinedEvaluator(evaluator)
