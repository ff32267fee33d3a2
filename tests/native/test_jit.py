"""What the `kernel` decorator compiles, and what it refuses."""

import os

import numpy as np
import pytest
from numba.core.caching import NullCache
from numba.core.errors import TypingError
from numpy.typing import NDArray

from engine.native.jit import kernel


@kernel
def _double(number: int) -> int:
    return number + number


@kernel
def double_all(narrow: NDArray[np.int8], wide: NDArray[np.int64], unsigned: NDArray[np.uint64]) -> tuple[int, int]:
    return _double(narrow[0]) + _double(wide[0]) + _double(7), _double(unsigned[0])


@kernel
def allocate(count: int) -> int:
    return len(np.zeros(count))


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="kernels are plain Python here")
def test_what_allocates_is_no_kernel() -> None:
    with pytest.raises(TypingError, match="Only accept returning of array passed into the function"):
        allocate(3)


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="kernels are plain Python here")
def test_python_cannot_call_what_only_kernels_call() -> None:
    with pytest.raises(TypeError, match="only kernels can call _double"):
        _double(3)


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="kernels are plain Python here")
def test_a_kernel_is_compiled_once_for_numbers_of_every_width_that_kernels_hand_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What an earlier run left on the disk would be loaded, and nothing compiled.
    for each in (_double, double_all, double_all.callee):  # type: ignore[attr-defined]
        monkeypatch.setattr(each, "_cache", NullCache())
    big = 1 << 63 | 5
    numbers = (np.array([100], np.int8), np.array([1 << 40], np.int64), np.array([big], np.uint64))
    assert double_all(*numbers) == (200 + (2 << 40) + 14, 10)
    assert [str(signature.args[0]) for signature in _double.nopython_signatures] == ["int64", "uint64"]  # type: ignore[attr-defined]
