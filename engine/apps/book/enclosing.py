"""What stones enclose for good, on sets of points: pass-alive chains, and boards on which nothing else can live."""

import numpy as np
from numpy.typing import NDArray

from engine.apps.book.stone_sets import grown, spread
from engine.native.jit import kernel


@kernel
def pass_alive_stones(stones: int, others: int, masks: NDArray[np.int64]) -> int:
    """Return the stones of a side whose chains live whatever the other side plays, without suicide (Benson 1976)."""
    alive, outside = stones, masks[0] & ~stones
    while True:
        kept, chains = 0, alive
        while chains:
            chain = spread(chains & -chains, stones, masks)
            chains &= ~chain
            liberties = grown(chain, masks) & ~others
            eyes, regions = 0, outside
            while regions:
                region = spread(regions & -regions, outside, masks)
                regions &= ~region
                empty = region & ~others
                if empty and empty & ~liberties == 0 and grown(region, masks) & stones & ~alive == 0:
                    eyes += 1
            if eyes >= 2:
                kept |= chain
        if kept == alive:
            return int(alive)
        alive = kept


@kernel
def _leaves_no_room(chains: int, masks: NDArray[np.int64]) -> bool:
    """True if nothing could live where these chains are not, if they lived: see `engine.board.life`."""
    rest = masks[0] & ~chains
    inner = rest & ~grown(chains, masks)
    while rest:
        part = spread(rest & -rest, rest, masks)
        rest &= ~part
        first = (part & inner) & -(part & inner)
        more = part & inner & ~first
        if more and (more & (more - 1) or grown(first, masks) & more == 0):
            return False
    return True


@kernel
def is_taken(black: int, white: int, masks: NDArray[np.int64]) -> bool:
    """True if nothing of White can live any more, whoever moves first. The board has at least 2x2 points."""
    if not _leaves_no_room(black, masks):
        return False
    alive = pass_alive_stones(black, white, masks)
    return alive != 0 and _leaves_no_room(alive, masks)
