"""Defines the memory layout of a board.

A board is one C-contiguous int16 array [ROWS, n], n = max(`array_length(width, height)`, HEADER_LENGTH), indexed by row
name and vertex. A whole position is one block, so a snapshot is one copy, and undo copies the snapshot back. Any size
from 1x1 to 25x25, chosen when the array is created.

Row HEADER holds scalars in the slots below. Chains are circular lists: NEXT leads from stone to stone, HEAD is the
stone that represents the chain, and LIBERTIES and SIZE are valid at the head. EMPTIES lists the empty points in no
particular order, EMPTY_AT holds each one's index in it.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.color import WALL
from engine.vertex import MAX_SIZE, NO_POINT, array_length, points, stride

Board: TypeAlias = NDArray[np.int16]

HEADER, COLOR, HEAD, NEXT, LIBERTIES, SIZE, EMPTIES, EMPTY_AT = range(8)
ROWS = 8

WIDTH, HEIGHT, STRIDE, TO_PLAY, KO_POINT, EMPTY_COUNT, CAPTURED_BLACK, CAPTURED_WHITE, HASH = range(9)
"""Slots of row HEADER. CAPTURED_BLACK counts captured black stones; HASH is four int16 words."""
HASH_WORDS = 4
HEADER_LENGTH = HASH + HASH_WORDS


def new_board(width: int, height: int) -> Board:
    """Return an empty board, Black to play. Raises ValueError unless 1 <= width, height <= 25."""
    if not (1 <= width <= MAX_SIZE and 1 <= height <= MAX_SIZE):
        raise ValueError(f"board size {width}x{height} is outside 1x1 to {MAX_SIZE}x{MAX_SIZE}")
    # int16 holds every vertex and count of a 25x25 board at half the memory traffic of int32.
    board = np.zeros((ROWS, max(array_length(width, height), HEADER_LENGTH)), dtype=np.int16)
    places = points(width, height)
    board[COLOR] = WALL
    board[COLOR, places] = 0
    board[EMPTIES, : len(places)] = places
    board[EMPTY_AT, places] = range(len(places))
    header = board[HEADER]
    header[WIDTH], header[HEIGHT], header[STRIDE] = width, height, stride(width)
    header[TO_PLAY], header[KO_POINT], header[EMPTY_COUNT] = 1, NO_POINT, len(places)
    return board
