"""Judges moves locally, without search: eyes, self-atari, captures, escapes, 3x3 patterns.

Pure functions of a board, used as priors, as playout policy and as hints. Ladders belong to `engine.board.ladders`. The
3x3 patterns are those of S. Gelly et al., "Modification of UCT with Patterns in Monte-Carlo Go" (2006): hane, cut, and
edge shapes around an empty point.
"""

from functools import reduce
from itertools import product

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import neighbor_offset
from engine.board.layout import COLOR, HEAD, HEADER, KO_POINT, LIBERTIES, NEXT, SIZE, STRIDE, Board
from engine.color import EMPTY, WALL
from engine.native.jit import kernel
from engine.vertex import NO_POINT

NAKADE_POINTS = 6
"""Size of the largest eye space that one move can kill."""
_DIAGRAMS = (
    # Rows of three: X one color, O the other, . empty, x not X, o not O, ? anything, # wall, @ the point itself.
    ("XOX", ".@.", "???"),  # enclosing hane
    ("XO.", ".@.", "?.?"),  # non-cutting hane
    ("XO?", "X@.", "x.?"),  # magari
    ("?O?", "X@X", "xxx"),  # cut against one stone
    ("XO?", "O@o", "?o?"),  # cut
    ("XO?", "O@X", "???"),  # cut with a stone
    ("?X?", "O@O", "ooo"),  # cut from above
    ("OX?", "o@O", "###"),  # edge block
    ("?X?", "x@O", "###"),  # edge chase
    ("?XO", "x@x", "###"),  # edge hane
    ("?OX", "X@O", "###"),  # edge cut
)
_MEANINGS = {"X": (1,), "O": (2,), ".": (0,), "x": (0, 2, 3), "o": (0, 1, 3), "?": (0, 1, 2, 3), "#": (3,)}
_SWAPPED = {cell: tuple((0, 2, 1, 3)[color] for color in colors) for cell, colors in _MEANINGS.items()}


def _pattern_table() -> NDArray[np.bool_]:
    """Return the patterns as [65536] bool, indexed by `neighborhood`, for either color to move."""
    # All rotations, reflections and colors are expanded once, so that a playout only reads one bit.
    table = np.zeros(1 << 16, dtype=np.bool_)
    for diagram in _DIAGRAMS:
        cells = np.array([list(row) for row in diagram])
        for turn, flip in product(range(4), (False, True)):
            turned = np.rot90(cells, turn)
            shape = turned[:, ::-1] if flip else turned
            around = [shape[r, c] for r, c in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (2, 2))]
            for colors in (_MEANINGS, _SWAPPED):
                shifted = [np.array(colors[cell]) << (2 * place) for place, cell in enumerate(around)]
                table[reduce(np.add.outer, shifted).ravel()] = True
    return table


PATTERNS = _pattern_table()
"""[65536] bool by `neighborhood`: shapes in which a local move is probably good."""


@kernel
def neighborhood(board: Board, point: int) -> int:
    """Return the colors of the eight points around a point, two bits each, row by row."""
    stride = board[HEADER, STRIDE]
    return (
        board[COLOR, point - stride - 1]
        | board[COLOR, point - stride] << 2
        | board[COLOR, point - stride + 1] << 4
        | board[COLOR, point - 1] << 6
        | board[COLOR, point + 1] << 8
        | board[COLOR, point + stride - 1] << 10
        | board[COLOR, point + stride] << 12
        | board[COLOR, point + stride + 1] << 14
    )


@kernel
def is_eye(board: Board, point: int, color: int) -> bool:
    """True if an empty point is a one-point eye that its owner should not fill.

    All four neighbors are own stones or wall, and the enemy has at most one diagonal point, none at the edge.
    """
    stride = board[HEADER, STRIDE]
    for direction in range(4):
        neighbor_color = board[COLOR, point + neighbor_offset(direction, stride)]
        if neighbor_color != color and neighbor_color != WALL:
            return False
    enemies, walls = 0, 0
    for diagonal in (-stride - 1, -stride + 1, stride - 1, stride + 1):
        diagonal_color = board[COLOR, point + diagonal]
        enemies += diagonal_color == 3 - color
        walls += diagonal_color == WALL
    # At the edge or in the corner, a single enemy diagonal makes the eye false.
    return enemies + (walls > 0) < 2


@kernel
def breathes_after(board: Board, point: int, color: int) -> bool:
    """True unless a legal move puts its own chain in atari; capturing two stones or more is never counted as that."""
    stride = board[HEADER, STRIDE]
    first = NO_POINT
    for direction in range(4):
        neighbor = point + neighbor_offset(direction, stride)
        neighbor_color = board[COLOR, neighbor]
        if neighbor_color == EMPTY:
            if first == NO_POINT:
                first = neighbor
            elif first != neighbor:
                return True
        elif neighbor_color == color:
            # The move takes one of the chain's liberties, so three leave two.
            if board[LIBERTIES, board[HEAD, neighbor]] > 2:
                return True
        elif neighbor_color == 3 - color:
            head = board[HEAD, neighbor]
            if board[LIBERTIES, head] == 1:
                # The chain can extend into the place of two stones or more, even where only one becomes its liberty.
                if board[SIZE, head] > 1:
                    return True
                if first == NO_POINT:
                    first = neighbor
                elif first != neighbor:
                    return True
    for direction in range(4):
        neighbor = point + neighbor_offset(direction, stride)
        if board[COLOR, neighbor] == color:
            head = board[HEAD, neighbor]
            # The cheap tests failed: count distinct liberties of the connected chains, stopping at the second.
            remaining = board[LIBERTIES, head] - 1
            stone = neighbor
            while remaining > 0:
                for side in range(4):
                    liberty = stone + neighbor_offset(side, stride)
                    if board[COLOR, liberty] == EMPTY and liberty != point:
                        if first == NO_POINT:
                            first = liberty
                        elif liberty != first:
                            return True
                stone = board[NEXT, stone]
                if stone == neighbor:
                    break
    return False


