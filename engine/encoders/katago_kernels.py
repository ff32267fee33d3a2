"""Kernels that write KataGo's planes and globals, input versions 3 to 7.

All versions have the same parts: stones, bans, history, ladders, area, globals. The version determines the place of
each part and a few differences in meaning.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.board.area import area, independent_life, pass_alive
from engine.board.facts import (
    ALTERNATING,
    BANNED,
    BUTTON,
    IS_OVER,
    KO_NOW,
    LEGAL_TURNS,
    MARKED,
    PASS_EFFECT,
    PASS_ENDS_GAME,
    PASS_GOES_ON,
    PHASE,
    PHASE_TURNS,
)
from engine.board.kernels import point_at, row_column
from engine.board.ladders import LadderScratch, find_ladders
from engine.board.layout import COLOR, HEAD, LIBERTIES, Board
from engine.board.setup import build_board
from engine.color import EMPTY
from engine.encoders.base import Inputs
from engine.evaluation.evaluation import black_value
from engine.native.jit import kernel
from engine.native.locks import acquire, release
from engine.vertex import NO_POINT, PASS

TURNS = 5
"""Number of moves in the inputs."""
# Associativity of the ladder cache: a board is forgotten when this many newer ones share its bucket. With one board in
# a bucket, one collision among 256 positions could cost milliseconds each time that both boards came again.
WAYS = 4
# Bit 0 of a cached point; the bits above it are the color of the chain that a working ladder attacks.
_LADDERED = 1
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Rows(NamedTuple):
    """The arrays of a `PositionBatch` that are encoded, under the same names."""

    boards: NDArray[np.int16]
    colors: NDArray[np.int8]
    board_hashes: NDArray[np.uint64]
    moves: NDArray[np.int16]
    to_play: NDArray[np.int8]
    facts: NDArray[np.int16]
    marks: NDArray[np.int8]
    second_start: NDArray[np.int8]
    white_bonus: NDArray[np.float32]


class RuleNumbers(NamedTuple):
    """The rules in the form that kernels read, and values common to a batch."""

    has_superko: bool
    is_positional: bool
    suicide: bool
    suicide_for_life: bool  # whether pass-alive chains are computed as if suicide were legal
    is_area: bool
    tax: int  # 0 none, 1 seki, 2 all
    friendly_pass: bool
    playout_doubling: float  # of Black


class KatagoScratch(NamedTuple):
    """Working memory for one board size, with a cache of the ladders of earlier boards.

    memo_keys: [buckets, WAYS] uint64; the low bits of a board's key select its bucket, buckets is a power of two.
    memo_oldest: [buckets] uint8, the way of each bucket that is replaced next.
    memo: [buckets * WAYS, n] int8.
    """

    ladders: LadderScratch
    ladder_work: Board
    old_board: Board
    memo_keys: NDArray[np.uint64]
    memo_oldest: NDArray[np.uint8]
    memo: NDArray[np.int8]
    laddered: NDArray[np.int8]  # [n]
    working: NDArray[np.int8]  # [n]
    area: NDArray[np.int32]
    owner: NDArray[np.int8]  # [n]
    base: NDArray[np.int8]  # [n]
    groups: NDArray[np.int64]  # [3]


@kernel
def _write_stones(board: Board, own: int, has_liberties: bool, planes: Inputs) -> None:
    """Write planes 0..2 of [P, height, width], and 3..5 if `has_liberties`; set all others to 0."""
    height, width = planes.shape[1], planes.shape[2]
    planes[1:] = 0.0
    planes[0] = 1.0
    for row in range(height):
        for column in range(width):
            vertex = point_at(row, column, width)
            color = board[COLOR, vertex]
            if color != EMPTY:
                planes[1 if color == own else 2, row, column] = 1.0
                liberties = board[LIBERTIES, board[HEAD, vertex]]
                if has_liberties and liberties <= 3:
                    planes[2 + liberties, row, column] = 1.0


@kernel
def _write_bans(facts: NDArray[np.int16], marks: NDArray[np.int8], bans: Inputs, marked: Inputs) -> None:
    """Write the points [height, width] that repetition forbids, and the marked stones of a clean-up phase."""
    height, width = bans.shape
    for row in range(height):
        for column in range(width):
            mark = marks[point_at(row, column, width)]
            if mark & BANNED:
                bans[row, column] = 1.0
            if mark & MARKED:
                marked[row, column] = 1.0
    ko = facts[KO_NOW]
    if ko != NO_POINT:
        row, column = row_column(ko, width)
        bans[row, column] = 1.0


@kernel
def _is_pass_hidden(facts: NDArray[np.int16], rules: RuleNumbers) -> bool:
    """True if a pass that ends the game is hidden from the network: a friendly pass while dead stones remain."""
    return facts[PASS_EFFECT] == PASS_ENDS_GAME and rules.friendly_pass and rules.is_area


@kernel
def _turns_shown(version: int, facts: NDArray[np.int16], rules: RuleNumbers) -> int:
    """Return the number of last moves that the inputs show."""
    if _is_pass_hidden(facts, rules):
        return 0
    if version <= 5:
        return 0 if facts[IS_OVER] else int(min(facts[ALTERNATING], TURNS))
    turns = min(facts[ALTERNATING], facts[PHASE_TURNS])
    if version == 6:
        turns = min(turns, facts[LEGAL_TURNS])
    return int(min(turns, 1 if facts[IS_OVER] else TURNS))


@kernel
def _write_moves(moves: NDArray[np.int16], turns: int, planes: Inputs, globals_: Inputs) -> None:
    """Write the last moves: points into planes [TURNS, height, width], passes into globals 0..4."""
    width = planes.shape[2]
    for age in range(TURNS):
        globals_[age] = 0.0
        if age < turns:
            move = moves[age]
            if move == PASS:
                globals_[age] = 1.0
            else:
                row, column = row_column(move, width)
                planes[age, row, column] = 1.0


@kernel
def _ladder_row(
    like: Board, colors: NDArray[np.int8], board_hash: np.uint64, ko_point: int, age: int, scratch: KatagoScratch
) -> int:
    """Return the cache row with the ladders of a board; compute them if the board is not cached.

    like: the current board, which is the board itself if age is 0. colors: [n], of the board.
    """
    # Cached, because two of a position's three boards are usually those of its parent: at batch 16 on 19x19, one core
    # encodes 58,000 positions/s with all three boards cached, 27,000 if one is read anew, 11,000 if all are.
    # A ladder may depend on the ko point, so it is part of the key. 0 marks an empty entry.
    key = (board_hash ^ np.uint64(ko_point + 2)) * _MIX
    key = max(key ^ (key >> np.uint64(32)), np.uint64(1))
    bucket = int(key & np.uint64(scratch.memo_keys.shape[0] - 1))
    for way in range(WAYS):
        if scratch.memo_keys[bucket, way] == key:
            return bucket * WAYS + way
    way = scratch.memo_oldest[bucket]
    # First in, first out needs one byte a bucket and no update when an entry is used.
    scratch.memo_oldest[bucket] = (way + 1) % WAYS
    row = bucket * WAYS + int(way)
    laddered, working = scratch.laddered, scratch.working
    if age == 0:
        find_ladders(like, scratch.ladders, scratch.ladder_work, laddered, working)
    else:
        build_board(like, colors, ko_point, scratch.old_board)
        find_ladders(scratch.old_board, scratch.ladders, scratch.ladder_work, laddered, working)
    for point in range(scratch.memo.shape[1]):
        scratch.memo[row, point] = laddered[point] * _LADDERED + 2 * working[point]
    scratch.memo_keys[bucket, way] = key
    return row


@kernel
def _write_ladders(
    board: Board,
    colors: NDArray[np.int8],
    board_hashes: NDArray[np.uint64],
    facts: NDArray[np.int16],
    own: int,
    turns: int,
    scratch: KatagoScratch,
    planes: Inputs,
) -> None:
    """Write the chains in ladders on three boards, and the working ladders against enemy chains, into planes [4,
    height, width].

    colors: [HISTORY, n]. A board that is older than the shown moves is replaced by the one after it.
    """
    height, width = planes.shape[1], planes.shape[2]
    memo, enemy = scratch.memo, 3 - own
    for place in range(3):
        # A network that sees fewer moves must not see older boards either.
        age = min(place, turns)
        found = _ladder_row(board, colors[age], board_hashes[age], facts[KO_NOW + age], age, scratch)
        for row in range(height):
            for column in range(width):
                mark = memo[found, point_at(row, column, width)]
                if mark & _LADDERED:
                    planes[place, row, column] = 1.0
                if place == 0 and (mark >> 1) & enemy:
                    planes[3, row, column] = 1.0


@kernel
def _find_owners(
    version: int, board: Board, phase: int, second_start: NDArray[np.int8], rules: RuleNumbers, scratch: KatagoScratch
) -> bool:
    """Write the owner of every point under the rules; return False if there is nothing to show yet."""
    suicide, owner, base = rules.suicide_for_life, scratch.owner, scratch.base
    if version == 4 or (version == 3 and not rules.is_area):
        pass_alive(board, suicide, True, scratch.area, owner)
        return True
    if version == 3 or (rules.is_area and rules.tax == 0):
        area(board, suicide, True, scratch.area, owner)
        return True
    if not rules.is_area and phase < 2:
        return False
    area(board, suicide, True, scratch.area, base)
    independent_life(board, base, scratch.area, scratch.groups, owner)
    for point in range(owner.shape[0]):
        if owner[point] != EMPTY:
            continue
        color = board[COLOR, point]
        if rules.is_area:
            if color == base[point]:
                owner[point] = base[point]
        elif rules.tax == 0 and color != base[point] and base[point] != EMPTY:
            owner[point] = base[point]
        elif color != EMPTY and second_start[point] == color:
            owner[point] = color
    return True


@kernel
def _write_colors(colors: NDArray[np.int8], own: int, planes: Inputs) -> None:
    """Write a map of colors [n] into planes [2, height, width]: own points, enemy points."""
    height, width = planes.shape[1], planes.shape[2]
    for row in range(height):
        for column in range(width):
            color = colors[point_at(row, column, width)]
            if color == own:
                planes[0, row, column] = 1.0
            elif color == 3 - own:
                planes[1, row, column] = 1.0


@kernel
def komi_wave(komi: float, points: int) -> float:
    """Return a triangular wave of komi with period 2, which rises where one more point can turn a loss into a draw.

    komi: for the side to move. points: of the board; a draw needs a komi of the same parity.
    """
    parity = points % 2
    over = komi - (2.0 * math.floor((komi - parity) / 2.0) + parity)
    if over < 0.5:
        return over
    return 1.0 - over if over < 1.5 else over - 2.0


@kernel
def _write_globals(
    version: int, facts: NDArray[np.int16], own: int, white_bonus: float, points: int, rules: RuleNumbers, out: Inputs
) -> None:
    """Write the globals from 5 on."""
    # KataGo's own encoder clips komi in this way.
    bound = points + (20.0 if version == 7 else 1.0)
    komi = min(max(-black_value(white_bonus, own), -bound), bound)
    out[5:] = 0.0
    out[5] = komi / (15.0 if version <= 5 else 20.0)
    if rules.has_superko:
        out[6] = 1.0
        out[7] = 0.5 if rules.is_positional else -0.5
    out[8] = rules.suicide
    out[9] = not rules.is_area
    phase = 10 if version <= 5 else 12
    if version >= 6:
        out[10] = rules.tax >= 1
        out[11] = rules.tax >= 2
    out[phase] = facts[PHASE] >= 1
    out[phase + 1] = facts[PHASE] >= 2
    if version == 5:
        return
    hidden = _is_pass_hidden(facts, rules) or (version <= 4 and facts[IS_OVER])
    out[phase + 2] = facts[PASS_EFFECT] != PASS_GOES_ON and not hidden
    if version == 7:
        if rules.playout_doubling != 0:
            out[15] = 1.0
            out[16] = 0.5 * black_value(rules.playout_doubling, own)
        out[17] = facts[BUTTON]
    # Parity of komi matters only in an area count, which clean-up phase 2 of territory rules has too.
    if rules.is_area or facts[PHASE] >= 2:
        out[out.shape[0] - 1] = komi_wave(komi, points)


@kernel
def encode_katago(
    version: int,
    rows: Rows,
    rules: RuleNumbers,
    count: int,
    scratch: KatagoScratch,
    planes: Inputs,
    globals_: Inputs,
) -> None:
    """Write planes [B, P, height, width] and globals [B, G] of rows 0..count-1."""
    is_small = version == 5
    bans, first_move, second = (3, 6, 11) if is_small else (6, 9, 20)
    points = planes.shape[2] * planes.shape[3]
    for i in range(count):
        own, board, facts, out = rows.to_play[i], rows.boards[i], rows.facts[i], planes[i]
        _write_stones(board, own, not is_small, out)
        _write_bans(facts, rows.marks[i], out[bans], out[bans + 1])
        turns = _turns_shown(version, facts, rules)
        _write_moves(rows.moves[i], turns, out[first_move : first_move + TURNS], globals_[i])
        phase = facts[PHASE]
        if not is_small:
            _write_ladders(board, rows.colors[i], rows.board_hashes[i], facts, own, turns, scratch, out[14:18])
            if _find_owners(version, board, phase, rows.second_start[i], rules, scratch):
                _write_colors(scratch.owner, own, out[18:20])
        if phase == 2:
            _write_colors(rows.second_start[i], own, out[second : second + 2])
        _write_globals(version, facts, own, rows.white_bonus[i], points, rules, globals_[i])


@kernel
def encode_first_rows(
    lock: NDArray[np.int64],
    version: int,
    rows: Rows,
    rules: RuleNumbers,
    scratch: KatagoScratch,
    planes: Inputs,
    globals_: Inputs,
    count: int,
) -> int:
    """Run `encode_katago` on rows 0..count-1 while holding the lock of the working memory; return count."""
    # One ladder cache behind a lock, not one for each thread: a position whose parent was encoded with the same cache
    # takes 48 us on 19x19, any other 154 us.
    acquire(lock)
    encode_katago(version, rows, rules, count, scratch, planes, globals_)
    release(lock)
    return count
