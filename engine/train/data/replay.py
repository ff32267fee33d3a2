"""Draws training samples from a window over the newest shards of a folder, or from a stream of game records.

Decides which samples are drawn and how often. Both yield batches of one board size, with the sizes in proportion to
their samples, and apply a random symmetry to every sample. The only losses known here are those given to `update`.

The window grows with the data (D. Wu, "Accelerating self-play learning in Go", 2019, appendix C). Samples can be
drawn by their loss (T. Schaul et al., "Prioritized experience replay", 2016, proportional variant).
"""

import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.errors import GoError
from engine.train.data.held_out import HELD_OUT
from engine.train.data.mixed_records import mixed_records
from engine.train.data.records import (
    TASKS_AHEAD,
    RecordOptions,
    Tally,
    Task,
    filter_split,
    read_tasks,
    tasks_of,
)
from engine.train.data.samples import (
    SUFFIX,
    BadSamples,
    Samples,
    apply_symmetries,
    arrays_of,
    empty_samples,
    random_symmetries,
    read_shard,
    shard_info,
)
from engine.train.worker_processes import usable_processes

Draw = tuple[Samples, NDArray[np.int64], NDArray[np.float32] | None]
"""Samples, their numbers in the window, and the importance weights of non-uniform sampling, None for 1."""

_SIZE_FOLDER = re.compile(r"\d+x\d+")
_DIGITS = re.compile(r"(\d+)")
# Maximum number of mapped shards: each needs a file descriptor, and the usual limit is 1024.
_OPEN_SHARDS = 400
# Lower bound of a loss, so that a sample that is predicted perfectly is still drawn occasionally.
_LEAST_LOSS = 1e-3
BUFFER_SAMPLES = 16_384
POSITIONS_A_GAME = 16


def window_size(total: int, scale: float, alpha: float, beta: float) -> int:
    """Return the window size for `total` samples: all of them up to `scale`, then a shrinking share.

    N = scale * (1 + beta * ((total / scale)^alpha - 1) / alpha).
    """
    if total <= scale:
        return total
    return min(total, int(scale * (1 + beta * ((total / scale) ** alpha - 1) / alpha)))


@dataclass(eq=False)
class _Shard:
    """One file. first: the number of its first sample. weights: [count] float64, unnormalized sampling weights."""

    path: Path
    first: int
    count: int
    size: tuple[int, int]
    weights: NDArray[np.float64]


