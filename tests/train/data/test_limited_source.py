"""A source that ends after a number of batches, and resumes where it paused."""

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.train.data.batches import Batch, Priorities, Source, State
from engine.train.data.limited_source import LimitedSource
from engine.train.data.samples import empty_samples


class Counting:
    """Draws batches of one, numbered."""

    def __init__(self) -> None:
        self.drawn = 0
        self.updated: list[int] = []
        self.progress = 0.0
        self.stored: Priorities = {}

    def draw(self) -> Batch:
        self.drawn += 1
        return Batch(empty_samples("katago-v7", 5, 5, 1), np.array([self.drawn]))

    def update(self, indices: NDArray[np.int64], losses: NDArray[np.float32]) -> None:
        self.updated += list(indices)

    def state(self) -> State | None:
        return {"drawn": self.drawn}

    def restore(self, state: State) -> None:
        self.drawn = state["drawn"]

    def anneal(self, progress: float) -> None:
        self.progress = progress

    def priorities(self) -> Priorities:
        return self.stored

    def restore_priorities(self, stored: Priorities) -> None:
        self.stored = stored


def test_a_limited_source_ends_and_the_next_one_goes_on() -> None:
    source = Counting()
    limited = LimitedSource(source, 2)
    assert isinstance(limited, Source)
    drawn = [limited.draw().indices for _ in range(2)]
    with pytest.raises(StopIteration):
        limited.draw()
    assert source.drawn == 2, "nothing is drawn and thrown away"
    following = LimitedSource(Counting(), 1)
    following.restore(limited.state() or {})
    assert [*drawn, following.draw().indices] == [1, 2, 3]


def test_losses_reach_the_source() -> None:
    source = Counting()
    LimitedSource(source, 1).update(np.array([4, 5]), np.zeros(2, np.float32))
    assert source.updated == [4, 5]


def test_progress_and_priorities_reach_the_source() -> None:
    source = Counting()
    limited = LimitedSource(source, 1)
    limited.anneal(0.25)
    limited.restore_priorities({"shard": np.ones(2, np.float32)})
    assert source.progress == 0.25
    assert limited.priorities() is source.stored
    assert list(source.stored) == ["shard"]
