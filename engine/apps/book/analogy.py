"""Answers moves of White as another one was answered: what refutes one often refutes the others, too.

After one move of White is proved, Black's proved moves against it are tried against each other move, without a search
(Y. Kawano, "Using similar positions to search game trees", 1996). What is proved so has a height like any other proof.
"""

import numpy as np
from numpy.typing import NDArray

from engine.apps.book.enclosing import is_taken
from engine.apps.book.proof_table import (
    BLACK_STONES,
    ENDLESS,
    KO,
    LOST,
    OPEN,
    PASS_POINT,
    PROVED,
    WHITE_STONES,
    Proof,
    find,
    key_of,
    known_of,
    store,
)
from engine.apps.book.stone_sets import HALF, ILLEGAL, NO_KO, STONES, after_move
from engine.native.jit import kernel

MOST_DEEP = 64
"""Moves of Black in a line."""
_FIELDS = 17
# A position with Black to move and the one that was proved, both after Black's answer, the next move of White, the
# height of what was proved of White's moves so far, and that of the position.
_AT, _KEY, _LIKE, _AFTER, _AFTER_KEY, _LIKE_AFTER, _POINT, _SO_FAR, _HEIGHT = 0, 3, 4, 7, 10, 11, 14, 15, 16
_NONE = -1
_FAR = 1 << 20


def new_frames() -> NDArray[np.int64]:
    """Return the memory of `prove_alike`: [MOST_DEEP + 1, fields], a row for each move of Black in the line."""
    return np.zeros((MOST_DEEP + 1, _FIELDS), np.int64)


@kernel
def _put(frame: NDArray[np.int64], first: int, black: int, white: int, ko: int) -> None:
    frame[first], frame[first + 1], frame[first + 2] = black, white, ko


@kernel
def _play(frame: NDArray[np.int64], first: int, point: int, white_to_move: bool, masks: NDArray[np.int64]) -> int:
    """Return what a move leads to, Black's stones in the low bits, then White's and the ko point, or ILLEGAL."""
    black, white = frame[first], frame[first + 1]
    if point == PASS_POINT:
        return int(black | white << HALF | NO_KO << (2 * HALF))
    if 1 << point & masks[0] & ~(black | white) == 0 or point == frame[first + 2]:
        return ILLEGAL
    if not white_to_move:
        return int(after_move(black, white, point, masks))
    after = after_move(white, black, point, masks)
    if after == ILLEGAL:
        return ILLEGAL
    return int(after >> HALF & STONES | (after & STONES) << HALF | after >> (2 * HALF) << (2 * HALF))


@kernel
def _known(proof: Proof, after: int, key: int) -> tuple[int, int]:
    """Return what is known of a position, and the height of its proof."""
    slot = find(proof, key)
    known = known_of(proof, slot)
    if known == OPEN and is_taken(after & STONES, after >> HALF & STONES, proof.masks):
        return PROVED, 0
    return known, int(proof.heights[slot]) if known == PROVED else 0


@kernel
def _key_after(proof: Proof, after: int, white_to_move: bool) -> int:
    return int(key_of(proof, after & STONES, after >> HALF & STONES, after >> (2 * HALF), white_to_move))


@kernel
def _answer(proof: Proof, frame: NDArray[np.int64]) -> tuple[int, int]:
    """Return Black's move of least height in the position that was proved, and what it leads to."""
    best, least, found = _NONE, _FAR, 0
    for point in range(PASS_POINT):
        after = _play(frame, _LIKE, point, False, proof.masks)
        if after != ILLEGAL:
            known, height = _known(proof, after, _key_after(proof, after, True))
            if known == PROVED and height < least:
                best, least, found = point, height, after
    return best, found


@kernel
def _enter(proof: Proof, frame: NDArray[np.int64]) -> int:
    """Begin a position: PROVED, LOST for this attempt, or OPEN with Black's answer played."""
    frame[_KEY] = key_of(proof, frame[_AT], frame[_AT + 1], frame[_AT + 2], False)
    slot = find(proof, frame[_KEY])
    known = known_of(proof, slot)
    if known != OPEN:
        frame[_HEIGHT] = proof.heights[slot]
        return known
    point, after_like = _answer(proof, frame)
    if point == _NONE:
        return LOST
    after = _play(frame, _AT, point, False, proof.masks)
    if after == ILLEGAL:
        return LOST
    frame[_AFTER_KEY] = _key_after(proof, after, True)
    known, height = _known(proof, after, frame[_AFTER_KEY])
    if known == PROVED:
        frame[_HEIGHT] = height + 1
        store(proof, frame[_KEY], 0, ENDLESS, height + 1, 1)
    _put(frame, _AFTER, after & STONES, after >> HALF & STONES, after >> (2 * HALF))
    _put(frame, _LIKE_AFTER, after_like & STONES, after_like >> HALF & STONES, after_like >> (2 * HALF))
    frame[_POINT] = frame[_SO_FAR] = 0
    return known


@kernel
def _go_on(proof: Proof, frame: NDArray[np.int64], below: NDArray[np.int64]) -> int:
    """Go through White's moves: PROVED after the last, LOST at one that cannot be answered alike, OPEN for `below`."""
    while frame[_POINT] <= PASS_POINT:
        after = _play(frame, _AFTER, frame[_POINT], True, proof.masks)
        if after != ILLEGAL:
            known, height = _known(proof, after, _key_after(proof, after, False))
            if known == LOST:
                return LOST
            if known == OPEN:
                like = _play(frame, _LIKE_AFTER, frame[_POINT], True, proof.masks)
                if like in (ILLEGAL, after):
                    return LOST
                _put(below, _AT, after & STONES, after >> HALF & STONES, after >> (2 * HALF))
                _put(below, _LIKE, like & STONES, like >> HALF & STONES, like >> (2 * HALF))
                return OPEN
            frame[_SO_FAR] = max(frame[_SO_FAR], height + 1)
        frame[_POINT] += 1
    frame[_HEIGHT] = frame[_SO_FAR] + 1
    store(proof, frame[_AFTER_KEY], 0, ENDLESS, frame[_SO_FAR], 1)
    store(proof, frame[_KEY], 0, ENDLESS, frame[_HEIGHT], 1)
    return PROVED


@kernel
def prove_alike(
    proof: Proof, frames: NDArray[np.int64], move: NDArray[np.int64], like: NDArray[np.int64], most: int
) -> bool:
    """Try to prove what a move of White leads to by what was proved after another one, in `most` steps.

    move, like: rows of `Proof.moves`.
    """
    _put(frames[0], _AT, move[BLACK_STONES], move[WHITE_STONES], move[KO])
    _put(frames[0], _LIKE, like[BLACK_STONES], like[WHITE_STONES], like[KO])
    deep, is_new = 0, True
    for _ in range(most):
        frame = frames[deep]
        if is_new:
            known = _enter(proof, frame)
        else:
            known = OPEN
            frame[_SO_FAR] = max(frame[_SO_FAR], frames[deep + 1, _HEIGHT] + 1)
            frame[_POINT] += 1
        if known == OPEN:
            known = _go_on(proof, frame, frames[deep + 1])
        is_new = known == OPEN
        if known == LOST or (is_new and deep + 1 >= MOST_DEEP):
            return False
        if known == PROVED and deep == 0:
            return True
        deep += 1 if is_new else -1
    return False