class Window:
    """A window over the newest samples of a folder, written by any program. Not thread-safe.

    Files are read from folders named after a board size, such as 9x9, at any depth. Their age is the order of their
    names, where numbers compare as numbers and the folder of the board size is ignored. The oldest file that the
    window reaches is included completely.

    scale, alpha, beta: see `window_size`. prioritize: exponent a of the loss in the sampling probability, 0 for
    uniform sampling. correct: exponent b of the importance weights (1 / (N p))^b, scaled to a maximum of 1 in a batch.
    symmetries: whether to apply random symmetries. Raises BadSamples if there are no samples, if encoders differ, or
    if samples are of held-out games.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        scale: float = 250_000.0,
        alpha: float = 0.75,
        beta: float = 0.4,
        prioritize: float = 0.0,
        correct: float = 0.4,
        symmetries: bool = True,
    ) -> None:
        self.folder = Path(folder)
        self.encoder = ""
        self.total = 0
        self._growth = scale, alpha, beta
        self._prioritize, self._correct, self._symmetries = prioritize, correct, symmetries
        self._known: dict[Path, _Shard] = {}
        self._numbered = 0
        # Until losses are known, all samples have the same weight.
        self._largest = 1.0
        self._groups: dict[tuple[int, int], _Group] = {}
        self._open: OrderedDict[Path, Samples] = OrderedDict()
        self.refresh()
        if self.total == 0:
            raise BadSamples(f"{self.folder}: no samples in folders such as 9x9")

    def __len__(self) -> int:
        return sum(group.count for group in self._groups.values())

    @property
    def sizes(self) -> dict[tuple[int, int], int]:
        """Samples in the window by board size (width, height)."""
        return {size: group.count for size, group in self._groups.items()}

    def refresh(self) -> None:
        """Scan the folder for new files; the losses of known samples are kept."""
        found = [path for path in self.folder.rglob(f"*{SUFFIX}") if _SIZE_FOLDER.fullmatch(path.parent.name)]
        shards = [self._shard(path) for path in sorted(found, key=self._age)]
        self.total = sum(shard.count for shard in shards)
        wanted, chosen = window_size(self.total, *self._growth), []
        for shard in reversed(shards):
            if wanted <= 0:
                break
            chosen.append(shard)
            wanted -= shard.count
        self._known = {shard.path: shard for shard in shards}
        by_size: dict[tuple[int, int], list[_Shard]] = {}
        for shard in sorted(chosen, key=lambda each: each.first):
            if shard.count:
                by_size.setdefault(shard.size, []).append(shard)
        self._groups = {size: _Group(members) for size, members in sorted(by_size.items())}

    def _age(self, path: Path) -> list[tuple[int, str]]:
        name = "/".join(part for part in path.relative_to(self.folder).parts if not _SIZE_FOLDER.fullmatch(part))
        return [
            (int(part), "") if part.isdigit() else (-1, part) for part in _DIGITS.split(f"{name}/{path.parent.name}")
        ]

    def _shard(self, path: Path) -> _Shard:
        """Return a shard, reading its header if it is new."""
        if path in self._known:
            return self._known[path]
        info = shard_info(path)
        if HELD_OUT in info.provenance:
            raise BadSamples(f"{path}: contains samples of held-out games, which must not be trained on")
        if self.encoder not in ("", info.encoder):
            raise BadSamples(f"{path}: encoder: expected {self.encoder} as in the other files, got {info.encoder}")
        self.encoder = info.encoder
        # New samples start with the largest weight so far, so that each is drawn soon (Schaul et al., section 3.3).
        weights = np.full(info.count, self._largest)
        shard = _Shard(path, self._numbered, info.count, (info.width, info.height), weights)
        self._numbered += info.count
        self._known[path] = shard
        return shard

    def draw(self, batch_size: int, generator: np.random.Generator) -> Draw:
        """Draw a batch of one board size; without repetition, unless there are too few samples or losses decide."""
        groups = list(self._groups.values())
        shares = np.array([group.count for group in groups], dtype=np.float64)
        group = groups[generator.choice(len(groups), p=shares / shares.sum())] if len(groups) > 1 else groups[0]
        importance: NDArray[np.float32] | None = None
        if self._prioritize > 0:
            rows, chances = group.draw_weighted(batch_size, generator)
            undone = (1 / (group.count * chances)) ** self._correct
            # Scaled by the maximum, so that weights only ever reduce a step (Schaul et al., section 3.4).
            importance = (undone / undone.max()).astype(np.float32)
        else:
            rows = generator.choice(group.count, batch_size, replace=batch_size > group.count)
        samples, numbers = self._gather(group, rows)
        if self._symmetries:
            samples = apply_symmetries(samples, random_symmetries(samples, generator))
        return samples, numbers, importance

    def _gather(self, group: "_Group", rows: NDArray[np.int64]) -> tuple[Samples, NDArray[np.int64]]:
        """Copy the samples of a group at these rows, in this order; return them and their numbers."""
        batch = empty_samples(self.encoder, *group.shards[0].size, len(rows))
        numbers = np.empty(len(rows), dtype=np.int64)
        targets = arrays_of(batch)
        which = np.searchsorted(group.starts, rows, side="right") - 1
        for index in np.unique(which).tolist():
            # One indexed read for each file: rows of a file are copied together.
            places = np.flatnonzero(which == index)
            within = rows[places] - group.starts[index]
            shard = group.shards[index]
            for name, array in arrays_of(self._opened(shard.path)).items():
                targets[name][places] = array[within]
            numbers[places] = shard.first + within
        return batch, numbers

    def _opened(self, path: Path) -> Samples:
        # Removed and inserted again, so that the first entry is always the least recently used.
        samples = self._open.pop(path, None)
        if samples is None:
            samples = read_shard(path)
            while len(self._open) >= _OPEN_SHARDS:
                self._open.popitem(last=False)
        self._open[path] = samples
        return samples

    def update(self, indices: NDArray[np.int64], losses: NDArray[np.float32]) -> None:
        """Record the losses of drawn samples, which set their sampling weights if `prioritize` is above 0.

        Raises GoError on a loss that is not finite. Samples that have left the window are ignored.
        """
        if self._prioritize == 0:
            return
        if not np.all(np.isfinite(losses)):
            raise GoError("a loss is not finite")
        weights = np.maximum(losses.astype(np.float64), _LEAST_LOSS) ** self._prioritize
        self._largest = max(self._largest, float(weights.max(initial=0.0)))
        for group in self._groups.values():
            group.set_weights(indices, weights)


class _Group:
    """The files of one board size in a window. starts: [files] row of the first sample of each file."""

    def __init__(self, shards: Sequence[_Shard]) -> None:
        self.shards = list(shards)
        counts = np.array([shard.count for shard in shards], dtype=np.int64)
        self.starts = np.cumsum(counts) - counts
        self.count = int(counts.sum())
        self._firsts = np.array([shard.first for shard in shards], dtype=np.int64)
        self._cumulated: NDArray[np.float64] | None = None

    def draw_weighted(self, size: int, generator: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Draw rows with replacement in proportion to their weights; return them and their probabilities."""
        # Inverse transform sampling: one cumulative sum serves all draws until weights change.
        if self._cumulated is None:
            self._cumulated = np.cumsum(np.concatenate([shard.weights for shard in self.shards]))
        total = self._cumulated[-1]
        rows = np.searchsorted(self._cumulated, generator.random(size) * total, side="right")
        # Rounding can push a random number up to the total, one row past the end.
        rows = np.minimum(rows, self.count - 1)
        chances = np.diff(self._cumulated, prepend=0.0)[rows] / total
        return rows, chances

    def set_weights(self, numbers: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        """Set the weights of the samples that belong to this group; other numbers are ignored."""
        which = np.searchsorted(self._firsts, numbers, side="right") - 1
        for index in np.unique(which[which >= 0]).tolist():
            shard = self.shards[index]
            places = np.flatnonzero((which == index) & (numbers - shard.first < shard.count))
            shard.weights[numbers[places] - shard.first] = weights[places]
        self._cumulated = None


class ShuffleBuffer:
    """Collects `capacity` samples of one board size, from which samples are then drawn at random."""

    def __init__(self, encoder: str, width: int, height: int, capacity: int) -> None:
        self._held = empty_samples(encoder, width, height, capacity)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, samples: Samples) -> Samples:
        """Add samples; return those that do not fit."""
        taken = min(len(samples), len(self._held) - self._count)
        for name, array in arrays_of(self._held).items():
            array[self._count : self._count + taken] = getattr(samples, name)[:taken]
        self._count += taken
        return samples[taken:]

    def draw(self, size: int, generator: np.random.Generator) -> Samples:
        """Remove and return up to `size` random samples."""
        rows = generator.choice(self._count, min(size, self._count), replace=False)
        drawn = self._held[rows]
        kept = self._count - len(rows)
        # Fill the gaps with the remaining rows from the end, so that only `size` rows are moved, not the buffer.
        moving = np.setdiff1d(np.arange(kept, self._count), rows)
        free = rows[rows < kept]
        for array in arrays_of(self._held).values():
            array[free] = array[moving]
        self._count = kept
        return drawn


