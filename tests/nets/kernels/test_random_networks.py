"""Some networks of random architectures between canaries; `make test-random-nets` computes 10,000."""

import numpy as np
import pytest

from tests.nets.kernels.lanes import needs_lanes

pytestmark = needs_lanes


def test_networks_of_random_architectures_stay_within_their_buffers_and_equal_torch() -> None:
    pytest.importorskip("torch")
    from tests.nets.kernels.random_networks import wrong_cases

    assert list(wrong_cases(20, 2)) == []


@pytest.mark.parametrize("place", [-1, 5])
def test_a_canary_shows_a_number_written_beside_its_buffer(place: int) -> None:
    pytest.importorskip("torch")
    from tests.nets.kernels.random_networks import Guarded

    for guarded in (Guarded(5), Guarded.holding(np.arange(5, dtype=np.float32))):
        assert guarded.is_intact()
        guarded.buffer[:] = 7.0
        assert guarded.is_intact()
        whole = guarded.buffer.base
        assert isinstance(whole, np.ndarray)
        start = (guarded.buffer.ctypes.data - whole.ctypes.data) // 4
        whole[start + place] = 1.0
        assert not guarded.is_intact()
