"""Sources of batches for the training loop: a window over samples, a stream, or any iterator.

Defines the `Source` protocol and the thread that prefetches for the loop. Knows neither files nor torch.
"""

import queue
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from engine.support.stopping import WAIT_SECONDS
from engine.train.data.samples import Samples

State: TypeAlias = Mapping[str, Any]
Priorities: TypeAlias = Mapping[str, NDArray[np.float32]]
"""Sampling weights by file, and numbers of the window under other names."""
Prepared = TypeVar("Prepared")
_STOPPED_EVERY_S = 0.1


class Batch(NamedTuple):
    """Samples of one board size.

    indices: [B] int64, the source's numbers of the samples; None for a source that does not need the losses.
    importance: [B] float32, importance weights that correct for non-uniform sampling; None means 1.
    """

    samples: Samples
    indices: NDArray[np.int64] | None = None
    importance: NDArray[np.float32] | None = None


@runtime_checkable
class Source(Protocol):
    """Draws batches, and can resume from a saved state."""

    def draw(self) -> Batch:
        """Return the next batch. Raises StopIteration at the end of the data."""

    def update(self, indices: NDArray[np.int64], losses: NDArray[np.float32]) -> None:
        """Record the losses [B] of a batch that was drawn."""

    def anneal(self, progress: float) -> None:
        """Set the finished share of the training, 0 to 1, on which the importance weights depend."""

    def state(self) -> State | None:
        """Return the state, as JSON values, from which `restore` draws the same batches; None if it has no state."""

    def restore(self, state: State) -> None:
        """Resume from the point at which `state` was taken."""

    def priorities(self) -> Priorities:
        """Return the sampling weights that losses have set, for `restore_priorities`; empty if there are none."""

    def restore_priorities(self, stored: Priorities) -> None:
        """Set sampling weights. Those of samples that are not stored are those of new samples."""


class Windowed(Protocol):
    """A window over samples, such as `engine.train.data.replay.Window`."""

    def draw(self, batch_size: int, generator: np.random.Generator, progress: float) -> tuple[Any, ...]:
        """Return (samples, indices, importance weights or None if sampling is uniform)."""

    def update(self, indices: NDArray[np.int64], losses: NDArray[np.float32]) -> None:
        """Record the losses of samples."""

    def priorities(self) -> Priorities:
        """Return the sampling weights."""

    def restore_priorities(self, stored: Priorities) -> None:
        """Set the sampling weights."""


class SizedWindow(Windowed, Protocol):
    """A window that knows how many samples it holds."""

    def __len__(self) -> int:
        """Return the number of samples."""


class IteratorSource:
    """Reads batches from an iterator of tuples (samples, indices or None, importance weights or None)."""

    def __init__(self, batches: Iterable[tuple[Any, ...]]) -> None:
        self._batches = iter(batches)

    def draw(self) -> Batch:
        """Return the next batch."""
        return Batch(*next(self._batches))

    def update(self, indices: NDArray[np.int64], losses: NDArray[np.float32]) -> None:
        """Ignore the losses: an iterator does not prioritize."""

    def anneal(self, progress: float) -> None:
        """Do nothing: there are no importance weights."""

    def state(self) -> State | None:
        """Return None: the position of an iterator cannot be saved."""
        return None

    def restore(self, state: State) -> None:
        """Do nothing: there is no state."""

    def priorities(self) -> Priorities:
        """Return nothing: an iterator does not prioritize."""
        return {}

    def restore_priorities(self, stored: Priorities) -> None:
        """Do nothing: an iterator does not prioritize."""


class WindowSource:
    """Draws batches from a window with its own random generator. `draw` and `update` are thread-safe."""

    def __init__(self, window: Windowed, batch_size: int, seed: int | list[int]) -> None:
        self._window, self._batch_size = window, batch_size
        self._generator, self._lock, self._progress = np.random.default_rng(seed), threading.Lock(), 0.0

    def draw(self) -> Batch:
        """Return a batch."""
        # The prefetching thread draws while the loop's thread reports losses, and both change the window.
        with self._lock:
            samples, indices, importance = self._window.draw(self._batch_size, self._generator, self._progress)
        # Without priorities the losses are not needed, and fetching them from a GPU would make each step wait.
        return Batch(samples, None if importance is None else indices, importance)

    def update(self, indices: NDArray[np.int64], losses: NDArray[np.float32]) -> None:
        """Pass the losses on to the window."""
        with self._lock:
            self._window.update(indices, losses)

    def anneal(self, progress: float) -> None:
        """Set the finished share of the training for the batches that are drawn from now on."""
        self._progress = progress

    def state(self) -> State | None:
        """Return the generator's state; from it, the same window draws the same batches."""
        return self._generator.bit_generator.state

    def restore(self, state: State) -> None:
        """Set the generator's state. A state of another kind of source begins anew."""
        if state.keys() == self._generator.bit_generator.state.keys():
            self._generator.bit_generator.state = state

    def priorities(self) -> Priorities:
        """Return the window's sampling weights."""
        with self._lock:
            return self._window.priorities()

    def restore_priorities(self, stored: Priorities) -> None:
        """Set the window's sampling weights."""
        with self._lock:
            self._window.restore_priorities(stored)


