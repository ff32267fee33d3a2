"""The position of a walk in the tree: legal moves with superko, and the score of a finished game."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.board.area import area, independent_life, pass_alive
from engine.board.area import new_scratch as new_area_scratch
from engine.board.facts import (
    ALTERNATING,
    BANNED,
    BUTTON,
    IS_OVER,
    KO_NOW,
    LEGAL_TURNS,
    MOST_TURNS,
    PASS_EFFECT,
    PASS_ENDS_GAME,
    PASS_ENDS_PHASE,
    PASS_GOES_ON,
    PASS_REPEATS,
    PHASE,
    PHASE_TURNS,
)
from engine.board.kernels import hash_after, is_legal, is_suicide, position_hash, remove_chain, row_column
from engine.board.layout import COLOR, EMPTIES, EMPTY_COUNT, HEAD, HEADER, HEIGHT, WIDTH, Board
from engine.color import BLACK, EMPTY, WALL, WHITE
from engine.evaluation.evaluation import black_value
from engine.evaluation.positions import HISTORY
from engine.history import WHITE_TO_PLAY_KEY
from engine.native.jit import kernel
from engine.search.expansion import Sorting, new_sorting
from engine.vertex import PASS

MAX_DEPTH = 1024
CLOSED = -1
WHITE_KEY = np.uint64(WHITE_TO_PLAY_KEY)
_TAX_PER_GROUP = 2
KEY_SETS = ("superko", "passes_before", "seen", "seen_twice", "shapes")
"""Fields of a `Root` whose lengths differ from position to position."""


class Root(NamedTuple):
    """The position at the root, and the rules in the form that kernels read.

    superko: open-addressed set of forbidden keys; 0 marks a free slot; the length is a power of two, and 1 if the rules
        have no superko.
    marks, second_start, facts: as in a `PositionBatch`. In the clean-up phases, from which Keima starts no search, the
        marks stay those of the root.
    passes_before: set of keys, like `superko`, of situations in which a pass would be the side's second one.
    seen, seen_twice: sets of keys, like `superko`, of situations since the last pass, and of those that occurred twice
        or more. can_be_void: whether a third occurrence ends the game without a result.
    remembers_passes: whether such a second pass ends the phase. pass_ends_game: whether the end of the phase is the end
        of the game.
    handicap: number of handicap stones so far, if Black may still add some; each from the second on gives White a point
        (in total less `handicap_less`); else CLOSED. counts_moves: whether each stone gives the opponent a point.
    dead: [n] int8, color of stones at the root that count as dead at the end of the game.
    region: [n], where stones may be played anywhere in the tree. avoid: [3, n], by color and vertex the depth below
        which a move must not be played; avoid_depth: its maximum.
    shapes: set of keys, like `superko`, of the shapes that `shape_color` must not repeat, see `engine.search.shapes`.
        shape_bonus: added to the utility of a position after one of them, Black-positive.
    number: moves of the game before the root. color: to play at the root.
    may_settle: whether the score is known where every point is pass-alive, and half of the board already is.
    cautious: the game must be won both with and without the dead stones, because they are not agreed on yet; under
        territory rules they are always removed.
    """

    board: Board
    colors: NDArray[np.int8]  # [HISTORY, n]
    hashes: NDArray[np.uint64]  # [HISTORY] of these boards
    moves: NDArray[np.int16]  # [HISTORY]
    facts: NDArray[np.int16]  # [FACTS]
    marks: NDArray[np.int8]  # [n]
    second_start: NDArray[np.int8]  # [n]
    passes_before: NDArray[np.uint64]
    seen: NDArray[np.uint64]
    seen_twice: NDArray[np.uint64]
    superko: NDArray[np.uint64]
    occupied: NDArray[np.bool_]  # [n]
    legal: NDArray[np.bool_]  # [area + 1] at the root
    region: NDArray[np.bool_]  # [n]
    avoid: NDArray[np.int16]  # [3, n]
    shapes: NDArray[np.uint64]
    avoid_depth: int
    number: int
    dead: NDArray[np.int8]  # [n]
    white_bonus: float
    passes: int
    button: bool
    handicap: int
    handicap_less: int
    counts_moves: bool
    can_be_void: bool
    remembers_passes: bool
    pass_ends_game: bool
    situational: bool
    suicide: bool
    is_area: bool
    tax: int  # 0 none, 1 seki, 2 all
    color: int
    cautious: bool
    may_settle: bool
    shape_color: int
    shape_bonus: float


class Scratch(NamedTuple):
    """Working memory of one walk. Entry i of path_hash and path_ko is that of the board after i moves, from 1 on."""

    board: Board
    path_vertex: NDArray[np.int16]  # [MAX_DEPTH]
    path_node: NDArray[np.int32]  # [MAX_DEPTH]
    path_link: NDArray[np.int32]  # [MAX_DEPTH]
    path_hash: NDArray[np.uint64]  # [MAX_DEPTH]
    path_ko: NDArray[np.int16]  # [MAX_DEPTH]
    path_key: NDArray[np.uint64]  # [MAX_DEPTH]
    path_colors: NDArray[np.int8]  # [HISTORY, n], ring
    occupied: NDArray[np.bool_]  # [n]
    area: NDArray[np.int32]
    owner: NDArray[np.int8]  # [n]
    life: NDArray[np.int8]  # [n]
    groups: NDArray[np.int64]  # [3]
    amaf: NDArray[np.int8]  # [n]
    first: NDArray[np.int8]  # [area + 1]
    work: NDArray[np.float64]  # [4, area + 1]
    sorting: Sorting
    ownership_sum: NDArray[np.float64]  # [area + 1], see `engine.search.backup.back_up`


def new_scratch(board: Board, vertices: int) -> Scratch:
    """Allocate working memory for boards of this size. vertices: their `array_length`."""
    n, points = board.shape[1], int(board[HEADER, WIDTH]) * int(board[HEADER, HEIGHT])
    return Scratch(
        board=board.copy(),
        path_vertex=np.zeros(MAX_DEPTH, dtype=np.int16),
        path_node=np.zeros(MAX_DEPTH, dtype=np.int32),
        path_link=np.zeros(MAX_DEPTH, dtype=np.int32),
        path_hash=np.zeros(MAX_DEPTH, dtype=np.uint64),
        path_ko=np.zeros(MAX_DEPTH, dtype=np.int16),
        path_key=np.zeros(MAX_DEPTH, dtype=np.uint64),
        path_colors=np.zeros((HISTORY, n), dtype=np.int8),
        occupied=np.zeros(n, dtype=np.bool_),
        area=new_area_scratch(board),
        owner=np.zeros(n, dtype=np.int8),
        life=np.zeros(n, dtype=np.int8),
        groups=np.zeros(3, dtype=np.int64),
        amaf=np.zeros(vertices, dtype=np.int8),
        first=np.zeros(points + 1, dtype=np.int8),
        work=np.zeros((4, points + 1), dtype=np.float64),
        sorting=new_sorting(points + 1),
        ownership_sum=np.zeros(points + 1, dtype=np.float64),
    )


class Batch(NamedTuple):
    """The arrays of a `PositionBatch`, and the walk of each row: nodes[row, 0..length], links and moves between them.

    counted: the depth from which on a walk counts for its nodes: 0, or one more than that of a weightless choice.
    by_center: whether `engine.search.mirror.value_by_center` corrects the value.
    """

    boards: NDArray[np.int16]
    colors: NDArray[np.int8]
    board_hashes: NDArray[np.uint64]
    moves: NDArray[np.int16]
    to_play: NDArray[np.int8]
    legal: NDArray[np.bool_]
    facts: NDArray[np.int16]
    marks: NDArray[np.int8]
    second_start: NDArray[np.int8]
    hashes: NDArray[np.uint64]
    seeds: NDArray[np.uint64]
    optimism: NDArray[np.float32]
    symmetry: NDArray[np.int8]
    white_bonus: NDArray[np.float32]
    nodes: NDArray[np.int32]  # [B, MAX_DEPTH]
    links: NDArray[np.int32]  # [B, MAX_DEPTH]
    vertices: NDArray[np.int32]  # [B, MAX_DEPTH]
    length: NDArray[np.int32]  # [B]
    counted: NDArray[np.int32]  # [B]
    by_center: NDArray[np.int32]  # [B]


@kernel
def _set_entry(key: np.uint64) -> np.uint64:
    """Return a key as it is stored: 0, the key of the empty board, marks a free slot and is stored as 1."""
    return key if key != np.uint64(0) else np.uint64(1)


@kernel
def in_set(table: NDArray[np.uint64], key: np.uint64) -> bool:
    """Return whether an open-addressed set has a key."""
    entry, mask = _set_entry(key), table.shape[0] - 1
    place = np.int64(entry & np.uint64(mask))
    while table[place] != np.uint64(0):
        if table[place] == entry:
            return True
        place = (place + 1) & mask
    return False


@kernel
def put_in_set(table: NDArray[np.uint64], key: np.uint64) -> None:
    """Add a key to an open-addressed set that has a free slot."""
    entry, mask = _set_entry(key), table.shape[0] - 1
    place = np.int64(entry & np.uint64(mask))
    while table[place] != np.uint64(0) and table[place] != entry:
        place = (place + 1) & mask
    table[place] = entry


@kernel
def put_all_in_set(table: NDArray[np.uint64], keys: NDArray[np.uint64]) -> None:
    """Add keys to an open-addressed set that has free slots for all of them."""
    for key in keys:
        put_in_set(table, key)


@kernel
def refill(table: NDArray[np.uint64], keys: NDArray[np.uint64]) -> None:
    """Copy an open-addressed set into a table of another size. keys: its table, in which 0 is a free slot."""
    table[:] = 0
    for key in keys:
        if key != np.uint64(0):
            put_in_set(table, key)


@kernel
def _repeats(root: Root, scratch: Scratch, depth: int, remembered: int, vertex: int, color: int) -> bool:
    """Return whether a move that the stones allow would repeat a position of the game or of the walk (superko).

    remembered: see `write_legal`.
    """
    key = hash_after(scratch.board, vertex, color)
    if root.situational and color == BLACK:
        key ^= WHITE_KEY
    if remembered == 0 and in_set(root.superko, key):
        return True
    for i in range(max(remembered - 1, 0), depth):
        if scratch.path_key[i] == key:
            return True
    return False


@kernel
def write_legal(
    root: Root,
    scratch: Scratch,
    depth: int,
    remembered: int,
    color: int,
    legal: NDArray[np.bool_],
    marks: NDArray[np.int8],
) -> None:
    """Write the legal moves at the end of a walk of `depth` moves, in policy order.

    remembered: number of moves of the walk whose positions and passes no longer count, those up to the taking of the
    button. marks: [n] int8, receives BANNED where only superko forbids a move.
    """
    # Arrays are taken out of their tuples before the loop: passing a tuple of arrays to a function costs 0.2 us.
    board, occupied, region, suicide = scratch.board, scratch.occupied, root.region, root.suicide
    width, has_superko = board[HEADER, WIDTH], root.superko.shape[0] > 1
    marks[:] = 0
    legal[:] = False
    for empty in range(board[HEADER, EMPTY_COUNT]):
        point = board[EMPTIES, empty]
        if not is_legal(board, point, color, suicide):
            continue
        # A move on a point that never had a stone cannot repeat a position, unless it is suicide.
        is_checked = has_superko and (occupied[point] or (suicide and is_suicide(board, point, color)))
        if is_checked and _repeats(root, scratch, depth, remembered, point, color):
            marks[point] = BANNED
        elif region[point]:
            row, column = row_column(point, width)
            legal[row * width + column] = True
    legal[legal.shape[0] - 1] = True


@kernel
def _handicap_bonus(stones: int, less: int) -> int:
    return stones - less if stones >= 2 else 0


@kernel
def stone_bonus(color: int, counts_moves: bool, handicap: int, less: int) -> float:
    """Return the points that a stone adds to White's bonus. handicap: see `Root`, before the stone."""
    gained = black_value(1.0, color) if counts_moves else 0.0
    if handicap != CLOSED and color == BLACK:
        gained += _handicap_bonus(handicap + 1, less) - _handicap_bonus(handicap, less)
    return gained


