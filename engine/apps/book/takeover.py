"""The kernels that prove that Black takes a whole board: an AND/OR search by depth, with a table of positions.

The goal is a position from which nothing of White can live: wherever Black's pass-alive chains do not stand, there is
room for less than two eyes (`is_taken`); it is lost where a chain of White is pass-alive. The search goes through all
answers of White, one move deeper in each round, as E. van der Werf et al. did in "Solving Go on Small Boards" (2003).

Suicide is forbidden, Black never passes and never repeats stones that stood on the way from the root, and a move of
White that would repeat them counts as lost for Black. What the table says is proved follows from positions that were
proved before, and each has a height: the moves to the end at most. Black's moves lead to smaller heights, so whoever
follows them meets no position twice with the same side to move, whatever the rules say about repetition. Positional
superko forbids Black to restore stones with the other side to move, too; that no line does so is tested where all lines
can be gone through. What is not proved may yet be true: a way that was lost by repetition is stored as lost to its
depth, wherever else it leads.
"""

from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.apps.book.enclosing import MOST_AHEAD, is_taken, may_enclose, pass_alive_stones
from engine.apps.book.stone_sets import HALF, ILLEGAL, NO_KO, STONES, after_move, grown, masks_of, size_of, spread
from engine.native.jit import kernel
from engine.symmetry import applicable, map_planes

PASS_POINT = 25
"""A pass among the points."""
MOST_DEPTH = 63
"""Longest line that is searched, in moves."""
OPEN, LOST, PROVED = -1, 0, 1
"""What is known of a position within a depth."""
UNKNOWN = 1 << 20
"""The height of a position without a proof in the table."""
_NO_MOVE, _NONE = 255, -1
_WHITE_TO_MOVE = 1 << 55
"""In a key, above both sets and the ko point."""
_LENGTH_BITS, _PROVED_BIT, _WORD_BITS = 63, 64, 7
_LOOKUP_BITS = 13
_PROBES = 8
_WIDTH = 26
_BLACK, _WHITE, _KO, _KEY, _MOVE, _ORDER = range(6)
_COUNT, _CHOSEN, _HEIGHT = range(3)
PLY, VISITS = range(2)


class Proof(NamedTuple):
    """The board, the table, and the line that is searched.

    masks: see `stone_sets`. images: [symmetries, 2, 2 ** 13] int32, where each maps the low and the high half of a set.
    places: [symmetries, 25], and a point. lines: [MOST_DEPTH + 1, 4] Black's stones, White's, the ko point and the key
    at each ply. moves: [MOST_DEPTH + 1, 26, 6] what its moves lead to that are left. plies: [MOST_DEPTH + 1, 3] how
    many, the one that is searched, and the height of the proof. words: [entries, prime] the key of a position times
    128, plus 64 and its height where it is proved, else the depth to which it is lost; 0 where free. best: [entries]
    its best move. history: [2, 26] how much a move was best, for each side. killers: [MOST_DEPTH + 1, 2]. control: the
    ply to go on from, and the positions visited.
    """

    masks: NDArray[np.int64]
    images: NDArray[np.int32]
    places: NDArray[np.int64]
    lines: NDArray[np.int64]
    moves: NDArray[np.int64]
    plies: NDArray[np.int64]
    words: NDArray[np.int64]
    best: NDArray[np.uint8]
    history: NDArray[np.int64]
    killers: NDArray[np.int64]
    control: NDArray[np.int64]


def new_proof(width: int, height: int, entries: int) -> Proof:
    """Return the memory of the proofs on a board. entries: of its table, at most."""
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
    entries = _prime_up_to(entries)
    return Proof(
        masks=masks_of(width, height, suicide=False),
        images=images,
        places=places,
        lines=np.zeros((MOST_DEPTH + 1, 4), np.int64),
        moves=np.zeros((MOST_DEPTH + 1, _WIDTH, 6), np.int64),
        plies=np.zeros((MOST_DEPTH + 1, 3), np.int64),
        words=np.zeros(entries, np.int64),
        best=np.zeros(entries, np.uint8),
        history=np.zeros((2, _WIDTH), np.int64),
        killers=np.full((MOST_DEPTH + 1, 2), _NONE, np.int64),
        control=np.zeros(2, np.int64),
    )


