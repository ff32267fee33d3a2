"""Plays moves for reading and takes them back bit for bit.

A move for reading updates stones, chains and the simple ko point, but not the hash, the list of empty points, the
prisoners and the side to move.

Every cell is recorded in a journal before it changes: an int16 array [entries, 3] of row, place and old value; a row of
-1 precedes each move. The caller keeps the number of entries in use and passes it from move to move.
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

# Most journal entries for one stone. When placed: the mark, 5 own cells, 4 neighbors' liberties, 4 joins of 4 cells and
# a ko point. Renamed: at most 9 times, since its chain at least doubles each time. When captured: its color and 4
# neighbors' liberties.
_PER_STONE = 41

_START_OF_MOVE = -1


def new_journal(board: Board, moves: int) -> NDArray[np.int16]:
    """Allocate a journal for `moves` successive moves on boards of this size."""
    # Each stone on the board may be renamed or captured once more, besides those that are played.
    area = int(board[HEADER, WIDTH]) * int(board[HEADER, HEIGHT])
    return np.empty(((area + moves) * _PER_STONE, 3), dtype=np.int16)


@kernel
def try_stone(board: Board, point: int, color: int, journal: NDArray[np.int16], used: int) -> int:
    """Play a stone on an empty point; return the number of journal entries in use. Does not check legality."""
    journal[used, 0] = _START_OF_MOVE
    return put_stone(board, point, color, journal, used + 1)


@kernel
def take_back(board: Board, journal: NDArray[np.int16], used: int) -> int:
    """Undo the last move in the journal; return the number of entries that remain in use."""
    used -= 1
    while journal[used, 0] != _START_OF_MOVE:
        board[journal[used, 0], journal[used, 1]] = journal[used, 2]
        used -= 1
    return used