@kernel
def pass_repeats(root: Root, scratch: Scratch, depth: int, remembered: int, color: int) -> bool:
    """Return whether the side to move has passed in the same situation before. remembered: see `write_legal`."""
    present = position_hash(scratch.board)
    if in_set(root.passes_before, present ^ WHITE_KEY if color == WHITE else present):
        return True
    for earlier in range(depth - 2, remembered - 1, -2):
        before = root.hashes[0] if earlier == 0 else scratch.path_hash[earlier]
        if scratch.path_vertex[earlier] == PASS and before == present:
            return True
    return False


@kernel
def occurs_thrice(root: Root, scratch: Scratch, depth: int, start: int, color: int) -> bool:
    """Return whether the position at the end of the walk, with `color` to play, has occurred twice before.

    start: number of moves of the walk whose positions do not count, because a pass followed them.
    """
    present = scratch.path_hash[depth]
    seen = 0
    if start == 0:
        key = present ^ WHITE_KEY if color == WHITE else present
        seen = 2 if in_set(root.seen_twice, key) else int(in_set(root.seen, key))
    for earlier in range(depth - 2, max(start, 1) - 1, -2):
        seen += scratch.path_hash[earlier] == present
    return seen >= 2


@kernel
def write_facts(
    root: Root, scratch: Scratch, depth: int, passes: int, button: bool, repeats: bool, facts: NDArray[np.int16]
) -> None:
    """Write the row of facts at the end of a walk. repeats: see `pass_repeats`."""
    start, path_ko = root.facts, scratch.path_ko
    for age in range(3):
        facts[KO_NOW + age] = path_ko[depth - age] if depth > age else start[KO_NOW + age - depth]
    facts[PASS_EFFECT] = PASS_GOES_ON
    if not button and (passes > 0 or repeats):
        if not root.pass_ends_game:
            facts[PASS_EFFECT] = PASS_ENDS_PHASE
        else:
            facts[PASS_EFFECT] = PASS_REPEATS if repeats or passes > 1 else PASS_ENDS_GAME
    facts[IS_OVER] = start[IS_OVER] if depth == 0 else 0
    for column in (ALTERNATING, PHASE_TURNS, LEGAL_TURNS):
        facts[column] = min(start[column] + depth, MOST_TURNS)
    facts[BUTTON] = button
    facts[PHASE] = start[PHASE]


