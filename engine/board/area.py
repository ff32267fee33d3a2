"""Determines the owners of a board's points: pass-alive chains, area, and life independent of seki.

Follows KataGo's area algorithm, which extends D. B. Benson, "Life in the Game of Go" (1976), by dead stones inside
pass-alive territory and by seki. Counting belongs to `engine.scoring`.
"""

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import neighbor_offset, point_at
from engine.board.layout import COLOR, HEAD, HEADER, HEIGHT, LIBERTIES, STRIDE, WIDTH, Board
from engine.color import BLACK, EMPTY, WHITE
from engine.native.jit import kernel

_BLACK_ROWS, _WHITE_ROWS, _START, _END, _ROOT, _FACTS, _FAR, _CANDIDATES, _VITAL = range(9)
# All vital chains of a region touch its first empty point, so there are at most four.
_VITAL_CHAINS = 4
_COUNTS = _VITAL + _VITAL_CHAINS
_SCRATCH_ROWS = _COUNTS + 1
_GROUP, _POINTS = range(2)
_HAS_EMPTY, _HAS_ENEMY, _IS_OPEN, _IS_SAFE = 1, 2, 4, 8
# Index of a single bit, at that bit modulo 37: 2 is a primitive root of 37, so no two of 36 bits collide.
_BIT = np.zeros(37, dtype=np.int8)
for _bit in range(36):
    _BIT[2**_bit % 37] = _bit


def new_scratch(board: Board) -> NDArray[np.int32]:
    """Allocate the working memory of the kernels below for boards of this size."""
    return np.zeros((_SCRATCH_ROWS, board.shape[1]), dtype=np.int32)