def _prime_up_to(number: int) -> int:
    """Return the largest prime up to a number: keys are spread over a table by their remainders."""
    while any(number % divisor == 0 for divisor in range(2, isqrt(number) + 1)):
        number -= 1
    return number


@kernel
def _verdict(black: int, white: int, masks: NDArray[np.int64]) -> int:
    if is_taken(black, white, masks):
        return PROVED
    outside = masks[0] & ~white
    # A chain needs two eyes, so White's stones divide the board.
    if white and spread(outside & -outside, outside, masks) != outside and pass_alive_stones(white, black, masks):
        return LOST
    return OPEN


@kernel
def _key(proof: Proof, black: int, white: int, ko: int, white_to_move: bool) -> int:
    """Return the key of a position, equal for all images of it and never 0."""
    images, low = proof.images, (1 << _LOOKUP_BITS) - 1
    least = 1 << 62
    for symmetry in range(images.shape[0]):
        mine = int(images[symmetry, 0, black & low]) | int(images[symmetry, 1, black >> _LOOKUP_BITS])
        others = int(images[symmetry, 0, white & low]) | int(images[symmetry, 1, white >> _LOOKUP_BITS])
        place = NO_KO if ko == NO_KO else int(proof.places[symmetry, ko])
        least = min(least, mine | others << HALF | place << (2 * HALF))
    return least | _WHITE_TO_MOVE if white_to_move else least


@kernel
def _find(proof: Proof, key: int) -> int:
    """Return the entry of a position, -1 if there is none."""
    entries = proof.words.shape[0]
    slot = key % entries
    for _ in range(_PROBES):
        if proof.words[slot] >> _WORD_BITS == key:
            return int(slot)
        slot = slot + 1 if slot + 1 < entries else 0
    return -1


@kernel
def _store(proof: Proof, key: int, known: int, length: int, move: int) -> None:
    """Write what is known of a position: over what was known of it, else in a free entry or over the cheapest one.

    length: the height of a proof, or the depth to which the position is lost.
    """
    entries = proof.words.shape[0]
    slot = key % entries
    chosen, least = slot, 1 << 30
    for _ in range(_PROBES):
        word = proof.words[slot]
        if word >> _WORD_BITS == key:
            if word & _PROVED_BIT and (known != PROVED or length >= word & _LENGTH_BITS):
                return
            if known != PROVED:
                length = max(length, word & _LENGTH_BITS)
            chosen = slot
            break
        worth = -1 if word == 0 else word & (_PROVED_BIT | _LENGTH_BITS)
        if worth in (_PROVED_BIT, _LENGTH_BITS):
            # What the stones show is found again in a microsecond.
            worth = 0
        if worth < least:
            chosen, least = slot, worth
        slot = slot + 1 if slot + 1 < entries else 0
    proof.words[chosen] = key << _WORD_BITS | (_PROVED_BIT if known == PROVED else 0) | length
    proof.best[chosen] = move


@kernel
def _order(proof: Proof, ply: int, entry: NDArray[np.int64], white_to_move: bool, best: int) -> int:
    """Return how promising a move is for its side: the liberties, the second liberties and the stones after it."""
    masks, black, white = proof.masks, entry[_BLACK], entry[_WHITE]
    empty = masks[0] & ~(black | white)
    mine, others = grown(black, masks) & empty, grown(white, masks) & empty
    own = size_of((mine | grown(mine, masks) & empty) & ~others)
    theirs = size_of((others | grown(others, masks) & empty) & ~mine)
    score = 4 * (size_of(mine) - size_of(others)) + 2 * (own - theirs) + 3 * (size_of(black) - size_of(white))
    move, side = entry[_MOVE], 1 if white_to_move else 0
    found = -40 * score if white_to_move else 40 * score
    found += min(proof.history[side, move], 600)
    if move == proof.killers[ply, 0]:
        found += 400
    elif move == proof.killers[ply, 1]:
        found += 300
    if move == best:
        found += 1_000_000
    return int(found)


