"""A table of positions with what is known of them, for proofs that Black takes a whole board."""

from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.apps.book.effort import FEATURES, WEIGHTS
from engine.apps.book.enclosing import is_taken, pass_alive_stones
from engine.apps.book.stone_sets import HALF, NO_KO, masks_of, spread
from engine.native.jit import kernel
from engine.symmetry import applicable, map_planes

PASS_POINT = 25
"""A pass among the points."""
MOST_PLIES = 255
"""Longest line that is searched, in moves; a longer one counts as lost for Black."""
OPEN, LOST, PROVED = range(-1, 2)
"""What is known of a position."""
ENDLESS = 1 << 60
"""Effort of what cannot be had."""
ENTRY_BYTES = 19
"""Bytes of an entry of the table."""
UNKNOWN = 1 << 20
"""The height of a position without a proof in the table."""
WHITE_TO_MOVE = 1 << 55
"""In a key, above both sets and the ko point."""
_LOOKUP_BITS = 13
_BUCKET, _PROBES = 8, 64
"""Entries of a bucket, whose keys share a line of the cache, and those that a position may be in."""
_SPREAD = 0x1E3779B97F4A7C15
"""An odd number with many digits."""
_WIDTH = 26
BLACK_STONES, WHITE_STONES, KO, KEY, PROOF, REFUTATION, HEIGHT = range(7)
COUNT, CHOSEN, MOST_PROOF, MOST_REFUTATION, BEGUN, SECOND_BEST = range(6)
PLY, VISITS, REPEATS, PROOFS, IS_FULL = range(5)


class Proof(NamedTuple):
    """The board, the table, and the line that is searched.

    masks: see `stone_sets`. images: [symmetries, 2, 2 ** 13] int32, where each maps the low and the high half of a set.
    places: [symmetries, 25], and a point. lines: [MOST_PLIES + 1, 4] Black's stones, White's, the ko point and the key
    at each ply. moves: [MOST_PLIES + 1, 26, 7] what its moves lead to, with both efforts and the height of a proof.
    plies: [MOST_PLIES + 1, 6] how many, the one that is searched, the limits of both efforts, the visits before, and
    the effort that the best other move takes. sums: [3] both efforts and the height of the position that was summed up
    last. keys: [entries] of positions, 0 where free. efforts: [entries, 2] float32. heights: [entries] uint16 of
    proofs. sizes: [entries] uint8, the logarithm of the positions visited. features: [FEATURES] and weights: see
    `effort`. control: the ply to go on from, the positions visited, the lines that ended by repetition or length, the
    proofs in the table, and whether another one found no room.
    """

    masks: NDArray[np.int64]
    images: NDArray[np.int32]
    places: NDArray[np.int64]
    lines: NDArray[np.int64]
    moves: NDArray[np.int64]
    plies: NDArray[np.int64]
    sums: NDArray[np.int64]
    keys: NDArray[np.int64]
    efforts: NDArray[np.float32]
    heights: NDArray[np.uint16]
    sizes: NDArray[np.uint8]
    features: NDArray[np.float64]
    weights: NDArray[np.float64]
    control: NDArray[np.int64]