@kernel
def _draw_rows(board: Board, scratch: NDArray[np.int32]) -> None:
    """Write the stones of each color as one bit mask for each row, at row + 1 between two empty rows."""
    width, height = board[HEADER, WIDTH], board[HEADER, HEIGHT]
    for row in (0, height + 1):
        scratch[_BLACK_ROWS, row], scratch[_WHITE_ROWS, row] = 0, 0
    for row in range(1, height + 1):
        first = point_at(row - 1, 0, width)
        black, white = 0, 0
        for column in range(width):
            color = board[COLOR, first + column]
            black |= (color & BLACK) << column
            white |= (color // WHITE) << column
        scratch[_BLACK_ROWS, row], scratch[_WHITE_ROWS, row] = black, white


@kernel
def _root(run: int, scratch: NDArray[np.int32]) -> int:
    while scratch[_ROOT, run] != run:
        run = scratch[_ROOT, run]
    return run


@kernel
def _collect_runs(board: Board, color: int, suicide: bool, scratch: NDArray[np.int32]) -> int:
    """Divide the points not of `color` into horizontal runs and join adjacent ones to regions; return their number.

    Run r covers the vertices _START[r] to _END[r] (exclusive). _ROOT[r] is the first run of its region; at that run are
    the region's _FACTS and the number of its points that are _FAR from `color` (2 means several). A region is open if
    a point that would have to touch a vital chain touches no stone of `color`: an empty point, or with suicide any
    point.
    """
    stride, width, height = board[HEADER, STRIDE], board[HEADER, WIDTH], board[HEADER, HEIGHT]
    own_rows, enemy_rows = _BLACK_ROWS + color - BLACK, _BLACK_ROWS + WHITE - color
    runs, above_end, above = 0, 0, 0
    for row in range(1, height + 1):
        own, enemy = scratch[own_rows, row], scratch[enemy_rows, row]
        # A row's points are bits, so neighbors are found by shifts: runs cost far fewer steps than points.
        free = ((1 << width) - 1) & ~own
        far_bits = free & ~(own << 1 | own >> 1 | scratch[own_rows, row - 1] | scratch[own_rows, row + 1])
        open_bits = far_bits if suicide else far_bits & ~enemy
        first = point_at(row - 1, 0, width)
        above, above_end = above_end, runs
        while free != 0:
            # The lowest run of ones: adding its lowest bit carries through it.
            low = free & -free
            run = free & ~(free + low)
            free &= ~run
            start, end = first + _BIT[low % 37], first + _BIT[(run + low) % 37]
            far = run & far_bits
            scratch[_START, runs], scratch[_END, runs] = start, end
            scratch[_FAR, runs] = (far != 0) + (far & (far - 1) != 0)
            scratch[_FACTS, runs] = (
                _HAS_EMPTY * (run & ~enemy != 0) | _HAS_ENEMY * (run & enemy != 0) | _IS_OPEN * (run & open_bits != 0)
            )
            # Both rows are sorted, so the runs above are scanned once for the whole row.
            while above < above_end and scratch[_END, above] <= start - stride:
                above += 1
            root = runs
            scratch[_ROOT, runs] = root
            other = above
            while other < above_end and scratch[_START, other] < end - stride:
                other_root = _root(other, scratch)
                # Union: the smaller index stays root, so that roots precede their runs.
                larger = max(root, other_root)
                root = min(root, other_root)
                scratch[_ROOT, larger] = root
                other += 1
            runs += 1
    for run in range(runs):
        # A root precedes its runs, and its own root is final by now, so one step suffices.
        root = scratch[_ROOT, scratch[_ROOT, run]]
        scratch[_ROOT, run] = root
        if root != run:
            scratch[_FACTS, root] |= scratch[_FACTS, run]
            scratch[_FAR, root] += scratch[_FAR, run]
    return runs


@kernel
def _touches(board: Board, point: int, head: int) -> bool:
    """True if a point is adjacent to the chain with this head."""
    stride = board[HEADER, STRIDE]
    for direction in range(4):
        neighbor = point + neighbor_offset(direction, stride)
        if board[COLOR, neighbor] == board[COLOR, head] and board[HEAD, neighbor] == head:
            return True
    return False


@kernel
def _narrow_vital(board: Board, color: int, point: int, region: int, scratch: NDArray[np.int32]) -> None:
    """Keep the candidate vital chains of a region that touch `point`; the first point provides the candidates."""
    kept = 0
    if scratch[_CANDIDATES, region] < 0:
        stride = board[HEADER, STRIDE]
        for direction in range(4):
            neighbor = point + neighbor_offset(direction, stride)
            if board[COLOR, neighbor] == color:
                head = board[HEAD, neighbor]
                known = False
                for k in range(kept):
                    known = known or scratch[_VITAL + k, region] == head
                if not known:
                    scratch[_VITAL + kept, region] = head
                    kept += 1
    else:
        for k in range(scratch[_CANDIDATES, region]):
            head = scratch[_VITAL + k, region]
            if _touches(board, point, head):
                scratch[_VITAL + kept, region] = head
                kept += 1
    scratch[_CANDIDATES, region] = kept


@kernel
def _find_vital(board: Board, color: int, suicide: bool, runs: int, scratch: NDArray[np.int32]) -> bool:
    """List each region's vital chains and count each chain's regions; return True if a chain has two.

    Only regions with an empty point count. A chain is vital to a region if it touches every empty point of it (with
    suicide: every point).
    """
    scratch[_COUNTS, :] = 0
    for run in range(runs):
        region = scratch[_ROOT, run]
        if region == run:
            # -1 marks a region whose candidates are not listed yet.
            scratch[_CANDIDATES, run] = -1 if scratch[_FACTS, run] & (_HAS_EMPTY | _IS_OPEN) == _HAS_EMPTY else 0
        if scratch[_CANDIDATES, region] != 0:
            for point in range(scratch[_START, run], scratch[_END, run]):
                if suicide or board[COLOR, point] == EMPTY:
                    _narrow_vital(board, color, point, region, scratch)
    found = False
    for run in range(runs):
        if scratch[_ROOT, run] == run:
            for k in range(scratch[_CANDIDATES, run]):
                head = scratch[_VITAL + k, run]
                scratch[_COUNTS, head] += 1
                found = found or scratch[_COUNTS, head] >= 2
    return found


@kernel
def _touches_dead(board: Board, color: int, run: int, scratch: NDArray[np.int32]) -> bool:
    """True if a run touches a chain of `color` with fewer than two regions."""
    stride = board[HEADER, STRIDE]
    for point in range(scratch[_START, run], scratch[_END, run]):
        for direction in range(4):
            neighbor = point + neighbor_offset(direction, stride)
            if board[COLOR, neighbor] == color and scratch[_COUNTS, board[HEAD, neighbor]] < 2:
                return True
    return False


@kernel
def _benson(board: Board, color: int, runs: int, scratch: NDArray[np.int32]) -> bool:
    """Benson's iteration: drop regions that touch dead chains until none is left; return True if any chain is alive.

    Living chains have at least two regions in _COUNTS at their heads. A chain that loses its second region dies.
    """
    changed = True
    while changed:
        changed = False
        for run in range(runs):
            region = scratch[_ROOT, run]
            if scratch[_CANDIDATES, region] > 0 and _touches_dead(board, color, run, scratch):
                for k in range(scratch[_CANDIDATES, region]):
                    scratch[_COUNTS, scratch[_VITAL + k, region]] -= 1
                # Dropping a region may kill chains, which may touch regions passed before: hence the outer loop.
                scratch[_CANDIDATES, region] = 0
                changed = True
    for run in range(runs):
        if scratch[_ROOT, run] == run and scratch[_CANDIDATES, run] > 0:
            return True
    return False


@kernel
def _mark_alive(board: Board, color: int, runs: int, scratch: NDArray[np.int32], out: NDArray[np.int8]) -> None:
    """Mark the chains that `_benson` left alive, and mark the regions that touch no other chain (_IS_SAFE)."""
    for point in range(board.shape[1]):
        if board[COLOR, point] == color and scratch[_COUNTS, board[HEAD, point]] >= 2:
            out[point] = color
    for run in range(runs):
        if scratch[_ROOT, run] == run and scratch[_FACTS, run] & _HAS_EMPTY:
            scratch[_FACTS, run] |= _IS_SAFE
    for run in range(runs):
        region = scratch[_ROOT, run]
        if scratch[_FACTS, region] & _IS_SAFE and _touches_dead(board, color, run, scratch):
            scratch[_FACTS, region] &= ~_IS_SAFE


@kernel
def _mark_color(
    board: Board,
    color: int,
    suicide: bool,
    large: bool,
    unsafe: bool,
    scratch: NDArray[np.int32],
    out: NDArray[np.int8],
) -> None:
    """Mark one color's pass-alive chains and territory in `out`; see `pass_alive` and `area`."""
    own_rows, stones = _BLACK_ROWS + color - BLACK, 0
    for row in range(1, board[HEADER, HEIGHT] + 1):
        stones |= scratch[own_rows, row]
    # A color without stones owns nothing; without this, the empty board would be its region.
    if stones == 0:
        return
    runs = _collect_runs(board, color, suicide, scratch)
    if _find_vital(board, color, suicide, runs, scratch) and _benson(board, color, runs, scratch):
        _mark_alive(board, color, runs, scratch, out)
    for run in range(runs):
        region = scratch[_ROOT, run]
        facts = scratch[_FACTS, region]
        has_enemy = facts & _HAS_ENEMY != 0
        # One point that touches no living chain is harmless: two eyes need two such points.
        is_safe = facts & _IS_SAFE != 0 and (scratch[_FAR, region] <= 1 or (large and not has_enemy))
        if is_safe or (unsafe and not has_enemy):
            for point in range(scratch[_START, run], scratch[_END, run]):
                if is_safe or out[point] == EMPTY:
                    out[point] = color


@kernel
def pass_alive(board: Board, suicide: bool, large: bool, scratch: NDArray[np.int32], out: NDArray[np.int8]) -> None:
    """Write the owner of every pass-alive chain and of its territory, EMPTY elsewhere.

    suicide: whether multi-stone suicide is legal, which makes fewer chains pass-alive.
    large: whether territory includes everything that pass-alive chains enclose without an enemy stone, of any size,
    although an enemy might live there. Without it, territory is what the owner keeps even by always passing: regions
    with at most one point that is not adjacent to those chains.
    scratch: see `new_scratch`. out: [n] int8 by vertex, wall EMPTY.
    """
    out[:] = EMPTY
    _draw_rows(board, scratch)
    _mark_color(board, BLACK, suicide, large, False, scratch, out)
    _mark_color(board, WHITE, suicide, large, False, scratch, out)


def pass_alive_owners(board: Board, suicide: bool, *, large: bool = False) -> NDArray[np.int8]:
    """Return [n] int8, the owner of every pass-alive point by vertex, as `pass_alive` writes it."""
    owner = np.zeros(board.shape[1], dtype=np.int8)
    pass_alive(board, suicide, large, new_scratch(board), owner)
    return owner


@kernel
def area(board: Board, suicide: bool, stones_alive: bool, scratch: NDArray[np.int32], out: NDArray[np.int8]) -> None:
    """Write the owner of every point: pass-alive area, then one-colored regions, then the remaining stones.

    Stones in the opponent's pass-alive territory count for the opponent. stones_alive: all other stones belong to their
    color; otherwise they belong to nobody.
    """
    out[:] = EMPTY
    _draw_rows(board, scratch)
    _mark_color(board, BLACK, suicide, True, True, scratch, out)
    _mark_color(board, WHITE, suicide, True, True, scratch, out)
    if stones_alive:
        for point in range(board.shape[1]):
            if out[point] == EMPTY and board[COLOR, point] <= WHITE:
                out[point] = board[COLOR, point]


@kernel
def independent_life(
    board: Board, owner: NDArray[np.int8], scratch: NDArray[np.int32], groups: NDArray[np.int64], out: NDArray[np.int8]
) -> None:
    """Write the part of an area map whose groups are not in seki.

    A group is a connected set of points with one owner. It is in seki if one of its points touches an empty point
    without an owner, or if one of its own stones is in atari.
    owner: [n] int8, an area map. groups: [3] int64, set to the number of independent groups by color.
    """
    stride, width, height = board[HEADER, STRIDE], board[HEADER, WIDTH], board[HEADER, HEIGHT]
    scratch[_GROUP, :] = 0
    out[:] = EMPTY
    groups[:] = 0
    for row in range(height):
        for column in range(width):
            first = point_at(row, column, width)
            color = owner[first]
            if color == EMPTY or scratch[_GROUP, first] != 0:
                continue
            scratch[_GROUP, first] = 1
            scratch[_POINTS, 0] = first
            next_point, end, in_seki = 0, 1, False
            while next_point < end:
                point = scratch[_POINTS, next_point]
                next_point += 1
                if board[COLOR, point] == color and board[LIBERTIES, board[HEAD, point]] == 1:
                    in_seki = True
                for direction in range(4):
                    neighbor = point + neighbor_offset(direction, stride)
                    if board[COLOR, neighbor] == EMPTY and owner[neighbor] == EMPTY:
                        in_seki = True
                    if owner[neighbor] == color and scratch[_GROUP, neighbor] == 0:
                        scratch[_GROUP, neighbor] = 1
                        scratch[_POINTS, end] = neighbor
                        end += 1
            if not in_seki:
                groups[color] += 1
                for i in range(end):
                    out[scratch[_POINTS, i]] = color
