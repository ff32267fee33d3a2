"""What a network file may declare, the same in every format, checked before anything is allocated for it."""

import math

from engine.nets.spec import MAX_SIDE, WeightsError

MAX_CHANNELS = 1 << 16
# Side of a convolution that connects every point of the largest board with every other.
MAX_KERNEL = 2 * MAX_SIDE - 1
MAX_WIDTH = 1 << 20
"""Longest side of a vector or matrix: a dense layer has an input for each point and channel."""
MAX_BYTES = 1 << 30
"""Limit of one array, and of all that a small file expands to."""


MAX_GROWTH = 32
"""Weights of a kernel with zeros in between or around it for each one that the file has: a dilation of 4 makes 16."""
_FREE_GROWTH = 1 << 16


def check_growth(shape: tuple[int, ...], stored: int, layer: str) -> None:
    """Raise WeightsError for a kernel of this shape that a file with `stored` weights of it grows to."""
    check_shape(shape, layer)
    limit = max(_FREE_GROWTH, MAX_GROWTH * stored)
    if math.prod(shape) > limit:
        raise WeightsError("too large a kernel", layer=layer, expected=f"at most {limit} weights", got=math.prod(shape))


def check_shape(shape: tuple[int, ...], layer: str) -> None:
    """Raise WeightsError for the shape of a float32 array that no network has. Kernels are [out, in, height, width]."""
    limits = (MAX_CHANNELS, MAX_CHANNELS, MAX_KERNEL, MAX_KERNEL) if len(shape) == 4 else (MAX_WIDTH,) * 3
    if len(shape) > len(limits) or any(side > most for side, most in zip(shape, limits, strict=False)):
        raise WeightsError("too large a shape", layer=layer, expected=f"at most {list(limits)}", got=list(shape)[:8])
    check_size(4 * math.prod(shape), layer)


def check_size(count: int, layer: str | None = None) -> None:
    """Raise WeightsError for more than MAX_BYTES bytes."""
    if count > MAX_BYTES:
        raise WeightsError("too large", layer=layer, expected=f"at most {MAX_BYTES} bytes of arrays", got=count)
