"""The loop that measures the arithmetic peak computes what its operations are counted for."""

import numpy as np
import pytest

from engine.nets.kernels.code import ROUNDED
from engine.nets.kernels.memory import aligned
from engine.nets.kernels.packing import bits_of_bf16
from engine.nets.kernels.peak import CHAINS, Registers, multiply_in_registers, peak_gflops
from tests.nets.kernels.lanes import NUMBERS, needs_lanes

pytestmark = needs_lanes


@pytest.mark.parametrize("numbers", NUMBERS)
def test_every_sum_gets_every_product(numbers: int) -> None:
    lanes, times = min(numbers, 16), 7
    memory, generator = aligned((2 + CHAINS) * lanes), np.random.default_rng(1)
    operands = generator.integers(-4, 5, (2, numbers)).astype(np.float32)
    stored = bits_of_bf16(operands).view(np.float32) if numbers == ROUNDED else operands
    memory[: 2 * lanes] = stored.ravel()
    multiply_in_registers(numbers, memory, Registers(times, 0, 2 * lanes))
    products = (operands[0] * operands[1]).reshape(lanes, -1).sum(axis=1)
    sums = memory[2 * lanes :].reshape(CHAINS, lanes)
    np.testing.assert_array_equal(sums, np.arange(CHAINS)[:, None] + times * products)


@pytest.mark.parametrize("numbers", NUMBERS)
def test_the_peak_is_measured(numbers: int) -> None:
    assert peak_gflops(numbers, 2, 0.001) > 0
