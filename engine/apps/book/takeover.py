"""The kernels that prove that Black takes a whole board: a proof-number search with a table of positions.

The goal is a position from which nothing of White can live: wherever Black's pass-alive chains do not stand, there is
room for less than two eyes (`is_taken`); it is lost where a chain of White is pass-alive. Of each position the search
keeps two efforts, the work that may be left to prove it and to refute it, and goes on where the least is left, depth
first and within limits (df-pn: A. Nagai 2002). A new position has the efforts that its stones suggest (`effort`); many
moves count by the hardest of them and their number ("Weak proof-number search", T. Ueda et al. 2008), because lines
lead to the same positions; a limit is a quarter above the next best effort (J. Pawlewicz and L. Lew 2007). What proves
one move of White is tried against the others (`analogy`).

Suicide is forbidden, Black never passes and never repeats stones that stood on the way from the root, and a move of
White that would repeat them counts as lost for Black. What the table says is proved follows from positions that were
proved before, and each has a height: the moves to the end at most. Black's moves lead to smaller heights, so whoever
follows them meets no position twice with the same side to move, whatever the rules say about repetition. Positional
superko forbids Black to restore stones with the other side to move, too; that no line does so is tested where all lines
can be gone through. What is refuted may yet be true: a way that was lost by repetition is stored as lost, wherever else
it leads.
"""

import numpy as np
from numpy.typing import NDArray

from engine.apps.book.analogy import prove_alike
from engine.apps.book.effort import efforts_of
from engine.apps.book.proof_table import (
    BEGUN,
    BLACK_STONES,
    CHOSEN,
    COUNT,
    ENDLESS,
    HEIGHT,
    IS_FULL,
    KEY,
    KO,
    LOST,
    MOST_PLIES,
    MOST_PROOF,
    MOST_REFUTATION,
    OPEN,
    PASS_POINT,
    PLY,
    PROOF,
    PROVED,
    REFUTATION,
    REPEATS,
    SECOND_BEST,
    VISITS,
    WHITE_STONES,
    WHITE_TO_MOVE,
    Proof,
    find,
    key_of,
    store,
    verdict,
)
from engine.apps.book.stone_sets import HALF, ILLEGAL, NO_KO, STONES, after_move, grown, spread
from engine.native.jit import kernel

FULL = 2
"""Instead of what is known of a position: the table has no room for another proof."""
_MOST_ALIKE = 200
"""Steps in which one move is answered like another."""
_LINE_KEY = 3
"""Of a position of the line."""


@kernel
def _look_up(proof: Proof, entry: NDArray[np.int64], is_new: bool) -> None:
    """Write the efforts and the height of what a move leads to, from the table or, if it is new, from the stones."""
    slot = find(proof, entry[KEY])
    if slot >= 0:
        entry[PROOF], entry[REFUTATION] = int(proof.efforts[slot, 0]), int(proof.efforts[slot, 1])
        entry[HEIGHT] = proof.heights[slot]
    elif is_new:
        black, white = entry[BLACK_STONES], entry[WHITE_STONES]
        known = verdict(black, white, proof.masks)
        entry[HEIGHT] = 0
        if known == OPEN:
            white_to_move = entry[KEY] & WHITE_TO_MOVE != 0
            entry[PROOF], entry[REFUTATION] = efforts_of(
                black, white, white_to_move, proof.masks, proof.features, proof.weights
            )
        else:
            entry[PROOF] = 0 if known == PROVED else ENDLESS
            entry[REFUTATION] = ENDLESS if known == PROVED else 0


@kernel
def _add_move(proof: Proof, ply: int, black: int, white: int, ko: int, move: int, white_to_move: bool) -> bool:
    """Add what a move leads to, if no other one leads to an image of it. False if it repeats stones of the line."""
    if move != PASS_POINT:
        for earlier in range(ply + 1):
            if proof.lines[earlier, BLACK_STONES] == black and proof.lines[earlier, WHITE_STONES] == white:
                proof.control[REPEATS] += 1
                return False
    key, count = key_of(proof, black, white, ko, not white_to_move), proof.plies[ply, COUNT]
    for i in range(count):
        if proof.moves[ply, i, KEY] == key:
            return True
    entry = proof.moves[ply, count]
    entry[BLACK_STONES], entry[WHITE_STONES], entry[KO], entry[KEY] = black, white, ko, key
    _look_up(proof, entry, True)
    proof.plies[ply, COUNT] = count + 1
    return True


