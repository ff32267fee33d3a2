"""Sets of points of a board of at most 25 points as numbers, and the moves on them.

A set of points has a bit for each point in policy order. A position has the stones of the side to move ("mine") and the
other side's ("others"). masks: [5] all points, those with a neighbor on the left and on the right, the width, and
whether suicide is legal (`masks_of`).
"""

import numpy as np
from numpy.typing import NDArray

from engine.native.jit import kernel

MOST_POINTS = 25
NO_KO = 31
ILLEGAL = -1
HALF = MOST_POINTS
"""Bits of one side's stones in a position."""
STONES = (1 << HALF) - 1


def masks_of(width: int, height: int, suicide: bool) -> NDArray[np.int64]:
    """Return what the kernels ask about a board."""
    count = width * height
    columns = [sum(1 << row for row in range(count) if row % width == column) for column in (0, width - 1)]
    everything = (1 << count) - 1
    return np.array([everything, everything - columns[0], everything - columns[1], width, suicide])


def split(position: int) -> tuple[int, int, int]:
    """Return the two sets of a position, and the ko point behind them where it has one."""
    return position & STONES, position >> HALF & STONES, position >> (2 * HALF)


@kernel
def size_of(points: int) -> int:
    """Return how many points a set has."""
    count = 0
    while points:
        points &= points - 1
        count += 1
    return count


@kernel
def grown(stones: int, masks: NDArray[np.int64]) -> int:
    """Return the neighbors of a set of points, and maybe points of the set."""
    rows = stones << masks[3] | stones >> masks[3]
    return int((rows | (stones & masks[2]) << 1 | (stones & masks[1]) >> 1) & masks[0])


@kernel
def spread(seed: int, within: int, masks: NDArray[np.int64]) -> int:
    """Return the points of `within` that are connected to some of the seed, which is part of it."""
    while True:
        more = (seed | grown(seed, masks)) & within
        if more == seed:
            return seed
        seed = more


@kernel
def breathless(stones: int, others: int, masks: NDArray[np.int64]) -> int:
    """Return the stones whose chains have no liberty."""
    breathing = grown(masks[0] & ~(stones | others), masks) & stones
    return int(stones & ~spread(breathing, stones, masks))


@kernel
def after_move(mine: int, others: int, point: int, masks: NDArray[np.int64]) -> int:
    """Return what a move to an empty point leads to; ILLEGAL if it does not exist.

    In the low 25 bits the mover's stones, then the other side's, then the point of a simple ko or NO_KO.
    """
    bit = 1 << point
    mine |= bit
    captured, ko = breathless(others, mine, masks), NO_KO
    others &= ~captured
    if captured:
        if captured & (captured - 1) == 0 and grown(bit, masks) & ~others & masks[0] == captured:
            ko = 0
            while captured >> ko != 1:
                ko += 1
    else:
        own = breathless(mine, others, masks)
        if own and (not masks[4] or own == bit):
            return ILLEGAL
        mine &= ~own
    return mine | others << HALF | ko << (2 * HALF)
