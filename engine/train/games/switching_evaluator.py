"""An evaluator whose network can be replaced while it is in use."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch


class SwitchingEvaluator:
    """Forwards calls to the current network; a replaced network is closed when its last call has returned.

    attributes: of the current network; the networks of one run differ only in their names.
    """

    def __init__(self, first: Evaluator) -> None:
        self.attributes = first.attributes
        self._lock = threading.Lock()
        self._current = first
        self._calls: dict[int, int] = {id(first): 0}
        self._running = threading.Event()
        self._running.set()

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the evaluation of rows 0..count-1."""
        self._running.wait()
        with self._borrowed() as evaluator:
            evaluator.evaluate(positions, count, out)

    def pause(self, paused: bool) -> None:
        """Let calls wait from now on, or let them go on."""
        if paused:
            self._running.clear()
        else:
            self._running.set()

    def switch(self, new: Evaluator) -> None:
        """Use another network from the next call on."""
        # Calls in progress still use the old network, so it may only be closed here if there are none.
        with self._lock:
            old, self._current, self.attributes = self._current, new, new.attributes
            self._calls[id(new)] = 0
            is_idle = self._calls[id(old)] == 0
            if is_idle:
                del self._calls[id(old)]
        if is_idle:
            old.close()

    def close(self) -> None:
        """Close the current network. No call may be running."""
        self._current.close()

    @contextmanager
    def _borrowed(self) -> Iterator[Evaluator]:
        with self._lock:
            evaluator = self._current
            self._calls[id(evaluator)] += 1
        try:
            yield evaluator
        finally:
            with self._lock:
                self._calls[id(evaluator)] -= 1
                is_over = evaluator is not self._current and self._calls[id(evaluator)] == 0
                if is_over:
                    del self._calls[id(evaluator)]
            if is_over:
                evaluator.close()
