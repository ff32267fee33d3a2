"""A source that ends after a number of batches."""

import numpy as np
from numpy.typing import NDArray

from engine.train.data.batches import Batch, Priorities, Source, State


class LimitedSource:
    """Returns at most `batches` batches of a source; used to train for one generation and then pause."""

    def __init__(self, source: Source, batches: int) -> None:
        self._source, self._left = source, batches

    def draw(self) -> Batch:
        """Return the next batch. Raises StopIteration after the last one."""
        if self._left <= 0:
            raise StopIteration
        self._left -= 1
        return self._source.draw()

    def update(self, indices: NDArray[np.int64], losses: NDArray[np.float32]) -> None:
        """Pass the losses on to the source."""
        self._source.update(indices, losses)

    def anneal(self, progress: float) -> None:
        """Pass the progress on to the source."""
        self._source.anneal(progress)

    def state(self) -> State | None:
        """Return the source's state; it does not depend on where training pauses."""
        return self._source.state()

    def restore(self, state: State) -> None:
        """Restore the source's state."""
        self._source.restore(state)

    def priorities(self) -> Priorities:
        """Return the source's sampling weights."""
        return self._source.priorities()

    def restore_priorities(self, stored: Priorities) -> None:
        """Restore the source's sampling weights."""
        self._source.restore_priorities(stored)
