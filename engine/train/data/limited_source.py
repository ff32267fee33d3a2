"""A source of batches that ends."""

import numpy as np
from numpy.typing import NDArray

from engine.train.data.batches import Batch, Source, State


class LimitedSource:
    """The next so many batches of a source: what a generation is trained on, after which training pauses."""

    def __init__(self, source: Source, batches: int) -> None:
        self._source, self._left = source, batches

    def draw(self) -> Batch:
        """Return the next batch. Raises StopIteration when all are drawn."""
        if self._left <= 0:
            raise StopIteration
        self._left -= 1
        return self._source.draw()

    def update(self, indices: NDArray[np.int64], losses: NDArray[np.float32]) -> None:
        """Pass losses on."""
        self._source.update(indices, losses)

    def state(self) -> State | None:
        """Return that of the source: where it goes on does not depend on where it pauses."""
        return self._source.state()

    def restore(self, state: State) -> None:
        """Set the source to where it was."""
        self._source.restore(state)
