"""Rounds activations and weights to bytes: ranges of activations, and the steps in which both are rounded."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.nets.spec import Array

INPUT_STEPS, WEIGHT_STEPS = 255, 127
"""Largest number of an activation, which begin at 0, and of a weight, by its size."""
MARGIN = 1.5
"""Inputs are clipped beyond this multiple of the measured range."""
_SMALLEST = 1e-3
"""Smallest range of a channel, as a share of the largest one: for channels that were 0 or have no weights."""


@dataclass(frozen=True, eq=False)
class Range:
    """The measured range of a convolution's input: each [channels] float32."""

    lowest: Array
    largest: Array
    mean: Array


def combined(batches: Sequence[Sequence[Array]], sizes: Sequence[int] | None = None) -> list[Range]:
    """Combine ranges of several batches, [3, channels] each: lowest, largest and mean. sizes: None if all are equal."""
    ranges = []
    for each in zip(*batches, strict=True):
        lowest, largest, mean = np.stack(each, axis=1)
        average = np.average(mean, axis=0, weights=sizes).astype(np.float32)
        ranges.append(Range(lowest.min(axis=0), largest.max(axis=0), average))
    return ranges


def channel_scale(seen: Range, weights: Sequence[Array]) -> Array:
    """Return the scale of each channel that gives inputs and weights equal ranges (SmoothQuant)."""
    reached = np.maximum(np.abs(seen.lowest), np.abs(seen.largest)) * MARGIN
    weight = np.max([np.abs(each).max(axis=(0, 2, 3)) for each in weights], axis=0)
    inputs, factors = (np.maximum(each, max(_SMALLEST * each.max(), 1e-6)) for each in (reached, weight))
    scale: Array = np.sqrt(inputs / factors).astype(np.float32)
    return scale


def bounds(seen: Range, scale: Array) -> tuple[float, float]:
    """Return the values of step 0 and step 255, in units of the scales; the value 0 is exactly a step."""
    # So the zeros around the board have no rounding error.
    low = min(0.0, float((seen.lowest / scale).min())) * MARGIN
    high = max(float((seen.largest / scale).max()) * MARGIN, 1e-6)
    zero = min(round(-low / (high - low) * INPUT_STEPS), INPUT_STEPS - 1)  # nothing may be seen above 0
    step = max(high / (INPUT_STEPS - zero), -low / zero if zero else 0.0)
    return -zero * step, (INPUT_STEPS - zero) * step


def rounded_weights(weight: Array, most: int = WEIGHT_STEPS) -> tuple[np.ndarray, Array]:
    """Round weights [out, in, ky, kx] to -most..most; return them and the step [out, 1, 1, 1] to multiply them with."""
    step = np.maximum(np.abs(weight).max(axis=(1, 2, 3), keepdims=True), 1e-12) / most
    return np.rint(weight / step).astype(np.int8), step.astype(np.float32)
