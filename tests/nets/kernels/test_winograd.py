"""Winograd's transforms against the sums that define a convolution."""

import numpy as np
import pytest

from engine.nets.kernels.winograd import OUTPUTS, TILES, matrices, outputs_at_once, transformed

KERNELS = [(m, side) for side, choices in OUTPUTS.items() for m in choices]


def convolved(tile: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Return what a kernel makes of a tile, by definition."""
    side = len(kernel)
    outputs = len(tile) - side + 1
    return np.array(
        [[np.sum(tile[y : y + side, x : x + side] * kernel) for x in range(outputs)] for y in range(outputs)]
    )


@pytest.mark.parametrize(("m", "side"), KERNELS)
def test_outputs_are_those_of_a_convolution(m: int, side: int) -> None:
    generator, found = np.random.default_rng(1), matrices(m, side)
    tile, kernel = generator.normal(size=(m + side - 1, m + side - 1)), generator.normal(size=(side, side))
    products = (found.kernel @ kernel @ found.kernel.T) * (found.inputs @ tile @ found.inputs.T)
    np.testing.assert_allclose(found.outputs @ products @ found.outputs.T, convolved(tile, kernel), atol=1e-12)


@pytest.mark.parametrize(("m", "side"), KERNELS)
def test_each_kernel_of_a_convolution_is_transformed_by_itself(m: int, side: int) -> None:
    weight = np.random.default_rng(2).normal(size=(3, 2, side, side)).astype(np.float32)
    found, kernel = transformed(weight, m), matrices(m, side).kernel
    assert found.dtype == np.float32
    assert found.shape == ((m + side - 1) ** 2, 2, 3)
    np.testing.assert_allclose(found[:, 1, 2], (kernel @ weight[2, 1] @ kernel.T).ravel(), atol=1e-6)


def test_tiles_of_one_side_are_transformed_alike_whatever_the_kernel() -> None:
    for m, side in KERNELS:
        assert m + side - 1 in TILES
        assert np.array_equal(matrices(m, side).inputs, matrices(m + side - 3, 3).inputs)


@pytest.mark.parametrize(
    ("side", "width", "height", "m"),
    [
        (3, 19, 19, 4),
        (3, 13, 13, 4),
        (3, 9, 9, 3),
        (3, 7, 7, 4),
        (3, 3, 3, 3),
        (5, 19, 19, 2),
        (1, 9, 9, 0),
        (7, 9, 9, 0),
    ],
)
def test_as_many_outputs_are_computed_at_once_as_take_the_fewest_products(
    side: int, width: int, height: int, m: int
) -> None:
    assert outputs_at_once(side, width, height) == m