def new_proof(width: int, height: int, entries: int) -> Proof:
    """Return the memory of the proofs on a board. entries: of its table, at most, but 16 at least."""
    turns = applicable(width, height)
    grids = [map_planes(np.arange(width * height).reshape(height, width), turn).ravel() for turn in turns]
    places = np.full((len(turns), PASS_POINT), NO_KO)
    images = np.zeros((len(turns), 2, 1 << _LOOKUP_BITS), np.int32)
    halves = np.arange(1 << _LOOKUP_BITS)
    for turn, grid in enumerate(grids):
        for target, source in enumerate(grid):
            places[turn, source] = target
            half, bit = divmod(int(source), _LOOKUP_BITS)
            images[turn, half] |= ((halves >> bit & 1) << target).astype(np.int32)
    entries = _BUCKET * _prime_up_to(entries // _BUCKET)
    return Proof(
        masks=masks_of(width, height, suicide=False),
        images=images,
        places=places,
        lines=np.zeros((MOST_PLIES + 1, 4), np.int64),
        moves=np.zeros((MOST_PLIES + 1, _WIDTH, 7), np.int64),
        plies=np.zeros((MOST_PLIES + 1, 6), np.int64),
        sums=np.zeros(3, np.int64),
        keys=np.zeros(entries, np.int64),
        efforts=np.zeros((entries, 2), np.float32),
        heights=np.zeros(entries, np.uint16),
        sizes=np.zeros(entries, np.uint8),
        features=np.zeros(FEATURES),
        weights=WEIGHTS.copy(),
        control=np.zeros(5, np.int64),
    )


def _prime_up_to(number: int) -> int:
    """Return the largest prime up to a number: keys are spread over a table by their remainders."""
    while any(number % divisor == 0 for divisor in range(2, isqrt(number) + 1)):
        number -= 1
    return number


@kernel
def key_of(proof: Proof, black: int, white: int, ko: int, white_to_move: bool) -> int:
    """Return the key of a position, equal for all images of it and never 0."""
    images, low = proof.images, (1 << _LOOKUP_BITS) - 1
    least = 1 << 62
    for symmetry in range(images.shape[0]):
        mine = int(images[symmetry, 0, black & low]) | int(images[symmetry, 1, black >> _LOOKUP_BITS])
        others = int(images[symmetry, 0, white & low]) | int(images[symmetry, 1, white >> _LOOKUP_BITS])
        place = NO_KO if ko == NO_KO else int(proof.places[symmetry, ko])
        least = min(least, mine | others << HALF | place << (2 * HALF))
    return least | WHITE_TO_MOVE if white_to_move else least


@kernel
def _slot(proof: Proof, key: int, probe: int) -> int:
    """Return where a position is looked for next: in buckets of entries, far from those of nearly equal keys."""
    buckets, mixed = proof.keys.shape[0] // _BUCKET, key * _SPREAD & (1 << 62) - 1
    # A step of its own, so that positions whose first bucket is the same part at the next one.
    bucket = (mixed + probe // _BUCKET * (1 + (mixed >> 32) % 1021)) % buckets
    return int(bucket * _BUCKET + probe % _BUCKET)


@kernel
def find(proof: Proof, key: int) -> int:
    """Return the entry of a position, -1 if there is none."""
    for probe in range(_PROBES):
        slot = _slot(proof, key, probe)
        if proof.keys[slot] == key:
            return slot
        if proof.keys[slot] == 0:
            return -1
    return -1


@kernel
def known_of(proof: Proof, slot: int) -> int:
    """Return what is known of the position of an entry; -1 is none."""
    if slot < 0:
        return OPEN
    if proof.efforts[slot, 0] == 0:
        return PROVED
    return LOST if proof.efforts[slot, 1] == 0 else OPEN


@kernel
def store(proof: Proof, key: int, to_prove: int, to_refute: int, height: int, visits: int) -> None:
    """Write what is known of a position: in a free entry or over the cheapest one that is no proof.

    Proofs stay, so that heights do.
    """
    chosen, least = -1, 1 << 30
    for probe in range(_PROBES):
        slot = _slot(proof, key, probe)
        if proof.keys[slot] == key or proof.keys[slot] == 0:
            chosen = slot
            break
        if proof.efforts[slot, 0] != 0 and proof.sizes[slot] < least:
            chosen, least = slot, proof.sizes[slot]
    if chosen < 0:
        if to_prove == 0:
            proof.control[IS_FULL] = 1
        return
    size = 0
    while visits > 1:
        visits, size = visits >> 1, size + 1
    if proof.keys[chosen] == key:
        if proof.efforts[chosen, 0] == 0:
            return
        size = max(size, int(proof.sizes[chosen]))
    proof.keys[chosen], proof.heights[chosen], proof.sizes[chosen] = key, height, size
    proof.efforts[chosen, 0], proof.efforts[chosen, 1] = to_prove, to_refute
    if to_prove == 0:
        proof.control[PROOFS] += 1


@kernel
def verdict(black: int, white: int, masks: NDArray[np.int64]) -> int:
    """Return what the stones alone say of a position."""
    if is_taken(black, white, masks):
        return PROVED
    outside = masks[0] & ~white
    # A chain needs two eyes, so White's stones divide the board.
    if white and spread(outside & -outside, outside, masks) != outside and pass_alive_stones(white, black, masks):
        return LOST
    return OPEN


@kernel
def height_of(proof: Proof, black: int, white: int, ko: int, white_to_move: bool) -> int:
    """Return how many moves the proof of a position takes at most, UNKNOWN if the table has none."""
    if is_taken(black, white, proof.masks):
        return 0
    slot = find(proof, key_of(proof, black, white, ko, white_to_move))
    return int(proof.heights[slot]) if known_of(proof, slot) == PROVED else UNKNOWN


@kernel
def forget_lost(proof: Proof) -> None:
    """Make lost positions open: some are lost only by a repetition on the way that led to them."""
    for slot in range(proof.keys.shape[0]):
        if proof.keys[slot] != 0 and proof.efforts[slot, 1] == 0:
            proof.efforts[slot, 0], proof.efforts[slot, 1] = 1, 1
