"""Where batches come from: the thread that draws ahead changes neither their order nor the state they leave."""

import threading

import numpy as np
import pytest

from engine.train.data.batches import Batch, IteratorSource, Prefetcher, Priorities, WindowSource, as_source
from tests.train.random_data import MadeUpSource, learnable_samples


class Window:
    """A window that records the indices of updates."""

    def __init__(self, prioritizes: bool = True) -> None:
        self.prioritizes = prioritizes
        self.samples, self.updated = learnable_samples(16, 1), list[int]()

    def draw(self, batch_size: int, generator: np.random.Generator, progress: float) -> tuple[object, ...]:
        indices = generator.integers(16, size=batch_size)
        return self.samples[indices], indices, np.ones(batch_size, np.float32) if self.prioritizes else None

    def update(self, indices: np.ndarray, losses: np.ndarray) -> None:
        self.updated += indices.tolist()

    def priorities(self) -> Priorities:
        return {}

    def restore_priorities(self, stored: Priorities) -> None:
        pass


def unchanged(batch: Batch) -> Batch:
    return batch


def indices_of(batch: Batch | None) -> list[int]:
    assert batch is not None
    assert batch.indices is not None
    return list(batch.indices)


@pytest.mark.parametrize("depth", [1, 3])
def test_batches_come_in_order_with_the_state_after_each(depth: int) -> None:
    plain = MadeUpSource(seed=5)
    with Prefetcher(MadeUpSource(seed=5), depth, unchanged) as ahead:
        assert ahead.state == plain.state()
        for _ in range(5):
            assert indices_of(ahead.next()) == indices_of(plain.draw())
            assert ahead.state == plain.state()


def test_a_window_goes_on_where_its_state_was_taken() -> None:
    first = WindowSource(Window(), 4, 1)
    first.draw()
    state = first.state()
    assert state is not None
    expected = [indices_of(first.draw()) for _ in range(3)]
    second = WindowSource(Window(), 4, [7, 8])
    second.restore(state)
    assert [indices_of(second.draw()) for _ in range(3)] == expected


def test_the_state_of_another_source_begins_a_window_anew() -> None:
    first, second = (WindowSource(Window(), 4, 1) for _ in range(2))
    second.restore({"epoch": 0, "task": 3, "block": 1, "drawn": 2})
    assert indices_of(first.draw()) == indices_of(second.draw())


def test_losses_reach_the_window() -> None:
    window = Window()
    WindowSource(window, 4, 1).update(np.array([3, 1]), np.ones(2, np.float32))
    assert window.updated == [3, 1]


def test_losses_are_asked_for_only_where_they_decide_what_is_drawn() -> None:
    assert WindowSource(Window(), 4, 1).draw().indices is not None
    assert WindowSource(Window(prioritizes=False), 4, 1).draw().indices is None


def test_batches_are_prepared_in_the_thread_that_draws_ahead() -> None:
    with Prefetcher(MadeUpSource(), 1, lambda _: threading.current_thread().name) as ahead:
        assert ahead.next() == "batches"


def test_an_error_of_the_preparation_is_raised_where_the_batch_was_due() -> None:
    def refuse(_: Batch) -> Batch:
        raise ZeroDivisionError

    with Prefetcher(MadeUpSource(), 1, refuse) as ahead, pytest.raises(ZeroDivisionError):
        ahead.next()


def test_the_end_of_an_iterator_is_no_error_and_stays_the_end() -> None:
    source = as_source(iter([(learnable_samples(2, 1), None, None)]))
    assert isinstance(source, IteratorSource)
    with Prefetcher(source, 2, unchanged) as ahead:
        assert ahead.next() is not None
        assert ahead.next() is None
        assert ahead.next() is None


def test_leaving_does_not_wait_for_a_source_that_is_never_asked() -> None:
    with Prefetcher(MadeUpSource(), 1, unchanged) as ahead:
        assert ahead.next() is not None


def test_who_waits_for_a_batch_hears_a_request_to_stop() -> None:
    stop, is_drawn = threading.Event(), threading.Event()

    class Slow:
        def draw(self) -> Batch:
            is_drawn.wait()
            raise StopIteration

        def state(self) -> None:
            return None

    with Prefetcher(Slow(), 1, unchanged) as batches:  # type: ignore[arg-type]
        stop.set()
        assert batches.next(stop) is None
        is_drawn.set()
        assert batches.next() is None
