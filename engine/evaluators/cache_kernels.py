"""The kernels of the evaluation cache: they look up, copy and store rows.

The table is set-associative: a key can be in any of the WAYS slots of the bucket that its low bits select, and a full
bucket replaces its oldest entry. Key 0 marks a free slot; a position whose key happens to be 0 is never found, which
costs an evaluation and is no error.
"""

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import copy_row
from engine.native.closures import FAILED
from engine.native.jit import kernel
from engine.native.locks import acquire, release

WAYS = 8
"""Slots of a bucket: their keys fill one cache line, so that a look-up reads a single line."""
MISS = -1

Floats = NDArray[np.float32]


_MIX = np.uint64(0x9E3779B97F4A7C15)


# More than 8 parameters: the parts of the key lie in four arrays of a `PositionBatch`, and four arrays are results.
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
    """Look up rows 0..count-1 and return the number of distinct positions that are not in the table.

    bonuses, optimism: these float32 numbers as bits. common: 63-bit hash of the values that all rows share.
    row_keys: receives the key of each row. slots: receives the slot of each row, or MISS.
    sources: receives, for each missing row, its index among the misses, the same for rows with the same key.
    misses: receives the first row of each missing key.
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
            # A plain loop over the misses so far: batches are small.
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
    """Assign a slot of its bucket to each miss, and write the slots in the order of the misses.

    The slot is the one with the same key, if a call at the same time has stored it, or else the free or oldest one.
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


# More than 8 parameters: a closure fixes all but `count` once, so their number costs nothing in a call.
@kernel
def look_up_rows(
    lock: NDArray[np.int64],
    keys: NDArray[np.uint64],
    numbers: tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int8]],
    common: int,
    row_keys: NDArray[np.uint64],
    places: tuple[NDArray[np.int64], ...],
    stored: tuple[Floats, ...],
    out: tuple[Floats, ...],
    positions: tuple[NDArray[np.uint8], ...],
    unknown_positions: tuple[NDArray[np.uint8], ...],
    counts: NDArray[np.int64],
    asked: NDArray[np.int64],
    count: int,
) -> int:
    """Look up rows 0..count-1, write those that are in the table into `out`, and return how many distinct ones are not.

    numbers: hashes, bonuses, optimism, symmetry; places: slots, sources, misses, claimed slots; see `find` and `claim`.
    positions: rows as bytes; the missing ones are copied to the first rows of `unknown_positions`.
    counts: [2], hits and misses, added to. asked: [1], receives count.
    """
    slots, sources, misses = places[0], places[1], places[2]
    hashes, bonuses, optimism, symmetry = numbers
    acquire(lock)
    unknown = find(keys, hashes, bonuses, optimism, symmetry, common, count, row_keys, slots, sources, misses)
    if unknown < count:
        for column in range(len(stored)):
            copy_rows(slots, count, stored[column], out[column])
    counts[0] += count - unknown
    counts[1] += unknown
    # The rest touches buffers of this caller only.
    release(lock)
    asked[0] = count
    for part in range(len(positions)):
        for row in range(unknown):
            copy_row(positions[part][misses[row]], unknown_positions[part][row])
    return unknown


# More than 8 parameters: a closure fixes all but `unknown` once, so their number costs nothing in a call.
@kernel
def keep_rows(
    lock: NDArray[np.int64],
    keys: NDArray[np.uint64],
    oldest: NDArray[np.uint8],
    row_keys: NDArray[np.uint64],
    places: tuple[NDArray[np.int64], ...],
    stored: tuple[Floats, ...],
    fresh: tuple[Floats, ...],
    out: tuple[Floats, ...],
    asked: NDArray[np.int64],
    unknown: int,
) -> int:
    """Write the fresh evaluations into `out` and into the table; return the number of rows of the whole call.

    unknown: number of fresh evaluations, in the order of the misses of `look_up_rows`, or FAILED, which is returned.
    """
    sources, misses, claimed = places[1], places[2], places[3]
    if unknown == FAILED:
        return FAILED
    if unknown > 0:
        for column in range(len(stored)):
            copy_rows(sources, asked[0], fresh[column], out[column])
        acquire(lock)
        claim(keys, oldest, row_keys, misses, unknown, claimed)
        for column in range(len(stored)):
            store_rows(claimed, unknown, fresh[column], stored[column])
        release(lock)
    return int(asked[0])