class WindowUnion:
    """Combines several windows into one; each is drawn from in proportion to its number of samples."""

    def __init__(self, windows: Sequence[SizedWindow]) -> None:
        self._windows = list(windows)

    def draw(self, batch_size: int, generator: np.random.Generator, progress: float) -> tuple[Any, ...]:
        """Return (samples, indices, importance weights); an index also encodes its window."""
        # A batch comes from one window, because all its samples must have the same board size.
        shares = np.array([len(window) for window in self._windows], dtype=np.float64)
        chosen = int(generator.choice(len(shares), p=shares / shares.sum()))
        samples, indices, importance = self._windows[chosen].draw(batch_size, generator, progress)
        # The remainder by the number of windows names the window, so that `update` finds it again.
        return samples, indices * len(self._windows) + chosen, importance

    def update(self, indices: NDArray[np.int64], losses: NDArray[np.float32]) -> None:
        """Pass the losses on to the windows that the samples came from."""
        count = len(self._windows)
        for index in np.unique(indices % count).tolist():
            rows = indices % count == index
            self._windows[index].update(indices[rows] // count, losses[rows])

    def priorities(self) -> Priorities:
        """Return the sampling weights of all windows, each under the window's number."""
        return {
            f"{number}/{name}": weights
            for number, window in enumerate(self._windows)
            for name, weights in window.priorities().items()
        }

    def restore_priorities(self, stored: Priorities) -> None:
        """Set the sampling weights of all windows."""
        for number, window in enumerate(self._windows):
            window.restore_priorities(below(stored, f"{number}/"))


def below(stored: Priorities, prefix: str) -> Priorities:
    """Return the priorities whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): weights for name, weights in stored.items() if name.startswith(prefix)}


def as_source(data: Source | Iterable[tuple[Any, ...]]) -> Source:
    """Return `data` itself if it is a source, else a source that iterates over it."""
    return data if isinstance(data, Source) else IteratorSource(data)


class Prefetcher(Generic[Prepared]):
    """Draws and prepares up to `depth` batches ahead in a thread, so that this overlaps with training.

    state: the source's state after the batch that `next` returned last. Use as a context manager.
    """

    def __init__(self, source: Source, depth: int, prepare: Callable[[Batch], Prepared]) -> None:
        """prepare: called in the thread with each batch; `next` returns its result."""
        self._source, self.state, self._prepare = source, source.state(), prepare
        self._ready: queue.Queue[tuple[Prepared, State | None] | Exception] = queue.Queue(depth)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="batches", daemon=True)

    def __enter__(self) -> "Prefetcher[Prepared]":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def next(self, stop: threading.Event | None = None) -> Prepared | None:
        """Return the next batch, or None at the end of the data, or where `stop` is set before there is one.

        Raises what drawing or preparing it raised.
        """
        item = None
        while item is None:
            with suppress(queue.Empty):
                item = self._ready.get(timeout=None if stop is None else WAIT_SECONDS)
            if item is None and stop is not None and stop.is_set():
                return None
        if isinstance(item, Exception):
            # The thread has ended, so a second call must find the exception again instead of waiting forever.
            self._ready.put(item)
            if isinstance(item, StopIteration):
                return None
            raise item
        batch, self.state = item
        return batch

    def _run(self) -> None:
        while not self._stopped.is_set():
            item: tuple[Prepared, State | None] | Exception
            try:
                # The state belongs to the batch: a checkpoint must not skip batches that were only prefetched.
                item = (self._prepare(self._source.draw()), self._source.state())
            except Exception as error:  # noqa: BLE001  (raised again in the loop's thread)
                item = error
            # A blocking put would never return once the loop has stopped reading.
            while not self._stopped.is_set():
                try:
                    self._ready.put(item, timeout=_STOPPED_EVERY_S)
                    break
                except queue.Full:
                    continue
            if isinstance(item, Exception):
                return
