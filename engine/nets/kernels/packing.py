"""Puts the right sides of matrix products into the order in which the kernels read them.

`vectors.multiply_rows` computes a few vectors of a row at a time, a panel. So a matrix [k, out] is stored as one panel
after the other, each [k, width of the panel], and the inner loop reads consecutive memory. For products of bf16, two
rows of the matrix are one row of pairs.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.nets.kernels.vectors import WIDEST_PANEL
from engine.nets.spec import Array


def panels_of(channels: int, lanes: int, vectors_at_most: int | None = None) -> int:
    """Return the number of panels, of about equal width, that `channels` numbers are computed in."""
    return -(-channels // (lanes * (vectors_at_most or WIDEST_PANEL[lanes])))


def in_panels(matrix: Array, channels: int, panels: int, lanes: int, *, by_part: bool = False) -> Array:
    """Return a matrix [parts, inner, out] in the order in which it is read, padded to `channels` with zeros.

    The order is panel by panel, each [parts, inner, width] or, with `by_part`, part by part, and in each part panel by
    panel, each [inner, width].
    """
    parts, inner, outputs = matrix.shape
    filled = np.zeros((parts, inner, channels), dtype=np.float32)
    filled[:, :, :outputs] = matrix
    pieces = np.split(filled, [end * lanes for _, end in bounds_of(channels // lanes, panels)[:-1]], axis=2)
    if by_part:
        return np.concatenate([piece.reshape(parts, -1) for piece in pieces], axis=1)
    return np.concatenate([piece.ravel() for piece in pieces])


def bounds_of(vectors: int, panels: int) -> list[tuple[int, int]]:
    """Return the first vector of each panel, and the one after its last; kernels compute the same."""
    return [(panel * vectors // panels, (panel + 1) * vectors // panels) for panel in range(panels)]


def bits_of_bf16(numbers: Array) -> NDArray[np.uint16]:
    """Return numbers rounded to the nearest bf16, ties to even."""
    bits = np.ascontiguousarray(numbers, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def in_two_parts(numbers: Array) -> tuple[Array, Array]:
    """Return two arrays whose sum is the given one: numbers that bf16 represents, and what they lack."""
    nearest = (bits_of_bf16(numbers).astype(np.uint32) << 16).view(np.float32)
    return nearest, numbers - nearest


def in_pairs(matrix: Array) -> Array:
    """Return a matrix [k, out] in bf16, two rows as one row of pairs: [k / 2 rounded up, out], pairs as float32."""
    k, out = matrix.shape
    filled = np.zeros((k + k % 2, out), dtype=np.uint16)
    filled[:k] = bits_of_bf16(matrix)
    return np.ascontiguousarray(filled.reshape(-1, 2, out).transpose(0, 2, 1)).view(np.float32)[:, :, 0]


def in_rows(weight: NDArray[Any], read: int, channels: int) -> NDArray[Any]:
    """Return weights [out, in, ky, kx] as [ky, kx * read, channels], padded with zeros."""
    outputs, inputs, height, width = weight.shape
    spaced = np.zeros((height, width, read, channels), dtype=weight.dtype)
    spaced[:, :, :inputs, :outputs] = weight.transpose(2, 3, 1, 0)
    return spaced.reshape(height, width * read, channels)


LARGEST_INTEGER, LARGEST_SUM = 2**15 - 1, 2**31 - 1
"""Of int16, and of int32."""


class Rounded(NamedTuple):
    """A matrix as operands [floats, out], and what an integer of each column stands for [out], or zeros."""

    numbers: Array
    steps: Array


def in_integers(matrix: Array, largest: int) -> Rounded:
    """Round a matrix [k, out] to int16, each column in multiples of a step of its own; two rows are one of pairs.

    The sizes of a column's integers add up to so little that no sum of products with numbers up to `largest` exceeds
    int32.
    """
    k, out = matrix.shape
    filled = np.zeros((k + k % 2, out))
    filled[:k] = matrix
    sizes = np.abs(filled)
    # Rounding may enlarge each of the weights by a half.
    most = LARGEST_SUM / largest - len(filled) / 2
    steps = np.maximum(sizes.sum(axis=0) / most, sizes.max(axis=0) / LARGEST_INTEGER)
    steps[steps == 0.0] = 1.0
    pairs = np.rint(filled / steps).astype(np.int16).reshape(-1, 2, out).transpose(0, 2, 1)
    return Rounded(np.ascontiguousarray(pairs).view(np.float32)[:, :, 0], steps.astype(np.float32))