@kernel
def _add_move(proof: Proof, ply: int, black: int, white: int, ko: int, move: int, white_to_move: bool) -> bool:
    """Add what a move leads to, if no other one leads to an image of it. False if it repeats stones of the line."""
    if move != PASS_POINT:
        for earlier in range(ply + 1):
            if proof.lines[earlier, _BLACK] == black and proof.lines[earlier, _WHITE] == white:
                return False
    key, count = _key(proof, black, white, ko, not white_to_move), proof.plies[ply, _COUNT]
    for i in range(count):
        if proof.moves[ply, i, _KEY] == key:
            return True
    entry = proof.moves[ply, count]
    entry[_BLACK], entry[_WHITE], entry[_KO], entry[_KEY], entry[_MOVE] = black, white, ko, key, move
    proof.plies[ply, _COUNT] = count + 1
    return True


@kernel
def _list_moves(proof: Proof, ply: int, white_to_move: bool) -> bool:
    """List the moves of a ply. False if White can repeat stones of the line."""
    masks, black, white, ko = proof.masks, proof.lines[ply, _BLACK], proof.lines[ply, _WHITE], proof.lines[ply, _KO]
    proof.plies[ply, _COUNT] = 0
    for point in range(PASS_POINT):
        bit = 1 << point
        if bit & masks[0] & ~(black | white) == 0 or point == ko:
            continue
        if white_to_move:
            after = after_move(white, black, point, masks)
        else:
            around = grown(bit, masks)
            # An eye of one chain.
            if around & ~black == 0 and around & ~spread(around & -around, black, masks) == 0:
                continue
            after = after_move(black, white, point, masks)
        if after == ILLEGAL:
            continue
        mine, others, next_ko = after & STONES, after >> HALF & STONES, after >> (2 * HALF)
        if white_to_move:
            mine, others = others, mine
        if not _add_move(proof, ply, mine, others, next_ko, point, white_to_move) and white_to_move:
            return False
    if white_to_move:
        _add_move(proof, ply, black, white, NO_KO, PASS_POINT, white_to_move)
    return True


@kernel
def _look_up(proof: Proof, entry: NDArray[np.int64], left: int, bounded: bool) -> tuple[int, int]:
    """Return what is known of a position with `left` moves to go, and the height of its proof."""
    slot = _find(proof, entry[_KEY])
    if slot >= 0:
        word = proof.words[slot]
        length = word & _LENGTH_BITS
        if word & _PROVED_BIT:
            # Of longer lines the table would have no room for the height.
            if length < (left + 1 if bounded else _LENGTH_BITS):
                return PROVED, length
            return (OPEN if left > 0 else LOST), 0
        return (LOST if length >= left else OPEN), 0
    known = _verdict(entry[_BLACK], entry[_WHITE], proof.masks)
    if known != OPEN:
        _store(proof, entry[_KEY], known, 0 if known == PROVED else _LENGTH_BITS, _NO_MOVE)
    elif left == 0:
        known = LOST
    return known, 0


@kernel
def _enter(proof: Proof, ply: int, left: int, white_to_move: bool, bounded: bool) -> int:
    """Begin a position: return what its moves decide at once, or keep those that are open, with their order."""
    forward = left // 2 if white_to_move else (left + 1) // 2
    proof.plies[ply, _HEIGHT], proof.plies[ply, _CHOSEN] = 0, _NONE
    if forward <= MOST_AHEAD and not may_enclose(proof.lines[ply, _BLACK], forward, proof.masks):
        return LOST
    if not _list_moves(proof, ply, white_to_move):
        return LOST
    slot = _find(proof, proof.lines[ply, _KEY])
    best = _NO_MOVE if slot < 0 else int(proof.best[slot])
    decides, kept = LOST if white_to_move else PROVED, 0
    for i in range(proof.plies[ply, _COUNT]):
        entry = proof.moves[ply, i]
        known, height = _look_up(proof, entry, left - 1, bounded)
        if known == PROVED:
            proof.plies[ply, _HEIGHT] = height if known == decides else max(proof.plies[ply, _HEIGHT], height)
        if known == decides:
            proof.plies[ply, _CHOSEN], proof.moves[ply, 0, _MOVE] = 0, entry[_MOVE]
            return known
        if known == OPEN:
            entry[_ORDER] = _order(proof, ply, entry, white_to_move, best)
            for field in range(6):
                proof.moves[ply, kept, field] = entry[field]
            kept += 1
    proof.plies[ply, _COUNT] = kept
    return OPEN


