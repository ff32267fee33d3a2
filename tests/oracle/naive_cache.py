"""The table of evaluations as lists: the oracle for `engine.evaluators.cache_kernels`."""

from collections.abc import Sequence

from tests.oracle.naive_random import multiplied_in


def key_of(position: int, bonus: int, optimism: int, symmetry: int, common: int) -> int:
    """Return the key of a row: the bits of its numbers mixed into the position's hash."""
    key = multiplied_in(position, [bonus ^ common * 2 % 2**64])
    key ^= key >> 29
    key = multiplied_in(key, [optimism * 8 ^ symmetry])
    return key ^ key >> 32


class NaiveTable:
    """Buckets of keys; a full one replaces its oldest. Key 0 is never found."""

    def __init__(self, buckets: int, ways: int) -> None:
        self.keys = [[0] * ways for _ in range(buckets)]
        self.oldest = [0] * buckets

    def find(self, keys: Sequence[int]) -> tuple[list[int | None], list[int | None], list[int]]:
        """Return the slot of each key or None, else its place among the misses, and the first row of each miss."""
        slots: list[int | None] = []
        sources: list[int | None] = []
        misses: list[int] = []
        missing: list[int] = []
        for row, key in enumerate(keys):
            number = key % len(self.keys)
            is_known = key != 0 and key in self.keys[number]
            if not is_known and key not in missing:
                missing.append(key)
                misses.append(row)
            slots.append(number * len(self.keys[0]) + self.keys[number].index(key) if is_known else None)
            sources.append(None if is_known else missing.index(key))
        return slots, sources, misses

    def claim(self, keys: Sequence[int]) -> list[int]:
        """Put keys in and return the slot of each."""
        slots = []
        for key in keys:
            number = key % len(self.keys)
            bucket = self.keys[number]
            way = bucket.index(key) if key != 0 and key in bucket else self.oldest[number]
            if way == self.oldest[number]:
                self.oldest[number] = (way + 1) % len(bucket)
            bucket[way] = key
            slots.append(number * len(bucket) + way)
        return slots
