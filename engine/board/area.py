"""Who owns what on a board at rest: pass-alive chains, area, and life that is independent of seki.

Follows KataGo's area algorithm, which extends D. B. Benson, "Life in the Game of Go" (1976), with
dead stones inside pass-alive territory and with seki. Does not count: that is `engine.scoring`'s.
"""

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import neighbor_offset
from engine.board.layout import COLOR, HEAD, HEADER, HEIGHT, LIBERTIES, NEXT, STRIDE, WIDTH, Board
from engine.color import BLACK, EMPTY, WHITE
from engine.jit import kernel
from engine.vertex import NO_POINT

SCRATCH_ROWS = 12
_REGION, _POINTS, _START, _COUNTS, _SAFE, _HAS_ENEMY, _FAR, _ALIVE, _VITAL = range(9)
_VITAL_CHAINS = 4
"""A region's first empty point touches at most four chains, so no more can be vital to it."""


def new_scratch(board: Board) -> NDArray[np.int16]:
    """Return the working memory [SCRATCH_ROWS + 1, n] of the kernels below for boards of this size."""
    return np.zeros((SCRATCH_ROWS + 1, board.shape[1]), dtype=np.int16)


@kernel
def _collect_regions(board: Board, color: int, scratch: NDArray[np.int16]) -> int:
    """Number the regions 1.. : maximal connected sets of points not of `color`; return how many.

    Region r's points are _POINTS[_START[r] : _START[r + 1]].
    """
    stride, width, height = board[HEADER, STRIDE], board[HEADER, WIDTH], board[HEADER, HEIGHT]
    scratch[_REGION, :] = 0
    regions, end = 0, 0
    for row in range(height):
        for column in range(width):
            first = (row + 1) * stride + column + 1
            if board[COLOR, first] == color or scratch[_REGION, first] != 0:
                continue
            regions += 1
            scratch[_START, regions] = end
            scratch[_REGION, first] = regions
            scratch[_POINTS, end] = first
            next_point = end
            end += 1
            while next_point < end:
                point = scratch[_POINTS, next_point]
                next_point += 1
                for direction in range(4):
                    neighbor = point + neighbor_offset(direction, stride)
                    neighbor_color = board[COLOR, neighbor]
                    if neighbor_color <= 2 and neighbor_color != color and scratch[_REGION, neighbor] == 0:
                        scratch[_REGION, neighbor] = regions
                        scratch[_POINTS, end] = neighbor
                        end += 1
    scratch[_START, regions + 1] = end
    return regions


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
def _describe_region(board: Board, color: int, suicide: bool, region: int, scratch: NDArray[np.int16]) -> None:
    """Write one region's facts: whether it counts, has enemy stones, points far from `color`, vital chains.

    A region counts at all only if it holds an empty point. A chain is vital to it if every empty
    point of it (with suicide: every point) is next to the chain.
    """
    stride = board[HEADER, STRIDE]
    has_empty, has_enemy, far, candidates = False, False, 0, -1
    for i in range(scratch[_START, region], scratch[_START, region + 1]):
        point = scratch[_POINTS, i]
        is_empty = board[COLOR, point] == EMPTY
        has_empty = has_empty or is_empty
        has_enemy = has_enemy or not is_empty
        is_near = False
        for direction in range(4):
            is_near = is_near or board[COLOR, point + neighbor_offset(direction, stride)] == color
        if not is_near:
            far += 1
        if not (is_empty or suicide):
            continue
        if candidates < 0:
            candidates = 0
            for direction in range(4):
                neighbor = point + neighbor_offset(direction, stride)
                if board[COLOR, neighbor] == color:
                    head = board[HEAD, neighbor]
                    known = False
                    for k in range(candidates):
                        known = known or scratch[_VITAL + k, region] == head
                    if not known:
                        scratch[_VITAL + candidates, region] = head
                        candidates += 1
        else:
            kept = 0
            for k in range(candidates):
                head = scratch[_VITAL + k, region]
                if _touches(board, point, head):
                    scratch[_VITAL + kept, region] = head
                    kept += 1
            candidates = kept
    for k in range(max(candidates, 0), _VITAL_CHAINS):
        scratch[_VITAL + k, region] = NO_POINT
    scratch[_SAFE, region] = has_empty
    scratch[_COUNTS, region] = has_empty
    scratch[_HAS_ENEMY, region] = has_enemy
    scratch[_FAR, region] = far


@kernel
def _kill_chain(board: Board, head: int, scratch: NDArray[np.int16]) -> None:
    """Mark a chain as not pass-alive, and every region that touches it as unsafe."""
    stride = board[HEADER, STRIDE]
    scratch[_ALIVE, head] = 0
    stone = head
    while True:
        for direction in range(4):
            region = scratch[_REGION, stone + neighbor_offset(direction, stride)]
            if region > 0:
                scratch[_SAFE, region] = 0
        stone = board[NEXT, stone]
        if stone == head:
            break


