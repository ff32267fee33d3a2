"""A wrapper that remembers evaluations, so that no position is evaluated twice while it is known.

Owns a table of fixed size for one board size. Its key is the batch's hash of the position with everything
else mixed in that an answer depends on: White's bonus, optimism, symmetry, and what the whole batch has in
common. Answers are stored as they came, so a hit equals a fresh evaluation bit by bit.

Calls and programs hold the table's lock while they look up and copy, never while the inner evaluator works. Two that
miss the same position at the same time both have it evaluated: that is rare, and waiting would cost as much.
"""

import struct
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
        self.lock = new_lock()
        # Load the kernel now, in the warm-up of a player: the first position that is known may come in a game.
        copy_rows(np.zeros(1, dtype=np.int64), 0, self.columns[0], self.columns[0])

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

    Raises ValueError for an evaluator that plays out games: its answers are samples, not facts about a position.
    """

    def __init__(self, inner: Evaluator, megabytes: float = 64.0) -> None:
        if inner.attributes.has_first_play:
            raise ValueError(f"evaluator {inner.attributes.name} samples, so its answers must not be remembered")
        self.attributes = replace(inner.attributes, name=f"cached {inner.attributes.name}")
        self._inner, self._limit = inner, int(megabytes * 2**20)
        self._counts = np.zeros(2, dtype=np.int64)
        self._table: _Table | None = None
        self._unused: list[_Buffers] = []
        self._lock = threading.Lock()

    @property
    def hits(self) -> int:
        """Rows answered from memory or from an equal row of the same batch, since the evaluator was made."""
        return int(self._counts[0])

    @property
    def misses(self) -> int:
        """Positions passed on, since the evaluator was made."""
        return int(self._counts[1])

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
        """Evaluate the distinct positions that the table lacks; write the rows that wanted them, and the table."""
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
        """Return what looks positions up and has the others evaluated by the inner evaluator's program."""
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
        stored, told, answers = (
            tuple(each) for each in (table.columns, table.columns_of(out), table.columns_of(fresh))
        )
        numbers = positions.hashes, *_bits(positions)
        shared, asked = (table.lock, table.keys), np.zeros(1, dtype=np.int64)
        bytes_of = _rows_as_bytes(positions), _rows_as_bytes(batch)
        known = stored, told, *bytes_of, self._counts, asked
        look_up = Closure(look_up_rows, *shared, numbers, _common(positions), buffers.row_keys, places, *known)
        keep = Closure(keep_rows, *shared, table.oldest, buffers.row_keys, places, stored, answers, told, asked)
        return Program((Step("evaluate", look_up), *inner.steps, Step("evaluate", keep)), inner.rows)

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


def _look_up(table: _Table, buffers: _Buffers, positions: PositionBatch, count: int, out: Evaluation) -> int:
    """Write the rows that the table knows; return how many distinct positions it does not know."""
    places = buffers.slots, buffers.sources, buffers.missing
    numbers, common = _bits(positions), _common(positions)
    with holding(table.lock):
        unknown = find(table.keys, positions.hashes, *numbers, common, count, buffers.row_keys, *places)
        if unknown < count:
            for stored, column in zip(table.columns, table.columns_of(out), strict=True):
                copy_rows(buffers.slots, count, stored, column)
    return int(unknown)


def _common(positions: PositionBatch) -> int:
    """Return 63 bits of what all positions of a batch have in common and answers depend on."""
    metadata = b"" if positions.metadata is None else positions.metadata.tobytes()
    # The hash of the number itself is the same for -1.0 and -2.0.
    doubling = struct.pack("<d", positions.playout_doubling)
    return hash((positions.rules, doubling, metadata)) & 0x7FFFFFFFFFFFFFFF


def _bits(positions: PositionBatch) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int8]]:
    """Return bonuses, optimism and symmetry as `find` takes them."""
    return positions.white_bonus.view(np.uint32), positions.optimism.view(np.uint32), positions.symmetry


def _rows_as_bytes(positions: PositionBatch) -> tuple[NDArray[np.uint8], ...]:
    """Return views [B, bytes] of all that differs from row to row."""
    return tuple(
        value.reshape(positions.capacity, -1).view(np.uint8)
        for name, value in vars(positions).items()
        if isinstance(value, np.ndarray) and name != "metadata"
    )


def _compact(positions: PositionBatch, rows: NDArray[np.int64], batch: PositionBatch) -> None:
    """Copy some rows to the front of another batch."""
    count = len(rows)
    for name, value in vars(positions).items():
        if isinstance(value, np.ndarray) and name != "metadata":
            np.take(value, rows, axis=0, out=getattr(batch, name)[:count], mode="clip")
        elif name != "capacity":
            setattr(batch, name, value)
