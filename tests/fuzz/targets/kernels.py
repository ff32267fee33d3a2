"""Damaged files in the cache of compiled kernels: none is run, each is compiled again, and the results are right."""

import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from engine.native.cache_directory import cache_directory
from tests.fuzz.target import Target
from tests.native.damaged_cache import EXPECTED, damage, results


@contextmanager
def _own_cache() -> Iterator[Path]:
    """Let kernels be looked for in an empty folder of this case, which is removed after it."""
    before = os.environ.get("KEIMA_CACHE")
    with tempfile.TemporaryDirectory(prefix="keima-fuzz-") as folder:
        os.environ["KEIMA_CACHE"] = f"{folder}/cache"
        try:
            directory = cache_directory()
            assert directory is not None
            yield directory
        finally:
            del os.environ["KEIMA_CACHE"]
            if before is not None:
                os.environ["KEIMA_CACHE"] = before


@cache
def _sound_files() -> dict[str, bytes]:
    """Return the files of four compiled kernels by name."""
    with _own_cache() as directory:
        assert results() == EXPECTED
        return {path.name: path.read_bytes() for path in sorted(directory.glob("damaged_cache.*"))}


def make(generator: random.Random) -> bytes:
    """Return the seed of some damages."""
    return generator.randbytes(8)


def check(data: bytes) -> int:
    """Damage the files of four compiled kernels once or several times, then use all four."""
    chance, sound = random.Random(data), _sound_files()
    assert len(sound) == 2 * len(EXPECTED), "machine code and LLVM code of each"
    with _own_cache() as directory:
        directory.parent.mkdir(mode=0o700)
        directory.mkdir(mode=0o700)
        for name, content in sound.items():
            (directory / name).write_bytes(content)
        count = chance.choice((1, 1, 1, 3))
        for _ in range(count):
            damage([path for path in sorted(directory.iterdir()) if path.stat().st_size], chance)
        assert results() == EXPECTED
        assert {path.name for path in directory.glob("damaged_cache.*")} == set(sound), (
            "a damaged file was not replaced"
        )
    return count


# Machine code that was compiled stays in the process.
TARGET = Target(make, check, "damages", memory=1024.0)