# All but the first three parameters are keywords with defaults that training uses; a class would hold nothing else.
def stream(
    sources: Sequence[Path],
    batch_size: int,
    generator: np.random.Generator,
    *,
    encoder: str = "katago-v7",
    per_game: int | None = POSITIONS_A_GAME,
    processes: int | None = None,
    buffer: int = BUFFER_SAMPLES,
    epochs: int | None = None,
    sizes: frozenset[tuple[int, int]] | None = None,
    tally: Tally | None = None,
) -> Iterator[tuple[Samples, None, None]]:
    """Yield batches directly from game records, without held-out games and with random symmetries.

    sources: as in `engine.records.sgf_source.iterate_records`, mixed in proportion to their sizes.
    per_game: positions drawn from each game in an epoch, different ones each time; None for all.
    processes: worker processes, by default one for each core; 0 reads in this process.
    buffer: number of samples of each board size from which batches are drawn. epochs: passes over all games, None for
    endless; if given, the last batches may be smaller. Raises BadSamples if several epochs yield nothing.
    """
    options = RecordOptions(encoder, per_game, sizes=sizes)
    counted = Tally() if tally is None else tally
    buffers: dict[tuple[int, int], ShuffleBuffer] = {}
    workers = usable_processes() if processes is None else processes
    tasks = _epochs(sources, options, generator, epochs, counted, in_flight=TASKS_AHEAD * workers)
    for parts, part_tally in read_tasks(tasks, options, workers):
        counted.add(part_tally)
        for part in parts:
            size = part.width, part.height
            held = buffers.setdefault(size, ShuffleBuffer(encoder, *size, max(buffer, batch_size)))
            rest = held.add(part)
            while len(rest):
                yield _turned_batch(held.draw(batch_size, generator), generator)
                rest = held.add(rest)
    # With a bound on epochs the rest in the buffers belongs to the last one.
    for held in buffers.values():
        while len(held):
            yield _turned_batch(held.draw(batch_size, generator), generator)


def _epochs(
    sources: Sequence[Path],
    options: RecordOptions,
    generator: np.random.Generator,
    epochs: int | None,
    tally: Tally,
    *,
    in_flight: int,
) -> Iterator[Task]:
    """Yield the tasks of each epoch, with a different order and seed in each."""
    # A separate generator: the batches must not depend on how far ahead of them records are read.
    mixing = np.random.default_rng(generator.integers(1 << 62))
    for epoch in count() if epochs is None else range(epochs):
        # Up to `in_flight` tasks are not counted yet; only after that do the counts include a whole epoch.
        if epoch > in_flight + 1 and tally.positions == 0:
            raise BadSamples(f"no position to train on in {', '.join(map(str, sources))}: {dict(tally.skipped)}")
        records = mixed_records(sources, mixing, tally)
        yield from tasks_of(filter_split(records, options), int(mixing.integers(1 << 62)))


def _turned_batch(samples: Samples, generator: np.random.Generator) -> tuple[Samples, None, None]:
    return apply_symmetries(samples, random_symmetries(samples, generator)), None, None
