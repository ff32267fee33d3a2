"""Keys of local patterns, by which the evaluations in a tree share their errors.

Nodes that were reached by the same last two moves over the same 5x5 pattern share an entry of the tree's bias table
("subtree value bias correction", KataGo, docs/KataGoMethods.md). `engine.search.values` defines and uses the sums.
"""

import numpy as np

from engine.board.kernels import point_at, row_column
from engine.board.layout import COLOR, HEAD, HEADER, HEIGHT, KO_POINT, LIBERTIES, WIDTH, Board
from engine.color import EMPTY
from engine.native.jit import kernel
from engine.search.tree import BIAS_ENTRIES, NO_SLOT, Tree
from engine.vertex import PASS

_REACH = 2
_OUTSIDE, _IN_ATARI = 3, 4
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(31)


@kernel
def mixed(key: np.uint64, part: np.uint64) -> np.uint64:
    """Mix one more part into a hash."""
    key = (key ^ part) * _MIX
    return key ^ (key >> _SHIFT)


@kernel
def pattern_key(board: Board, vertex: int, color: int, last_vertex: int) -> np.uint64:
    """Return the pattern key of a move that will be played after `last_vertex`; never 0, which marks a free slot."""
    key = mixed(np.uint64(color), np.uint64(vertex + 1))
    key = mixed(key, np.uint64(last_vertex + 1))
    key = mixed(key, np.uint64(board[HEADER, KO_POINT] + 1))
    if vertex != PASS:
        width, height = board[HEADER, WIDTH], board[HEADER, HEIGHT]
        row, column = row_column(vertex, width)
        bits = np.uint64(0)
        for y in range(row - _REACH, row + _REACH + 1):
            for x in range(column - _REACH, column + _REACH + 1):
                code = _OUTSIDE
                if 0 <= y < height and 0 <= x < width:
                    point = point_at(y, x, width)
                    code = board[COLOR, point]
                    if code != EMPTY and board[LIBERTIES, board[HEAD, point]] == 1:
                        code += _IN_ATARI
                bits = bits * np.uint64(8) + np.uint64(code)
            key = mixed(key, bits)
    return key | np.uint64(1)


@kernel
def bias_slot(tree: Tree, key: np.uint64) -> int:
    """Return the entry of a key in the bias table, added if needed; NO_SLOT if the table is three quarters full."""
    keys = tree.bias_keys
    mask = keys.shape[0] - 1
    place = np.int64((key >> np.uint64(1)) & np.uint64(mask))
    while keys[place] != np.uint64(0):
        if keys[place] == key:
            return int(place)
        place = (place + 1) & mask
    if 4 * tree.counters[BIAS_ENTRIES] >= 3 * keys.shape[0]:
        return NO_SLOT
    tree.counters[BIAS_ENTRIES] += 1
    keys[place] = key
    return int(place)