@kernel
def _list_moves(proof: Proof, ply: int, white_to_move: bool) -> bool:
    """List the moves of a ply, with their efforts. False if White can repeat stones of the line."""
    masks, black, white, ko = proof.masks, proof.lines[ply, 0], proof.lines[ply, 1], proof.lines[ply, 2]
    proof.plies[ply, COUNT] = 0
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
def _sum_up(proof: Proof, ply: int, white_to_move: bool) -> None:
    """Write the efforts of a position by those of its moves: the side to move needs one, the other side all."""
    moves, row = proof.moves[ply], proof.plies[ply]
    own, other = (REFUTATION, PROOF) if white_to_move else (PROOF, REFUTATION)
    least, second, most, tie, left, height, chosen = ENDLESS, ENDLESS, 0, ENDLESS, 0, 0, 0
    for i in range(row[COUNT]):
        effort, resistance = moves[i, own], moves[i, other]
        if resistance == 0:
            height = max(height, moves[i, HEIGHT])
            continue
        left, most = left + 1, max(most, resistance)
        if left == 1 or effort < least or (effort == least and resistance < tie):
            second = second if left == 1 else least
            least, tie, chosen = effort, resistance, i
        else:
            second = min(second, effort)
    if left == 0:
        least, total = ENDLESS, 0
    elif least == 0:
        total, height = ENDLESS, moves[chosen, HEIGHT]
    else:
        total = min(most + left - 1, ENDLESS - 1)
    row[CHOSEN], row[SECOND_BEST] = chosen, second
    proof.sums[0], proof.sums[1] = (total, least) if white_to_move else (least, total)
    proof.sums[2] = height + 1 if proof.sums[0] == 0 else 0


@kernel
def _descend(proof: Proof, ply: int, white_to_move: bool) -> None:
    """Go to the position of the chosen move, with limits up to which no other move is better."""
    row, below, moves = proof.plies[ply], proof.plies[ply + 1], proof.moves[ply]
    own, other = (MOST_REFUTATION, MOST_PROOF) if white_to_move else (MOST_PROOF, MOST_REFUTATION)
    left = 0
    for i in range(row[COUNT]):
        left += moves[i, PROOF if white_to_move else REFUTATION] != 0
    second = row[SECOND_BEST]
    below[own] = min(row[own], second + 1 + second // 4)
    below[other] = row[other] - (left - 1)
    for field in range(4):
        # The same four fields come first.
        proof.lines[ply + 1, field] = moves[row[CHOSEN], field]


@kernel
def _store_sums(proof: Proof, ply: int) -> None:
    """Store the efforts of a position and write them to the move that led to it; look up the other moves again."""
    visits = proof.control[VISITS] - proof.plies[ply, BEGUN] + 1
    to_prove, to_refute, height = proof.sums[0], proof.sums[1], proof.sums[2]
    store(proof, proof.lines[ply, _LINE_KEY], to_prove, to_refute, height, visits)
    if ply > 0:
        entry = proof.moves[ply - 1, proof.plies[ply - 1, CHOSEN]]
        entry[PROOF], entry[REFUTATION], entry[HEIGHT] = to_prove, to_refute, height
        for i in range(proof.plies[ply - 1, COUNT]):
            other = proof.moves[ply - 1, i]
            if other[PROOF] != 0 and other[REFUTATION] != 0:
                _look_up(proof, other, False)


@kernel
def _prove_others(proof: Proof, frames: NDArray[np.int64], ply: int) -> None:
    """Try Black's answers to the move that was proved on White's other moves."""
    moves, row = proof.moves[ply], proof.plies[ply]
    like = moves[row[CHOSEN]]
    for i in range(row[COUNT]):
        is_open = moves[i, PROOF] != 0 and moves[i, REFUTATION] != 0
        if is_open and prove_alike(proof, frames, moves[i], like, _MOST_ALIKE):
            _look_up(proof, moves[i], False)


@kernel
def prove_takeover(proof: Proof, frames: NDArray[np.int64], white_begins: bool, most: int) -> int:
    """Search the position of lines[0]: PROVED, LOST, FULL, or OPEN after `most` more positions.

    A search that is OPEN goes on with the next call. frames: of `analogy`.
    """
    ply, most = proof.control[PLY], most + proof.control[VISITS]
    while True:
        if proof.control[IS_FULL]:
            return FULL
        if proof.control[VISITS] >= most:
            proof.control[PLY] = ply
            return OPEN
        proof.control[VISITS] += 1
        proof.plies[ply, BEGUN] = proof.control[VISITS]
        white_to_move = white_begins != (ply % 2 == 1)
        ends = ply >= MOST_PLIES
        proof.control[REPEATS] += ends
        is_lost = ends or not _list_moves(proof, ply, white_to_move)
        while True:
            if is_lost:
                proof.sums[0], proof.sums[1], proof.sums[2] = ENDLESS, 0, 0
            else:
                _sum_up(proof, ply, white_to_move)
            to_prove, to_refute = proof.sums[0], proof.sums[1]
            row = proof.plies[ply]
            if to_prove < row[MOST_PROOF] and to_refute < row[MOST_REFUTATION] and to_prove > 0 and to_refute > 0:
                _descend(proof, ply, white_to_move)
                ply += 1
                break
            _store_sums(proof, ply)
            if ply == 0:
                proof.control[PLY] = 0
                return PROVED if to_prove == 0 else LOST
            ply, white_to_move, is_lost = ply - 1, not white_to_move, False
            if white_to_move and to_prove == 0:
                _prove_others(proof, frames, ply)


@kernel
def begin(proof: Proof, black: int, white: int, ko: int, white_to_move: bool) -> None:
    """Enter the position that the next search begins with."""
    line = proof.lines[0]
    line[BLACK_STONES], line[WHITE_STONES], line[KO] = black, white, ko
    line[_LINE_KEY] = key_of(proof, black, white, ko, white_to_move)
    proof.plies[0, MOST_PROOF] = proof.plies[0, MOST_REFUTATION] = ENDLESS
    proof.control[PLY] = 0
