"""A wrapper that remembers evaluations, so that no position is evaluated twice while it is known.

Owns a table of fixed size for one board size. Its key is the batch's hash of the position with everything
else mixed in that an answer depends on: White's bonus, optimism, symmetry, and what the whole batch has in
common. Answers are stored as they came, so a hit equals a fresh evaluation bit by bit.

The table is open-addressed within buckets of WAYS slots: a key can lie in any slot of the one
bucket that its low bits name, and a full bucket replaces its oldest entry. Key 0 marks a free slot;
a position whose key is 0 is never found, which costs an evaluation and no error.

Calls hold the table's lock while they look up and copy, never while the inner evaluator works. Two calls that
miss the same position at the same time both have it evaluated: that is rare, and waiting would cost as much.
"""

import struct
import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import copy_row
from engine.evaluators.base import (
    DETAILS,
    Attributes,
    Begun,
    Evaluation,
    Evaluator,
    PositionBatch,
    asynchronous,
)
from engine.jit import kernel

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
    common: int,
    count: int,
    row_keys: NDArray[np.uint64],
    slots: NDArray[np.int64],
    sources: NDArray[np.int64],
    misses: NDArray[np.int64],
) -> int:
    """Look up rows 0..count-1 and return how many distinct positions are unknown.

    bonuses, optimism: the bits of these numbers of each row. common: 63 bits of what all rows have in
    common. row_keys: receives each row's key.
    slots: receives the table's slot of each row, or MISS. sources: for each missing row its index
    among the misses, the same for rows of one key. misses: the first row of each missing key.
    """
    buckets = keys.shape[0]
    unknown = 0
    for i in range(count):
        key = (hashes[i] ^ np.uint64(bonuses[i]) ^ (np.uint64(common) << np.uint64(1))) * _MIX
        key ^= key >> np.uint64(29)
        key = (key ^ (np.uint64(optimism[i]) << np.uint64(3)) ^ np.uint64(symmetry[i])) * _MIX
        key ^= key >> np.uint64(32)
        row_keys[i] = key
        bucket = np.int64(key & np.uint64(buckets - 1))
        slots[i] = sources[i] = MISS
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
def copy_rows(rows: NDArray[np.int64], count: int, source: Floats, out: Floats) -> None:
    """Write row i of out [B, k] from row rows[i] of source [S, k], unless that is MISS."""
    for i in range(count):
        if rows[i] != MISS:
            copy_row(source[rows[i]], out[i])


@kernel
def claim(
    keys: NDArray[np.uint64],
    oldest: NDArray[np.uint8],
    row_keys: NDArray[np.uint64],
    misses: NDArray[np.int64],
    unknown: int,
    slots: NDArray[np.int64],
) -> None:
    """Give each miss a slot of its bucket, and write the slots in miss order.

    It is the one that has the key already, from a call at the same time, or else the free or oldest one.
    """
    buckets = keys.shape[0]
    for j in range(unknown):
        key = row_keys[misses[j]]
        bucket = np.int64(key & np.uint64(buckets - 1))
        way = np.int64(oldest[bucket])
        for other in range(WAYS):
            if keys[bucket, other] == key and key != np.uint64(0):
                way = np.int64(other)
        if way == np.int64(oldest[bucket]):
            oldest[bucket] = (way + 1) % WAYS
        keys[bucket, way] = key
        slots[j] = bucket * WAYS + way


@kernel
def store_rows(slots: NDArray[np.int64], count: int, fresh: Floats, stored: Floats) -> None:
    """Copy rows 0..count-1 of fresh [M, k] into their slots of the table [entries, k]."""
    for j in range(count):
        copy_row(fresh[j], stored[slots[j]])


