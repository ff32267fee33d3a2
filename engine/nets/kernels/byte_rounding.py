"""Rounds what the convolutions of a network's blocks multiply to bytes, for products by tiles.

Activations are rounded in steps of their own for each channel, with the steps multiplied into the weights; weights in
steps of their own for each output channel. After ReLU a byte is 0 to 255, else -127 to 127, so that 0 is a byte in both
and the borders of boards stay zeros.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.nets.kernels.memory import Points
from engine.nets.kernels.tiles import UNSIGNED
from engine.nets.rounding import INPUT_STEPS, MARGIN, Range, channel_scale, rounded_weights
from engine.nets.spec import Array, Conv

_MOST_SIGNED = 127


class Site(NamedTuple):
    """Points that convolutions of the blocks read, which are what is rounded.

    step: number of the step that writes them. channels: without those that fill them up.
    """

    step: int
    points: Points
    channels: int


class RoundedWeights(NamedTuple):
    """Weights in int8 [out, in, ky, kx], what the sum of their products is multiplied by [out], and their mean loss."""

    numbers: NDArray[np.int8]
    steps: Array
    lost: Array


class ByteRounding(NamedTuple):
    """units: what one of the integers of each channel stands for. mean: of each channel before rounding."""

    units: Array
    mean: Array

    @classmethod
    def of(cls, seen: Range, readers: Sequence[Conv], form: int) -> "ByteRounding":
        """Return the rounding of points in a range that convolutions read, to bytes of a format."""
        scale = channel_scale(seen, [each.weight for each in readers])
        most = float((np.maximum(np.abs(seen.lowest), np.abs(seen.largest)) / scale).max()) * MARGIN
        step = max(most, 1e-6) / (INPUT_STEPS if form == UNSIGNED else _MOST_SIGNED)
        return cls((scale * step).astype(np.float32), seen.mean)

    def weights(self, weight: Array) -> RoundedWeights:
        """Return weights [out, in, ky, kx] of a convolution that reads the points."""
        units = self.units[:, None, None]
        numbers, step = rounded_weights(weight * units)
        lost = (weight - numbers * step / units).sum(axis=(2, 3)) @ self.mean
        return RoundedWeights(numbers, step.ravel(), lost.astype(np.float32))
