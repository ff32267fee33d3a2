"""The matrices of Winograd's convolution, which needs fewer products for neighboring outputs.

m x m outputs of an r x r kernel are AT ((G g GT) * (BT d B)) A, with g the kernel, d the tile of n x n inputs of these
outputs, n = m + r - 1, and * the element-wise product: n * n products for each pair of channels instead of (m * r)^2
(Lavin and Gray 2016, "Fast Algorithms for Convolutional Neural Networks"). The matrices are Toom and Cook's: the
outputs are a product of polynomials, computed from its values at n - 1 points and infinity.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.nets.spec import Array

_POINTS = (0, 1, -1, 2, -2)
"""Where the polynomials are evaluated. More and larger points would lose more digits of float32."""
OUTPUTS = {3: (3, 4), 5: (2,)}
"""Sides m of the outputs that are computed together, by the side r of the kernel."""
LARGEST = 2**14 - 1
"""Largest int16 of a transformed tile or a point: one bit less than it has, so that the weights may have one more."""
TILES = (5, 6)
"""Sides n of tiles that result from OUTPUTS."""


class Matrices(NamedTuple):
    """The transforms of inputs [n, n], of kernels [n, r] and of outputs [m, n], in float64."""

    inputs: NDArray[np.float64]
    kernel: NDArray[np.float64]
    outputs: NDArray[np.float64]


def matrices(outputs: int, side: int) -> Matrices:
    """Return BT, G and AT for `outputs` outputs in a row and a kernel of this side."""
    tile = outputs + side - 1
    points = np.array(_POINTS[: tile - 1], dtype=np.float64)
    inputs, kernel, results = np.zeros((tile, tile)), np.zeros((tile, side)), np.zeros((outputs, tile))
    for row, point in enumerate(points):
        others = np.delete(points, row)
        inputs[row, :-1] = np.poly(others)[::-1]
        kernel[row] = point ** np.arange(side) / np.prod(point - others)
        results[:, row] = point ** np.arange(outputs)
    inputs[-1] = np.poly(points)[::-1]
    kernel[-1, -1] = results[-1, -1] = 1.0
    return Matrices(np.round(inputs), kernel, results)


def outputs_at_once(side: int, width: int, height: int) -> int:
    """Return the m with the fewest products for square kernels of a side on boards of this size; 0 if there is none."""
    choices = OUTPUTS.get(side, ())
    return min(choices, key=lambda m: math.ceil(width / m) * math.ceil(height / m) * (m + side - 1) ** 2, default=0)


def transformed(weight: Array, outputs: int) -> Array:
    """Return G g GT of kernels [out, in, r, r] as [n * n, in, out], computed in float64."""
    out, inner, side, _ = weight.shape
    kernel = matrices(outputs, side).kernel
    both = np.kron(kernel, kernel)
    found = both @ weight.reshape(out * inner, side * side).T.astype(np.float64)
    return found.astype(np.float32).reshape(len(both), out, inner).transpose(0, 2, 1)