@kernel
def _benson(board: Board, color: int, suicide: bool, scratch: NDArray[np.int16]) -> int:
    """Find the pass-alive chains (_ALIVE at heads) and safe regions of one color; return the regions."""
    stride, width, height = board[HEADER, STRIDE], board[HEADER, WIDTH], board[HEADER, HEIGHT]
    regions = _collect_regions(board, color, scratch)
    for region in range(1, regions + 1):
        _describe_region(board, color, suicide, region, scratch)
    scratch[_ALIVE, :] = 0
    for row in range(height):
        for column in range(width):
            point = (row + 1) * stride + column + 1
            if board[COLOR, point] == color:
                scratch[_ALIVE, board[HEAD, point]] = 1
    changed = True
    while changed:
        changed = False
        # The row of counts is free again: which regions count was copied into _SAFE.
        scratch[_COUNTS, :] = 0
        for region in range(1, regions + 1):
            if scratch[_SAFE, region]:
                for k in range(_VITAL_CHAINS):
                    head = scratch[_VITAL + k, region]
                    if head != NO_POINT:
                        scratch[_COUNTS, head] += 1
        for row in range(height):
            for column in range(width):
                head = (row + 1) * stride + column + 1
                if scratch[_ALIVE, head] and scratch[_COUNTS, head] < 2:
                    _kill_chain(board, head, scratch)
                    changed = True
    return regions


@kernel
def _mark_color(
    board: Board, color: int, suicide: bool, unsafe_big: bool, scratch: NDArray[np.int16], out: NDArray[np.int8]
) -> None:
    """Mark one color's pass-alive chains and territory in `out`; see `pass_alive` and `area`."""
    stride, width, height = board[HEADER, STRIDE], board[HEADER, WIDTH], board[HEADER, HEIGHT]
    regions = _benson(board, color, suicide, scratch)
    has_stone = False
    for row in range(height):
        for column in range(width):
            point = (row + 1) * stride + column + 1
            if board[COLOR, point] == color:
                has_stone = True
                if scratch[_ALIVE, board[HEAD, point]]:
                    out[point] = color
    if not has_stone:
        return
    for region in range(1, regions + 1):
        has_enemy = scratch[_HAS_ENEMY, region] != 0
        is_safe = scratch[_SAFE, region] and (scratch[_FAR, region] <= 1 or not has_enemy)
        if not is_safe and (has_enemy or not unsafe_big):
            continue
        for i in range(scratch[_START, region], scratch[_START, region + 1]):
            point = scratch[_POINTS, i]
            if is_safe or out[point] == EMPTY:
                out[point] = color


@kernel
def pass_alive(board: Board, suicide: bool, scratch: NDArray[np.int16], out: NDArray[np.int8]) -> None:
    """Write the owner of every pass-alive chain and its safe territory, EMPTY elsewhere.

    suicide: whether multi-stone suicide is legal, which makes fewer chains pass-alive.
    scratch: see `new_scratch`. out: [n] int8 by vertex, wall EMPTY.
    """
    out[:] = EMPTY
    _mark_color(board, BLACK, suicide, False, scratch, out)
    _mark_color(board, WHITE, suicide, False, scratch, out)


@kernel
def area(board: Board, suicide: bool, stones_alive: bool, scratch: NDArray[np.int16], out: NDArray[np.int8]) -> None:
    """Write the owner of every point: pass-alive area, one-colored regions, then remaining stones.

    Stones in the other side's pass-alive territory count for that side. stones_alive: stones that
    nothing else claims belong to their owner; otherwise to nobody.
    """
    out[:] = EMPTY
    _mark_color(board, BLACK, suicide, True, scratch, out)
    _mark_color(board, WHITE, suicide, True, scratch, out)
    if not stones_alive:
        return
    stride, width, height = board[HEADER, STRIDE], board[HEADER, WIDTH], board[HEADER, HEIGHT]
    for row in range(height):
        for column in range(width):
            point = (row + 1) * stride + column + 1
            if out[point] == EMPTY:
                out[point] = board[COLOR, point]


@kernel
def independent_life(
    board: Board, owner: NDArray[np.int8], scratch: NDArray[np.int16], groups: NDArray[np.int64], out: NDArray[np.int8]
) -> None:
    """Write the part of an area map whose groups are not in seki.

    A group is a connected set of points of one owner. It is in seki if one of its points touches an
    empty point that nobody owns, or if one of its own stones is in atari.
    owner: [n] int8, an area map. groups: [3] int64, set to the number of independent groups by color.
    """
    stride, width, height = board[HEADER, STRIDE], board[HEADER, WIDTH], board[HEADER, HEIGHT]
    scratch[_REGION, :] = 0
    out[:] = EMPTY
    groups[:] = 0
    for row in range(height):
        for column in range(width):
            first = (row + 1) * stride + column + 1
            color = owner[first]
            if color == EMPTY or scratch[_REGION, first] != 0:
                continue
            scratch[_REGION, first] = 1
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
                    if owner[neighbor] == color and scratch[_REGION, neighbor] == 0:
                        scratch[_REGION, neighbor] = 1
                        scratch[_POINTS, end] = neighbor
                        end += 1
            if not in_seki:
                groups[color] += 1
                for i in range(end):
                    out[scratch[_POINTS, i]] = color
