"""The positions that arithmetic in few bits is fitted to."""

import numpy as np
import pytest

from engine.evaluators.calibration import POSITIONS, calibration_inputs
from tests.nets.examples import EXAMPLES

PLAIN, HUMAN = EXAMPLES["pooling mish"], EXAMPLES["human"]


def test_they_are_the_same_every_time_and_differ_from_each_other() -> None:
    first, again = calibration_inputs(PLAIN, 9, 9), calibration_inputs(PLAIN, 9, 9)
    assert all(np.array_equal(*pair) for pair in zip(first, again, strict=True))
    assert len({planes.tobytes() for planes in first[0]}) > POSITIONS * 3 // 4


@pytest.mark.parametrize(("width", "height"), [(1, 1), (2, 1), (3, 7), (19, 19)])
def test_there_are_as_many_on_every_board(width: int, height: int) -> None:
    planes, globals_ = calibration_inputs(PLAIN, width, height)
    assert planes.shape == (POSITIONS, PLAIN.planes, height, width)
    assert globals_.shape == (POSITIONS, PLAIN.globals)
    assert np.isfinite(planes).all()
    assert np.isfinite(globals_).all()


def test_a_network_that_imitates_people_is_told_whom() -> None:
    _, globals_ = calibration_inputs(HUMAN, 5, 5)
    assert globals_.shape == (POSITIONS, HUMAN.globals + HUMAN.metadata)
    assert globals_.dtype == np.float32
    assert globals_[:, HUMAN.globals :].any(axis=1).all()
