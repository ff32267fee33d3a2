"""Where batches come from, as the training loop sees it: drawn from a window, streamed, or any iterator.

Owns the seam and the thread that draws ahead of the loop. Knows neither files nor torch.
"""

import queue
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from engine.train.data.samples import Samples

State: TypeAlias = Mapping[str, Any]
_STOPPED_EVERY_S = 0.1


class Batch(NamedTuple):
    """Samples of one board size.

    indices: [B] int64, what the source calls them, None for one that wants no losses back.
    importance: [B] float32, weights that undo a sampling that is not uniform, None for 1.
    """

    samples: Samples
    indices: NDArray[np.int64] | None = None
    importance: NDArray[np.float32] | None = None


@runtime_checkable
class Source(Protocol):
    """Draws batches, and can go on where it was."""

    def draw(self) -> Batch:
        """Return the next batch. Raises StopIteration where there are no more."""

    def update(self, indices: NDArray[np.int64], losses: NDArray[np.float32]) -> None:
        """Take the losses [B] of a batch that was drawn."""

    def state(self) -> State | None:
        """Return what `restore` needs to draw the same batches from here on, as JSON values; None if nothing can."""

    def restore(self, state: State) -> None:
        """Go on where `state` was taken."""


class Windowed(Protocol):
    """A window over samples, such as `engine.train.data.replay.Window`."""

    def draw(self, batch_size: int, generator: np.random.Generator) -> tuple[Any, ...]:
        """Return (samples, indices, importance weights)."""

    def update(self, indices: NDArray[np.int64], losses: NDArray[np.float32]) -> None:
        """Take the losses of samples."""


class SizedWindow(Windowed, Protocol):
    """A window that knows how many samples it holds."""

    def __len__(self) -> int:
        """Return the number of samples."""


class IteratorSource:
    """Batches of an iterator of tuples (samples, indices or None, importance weights or None)."""

    def __init__(self, batches: Iterable[tuple[Any, ...]]) -> None:
        self._batches = iter(batches)

    def draw(self) -> Batch:
        """Return the next batch."""
        return Batch(*next(self._batches))

    def update(self, indices: NDArray[np.int64], losses: NDArray[np.float32]) -> None:
        """Nobody asked."""

    def state(self) -> State | None:
        """None: an iterator cannot be asked where it is."""
        return None

    def restore(self, state: State) -> None:
        """Nothing to restore."""


class WindowSource:
    """Batches drawn from a window by a generator of its own; draws and losses may come from different threads."""

    def __init__(self, window: Windowed, batch_size: int, seed: int | list[int]) -> None:
        self._window, self._batch_size = window, batch_size
        self._generator, self._lock = np.random.default_rng(seed), threading.Lock()

    def draw(self) -> Batch:
        """Return a batch."""
        with self._lock:
            return Batch(*self._window.draw(self._batch_size, self._generator))

    def update(self, indices: NDArray[np.int64], losses: NDArray[np.float32]) -> None:
        """Pass losses on to the window."""
        with self._lock:
            self._window.update(indices, losses)

    def state(self) -> State | None:
        """Return the generator's state; the same window draws the same batches from it."""
        return self._generator.bit_generator.state

    def restore(self, state: State) -> None:
        """Set the generator."""
        self._generator.bit_generator.state = state


class WindowUnion:
    """Several windows as one: each is drawn from in proportion to its samples."""

    def __init__(self, windows: Sequence[SizedWindow]) -> None:
        self._windows = list(windows)

    def draw(self, batch_size: int, generator: np.random.Generator) -> tuple[Any, ...]:
        """Return (samples, indices, importance weights); the windows' indices are told apart."""
        shares = np.array([len(window) for window in self._windows], dtype=np.float64)
        chosen = int(generator.choice(len(shares), p=shares / shares.sum()))
        samples, indices, importance = self._windows[chosen].draw(batch_size, generator)
        return samples, indices * len(self._windows) + chosen, importance

    def update(self, indices: NDArray[np.int64], losses: NDArray[np.float32]) -> None:
        """Pass losses on to the window that the samples came from."""
        count = len(self._windows)
        for index in np.unique(indices % count).tolist():
            rows = indices % count == index
            self._windows[index].update(indices[rows] // count, losses[rows])


def as_source(data: Source | Iterable[tuple[Any, ...]]) -> Source:
    """Return data as a source."""
    return data if isinstance(data, Source) else IteratorSource(data)


class Prefetcher:
    """Draws batches in a thread, `depth` ahead, so that reading and turning them overlaps the computing.

    state: the source's after the batch that `next` returned last. Use as a context manager.
    """

    def __init__(self, source: Source, depth: int) -> None:
        self._source, self.state = source, source.state()
        self._ready: queue.Queue[tuple[Batch, State | None] | Exception] = queue.Queue(depth)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="batches", daemon=True)

    def __enter__(self) -> "Prefetcher":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def next(self) -> Batch | None:
        """Return the next batch, None where there are no more. Raises what drawing it raised."""
        item = self._ready.get()
        if isinstance(item, Exception):
            self._ready.put(item)
            if isinstance(item, StopIteration):
                return None
            raise item
        batch, self.state = item
        return batch

    def _run(self) -> None:
        while not self._stopped.is_set():
            item: tuple[Batch, State | None] | Exception
            try:
                item = (self._source.draw(), self._source.state())
            except Exception as error:  # noqa: BLE001  (raised again where the loop asks)
                item = error
            while not self._stopped.is_set():
                try:
                    self._ready.put(item, timeout=_STOPPED_EVERY_S)
                    break
                except queue.Full:
                    continue
            if isinstance(item, Exception):
                return
