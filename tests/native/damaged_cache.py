"""Damages the files of compiled kernels at random and loads them: each is noticed and compiled again.

Run `python -m tests.native.damaged_cache 1000 [SEED]` with KEIMA_CACHE naming an empty folder, in a process of its
own: machine code that is damaged ends the process that loads it.
"""

import random
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.native.cache_directory import cache_directory
from engine.native.jit import kernel
from engine.native.progress import compilations


def add(a: float, b: float) -> float:
    return a + b


def sum_of(numbers: NDArray[np.int64]) -> int:
    total = 0
    for number in numbers:
        total += number * number
    return total


def results() -> list[float]:
    """Load, or compile, four overloads of two kernels and return what they compute: always [3, 3.75, 14, 5.25]."""
    added, summed = kernel(add), kernel(sum_of)
    integers, floats = np.arange(4), np.array([0.5, 1.0, 2.0], dtype=np.float64)
    return [added(1, 2), added(1.5, 2.25), summed(integers), summed(floats)]  # type: ignore[arg-type]


EXPECTED = [3, 3.75, 14, 5.25]


def damage(files: list[Path], chance: random.Random) -> str:
    """Change one file, or exchange two; return what was done."""

    def flip(data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(chance.choice((1, 1, 2, 50))):
            changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        return bytes(changed)

    kinds: dict[str, Callable[[bytes], bytes]] = {
        "bits": flip,
        "cut": lambda data: data[: chance.randrange(len(data))],
        "empty": lambda data: b"",
        "longer": lambda data: data + b"\0",
    }
    kind, (first, second) = chance.choice([*kinds, "exchanged"]), chance.sample(files, 2)
    content = first.read_bytes()
    if kind == "exchanged":
        first.write_bytes(second.read_bytes())
        second.write_bytes(content)
    else:
        first.write_bytes(kinds[kind](content))
    return kind


def main(count: int, seed: int) -> None:
    """Damage `count` times; print how often each way. Raises AssertionError on a wrong result or damage unnoticed."""
    assert results() == EXPECTED
    directory, chance, done = cache_directory(), random.Random(seed), dict[str, int]()
    assert directory is not None
    files = sorted(directory.glob("damaged_cache.*.nbc"))
    for _ in range(count):
        kind, before = damage(files, chance), compilations()
        assert results() == EXPECTED, kind
        assert compilations() - before == (2 if kind == "exchanged" else 1), kind
        assert sorted(directory.glob("damaged_cache.*.nbc")) == files, kind
        done[kind] = done.get(kind, 0) + 1
    before = compilations()
    assert results() == EXPECTED
    assert compilations() == before
    print(count, "damages:", *(f"{kind} {number}" for kind, number in sorted(done.items())))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
