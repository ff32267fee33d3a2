"""Moves for reading: played on a board to look ahead, and taken back bit for bit.

A move for reading keeps up what reading asks for, the stones, their chains and the simple ko point, and leaves
alone what it does not: the hash, the list of empty points, the prisoners and the turn.

Every cell that a move changes is noted in a journal first, an int16 array [entries, 3] of row, place
and old value; a row of -1 stands before each move. The caller holds the number of entries in use and
hands it from move to move.
"""

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import put_stone
from engine.board.layout import (
    HEADER,
    HEIGHT,
    WIDTH,
    Board,
)
from engine.native.jit import kernel

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
def try_stone(board: Board, point: int, color: int, journal: NDArray[np.int16], used: int) -> int:
    """Play a stone on an empty point; return the entries of the journal in use. Does not check legality."""
    journal[used, 0] = _START_OF_MOVE
    return put_stone(board, point, color, journal, used + 1)


@kernel
def take_back(board: Board, journal: NDArray[np.int16], used: int) -> int:
    """Undo the latest move in the journal; return the entries that remain in use."""
    used -= 1
    while journal[used, 0] != _START_OF_MOVE:
        board[journal[used, 0], journal[used, 1]] = journal[used, 2]
        used -= 1
    return used
