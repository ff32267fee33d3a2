"""Draws training samples from a window over the newest shards of a folder, or from a stream of game records.

Decides which samples are drawn and how often. Both yield batches of one board size, with the sizes in proportion to
their samples, and apply a random symmetry to every sample. The only losses known here are those given to `update`.

The window grows with the data (D. Wu, "Accelerating self-play learning in Go", 2019, appendix C). Samples can be
drawn by their loss (T. Schaul et al., "Prioritized experience replay", 2016, proportional variant).
"""

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

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
    ShardLayout,
    apply_symmetries,
    arrays_of,
    empty_samples,
    random_symmetries,
    shard_info,
    shard_layout,
)
from engine.train.data.sum_tree import SumTree
from engine.train.worker_processes import usable_processes

Draw = tuple[Samples, NDArray[np.int64], NDArray[np.float32] | None]
"""Samples, their numbers in the window, and the importance weights of non-uniform sampling, None for 1."""

_SIZE_FOLDER = re.compile(r"\d+x\d+")
_DIGITS = re.compile(r"(\d+)")
# Bounds of the number of mapped shards: each needs a file descriptor, and the system limits the maps of a process.
_OPEN_SHARDS = (400, 16_384)
# Lower bound of a loss, so that a sample that is predicted perfectly is still drawn occasionally.
_LEAST_LOSS = 1e-3
# Names of a window's own numbers among its priorities; those of files end with the suffix of samples.
_LARGEST, _EXPONENT = "largest", "exponent"
BUFFER_SAMPLES = 16_384
# Batches of samples before the first draw; with 16 positions of a game, one of 256 comes from about 160 games.
_FIRST_BATCHES = 16
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
    """One file. first: the number of its first sample. weights: [count] unnormalized sampling weights."""

    path: Path
    first: int
    count: int
    size: tuple[int, int]
    weights: NDArray[np.float32]


