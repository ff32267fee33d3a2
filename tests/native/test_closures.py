"""Kernels with fixed arguments, called by their address."""

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.native.closures import FAILED, Closure, Fixed, invoke, runs_closures
from engine.native.jit import kernel

pytestmark = pytest.mark.skipif(not runs_closures(), reason="needs compiled kernels on x86-64 or ARM64")
ROOT = Path(__file__).resolve().parents[2]
RECORD = np.dtype([("small", np.int8), ("large", np.float64)], align=True)


class Inner(NamedTuple):
    table: NDArray[np.int16]
    factor: float


class Outer(NamedTuple):
    inner: Inner
    is_on: bool
    records: NDArray[np.void]
    count: int


@kernel
def read_all(
    numbers: NDArray[np.float32], outer: Outer, offset: float, pair: tuple[NDArray[np.int64], int], number: int
) -> int:
    """Return a sum over all arguments."""
    total = float(number) + offset + outer.inner.factor + outer.count + pair[1]
    for i in range(numbers.shape[0]):
        for j in range(numbers.shape[1]):
            total += numbers[i, j] * (i + 1)
    for value in outer.inner.table:
        total += value
    if outer.is_on:
        for i in range(len(outer.records)):
            total += outer.records[i].small + outer.records[i].large
    pair[0][0] = number
    return int(total)


@kernel
def call(address: NDArray[np.int64], number: int) -> int:
    return invoke(address, number)


@kernel
def half_of(written: NDArray[np.int64], number: int) -> int:
    if number % 2 != 0:
        raise ValueError("odd")
    written[0] = number // 2
    return number // 2


def outer(*, is_on: bool) -> Outer:
    records = np.zeros(2, dtype=RECORD)
    records["small"], records["large"] = [-3, 5], [0.5, 100.25]
    return Outer(Inner(np.array([7, -9], dtype=np.int16), -2.5), is_on, records, 1000)


@pytest.mark.parametrize("is_on", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_a_closure_has_every_argument_as_the_kernel_called_by_python(is_on: bool, turned: bool) -> None:
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    fixed = (numbers.T if turned else numbers), outer(is_on=is_on), 0.25
    told, kept = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    expected = read_all(*fixed, (told, 40), 123)
    assert call(Closure(read_all, *fixed, (kept, 40)).address, 123) == expected
    assert kept[0] == told[0] == 123


def test_arguments_live_as_long_as_the_closure_and_are_seen_as_they_are_now() -> None:
    numbers = np.ones((50, 50), dtype=np.float32)
    closure = Closure(read_all, numbers, Fixed(outer(is_on=True)), 0.0, (np.zeros(1, dtype=np.int64), 0))
    before = call(closure.address, 0)
    numbers += 1
    del numbers
    gc.collect()
    np.full((50, 50), 9, dtype=np.float32)
    assert call(closure.address, 0) == before + 50 * 51 // 2 * 50


def test_a_kernel_that_raises_has_failed() -> None:
    written = np.zeros(1, dtype=np.int64)
    closure = Closure(half_of, written)
    assert call(closure.address, 8) == written[0] == 4
    assert call(closure.address, 7) == FAILED


def test_a_closure_is_compiled_once_and_then_loaded(tmp_path: Path) -> None:
    script = tmp_path / "one_closure.py"
    script.write_text(
        """
import numpy as np
from engine.native.jit import kernel
from engine.native.progress import compilations
from engine.native.closures import Closure, invoke

checks = compilations()  # of the self-check

@kernel
def scaled(numbers, factor, number):
    return int(numbers[0] * factor) + number

@kernel
def call(address, number):
    return invoke(address, number)

found = [call(Closure(scaled, np.full(1, 4, dtype), 2.5).address, 1) for dtype in (np.int64, np.float32)]
print(found, compilations() - checks)
"""
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KEIMA_CACHE": str(tmp_path / "cache")}
    first, second = (
        subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert first.startswith("[11, 11] ") and not first.endswith(" 0\n")
    assert second == "[11, 11] 0\n"