class _Table:
    """The evaluations known for one board size. keys: [buckets, WAYS] uint64. columns: [entries, k] float32 each."""

    def __init__(self, attributes: Attributes, limit: int, width: int, height: int) -> None:
        """Make an empty table of at most `limit` bytes, or of one bucket."""
        self.size, area = (width, height), width * height
        self._attributes = attributes
        columns = [area + 1, 1]
        columns += [1] if attributes.has_score else []
        columns += [DETAILS] if attributes.has_details else []
        columns += [area] if attributes.has_ownership else []
        bucket_bytes = WAYS * (8 + 4 * sum(columns)) + 1
        buckets = 1 << max(0, (limit // bucket_bytes).bit_length() - 1)
        self.keys = np.zeros((buckets, WAYS), dtype=np.uint64)
        self.oldest = np.zeros(buckets, dtype=np.uint8)
        self.columns = [np.zeros((buckets * WAYS, count), dtype=np.float32) for count in columns]
        self.lock = threading.Lock()

    def columns_of(self, evaluation: Evaluation) -> list[Floats]:
        """Return the parts of an evaluation that are remembered, each as [B, k], in the table's order."""
        attributes = self._attributes
        parts = [evaluation.policy, evaluation.value[:, None]]
        parts += [evaluation.score[:, None]] if attributes.has_score else []
        parts += [evaluation.details] if attributes.has_details else []
        parts += [evaluation.ownership] if attributes.has_ownership else []
        return parts


class _Buffers:
    """What one call works with."""

    def __init__(self, capacity: int, width: int, height: int) -> None:
        self.size = (width, height)
        self.row_keys = np.zeros(capacity, dtype=np.uint64)
        self.slots, self.sources, self.missing, self.claimed = np.zeros((4, capacity), dtype=np.int64)
        self.batch = PositionBatch(capacity, width, height)
        self.fresh = Evaluation(capacity, width, height)


class CachedEvaluator:
    """Answers known positions from memory and passes only unknown ones on.

    megabytes: bound of the table's memory (MiB); the table takes the largest power of two of
        buckets that fits (at least one), and another board size starts an empty one. An entry on 19x19
        takes 1.4 KiB, with ownership 2.9 KiB.
    hits, misses: rows answered from memory or from an equal row of the same batch, and positions
        passed on, since the evaluator was made.

    Raises ValueError for an evaluator that plays out games: its answers are samples, not facts about a position.
    """

    def __init__(self, inner: Evaluator, megabytes: float = 64.0) -> None:
        if inner.attributes.has_first_play:
            raise ValueError(f"evaluator {inner.attributes.name} samples, so its answers must not be remembered")
        self.attributes = replace(inner.attributes, name=f"cached {inner.attributes.name}")
        self._inner, self._limit = inner, int(megabytes * 2**20)
        self._beginner = asynchronous(inner)
        self.hits = self.misses = 0
        self._table: _Table | None = None
        self._unused: list[_Buffers] = []
        self._lock = threading.Lock()

    @property
    def entries(self) -> int:
        """Evaluations that the table can hold; 0 before the first call and after `clear`."""
        table = self._table
        return 0 if table is None else int(table.keys.size)

    @property
    def table_bytes(self) -> int:
        """Memory that the table takes; 0 before the first call and after `clear`."""
        table = self._table
        if table is None:
            return 0
        return table.keys.nbytes + table.oldest.nbytes + sum(column.nbytes for column in table.columns)

    def clear(self) -> None:
        """Forget every evaluation. What calls in flight learn is forgotten, too."""
        with self._lock:
            self._table = None

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the evaluation of rows 0..count-1, asking the inner evaluator at most once."""
        call = self._call(positions, count, out)
        try:
            if call.unknown:
                self._inner.evaluate(call.asked, call.unknown, call.fresh)
            call.keep()
        finally:
            self._leave(call)

    def begin(self, positions: PositionBatch, count: int, out: Evaluation) -> Begun | None:
        """Begin to evaluate rows 0..count-1; None where the inner evaluator does not."""
        if self._beginner is None:
            return None
        call = self._call(positions, count, out)
        is_begun = False
        try:
            if call.unknown:
                call.begun = self._beginner.begin(call.asked, call.unknown, call.fresh)
            is_begun = call.unknown == 0 or call.begun is not None
        finally:
            if not is_begun:
                self._leave(call)
        return call if is_begun else None

    def _call(self, positions: PositionBatch, count: int, out: Evaluation) -> "_Call":
        """Look positions up."""
        if count > self.attributes.max_batch:
            raise ValueError(f"{count} positions exceed the batch of {self.attributes.max_batch}")
        table, buffers = self._enter(positions.width, positions.height)
        return _Call(positions, count, out, table, buffers, self._leave)

    def _leave(self, call: "_Call") -> None:
        """Take back a call's buffers, and count what it found."""
        with self._lock:
            self._unused.append(call.buffers)
            if call.is_kept:
                self.hits += call.count - call.unknown
                self.misses += call.unknown

    def _enter(self, width: int, height: int) -> tuple[_Table, _Buffers]:
        """Return the table of a board size, a new one if there is another, and buffers that no call uses."""
        size = (width, height)
        with self._lock:
            if self._table is None or self._table.size != size:
                self._table = _Table(self.attributes, self._limit, width, height)
            self._unused = [each for each in self._unused if each.size == size]
            buffers = self._unused.pop() if self._unused else _Buffers(self.attributes.max_batch, width, height)
            return self._table, buffers

    def close(self) -> None:
        """Close the inner evaluator."""
        self._inner.close()


class _Call:
    """One call: its rows that were known are written at once, the others when they are kept.

    unknown: distinct positions to be asked for, the first rows of `asked`, whose answers belong into `fresh`.
    begun: their evaluation, if it goes on by itself; then this call is an `engine.evaluators.base.Begun`.
    leave: takes the call back when it is finished.
    """

    def __init__(
        self,
        positions: PositionBatch,
        count: int,
        out: Evaluation,
        table: _Table,
        buffers: _Buffers,
        leave: "Callable[[_Call], None]",
    ) -> None:
        self.count, self.buffers, self.is_kept = count, buffers, False
        self.begun: Begun | None = None
        self._out, self._table, self._leave = out, table, leave
        row_keys, slots, sources, missing = buffers.row_keys, buffers.slots, buffers.sources, buffers.missing
        numbers = (positions.white_bonus.view(np.uint32), positions.optimism.view(np.uint32), positions.symmetry)
        common = _common(positions)
        with table.lock:
            self.unknown = find(
                table.keys, positions.hashes, *numbers, common, count, row_keys, slots, sources, missing
            )
            if self.unknown < count:
                for stored, column in zip(table.columns, table.columns_of(out), strict=True):
                    copy_rows(slots, count, stored, column)
        self.asked, self.fresh = positions, out
        if 0 < self.unknown < count:
            self.asked, self.fresh = buffers.batch, buffers.fresh
            _compact(positions, missing[: self.unknown], buffers.batch)

    def keep(self) -> None:
        """Remember the answers, which are there, and write the rows that wanted them."""
        buffers, table, unknown = self.buffers, self._table, self.unknown
        self.is_kept = True
        if unknown == 0:
            return
        fresh = table.columns_of(self.fresh)
        if unknown < self.count:
            for new, column in zip(fresh, table.columns_of(self._out), strict=True):
                copy_rows(buffers.sources, self.count, new, column)
        with table.lock:
            claim(table.keys, table.oldest, buffers.row_keys, buffers.missing, unknown, buffers.claimed)
            for stored, new in zip(table.columns, fresh, strict=True):
                store_rows(buffers.claimed, unknown, new, stored)

    def wait(self, seconds: float) -> bool:
        """Wait so many seconds at most; return whether the answer is there."""
        return self.begun is None or self.begun.wait(seconds)

    def finish(self) -> None:
        """Wait for the answer, remember it and write it. Raises as the inner evaluator does."""
        try:
            if self.begun is not None:
                self.begun.finish()
            self.keep()
        finally:
            self._leave(self)


def _common(positions: PositionBatch) -> int:
    """Return 63 bits of what all positions of a batch have in common and answers depend on."""
    metadata = b"" if positions.metadata is None else positions.metadata.tobytes()
    # The hash of the number itself is the same for -1.0 and -2.0.
    doubling = struct.pack("<d", positions.playout_doubling)
    return hash((positions.rules, doubling, metadata)) & 0x7FFFFFFFFFFFFFFF


def _compact(positions: PositionBatch, rows: NDArray[np.int64], batch: PositionBatch) -> None:
    """Copy some rows to the front of another batch."""
    count = len(rows)
    for name, value in vars(positions).items():
        if isinstance(value, np.ndarray) and name != "metadata":
            np.take(value, rows, axis=0, out=getattr(batch, name)[:count], mode="clip")
        elif name != "capacity":
            setattr(batch, name, value)
