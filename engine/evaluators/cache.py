"""A wrapper that remembers evaluations, so that no position is evaluated twice while it is known.

Owns a table of fixed size for one board size and one set of rules and other settings of a whole batch
at a time. Its key is the batch's hash of the position with White's bonus, optimism and symmetry mixed
in. Answers are stored as they came, so a hit equals a
fresh evaluation bit by bit.

The table is open-addressed within buckets of WAYS slots: a key can lie in any slot of the one
bucket that its low bits name, and a full bucket replaces its oldest entry. Key 0 marks a free slot;
a position whose key is 0 is never found, which costs an evaluation and no error.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.evaluators.base import DETAILS, Evaluation, Evaluator, PositionBatch
from engine.jit import kernel
from engine.rules import Rules

WAYS = 8
"""Slots of a bucket: their keys fill one cache line."""
MISS = -1

Floats = NDArray[np.float32]


_MIX = np.uint64(0x9E3779B97F4A7C15)


@kernel
def find(
    keys: NDArray[np.uint64],
    hashes: NDArray[np.uint64],
    bonuses: NDArray[np.uint32],
    optimism: NDArray[np.uint32],
    symmetry: NDArray[np.int8],
    count: int,
    row_keys: NDArray[np.uint64],
    slots: NDArray[np.int64],
    sources: NDArray[np.int64],
    misses: NDArray[np.int64],
) -> int:
    """Look up rows 0..count-1 and return how many distinct positions are unknown.

    bonuses, optimism: the bits of these numbers of each row. row_keys: receives each row's key.
    slots: receives the table's slot of each row, or MISS. sources: for each missing row its index
    among the misses, the same for rows of one key. misses: the first row of each missing key.
    """
    buckets = keys.shape[0]
    unknown = 0
    for i in range(count):
        key = (hashes[i] ^ np.uint64(bonuses[i])) * _MIX
        key ^= key >> np.uint64(29)
        key = (key ^ (np.uint64(optimism[i]) << np.uint64(3)) ^ np.uint64(symmetry[i])) * _MIX
        key ^= key >> np.uint64(32)
        row_keys[i] = key
        bucket = np.int64(key & np.uint64(buckets - 1))
        slots[i] = MISS
        for way in range(WAYS):
            if keys[bucket, way] == key and key != np.uint64(0):
                slots[i] = bucket * WAYS + way
        if slots[i] == MISS:
            sources[i] = unknown
            for earlier in range(unknown):
                if row_keys[misses[earlier]] == key:
                    sources[i] = earlier
            if sources[i] == unknown:
                misses[unknown] = i
                unknown += 1
    return unknown


@kernel
def copy_rows(
    slots: NDArray[np.int64], sources: NDArray[np.int64], count: int, stored: Floats, fresh: Floats, out: Floats
) -> None:
    """Write each row of out [B, k] from the table [entries, k], or from the fresh misses [M, k]."""
    for i in range(count):
        if slots[i] == MISS:
            out[i] = fresh[sources[i]]
        else:
            out[i] = stored[slots[i]]


@kernel
def claim(
    keys: NDArray[np.uint64],
    oldest: NDArray[np.uint8],
    row_keys: NDArray[np.uint64],
    misses: NDArray[np.int64],
    unknown: int,
    slots: NDArray[np.int64],
) -> None:
    """Give each miss a slot, the free or oldest one of its bucket, and write the slots in miss order."""
    buckets = keys.shape[0]
    for j in range(unknown):
        key = row_keys[misses[j]]
        bucket = np.int64(key & np.uint64(buckets - 1))
        way = np.int64(oldest[bucket])
        oldest[bucket] = (way + 1) % WAYS
        keys[bucket, way] = key
        slots[j] = bucket * WAYS + way


@kernel
def store_rows(slots: NDArray[np.int64], count: int, fresh: Floats, stored: Floats) -> None:
    """Copy rows 0..count-1 of fresh [M, k] into their slots of the table [entries, k]."""
    for j in range(count):
        stored[slots[j]] = fresh[j]


class CachedEvaluator:
    """Answers known positions from memory and passes only unknown ones on, each once.

    megabytes: bound of the table's memory (MiB); the table takes the largest power of two of
        buckets that fits (at least one), and it is emptied when the board size, the rules, the
        playout doubling or the metadata change. An entry on 19x19 takes 1.4 KiB, with ownership 2.9 KiB.
    hits, misses: rows answered from memory or from an equal row of the same batch, and positions
        passed on, since the evaluator was made.

    One call at a time, from any thread: the table and the buffers have no lock. Raises ValueError
    for an evaluator that plays out games: its answers are samples, not facts about a position.
    """

    def __init__(self, inner: Evaluator, megabytes: float = 64.0) -> None:
        if inner.attributes.has_first_play:
            raise ValueError(f"evaluator {inner.attributes.name} samples, so its answers must not be remembered")
        self.attributes = replace(inner.attributes, name=f"cached {inner.attributes.name}")
        self._inner, self._bytes = inner, int(megabytes * 2**20)
        self.hits = self.misses = 0
        capacity = inner.attributes.max_batch
        self._row_keys = np.zeros(capacity, dtype=np.uint64)
        self._slots = np.zeros(capacity, dtype=np.int64)
        self._sources = np.zeros(capacity, dtype=np.int64)
        self._missing = np.zeros(capacity, dtype=np.int64)
        self._claimed = np.zeros(capacity, dtype=np.int64)
        self._size: tuple[int, int] = (0, 0)
        self._common: tuple[Rules, float, bytes] | None = None

    @property
    def entries(self) -> int:
        """Evaluations that the table can hold; 0 before the first call."""
        return 0 if self._size == (0, 0) else int(self._keys.size)

    @property
    def table_bytes(self) -> int:
        """Memory that the table takes; 0 before the first call."""
        if self._size == (0, 0):
            return 0
        return self._keys.nbytes + self._oldest.nbytes + sum(table.nbytes for table in self._tables)

    def _resize(self, width: int, height: int) -> None:
        """Make an empty table and the buffers for one board size."""
        capacity, area = self.attributes.max_batch, width * height
        self._batch = PositionBatch(capacity, width, height)
        self._fresh = Evaluation(capacity, width, height)
        columns = [area + 1, 1]
        columns += [1] if self.attributes.has_score else []
        columns += [DETAILS] if self.attributes.has_details else []
        columns += [area] if self.attributes.has_ownership else []
        bucket_bytes = WAYS * (8 + 4 * sum(columns)) + 1
        buckets = 1 << max(0, (self._bytes // bucket_bytes).bit_length() - 1)
        self._keys = np.zeros((buckets, WAYS), dtype=np.uint64)
        self._oldest = np.zeros(buckets, dtype=np.uint8)
        self._tables = [np.zeros((buckets * WAYS, width), dtype=np.float32) for width in columns]
        self._size = (width, height)

    def _columns(self, evaluation: Evaluation) -> list[Floats]:
        """Return the parts that the inner evaluator writes, each as [B, k], in the tables' order."""
        parts = [evaluation.policy, evaluation.value[:, None]]
        parts += [evaluation.score[:, None]] if self.attributes.has_score else []
        parts += [evaluation.details] if self.attributes.has_details else []
        parts += [evaluation.ownership] if self.attributes.has_ownership else []
        return parts

    def clear(self) -> None:
        """Forget every evaluation, and keep the memory."""
        if self._size != (0, 0):
            self._keys[:] = 0

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the evaluation of rows 0..count-1, asking the inner evaluator at most once."""
        if count > self.attributes.max_batch:
            raise ValueError(f"{count} positions exceed the batch of {self.attributes.max_batch}")
        if (positions.width, positions.height) != self._size:
            self._resize(positions.width, positions.height)
        metadata = b"" if positions.metadata is None else positions.metadata.tobytes()
        common = (positions.rules, positions.playout_doubling, metadata)
        if common != self._common:
            self.clear()
            self._common = common
        row_keys, slots, sources, missing = self._row_keys, self._slots, self._sources, self._missing
        numbers = (positions.white_bonus.view(np.uint32), positions.optimism.view(np.uint32), positions.symmetry)
        unknown = find(self._keys, positions.hashes, *numbers, count, row_keys, slots, sources, missing)
        if unknown == count:
            self._inner.evaluate(positions, count, out)
            fresh = self._columns(out)
        else:
            fresh = self._columns(self._fresh)
            if unknown:
                self._compact(positions, missing[:unknown])
                self._inner.evaluate(self._batch, unknown, self._fresh)
            for stored, new, wanted in zip(self._tables, fresh, self._columns(out), strict=True):
                copy_rows(slots, sources, count, stored, new, wanted)
        claim(self._keys, self._oldest, row_keys, missing, unknown, self._claimed)
        for stored, new in zip(self._tables, fresh, strict=True):
            store_rows(self._claimed, unknown, new, stored)
        self.hits += count - unknown
        self.misses += unknown

    def _compact(self, positions: PositionBatch, rows: NDArray[np.int64]) -> None:
        """Copy some rows to the front of the own batch."""
        batch, count = self._batch, len(rows)
        for name, value in vars(positions).items():
            if isinstance(value, np.ndarray) and name != "metadata":
                np.take(value, rows, axis=0, out=getattr(batch, name)[:count], mode="clip")
            elif name != "capacity":
                setattr(batch, name, value)

    def close(self) -> None:
        """Close the inner evaluator."""
        self._inner.close()
