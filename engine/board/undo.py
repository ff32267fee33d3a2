"""Moves for reading: played on a board to look ahead, and taken back bit for bit.

Owns `try_stone` and `take_back`. They keep what reading asks for, the stones, their chains and the
simple ko point, and leave alone what it does not: the hash, the list of empty points, the prisoners
and the turn. `engine.board.kernels.place` is the real thing; on the rows kept both agree.

Every cell that a move changes is noted in a journal first, an int16 array [entries, 3] of row, place
and old value; a row of -1 stands before each move. The caller holds the number of entries in use and
hands it from move to move.
"""

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import is_liberty_of, neighbor_offset
from engine.board.layout import (
    COLOR,
    HEAD,
    HEADER,
    HEIGHT,
    KO_POINT,
    LIBERTIES,
    NEXT,
    SIZE,
    STRIDE,
    WIDTH,
    Board,
)
from engine.color import EMPTY
from engine.native.jit import kernel
from engine.vertex import NO_POINT

_PER_STONE = 41
"""Entries that one stone can cause: placed, the mark, 5 cells of its own, 4 neighbors' liberties, 4 joins of
4 cells and a ko point; renamed at most 9 times, as its chain then doubles at least; captured, its color and 4
neighbors' liberties."""

_START_OF_MOVE = -1


def new_journal(board: Board, moves: int) -> NDArray[np.int16]:
    """Return a journal that is long enough for so many moves in a row on boards of this size."""
    area = int(board[HEADER, WIDTH]) * int(board[HEADER, HEIGHT])
    return np.empty(((area + moves) * _PER_STONE, 3), dtype=np.int16)


@kernel
def _change(board: Board, row: int, place: int, value: int, journal: NDArray[np.int16], used: int) -> int:
    """Change one cell and note its old value; return the entries in use."""
    journal[used, 0] = row
    journal[used, 1] = place
    journal[used, 2] = board[row, place]
    board[row, place] = value
    return used + 1


@kernel
def _join(board: Board, head: int, other: int, journal: NDArray[np.int16], used: int) -> int:
    """Join a chain to one that is at least as large, stone by stone; return the entries in use."""
    stride = board[HEADER, STRIDE]
    color = board[COLOR, head]
    liberties = board[LIBERTIES, head]
    stone = other
    while True:
        for direction in range(4):
            point = stone + neighbor_offset(direction, stride)
            if board[COLOR, point] == EMPTY and not is_liberty_of(board, point, head, color, stride):
                liberties += 1
        # Renamed at once, so that a liberty which two of the stones share is counted once.
        used = _change(board, HEAD, stone, head, journal, used)
        stone = board[NEXT, stone]
        if stone == other:
            break
    used = _change(board, LIBERTIES, head, liberties, journal, used)
    used = _change(board, SIZE, head, board[SIZE, head] + board[SIZE, other], journal, used)
    after_head, after_other = board[NEXT, head], board[NEXT, other]
    used = _change(board, NEXT, head, after_other, journal, used)
    return _change(board, NEXT, other, after_head, journal, used)


@kernel
def _remove(board: Board, head: int, journal: NDArray[np.int16], used: int) -> int:
    """Take a chain without liberties off the board; return the entries in use."""
    stride = board[HEADER, STRIDE]
    enemy = 3 - board[COLOR, head]
    stone = head
    while True:
        seen0, seen1, seen2 = NO_POINT, NO_POINT, NO_POINT
        for direction in range(4):
            neighbor = stone + neighbor_offset(direction, stride)
            if board[COLOR, neighbor] == enemy:
                other = board[HEAD, neighbor]
                if other != seen0 and other != seen1 and other != seen2:
                    used = _change(board, LIBERTIES, other, board[LIBERTIES, other] + 1, journal, used)
                    seen2, seen1, seen0 = seen1, seen0, other
        used = _change(board, COLOR, stone, EMPTY, journal, used)
        stone = board[NEXT, stone]
        if stone == head:
            return used


@kernel
def try_stone(board: Board, point: int, color: int, journal: NDArray[np.int16], used: int) -> int:
    """Play a stone on an empty point as `kernels.place` does; return the entries of the journal in use.

    Does not check legality.
    """
    stride = board[HEADER, STRIDE]
    enemy = 3 - color
    journal[used, 0] = _START_OF_MOVE
    used = _change(board, COLOR, point, color, journal, used + 1)
    used = _change(board, HEAD, point, point, journal, used)
    used = _change(board, NEXT, point, point, journal, used)
    used = _change(board, SIZE, point, 1, journal, used)
    liberties, friends, taken, ko = 0, 0, 0, NO_POINT
    seen0, seen1, seen2 = NO_POINT, NO_POINT, NO_POINT
    for direction in range(4):
        neighbor = point + neighbor_offset(direction, stride)
        neighbor_color = board[COLOR, neighbor]
        if neighbor_color == EMPTY:
            liberties += 1
        elif neighbor_color <= 2:
            head = board[HEAD, neighbor]
            if head != seen0 and head != seen1 and head != seen2:
                used = _change(board, LIBERTIES, head, board[LIBERTIES, head] - 1, journal, used)
                seen2, seen1, seen0 = seen1, seen0, head
                friends += neighbor_color == color
                taken += neighbor_color == enemy and board[LIBERTIES, head] == 0
    used = _change(board, LIBERTIES, point, liberties, journal, used)
    head = point
    if friends > 0:
        for direction in range(4):
            neighbor = point + neighbor_offset(direction, stride)
            if board[COLOR, neighbor] == color and board[HEAD, neighbor] != head:
                larger, smaller = board[HEAD, neighbor], head
                if board[SIZE, larger] < board[SIZE, smaller]:
                    larger, smaller = smaller, larger
                used = _join(board, larger, smaller, journal, used)
                head = larger
    if taken > 0:
        captured, last = 0, NO_POINT
        for direction in range(4):
            neighbor = point + neighbor_offset(direction, stride)
            if board[COLOR, neighbor] == enemy and board[LIBERTIES, board[HEAD, neighbor]] == 0:
                last = neighbor
                captured += board[SIZE, board[HEAD, neighbor]]
                used = _remove(board, board[HEAD, neighbor], journal, used)
        if captured == 1 and board[SIZE, head] == 1 and board[LIBERTIES, head] == 1:
            ko = last
    elif board[LIBERTIES, head] == 0:
        used = _remove(board, head, journal, used)
    if board[HEADER, KO_POINT] != ko:
        used = _change(board, HEADER, KO_POINT, ko, journal, used)
    return used


@kernel
def take_back(board: Board, journal: NDArray[np.int16], used: int) -> int:
    """Undo the latest move in the journal; return the entries that remain in use."""
    used -= 1
    while journal[used, 0] != _START_OF_MOVE:
        board[journal[used, 0], journal[used, 1]] = journal[used, 2]
        used -= 1
    return used