class Window:
    """A window over the newest samples of a folder, written by any program. Not thread-safe.

    Files are read from folders named after a board size, such as 9x9, at any depth. Their age is the order of their
    names, where numbers compare as numbers and the folder of the board size is ignored. The oldest file that the
    window reaches is included completely.

    scale, alpha, beta: see `window_size`. prioritize: exponent a of the loss in the sampling probability, 0 for
    uniform sampling. correct: exponent b of the importance weights (1 / (N p))^b, scaled to a maximum of 1 in a batch,
    at the start of training; it rises linearly to 1 at the end, where the correction must be whole (Schaul et al.,
    section 3.4). symmetries: whether to apply random symmetries.
    Raises BadSamples if there are no samples, if encoders differ, or if samples are of held-out games.
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
        self._open: OrderedDict[Path, dict[str, NDArray[Any]]] = OrderedDict()
        self._layouts: dict[Path, ShardLayout] = {}
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
        weights = np.full(info.count, self._largest, dtype=np.float32)
        shard = _Shard(path, self._numbered, info.count, (info.width, info.height), weights)
        self._numbered += info.count
        self._known[path] = shard
        return shard

    def draw(self, batch_size: int, generator: np.random.Generator, progress: float = 0.0) -> Draw:
        """Draw a batch of one board size; without repetition, unless there are too few samples or losses decide.

        progress: the finished share of the training, 0 to 1.
        """
        groups = list(self._groups.values())
        shares = np.array([group.count for group in groups], dtype=np.float64)
        group = groups[generator.choice(len(groups), p=shares / shares.sum())] if len(groups) > 1 else groups[0]
        importance: NDArray[np.float32] | None = None
        if self._prioritize > 0:
            rows, chances = group.draw_weighted(batch_size, generator)
            undone = (1 / (group.count * chances)) ** (self._correct + (1 - self._correct) * progress)
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
            for name, array in self._opened(shard.path).items():
                targets[name][places] = array[within]
            numbers[places] = shard.first + within
        return batch, numbers

    def _opened(self, path: Path) -> dict[str, NDArray[Any]]:
        # Removed and inserted again, so that the first entry is always the least recently used.
        arrays = self._open.pop(path, None)
        if arrays is None:
            # A window of more files than may be open maps some again for each batch, so their headers are kept.
            if path not in self._layouts:
                self._layouts[path] = shard_layout(path)
            arrays = self._layouts[path].map()
            while len(self._open) >= _most_open():
                self._open.popitem(last=False)
        self._open[path] = arrays
        return arrays

    def update(self, indices: NDArray[np.int64], losses: NDArray[np.float32]) -> None:
        """Record the losses of drawn samples, which set their sampling weights if `prioritize` is above 0.

        Raises GoError on a loss that is not finite. Samples that have left the window are ignored.
        """
        if self._prioritize == 0:
            return
        if not np.all(np.isfinite(losses)):
            raise GoError("a loss is not finite")
        weights = (np.maximum(losses.astype(np.float64), _LEAST_LOSS) ** self._prioritize).astype(np.float32)
        self._largest = max(self._largest, float(weights.max(initial=0.0)))
        for group in self._groups.values():
            group.set_weights(indices, weights)

    def priorities(self) -> Mapping[str, NDArray[np.float32]]:
        """Return the sampling weights by file, for `restore_priorities`; empty if sampling is uniform."""
        if self._prioritize == 0:
            return {}
        shards = [shard for group in self._groups.values() for shard in group.shards]
        state = {_LARGEST: self._largest, _EXPONENT: self._prioritize}
        found = {name: np.array([value], np.float32) for name, value in state.items()}
        return found | {self._name(shard): shard.weights.copy() for shard in shards}

    def restore_priorities(self, stored: Mapping[str, NDArray[np.float32]]) -> None:
        """Set the sampling weights to stored ones; samples of files that are not stored count as new."""
        if self._prioritize == 0 or _LARGEST not in stored:
            return
        power = self._prioritize / float(stored[_EXPONENT][0])
        self._largest = float(stored[_LARGEST][0]) ** power
        for shard in self._known.values():
            weights = stored.get(self._name(shard))
            is_same = weights is not None and len(weights) == shard.count
            shard.weights[:] = self._largest if weights is None or not is_same else weights**power
        for group in self._groups.values():
            group.forget_tree()

    def _name(self, shard: _Shard) -> str:
        return shard.path.relative_to(self.folder).as_posix()


def _most_open() -> int:
    """Return how many shards may be mapped: half the files that the process may have open now, within bounds."""
    least, most = _OPEN_SHARDS
    try:
        import resource
    except ImportError:
        return least
    return min(max(least, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2), most)


class _Group:
    """The files of one board size in a window. starts: [files] row of the first sample of each file."""

    def __init__(self, shards: Sequence[_Shard]) -> None:
        self.shards = list(shards)
        self._counts = np.array([shard.count for shard in shards], dtype=np.int64)
        self.starts = np.cumsum(self._counts) - self._counts
        self.count = int(self._counts.sum())
        self._firsts = np.array([shard.first for shard in shards], dtype=np.int64)
        self._tree: SumTree | None = None

    def draw_weighted(self, size: int, generator: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Draw rows with replacement in proportion to their weights; return them and their probabilities."""
        if self._tree is None:
            self._tree = SumTree(np.concatenate([shard.weights for shard in self.shards]).astype(np.float64))
        rows = self._tree.find(generator.random(size) * self._tree.total)
        return rows, self._tree.weights_of(rows) / self._tree.total

    def set_weights(self, numbers: NDArray[np.int64], weights: NDArray[np.float32]) -> None:
        """Set the weights of the samples that belong to this group; other numbers are ignored."""
        which = np.searchsorted(self._firsts, numbers, side="right") - 1
        within = numbers - self._firsts[which]
        inside = (which >= 0) & (within < self._counts[which])
        which, within, weights = which[inside], within[inside], weights[inside]
        for index in np.unique(which).tolist():
            chosen = which == index
            self.shards[index].weights[within[chosen]] = weights[chosen]
        if self._tree is not None:
            self._tree.set(self.starts[which] + within, weights.astype(np.float64))

    def forget_tree(self) -> None:
        """Rebuild the tree at the next draw, because the weights of the files have changed."""
        self._tree = None


class ShuffleBuffer:
    """Collects `capacity` samples of one board size, from which samples are then drawn at random.

    first: how many samples are collected before the first draw. Each draw raises this by half its size up to
    `capacity`, so that training begins soon while the buffer still fills.
    """

    def __init__(self, encoder: str, width: int, height: int, capacity: int, first: int) -> None:
        self._held = empty_samples(encoder, width, height, capacity)
        self._count, self._wanted = 0, first

    def __len__(self) -> int:
        return self._count

    @property
    def is_ready(self) -> bool:
        """Whether there are enough samples for a draw."""
        return self._count >= min(self._wanted, len(self._held))

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
        self._wanted += size // 2
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
    buffer: number of samples of each board size from which batches are drawn; fewer at the start.
    epochs: passes over all games, None for endless; if given, the last batches may be smaller. Raises BadSamples if
    several epochs yield nothing.
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
            if size not in buffers:
                first = _FIRST_BATCHES * batch_size
                buffers[size] = ShuffleBuffer(encoder, *size, max(buffer, batch_size), first)
            held = buffers[size]
            rest = held.add(part)
            while held.is_ready:
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
