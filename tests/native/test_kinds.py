"""Types are named alike by their values and by numba, for linked kernels are found by these names."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from engine.native.instructions import typeof
from engine.native.jit import compiles
from engine.native.kinds import type_name
from engine.native.linking import name_of_type

pytestmark = pytest.mark.skipif(not compiles(), reason="kernels are plain Python here")
RECORD = np.dtype([("key", np.uint64), ("score", np.float32), ("visits", np.int32)])
PACKED = np.dtype([("flag", np.bool_), ("score", np.float64)])


class Pair(NamedTuple):
    """Two arrays."""

    numbers: np.ndarray[Any, Any]
    records: np.ndarray[Any, Any]


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


VALUES = [
    *(np.zeros(2, dtype) for dtype in (np.int8, np.int16, np.uint16, np.int64, np.uint64, np.float32, np.bool_)),
    *(np.zeros((2, 3, 4)), np.zeros((2, 3), order="F"), np.zeros((4, 4))[::2, ::2], read_only(np.zeros(3))),
    *(np.zeros(2, RECORD), np.zeros((2, 2), PACKED), np.zeros(2, RECORD)[0], np.zeros(2, PACKED)[1]),
    *(1, -(2**40), True, 2.5, None, np.int16(3), np.uint64(3), np.float32(0.5), np.bool_(True)),
    *((1, 2.5, False), (1, 2), Pair(np.zeros(2), np.zeros(2, RECORD)), (Pair(np.zeros(2), np.zeros(2, PACKED)), 1)),
]


@pytest.mark.parametrize("value", VALUES, ids=[str(index) for index in range(len(VALUES))])
def test_a_value_and_its_type_have_the_same_name(value: Any) -> None:
    assert type_name(value) == name_of_type(typeof(value))


def test_different_types_have_different_names() -> None:
    kinds = {typeof(value) for value in VALUES}
    assert len({name_of_type(kind) for kind in kinds}) == len(kinds)


def test_what_no_kernel_takes_has_no_name() -> None:
    with pytest.raises(TypeError, match="no kernel takes a str"):
        type_name("text")
