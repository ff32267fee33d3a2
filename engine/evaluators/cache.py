"""A wrapper that caches the evaluations of another evaluator.

The table has a fixed size, for one board size. Its key is the batch's hash of the position, mixed with everything else
that an evaluation depends on: White's bonus, optimism, symmetry, and the values common to the batch. Evaluations are
stored unchanged, so a hit is equal to a fresh evaluation bit by bit.

Calls and programs hold the table's lock while they look up and copy, never while the inner evaluator works. Two that
miss the same position at the same time both evaluate it: that is rare, and waiting would cost as much.
"""

import threading
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.evaluation.evaluation import DETAILS, Evaluation
from engine.evaluation.evaluator import Attributes, Evaluator, Program, Step, program_of
from engine.evaluation.positions import PositionBatch
from engine.evaluators.cache_kernels import WAYS, Floats, claim, copy_rows, find, keep_rows, look_up_rows, store_rows
from engine.native.closures import Closure
from engine.native.locks import holding, new_lock


class _Table:
    """The cached evaluations of one board size. keys: [buckets, WAYS] uint64. columns: each [entries, k] float32."""

    def __init__(self, attributes: Attributes, limit: int, width: int, height: int) -> None:
        """Allocate an empty table of at most `limit` bytes, but at least one bucket."""
        self.size, area = (width, height), width * height
        self._attributes = attributes
        columns = [area + 1, 1]
        columns += [1] if attributes.has_score else []
        columns += [DETAILS] if attributes.has_details else []
        columns += [area] if attributes.has_ownership else []
        bucket_bytes = WAYS * (8 + 4 * sum(columns)) + 1
        # A power of two, so that a mask of the key selects the bucket.
        buckets = 1 << max(0, (limit // bucket_bytes).bit_length() - 1)
        self.keys = np.zeros((buckets, WAYS), dtype=np.uint64)
        self.oldest = np.zeros(buckets, dtype=np.uint8)
        self.columns = [np.zeros((buckets * WAYS, count), dtype=np.float32) for count in columns]
        self.lock = new_lock()
        # Loads the kernel now, in the warm-up of a player: the first hit may come in the middle of a game.
        copy_rows(np.zeros(1, dtype=np.int64), 0, self.columns[0], self.columns[0])

    def columns_of(self, evaluation: Evaluation) -> list[Floats]:
        """Return the parts of an evaluation that are cached, each as [B, k], in the order of `columns`."""
        attributes = self._attributes
        parts = [evaluation.policy, evaluation.value[:, None]]
        parts += [evaluation.score[:, None]] if attributes.has_score else []
        parts += [evaluation.details] if attributes.has_details else []
        parts += [evaluation.ownership] if attributes.has_ownership else []
        return parts


class _Buffers:
    """Working memory of one call."""

    def __init__(self, capacity: int, width: int, height: int) -> None:
        self.size = (width, height)
        self.row_keys = np.zeros(capacity, dtype=np.uint64)
        self.slots, self.sources, self.missing, self.claimed = np.zeros((4, capacity), dtype=np.int64)
        self.batch = PositionBatch(capacity, width, height)
        self.fresh = Evaluation(capacity, width, height)


class CachedEvaluator:
    """Answers known positions from a cache and passes only unknown ones to another evaluator.

    megabytes: limit of the table's memory in MiB; another board size starts an empty table. An entry on 19x19 takes
        1.4 KiB, with ownership 2.9 KiB.

    Raises ValueError for an evaluator by playouts: its evaluations are random samples.
    """

    def __init__(self, inner: Evaluator, megabytes: float = 64.0) -> None:
        if inner.attributes.has_first_play:
            raise ValueError(f"evaluator {inner.attributes.name} draws samples, which must not be cached")
        self.attributes = replace(inner.attributes, name=f"cached {inner.attributes.name}")
        self._inner, self._limit = inner, int(megabytes * 2**20)
        self._counts = np.zeros(2, dtype=np.int64)
        self._table: _Table | None = None
        self._unused: list[_Buffers] = []
        self._lock = threading.Lock()

    @property
    def hits(self) -> int:
        """Number of rows answered from the table or from an equal row of the same batch."""
        return int(self._counts[0])

    @property
    def misses(self) -> int:
        """Number of positions passed to the inner evaluator."""
        return int(self._counts[1])

    @property
    def entries(self) -> int:
        """Capacity of the table in evaluations; 0 before the first call and after `clear`."""
        table = self._table
        return 0 if table is None else int(table.keys.size)

    @property
    def table_bytes(self) -> int:
        """Size of the table in bytes; 0 before the first call and after `clear`."""
        table = self._table
        if table is None:
            return 0
        return table.keys.nbytes + table.oldest.nbytes + sum(column.nbytes for column in table.columns)

    def clear(self) -> None:
        """Forget all evaluations, those of calls in flight included."""
        with self._lock:
            self._table = None

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the evaluation of rows 0..count-1, with at most one call of the inner evaluator."""
        if count > self.attributes.max_batch:
            raise ValueError(f"{count} positions exceed the batch of {self.attributes.max_batch}")
        table, buffers = self._enter(positions.width, positions.height)
        try:
            unknown = _look_up(table, buffers, positions, count, out)
            if unknown:
                self._evaluate_unknown(table, buffers, unknown, positions, count, out)
            with holding(table.lock):
                self._counts += count - unknown, unknown
        finally:
            with self._lock:
                self._unused.append(buffers)

    def _evaluate_unknown(
        self,
        table: _Table,
        buffers: _Buffers,
        unknown: int,
        positions: PositionBatch,
        count: int,
        out: Evaluation,
    ) -> None:
        """Evaluate the distinct positions that are not in the table; write them into `out` and into the table."""
        asked, fresh = positions, out
        if unknown < count:
            asked, fresh = buffers.batch, buffers.fresh
            _compact(positions, buffers.missing[:unknown], asked)
        self._inner.evaluate(asked, unknown, fresh)
        columns = table.columns_of(fresh)
        if unknown < count:
            for new, column in zip(columns, table.columns_of(out), strict=True):
                copy_rows(buffers.sources, count, new, column)
        with holding(table.lock):
            claim(table.keys, table.oldest, buffers.row_keys, buffers.missing, unknown, buffers.claimed)
            for stored, new in zip(table.columns, columns, strict=True):
                store_rows(buffers.claimed, unknown, new, stored)

    def program(self, positions: PositionBatch, out: Evaluation) -> Program:
        """Return a program that looks positions up and runs the inner evaluator's program on the others."""
        table, buffers = self._enter(positions.width, positions.height)
        batch, fresh = buffers.batch, buffers.fresh
        batch.rules, batch.playout_doubling, batch.metadata = (
            positions.rules,
            positions.playout_doubling,
            positions.metadata,
        )
        inner = program_of(self._inner, batch, fresh)
        assert inner is not None
        places = buffers.slots, buffers.sources, buffers.missing, buffers.claimed
        stored, known, answers = (
            tuple(each) for each in (table.columns, table.columns_of(out), table.columns_of(fresh))
        )
        numbers = positions.hashes, *_bits(positions)
        shared, asked = (table.lock, table.keys), np.zeros(1, dtype=np.int64)
        bytes_of = _rows_as_bytes(positions), _rows_as_bytes(batch)
        copied = stored, known, *bytes_of, self._counts, asked
        look_up = Closure(look_up_rows, *shared, numbers, _common(positions), buffers.row_keys, places, *copied)
        keep = Closure(keep_rows, *shared, table.oldest, buffers.row_keys, places, stored, answers, known, asked)
        steps = Step("evaluate", look_up), *inner.steps, Step("evaluate", keep)
        return Program(steps, inner.rows, lambda: self._table is table and inner.is_current())

    def _enter(self, width: int, height: int) -> tuple[_Table, _Buffers]:
        """Return the table of a board size, which replaces that of another size, and buffers that no call uses."""
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


def _look_up(table: _Table, buffers: _Buffers, positions: PositionBatch, count: int, out: Evaluation) -> int:
    """Write the evaluations that are in the table; return the number of distinct positions that are not."""
    places = buffers.slots, buffers.sources, buffers.missing
    numbers, common = _bits(positions), _common(positions)
    with holding(table.lock):
        unknown = find(table.keys, positions.hashes, *numbers, common, count, buffers.row_keys, *places)
        if unknown < count:
            for stored, column in zip(table.columns, table.columns_of(out), strict=True):
                copy_rows(buffers.slots, count, stored, column)
    return int(unknown)


def _common(positions: PositionBatch) -> int:
    """Return a 63-bit hash of the values that all positions of a batch share and evaluations depend on."""
    return hash(positions.common_values()) & 0x7FFFFFFFFFFFFFFF


def _bits(positions: PositionBatch) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int8]]:
    """Return bonuses, optimism and symmetry as `find` takes them."""
    return positions.white_bonus.view(np.uint32), positions.optimism.view(np.uint32), positions.symmetry


def _rows_as_bytes(positions: PositionBatch) -> tuple[NDArray[np.uint8], ...]:
    """Return views [B, bytes] of all arrays that have a row for each position."""
    return tuple(
        value.reshape(positions.capacity, -1).view(np.uint8)
        for name, value in vars(positions).items()
        if isinstance(value, np.ndarray) and name != "metadata"
    )


def _compact(positions: PositionBatch, rows: NDArray[np.int64], batch: PositionBatch) -> None:
    """Copy some rows, and the values common to all rows, to the front of another batch."""
    count = len(rows)
    for name, value in vars(positions).items():
        if isinstance(value, np.ndarray) and name != "metadata":
            np.take(value, rows, axis=0, out=getattr(batch, name)[:count], mode="clip")
        elif name != "capacity":
            setattr(batch, name, value)