@kernel
def _choose(proof: Proof, ply: int) -> bool:
    """Take the most promising move that is left, and go to its position; False if there is none."""
    count = proof.plies[ply, _COUNT]
    if count == 0:
        return False
    best = 0
    for i in range(1, count):
        if proof.moves[ply, i, _ORDER] > proof.moves[ply, best, _ORDER]:
            best = i
    count -= 1
    proof.plies[ply, _COUNT], proof.plies[ply, _CHOSEN] = count, count
    for field in range(6):
        proof.moves[ply, best, field], proof.moves[ply, count, field] = (
            proof.moves[ply, count, field],
            proof.moves[ply, best, field],
        )
    for field in range(4):
        proof.lines[ply + 1, field] = proof.moves[ply, count, field]
    return True


@kernel
def _finish(proof: Proof, ply: int, left: int, known: int, white_to_move: bool) -> int:
    """Store what is known of a position; its height is in `plies`. Returns what is known, of too long proofs LOST."""
    decided = known == (LOST if white_to_move else PROVED)
    chosen = proof.plies[ply, _CHOSEN]
    move = proof.moves[ply, chosen, _MOVE] if decided and chosen != _NONE else _NO_MOVE
    if known == PROVED:
        proof.plies[ply, _HEIGHT] += 1
        if proof.plies[ply, _HEIGHT] >= _LENGTH_BITS:
            return LOST
    _store(proof, proof.lines[ply, _KEY], known, proof.plies[ply, _HEIGHT] if known == PROVED else left, move)
    if move != _NO_MOVE:
        side = 1 if white_to_move else 0
        proof.history[side, move] += left * left
        if proof.history[side, move] > 100_000:
            for each in range(_WIDTH):
                proof.history[side, each] //= 2
        if proof.killers[ply, 0] != move:
            proof.killers[ply, 1], proof.killers[ply, 0] = proof.killers[ply, 0], move
    return known


@kernel
def prove_takeover(proof: Proof, depth: int, white_begins: bool, bounded: bool, most: int) -> int:
    """Search the position of lines[0] to a depth: PROVED, LOST to this depth, or OPEN after `most` more positions.

    A search that is OPEN goes on with the next call. bounded: proofs in the table count only where they are no higher
    than the moves that are left.
    """
    ply, most = proof.control[PLY], most + proof.control[VISITS]
    while True:
        if proof.control[VISITS] >= most:
            proof.control[PLY] = ply
            return OPEN
        proof.control[VISITS] += 1
        white_to_move = white_begins != (ply % 2 == 1)
        known = _enter(proof, ply, depth - ply, white_to_move, bounded)
        while True:
            if known == OPEN and _choose(proof, ply):
                ply += 1
                break
            if known == OPEN:
                known = PROVED if white_to_move else LOST
            known = _finish(proof, ply, depth - ply, known, white_to_move)
            if ply == 0:
                proof.control[PLY] = 0
                return known
            height = proof.plies[ply, _HEIGHT]
            ply -= 1
            white_to_move = not white_to_move
            if known == PROVED:
                proof.plies[ply, _HEIGHT] = max(proof.plies[ply, _HEIGHT], height) if white_to_move else height
            if known != (LOST if white_to_move else PROVED):
                known = OPEN


@kernel
def height_of(proof: Proof, black: int, white: int, ko: int, white_to_move: bool) -> int:
    """Return how many moves the proof of a position takes at most, UNKNOWN if the table has none."""
    if is_taken(black, white, proof.masks):
        return 0
    slot = _find(proof, _key(proof, black, white, ko, white_to_move))
    if slot < 0 or not proof.words[slot] & _PROVED_BIT:
        return UNKNOWN
    return int(proof.words[slot] & _LENGTH_BITS)


@kernel
def forget_lost(proof: Proof) -> None:
    """Empty the entries of lost positions: some are lost only by a repetition on the way that led to them."""
    for slot in range(proof.words.shape[0]):
        if proof.words[slot] & _PROVED_BIT == 0:
            proof.words[slot] = 0


@kernel
def begin(proof: Proof, black: int, white: int, ko: int, white_to_move: bool) -> None:
    """Enter the position that the next search begins with."""
    line = proof.lines[0]
    line[_BLACK], line[_WHITE], line[_KO] = black, white, ko
    line[_KEY] = _key(proof, black, white, ko, white_to_move)
    proof.control[PLY] = 0
