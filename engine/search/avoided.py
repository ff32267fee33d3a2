"""Builds the table of moves that a search must not play."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

_DEEPEST = np.iinfo(np.int16).max
"""Larger than the depth of any search."""


def avoid_table(avoided: Mapping[int, Mapping[int, int]], length: int) -> NDArray[np.int16] | None:
    """Return the avoid table of `Search.begin`, [3, length] int16, or None if no move is to be avoided.

    avoided: by color and vertex, the depth below which a move must not be played. length: number of vertices.
    """
    if not avoided:
        return None
    table = np.zeros((3, length), dtype=np.int16)
    for color, depths in avoided.items():
        for vertex, depth in depths.items():
            table[color, vertex] = min(depth, _DEEPEST)
    return table
