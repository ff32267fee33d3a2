"""The kernels that solve a board of a few points: its positions, and rounds that improve the bounds of their scores.

Positions are sets of stones (`stone_sets`); the number of one is the sum of 1 or 2 times 3 to the power of each
occupied point. Every score and bound is for the side to move.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.apps.book.stone_sets import HALF, ILLEGAL, NO_KO, STONES, after_move, breathless, grown
from engine.board.area import area
from engine.board.layout import Board
from engine.board.setup import build_board
from engine.color import BLACK, WHITE
from engine.native.jit import kernel
from engine.vertex import NO_POINT

MOST_POINTS = 16


class SmallBoard(NamedTuple):
    """A board of N <= 16 points and its P = 3 ** N positions.

    masks: see `stone_sets`. ternary: [2 ** N] number of the position whose stones to move are a set. positions: stones
    to move and others, in HALF bits each, of the positions that may occur. area: [P] their scores as they stand. kos:
    in ascending order, MOST_POINTS times the number of a position that a capture may have led to, plus the ko point.
    """

    masks: NDArray[np.int64]
    ternary: NDArray[np.int32]
    positions: NDArray[np.int64]
    area: NDArray[np.int8]
    kos: NDArray[np.int64]


class Bounds(NamedTuple):
    """Bounds of the score with best play: as if endless play were the worst and the best for the side to move.

    low, high: [2, P], after a move and after a pass. ko_low, ko_high: of the positions with a ko.
    """

    low: NDArray[np.int8]
    high: NDArray[np.int8]
    ko_low: NDArray[np.int8]
    ko_high: NDArray[np.int8]


class Steps(NamedTuple):
    """The rounds in which the high bounds were found, in the places of `Bounds`."""

    high: NDArray[np.uint16]
    ko_high: NDArray[np.uint16]


@kernel
def _number_of(board: SmallBoard, mine: int, others: int) -> int:
    """Return the number of a position."""
    return int(board.ternary[mine]) + 2 * int(board.ternary[others])


@kernel
def find_positions(masks: NDArray[np.int64], ternary: NDArray[np.int32], positions: NDArray[np.int64]) -> int:
    """Write the positions without chains that have no liberty, in the order of their sets; return how many."""
    count = 0
    for mine in range(len(ternary)):
        free = masks[0] & ~mine
        others = free
        while True:
            if not (breathless(mine, others, masks) or breathless(others, mine, masks)):
                positions[count] = mine | others << HALF
                count += 1
            if others == 0:
                break
            others = (others - 1) & free
    return count


class Ruler(NamedTuple):
    """What counting one position needs. board, scratch, owner: of `engine.board.area`. colors: [n]. vertices: [N]."""

    board: Board
    scratch: NDArray[np.int32]
    colors: NDArray[np.int8]
    owner: NDArray[np.int8]
    vertices: NDArray[np.int16]


@kernel
def count_positions(board: SmallBoard, ruler: Ruler, like: Board, first: int, last: int) -> None:
    """Write the area scores of positions first to last. like: an empty board of the size."""
    for row in range(first, last):
        mine, others = int(board.positions[row]) & STONES, int(board.positions[row]) >> HALF
        for index, vertex in enumerate(ruler.vertices):
            ruler.colors[vertex] = BLACK * (mine >> index & 1) + WHITE * (others >> index & 1)
        build_board(like, ruler.colors, NO_POINT, ruler.board)
        area(ruler.board, board.masks[4] != 0, True, ruler.scratch, ruler.owner)
        score = 0
        for vertex in ruler.vertices:
            score += (1 if ruler.owner[vertex] == BLACK else 0) - (1 if ruler.owner[vertex] == WHITE else 0)
        board.area[_number_of(board, mine, others)] = score


@kernel
def find_kos(board: SmallBoard, kos: NDArray[np.int64]) -> int:
    """Write the positions and points that a simple ko may forbid, while there is room; return how many there are."""
    masks, count = board.masks, 0
    for row in range(len(board.positions)):
        mine, others = int(board.positions[row]) & STONES, int(board.positions[row]) >> HALF
        number = _number_of(board, mine, others)
        for point in range(MOST_POINTS):
            bit = (1 << point) & masks[0] & ~(mine | others)
            # The stone that took the ko has this point as its only liberty, and no stone beside it.
            if bit and grown(bit, masks) & ~others == 0:
                takers, is_ko = grown(bit, masks), False
                while takers:
                    taker = takers & -takers
                    around = grown(taker, masks)
                    is_ko = is_ko or (around & others == 0 and around & ~mine == bit)
                    takers &= takers - 1
                if is_ko:
                    if count < len(kos):
                        kos[count] = number * MOST_POINTS + point
                    count += 1
    return count


@kernel
def _row_of(kos: NDArray[np.int64], key: int) -> int:
    """Return the place of a key, which is among the keys."""
    low, high = 0, len(kos)
    while low < high:
        middle = (low + high) // 2
        if kos[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _best(board: SmallBoard, bounds: Bounds, mine: int, others: int, forbidden: int) -> int:
    """Return the best low bound after a stone plus 128, and 256 times the same of the high bound; 0 without a move."""
    low, high = -128, -128
    for point in range(MOST_POINTS):
        if (1 << point) & board.masks[0] & ~(mine | others) and point != forbidden:
            after = after_move(mine, others, point, board.masks)
            if after != ILLEGAL:
                own, other, ko = after & STONES, after >> HALF & STONES, after >> (2 * HALF)
                number = _number_of(board, other, own)
                if ko == NO_KO:
                    low = max(low, -int(bounds.high[0, number]))
                    high = max(high, -int(bounds.low[0, number]))
                else:
                    row = _row_of(board.kos, number * MOST_POINTS + ko)
                    low = max(low, -int(bounds.ko_high[row]))
                    high = max(high, -int(bounds.ko_low[row]))
    return low + 128 + (high + 128) * 256


@kernel
def improve(board: SmallBoard, bounds: Bounds, better: Bounds, steps: Steps, step: int, first: int, last: int) -> int:
    """Write the bounds of positions first to last after one more move into `better`; return how many changed.

    step: of this round, noted for each high bound that changes. A position whose bounds are equal is done.
    """
    changed = 0
    for row in range(first, last):
        mine, others = int(board.positions[row]) & STONES, int(board.positions[row]) >> HALF
        number, swapped = _number_of(board, mine, others), _number_of(board, others, mine)
        if bounds.low[0, number] == bounds.high[0, number] and bounds.low[1, number] == bounds.high[1, number]:
            continue
        best, standing = _best(board, bounds, mine, others, NO_KO), int(board.area[number])
        for passes in range(2):
            low_after = standing if passes else -int(bounds.high[1, swapped])
            high_after = standing if passes else -int(bounds.low[1, swapped])
            low, high = max(best % 256 - 128, low_after), max(best // 256 - 128, high_after)
            if low != bounds.low[passes, number]:
                better.low[passes, number] = low
                changed += 1
            if high != bounds.high[passes, number]:
                better.high[passes, number], steps.high[passes, number] = high, step
                changed += 1
    return changed


@kernel
def improve_kos(
    board: SmallBoard, bounds: Bounds, better: Bounds, steps: Steps, step: int, first: int, last: int
) -> int:
    """Do the same for positions with a ko, first to last of `board.kos`."""
    changed = 0
    for row in range(first, last):
        if bounds.ko_low[row] == bounds.ko_high[row]:
            continue
        number, forbidden = int(board.kos[row]) // MOST_POINTS, int(board.kos[row]) % MOST_POINTS
        mine, others, digit = 0, 0, 1
        while number:
            mine |= digit if number % 3 == 1 else 0
            others |= digit if number % 3 == 2 else 0
            number, digit = number // 3, digit * 2
        best, swapped = _best(board, bounds, mine, others, forbidden), _number_of(board, others, mine)
        low = max(best % 256 - 128, -int(bounds.high[1, swapped]))
        high = max(best // 256 - 128, -int(bounds.low[1, swapped]))
        if low != bounds.ko_low[row]:
            better.ko_low[row] = low
            changed += 1
        if high != bounds.ko_high[row]:
            better.ko_high[row], steps.ko_high[row] = high, step
            changed += 1
    return changed
