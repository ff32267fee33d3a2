"""The loop that measures the arithmetic peak computes what its operations are counted for."""

import numpy as np
import pytest

from engine.nets.kernels.memory import aligned
from engine.nets.kernels.operands import ROUNDED, TILED
from engine.nets.kernels.packing import bits_of_bf16
from engine.nets.kernels.peak import CHAINS, Registers, multiply_in_registers, peak_gflops
from engine.nets.kernels.tiles import TILE_FLOATS
from tests.nets.kernels.lanes import NUMBERS, needs_lanes, needs_tiles

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


@needs_tiles
def test_every_tile_of_sums_gets_every_product() -> None:
    times, size = 7, 4 * TILE_FLOATS
    memory, generator = aligned(2 * size), np.random.default_rng(1)
    left, right = generator.integers(-4, 5, (2, 2, 16, 32)).astype(np.float32)
    memory[:size] = bits_of_bf16(np.concatenate([left, right])).view(np.float32).ravel()
    multiply_in_registers(TILED, memory, Registers(times, 0, size))
    # A row of the right tile has pairs: two numbers of each of 16 columns.
    columns = right.reshape(2, 16, 16, 2).transpose(0, 1, 3, 2).reshape(2, 32, 16)
    expected = times * np.einsum("irk,jkc->ijrc", left, columns)
    np.testing.assert_array_equal(memory[size:].reshape(2, 2, 16, 16), expected)


@pytest.mark.parametrize("numbers", [*NUMBERS, pytest.param(TILED, marks=needs_tiles)])
def test_the_peak_is_measured(numbers: int) -> None:
    assert peak_gflops(numbers, 2, 0.001) > 0
