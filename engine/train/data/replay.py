"""Draws training samples from a window over the newest shards of a folder.

Decides which samples are drawn and how often. Batches are of one board size, with the sizes in proportion to their
samples, and every sample is turned by a random symmetry. The only losses known here are those given to `update`.

The window grows with the data (D. Wu, "Accelerating self-play learning in Go", 2019, appendix C). Samples can be
drawn by their loss (T. Schaul et al., "Prioritized experience replay", 2016, proportional variant).
"""

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from engine.errors import GoError
from engine.train.data.held_out import HELD_OUT
from engine.train.data.samples import (
    SUFFIX,
    BadSamples,
    Samples,
    ShardLayout,
    apply_symmetries,
    arrays_of,
    empty_samples,
    random_symmetries,
    shard_layout,
)
from engine.train.data.sum_tree import SumTree

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
        _windows.add(self)
        self.refresh()
        if self.total == 0:
            reason = "no samples in folders such as 9x9" if self.folder.is_dir() else "no such folder"
            raise BadSamples(f"{self.folder}: {reason}")

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
        # All of it is checked now, and not when a sample is drawn, which may be hours later.
        layout = shard_layout(path)
        info, self._layouts[path] = layout.info, layout
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


_windows: "WeakSet[Window]" = WeakSet()
"""The windows in use, which share the files that this process may have open."""


def _most_open() -> int:
    """Return how many shards a window may map: its share of half the files that the process may open, within bounds."""
    least, most = _OPEN_SHARDS
    try:
        import resource
    except ImportError:
        return least // len(_windows)
    return min(max(least, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2), most) // len(_windows)


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
