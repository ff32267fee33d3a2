"""Calls a few kernels; run as `linked_kernels.py link CACHE FOLDER` or `linked_kernels.py run FOLDER`.

The first compiles them into the cache directory CACHE and links them into FOLDER/kernels. The second is the frozen
program: it takes them from there, and numba and llvmlite cannot be imported.
"""

import os
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class _WithoutNumba(MetaPathFinder):
    """Finds no numba and no llvmlite."""

    def find_spec(self, name: str, *_: object) -> None:
        if name.split(".")[0] in ("numba", "llvmlite"):
            raise ImportError(f"{name} is not there")


if sys.argv[1] == "run":
    sys.frozen, sys._MEIPASS = True, sys.argv[2]  # type: ignore[attr-defined]
    sys.meta_path.insert(0, _WithoutNumba())
else:
    os.environ["KEIMA_CACHE"] = sys.argv[2]

from engine.native.closures import Closure, invoke  # noqa: E402
from engine.native.jit import kernel  # noqa: E402

RECORD = np.dtype([("key", np.uint64), ("score", np.float64)])


class Table(NamedTuple):
    """Arrays that kernels read."""

    numbers: NDArray[np.int16]
    scores: NDArray[np.void]


@kernel
def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


@kernel
def _power(base: float, exponent: float) -> float:
    return base**exponent  # type: ignore[no-any-return]


@kernel
def total(table: Table, row: NDArray[np.void], factor: float, is_counted: bool) -> float:
    """Change a score and return a sum over all fields."""
    table.scores[1]["score"] = factor
    return table.numbers.sum() * is_counted + _power(table.scores["score"].sum(), 2.0) + row["score"]  # type: ignore[no-any-return]


@kernel
def count_from(table: Table, start: int) -> int:
    """Return a number that depends on a fixed and on a free argument."""
    return table.numbers[0] + start


def results() -> list[object]:
    """Return what the kernels return."""
    table = Table(np.array([3, 4], np.int16), np.zeros(2, RECORD))
    row = np.array([(1, 0.25)], RECORD)[0]
    closure = Closure(count_from, table)
    found = [add(1, 2), add(second=5, first=np.int8(1)), total(table, row, 0.5, True), float(table.scores[1]["score"])]
    return [*found, invoke(closure.address, 40), total.__name__]


print(results())
if sys.argv[1] == "run":
    print(add(0.5, 0.25))
else:
    from engine.native.cache_directory import KEY, cache_directory
    from engine.native.linking import link

    directory = cache_directory()
    assert directory is not None
    link(directory, Path(sys.argv[3]) / "kernels")
    (Path(sys.argv[3]) / "kernels" / "KEY").write_text(KEY)
