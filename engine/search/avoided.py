"""Moves that a search must not play, as the table that its kernels read."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

_DEEPEST = np.iinfo(np.int16).max
"""No search gets as deep."""


def avoid_table(avoided: Mapping[int, Mapping[int, int]], length: int) -> NDArray[np.int16] | None:
    """Return the table of `Search.begin`, [3, length], None if there is nothing to avoid.

    avoided: by color and vertex, the depth below which a move must not be played.
    """
    if not avoided:
        return None
    table = np.zeros((3, length), dtype=np.int16)
    for color, depths in avoided.items():
        for vertex, depth in depths.items():
            table[color, vertex] = min(depth, _DEEPEST)
    return table