@kernel
def chain_size_after(board: Board, point: int, color: int) -> int:
    """Return an upper bound for the size of the chain after a move (a chain with two contacts counts twice)."""
    stride = board[HEADER, STRIDE]
    size = 1
    for direction in range(4):
        neighbor = point + neighbor_offset(direction, stride)
        if board[COLOR, neighbor] == color:
            size += board[SIZE, board[HEAD, neighbor]]
    return size


@kernel
def captures(board: Board, point: int, color: int) -> int:
    """Return an upper bound for the number of captured stones (a chain with two contacts counts twice)."""
    stride = board[HEADER, STRIDE]
    stones = 0
    for direction in range(4):
        neighbor = point + neighbor_offset(direction, stride)
        if board[COLOR, neighbor] == 3 - color and board[LIBERTIES, board[HEAD, neighbor]] == 1:
            stones += board[SIZE, board[HEAD, neighbor]]
    return stones


@kernel
def puts_in_atari(board: Board, point: int, color: int) -> int:
    """Return the number of enemy stones that a move leaves with one liberty (chains with two contacts count twice)."""
    stride = board[HEADER, STRIDE]
    stones = 0
    for direction in range(4):
        neighbor = point + neighbor_offset(direction, stride)
        if board[COLOR, neighbor] == 3 - color and board[LIBERTIES, board[HEAD, neighbor]] == 2:
            stones += board[SIZE, board[HEAD, neighbor]]
    return stones


@kernel
def saves(board: Board, point: int, color: int) -> int:
    """Return the number of own stones that a move saves from atari by extension or connection."""
    stride = board[HEADER, STRIDE]
    stones = 0
    for direction in range(4):
        neighbor = point + neighbor_offset(direction, stride)
        if board[COLOR, neighbor] == color and board[LIBERTIES, board[HEAD, neighbor]] == 1:
            stones += board[SIZE, board[HEAD, neighbor]]
    if stones == 0 or not breathes_after(board, point, color):
        return 0
    return stones


@kernel
def last_liberty(board: Board, head: int) -> int:
    """Return the only liberty of a chain in atari."""
    stride = board[HEADER, STRIDE]
    stone = head
    while True:
        for direction in range(4):
            point = stone + neighbor_offset(direction, stride)
            if board[COLOR, point] == EMPTY:
                return point
        stone = board[NEXT, stone]
        if stone == head:
            return NO_POINT


@kernel
def counter_capture(board: Board, head: int) -> int:
    """Return the largest capture of an enemy chain in atari that touches a chain, or NO_POINT."""
    stride = board[HEADER, STRIDE]
    color = board[COLOR, head]
    best, best_size = NO_POINT, 0
    stone = head
    while True:
        for direction in range(4):
            neighbor = stone + neighbor_offset(direction, stride)
            if board[COLOR, neighbor] == 3 - color:
                enemy = board[HEAD, neighbor]
                if board[LIBERTIES, enemy] == 1 and board[SIZE, enemy] > best_size:
                    point = last_liberty(board, enemy)
                    if point != board[HEADER, KO_POINT]:
                        best, best_size = point, board[SIZE, enemy]
        stone = board[NEXT, stone]
        if stone == head:
            return best


@kernel
def _degree(points: NDArray[np.int16], count: int, i: int, stride: int) -> int:
    """Return the number of the other points that are neighbors of point i."""
    degree = 0
    for j in range(count):
        step = abs(points[i] - points[j])
        degree += step == 1 or step == stride
    return degree


@kernel
def _small_eye_space(board: Board, first: int, color: int, eye_space: NDArray[np.int16]) -> int:
    """Collect the empty points around `first`; return their number, 0 if there are too many or the space is open."""
    stride = board[HEADER, STRIDE]
    eye_space[0] = first
    count, i = 1, 0
    while i < count:
        for direction in range(4):
            point = eye_space[i] + neighbor_offset(direction, stride)
            if board[COLOR, point] == 3 - color:
                return 0
            if board[COLOR, point] != EMPTY:
                continue
            known = False
            for j in range(count):
                known = known or eye_space[j] == point
            if not known:
                if count == NAKADE_POINTS:
                    return 0
                eye_space[count] = point
                count += 1
        i += 1
    return count


@kernel
def nakade_point(board: Board, stone: int, eye_space: NDArray[np.int16]) -> int:
    """Return the vital point of a small eye space of the stone's color next to it, or NO_POINT.

    These are spaces of three to six empty points that one move inside reduces to one eye: straight and bent three,
    pyramid four, bulky and crossed five, rabbity six.
    eye_space: [NAKADE_POINTS] int16 working memory.
    """
    stride, color = board[HEADER, STRIDE], board[COLOR, stone]
    for direction in range(4):
        first = stone + neighbor_offset(direction, stride)
        if board[COLOR, first] != EMPTY:
            continue
        count = _small_eye_space(board, first, color, eye_space)
        if count < 3:
            continue
        total, best, best_degree = 0, 0, 0
        for i in range(count):
            degree = _degree(eye_space, count, i, stride)
            total += degree
            if degree > best_degree:
                best, best_degree = i, degree
        # The sum of degrees identifies the shape: 10 is the bulky five, 12 with a degree of 4 the rabbity six.
        is_vital = (
            count == 3
            or (count == 4 and best_degree == 3)
            or (count == 5 and (best_degree == 4 or total == 10))
            or (count == 6 and best_degree == 4 and total == 12)
        )
        if is_vital:
            return eye_space[best]
    return NO_POINT
