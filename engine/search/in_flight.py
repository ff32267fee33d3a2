"""The slots of a search that are being evaluated, and how: begun and looked after, or by a thread for each call."""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from engine.evaluation.evaluator import Begun, Evaluator, asynchronous
from engine.search.slot import Slot


class InFlight:
    """Has slots evaluated and hands them back in the order in which they were sent. Not thread-safe.

    An evaluator that goes on by itself is asked without a thread for each call. On 9x9 with two threads of a 6x96
    network in int8 that makes 1.4, 1.7, 1.5 and 1.2 times the visits a second at 1, 2, 4 and 8 positions a call.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator, self._beginner = evaluator, asynchronous(evaluator)
        self._workers = ThreadPoolExecutor(evaluator.attributes.concurrent, thread_name_prefix="evaluate")
        self._sent: deque[tuple[Slot, Begun]] = deque()
        self._threads = 0

    def __len__(self) -> int:
        return len(self._sent)

    def __contains__(self, slot: Slot) -> bool:
        return any(each is slot for each, _ in self._sent)

    @property
    def rows(self) -> int:
        """Positions in all slots that are in flight."""
        return sum(slot.rows for slot, _ in self._sent)

    def send(self, slot: Slot, count: int, *, waits: bool = False) -> None:
        """Have rows 0..count-1 of a slot evaluated. waits: return only when they are."""
        begun: Begun | None = None
        if waits:
            self._evaluator.evaluate(slot.positions, count, slot.evaluation)
            begun = _DONE
        elif self._beginner is not None and not self._threads:
            # A thread may wait for memory that calls begun later hold, which end only after it.
            begun = self._beginner.begin(slot.positions, count, slot.evaluation)
        if begun is None:
            begun = _Call(self._workers.submit(self._evaluator.evaluate, slot.positions, count, slot.evaluation))
            self._threads += 1
        self._sent.append((slot, begun))

    def wait(self, seconds: float) -> bool:
        """Wait for the slot that was sent first, so many seconds at most; return whether it is evaluated."""
        return self._sent[0][1].wait(seconds)

    def receive(self) -> Slot:
        """Return the slot that was sent first once it is evaluated.

        Raises what evaluating it did, and leaves the slot to `give_up`.
        """
        slot, begun = self._sent[0]
        self._sent[0] = (slot, _DONE)
        self._threads -= isinstance(begun, _Call)
        begun.finish()
        self._sent.popleft()
        return slot

    def give_up(self) -> list[Slot]:
        """Return all slots at once; each is busy until it has been evaluated, see `Slot.finish`."""
        slots = []
        while self._sent:
            slot, begun = self._sent.popleft()
            slot.future = begun.future if isinstance(begun, _Call) else self._workers.submit(begun.finish)
            slots.append(slot)
        self._threads = 0
        return slots

    def close(self) -> None:
        """Stop the threads."""
        self._workers.shutdown()


class _Done:
    """An evaluation that nobody has to wait for."""

    def wait(self, seconds: float) -> bool:
        return True

    def finish(self) -> None:
        """Nothing is left to do."""


_DONE = _Done()


class _Call:
    """An evaluation by a thread of its own."""

    def __init__(self, future: Future[None]) -> None:
        self.future = future

    def wait(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            self.future.exception(seconds)
        return self.future.done()

    def finish(self) -> None:
        self.future.result()