@kernel
def _remove_dead(root: Root, board: Board) -> None:
    """Remove the stones that are dead at the root and still on the board."""
    for point in range(board.shape[1]):
        color = root.dead[point]
        if color != EMPTY and board[COLOR, point] == color:
            remove_chain(board, board[HEAD, point])


@kernel
def _count(root: Root, scratch: Scratch, board: Board) -> float:
    """Return Black's area minus White's under the tax of the rules, without bonuses."""
    owner = scratch.owner
    area(board, root.suicide, True, scratch.area, owner)
    taxed = 0.0
    if root.tax > 0:
        life = scratch.life
        independent_life(board, owner, scratch.area, scratch.groups, life)
        if root.tax == 2:
            taxed = _TAX_PER_GROUP * (scratch.groups[BLACK] - scratch.groups[WHITE])
        for point in range(owner.shape[0]):
            if life[point] == EMPTY and board[COLOR, point] <= 2:
                # Of stones outside independent life an area count keeps those in their own color's area.
                is_kept = not root.is_area or owner[point] == board[COLOR, point]
                owner[point] = board[COLOR, point] if is_kept else EMPTY
    balance = 0
    for point in range(owner.shape[0]):
        balance += (owner[point] == BLACK) - (owner[point] == WHITE)
    return balance - taxed


@kernel
def is_settled(root: Root, scratch: Scratch, board: Board) -> bool:
    """Return whether every point is pass-alive (Benson 1976): each side keeps its area even by always passing."""
    owner = scratch.owner
    pass_alive(board, root.suicide, False, scratch.area, owner)
    for point in range(owner.shape[0]):
        if owner[point] == EMPTY and board[COLOR, point] != WALL:
            return False
    return True


@kernel
def count_score(root: Root, scratch: Scratch, board: Board, white_bonus: float) -> float:
    """Return Black's score of a finished position minus White's. May change the board.

    Under territory rules `white_bonus` includes the number of moves, so that prisoners are counted.
    """
    if not root.is_area:
        _remove_dead(root, board)
        return _count(root, scratch, board) - white_bonus
    as_it_stands = _count(root, scratch, board) - white_bonus
    if not root.cautious:
        return as_it_stands
    _remove_dead(root, board)
    as_agreed = _count(root, scratch, board) - white_bonus
    return min(as_it_stands, as_agreed) if root.color == BLACK else max(as_it_stands, as_agreed)
