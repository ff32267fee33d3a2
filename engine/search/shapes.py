"""Shapes that a side has played in a game: moves with the stones around them, in all symmetries.

A search may penalize their repetition (KataGo's `avoidRepeatedPatternUtility`), so that a stronger side does not play
the same opening in every corner. A shape includes the point of the board: only symmetric places count as the same.
"""

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import point_at, row_column
from engine.board.layout import COLOR, HEAD, HEADER, HEIGHT, KO_POINT, LIBERTIES, WIDTH, Board
from engine.color import EMPTY
from engine.game import Game
from engine.native.jit import kernel
from engine.search.bias import mixed
from engine.symmetry import FLIP_COLUMNS, FLIP_ROWS, TRANSPOSE, applicable, map_vertex
from engine.vertex import NO_POINT, PASS

_REACH = 4
_OUTSIDE, _IN_ATARI = 3, 4


@kernel
def shape_key(board: Board, vertex: int, seen_at: int, color: int, symmetry: int) -> np.uint64:
    """Return the key of a move before it is played, under a symmetry that maps its vertex to `seen_at`."""
    width, height = board[HEADER, WIDTH], board[HEADER, HEIGHT]
    row, column = row_column(vertex, width)
    key = mixed(np.uint64(color), np.uint64(seen_at + 1))
    for down in range(-_REACH, _REACH + 1):
        bits = np.uint64(0)
        for right in range(-_REACH, _REACH + 1):
            # The offset on this board of what the turned board has at (down, right).
            y, x = (right, down) if symmetry & TRANSPOSE else (down, right)
            y = -y if symmetry & FLIP_ROWS else y
            x = -x if symmetry & FLIP_COLUMNS else x
            code = _OUTSIDE
            if 0 <= row + y < height and 0 <= column + x < width:
                point = point_at(row + y, column + x, width)
                code = board[COLOR, point]
                if code != EMPTY and board[LIBERTIES, board[HEAD, point]] == 1:
                    code += _IN_ATARI
            bits = bits * np.uint64(8) + np.uint64(code)
        key = mixed(key, bits)
    return key


def played_shapes(game: Game, color: int) -> NDArray[np.uint64]:
    """Return the keys of the shapes that `color` has played in a game; passes and captures of a ko do not count."""
    earlier, keys = game.copy(), set[int]()
    while earlier.moves:
        move, takes_ko = earlier.moves[-1], earlier.board[HEADER, KO_POINT] != NO_POINT
        earlier.undo()
        if move.color == color and move.vertex != PASS and not takes_ko:
            for symmetry in applicable(game.width, game.height):
                seen_at = map_vertex(move.vertex, symmetry, game.width, game.height)
                keys.add(int(shape_key(earlier.board, move.vertex, seen_at, color, symmetry)))
    return np.array(sorted(keys), dtype=np.uint64)
