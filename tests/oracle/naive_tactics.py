"""What a move does locally, by flood fill on `NaiveBoard`: the oracle for `engine.board.tactics` and `reflexes`.

Also the stones' hash, from the table of random words alone.
"""

import copy
from itertools import product

from engine.board.kernels import ZOBRIST
from engine.board.reflexes import CAPTURE, DOUBLE_ATARI, NO_REFLEX, OWN_EYE, SAVE, SELF_ATARI
from engine.color import EMPTY, WALL, opponent
from engine.vertex import NO_POINT, point_at, row_column
from tests.oracle.naive_board import NaiveBoard

_NAKADE = (
    # Each word is a row of the board: @ the vital point, # the rest of the eye space.
    "#@#",
    "@# #.",
    "#@# .#.",
    ".#. #@# .#.",
    "#. @# ##",
    "##. #@# .#.",
)
"""Straight and bent three, pyramid four, crossed five, bulky five, rabbity six."""


def neighbor_offset(direction: int, width: int) -> int:
    """Return the step of vertices up, left, right or down."""
    down, right = ((-1, 0), (0, -1), (0, 1), (1, 0))[direction]
    return point_at(1 + down, 1 + right, width) - point_at(1, 1, width)


def color_at(board: NaiveBoard, row: int, column: int) -> int:
    """Return the color at a row and column from 0, WALL outside the board."""
    if 0 <= row < board.height and 0 <= column < board.width:
        return board.colors[point_at(row, column, board.width)]
    return WALL


def around(board: NaiveBoard, point: int) -> list[int]:
    """Return the colors of the eight points around a point, row by row."""
    row, column = row_column(point, board.width)
    return [color_at(board, row + y, column + x) for y, x in product((-1, 0, 1), repeat=2) if (y, x) != (0, 0)]


def neighborhood(board: NaiveBoard, point: int) -> int:
    """Return those colors as a number in base 4, the first as its last digit."""
    return sum(color * 4**place for place, color in enumerate(around(board, point)))


def is_eye(board: NaiveBoard, point: int, color: int) -> bool:
    """True if all neighbors are own stones and the enemy has at most one diagonal, none at the edge."""
    colors = around(board, point)
    diagonals = [colors[place] for place in (0, 2, 5, 7)]
    allowed = 0 if WALL in diagonals else 1
    return all(board.colors[n] == color for n in board.neighbors[point]) and (
        diagonals.count(opponent(color)) <= allowed
    )


def contacts(board: NaiveBoard, point: int, color: int, liberties: int) -> list[set[int]]:
    """Return the chains of a color with a number of liberties that touch a point, once for each contact."""
    near = [board.chain(n) for n in board.neighbors[point] if board.colors[n] == color]
    return [stones for stones, free in near if len(free) == liberties]


def count(chains: list[set[int]]) -> int:
    """Return the number of stones, those of a chain that is listed twice twice."""
    return sum(map(len, chains))


def chain_size_after(board: NaiveBoard, point: int, color: int) -> int:
    """Return the stone and the sizes of the own chains that it touches, once for each contact."""
    return 1 + sum(len(board.chain(n)[0]) for n in board.neighbors[point] if board.colors[n] == color)


def captures(board: NaiveBoard, point: int, color: int) -> int:
    """Return the stones of the enemy chains in atari that a move touches, once for each contact."""
    return count(contacts(board, point, opponent(color), 1))


def puts_in_atari(board: NaiveBoard, point: int, color: int) -> int:
    """Return the stones of the enemy chains with two liberties that a move touches, once for each contact."""
    return count(contacts(board, point, opponent(color), 2))


def takes(board: NaiveBoard, point: int, color: int) -> int:
    """Return the number of stones that a move captures."""
    return len(copy.deepcopy(board).place(point, color)[0])


def breathes_after(board: NaiveBoard, point: int, color: int) -> bool:
    """True if a move leaves its chain two liberties or captures two stones or more."""
    after = copy.deepcopy(board)
    after.place(point, color)
    is_there = after.colors[point] == color
    captured = contacts(board, point, opponent(color), 1)
    return (is_there and len(after.chain(point)[1]) >= 2) or any(len(stones) > 1 for stones in captured)


def saves(board: NaiveBoard, point: int, color: int) -> int:
    """Return the own stones in atari that a move touches, once for each contact, if it leaves them two liberties."""
    return count(contacts(board, point, color, 1)) if breathes_after(board, point, color) else 0


def rescues(board: NaiveBoard, point: int, color: int) -> int:
    """Return what a move saves, 0 on the first line."""
    return 0 if WALL in around(board, point) else saves(board, point, color)


def attacks_two(board: NaiveBoard, point: int, color: int) -> int:
    """Return what a move puts in atari if those are two chains or more and it leaves its own two liberties."""
    chains = contacts(board, point, opponent(color), 2)
    is_double = any(stones != chains[0] for stones in chains)
    return count(chains) if is_double and breathes_after(board, point, color) else 0


def reflex_at(board: NaiveBoard, point: int, color: int) -> int:
    """Return the kind of a legal move: the first that applies."""
    wastes = not breathes_after(board, point, color) and (
        chain_size_after(board, point, color) > 1 or puts_in_atari(board, point, color) == 0
    )
    kinds = {
        CAPTURE: takes(board, point, color) > 0,
        SAVE: rescues(board, point, color) > 0,
        DOUBLE_ATARI: attacks_two(board, point, color) > 0,
        OWN_EYE: is_eye(board, point, color),
        SELF_ATARI: wastes,
    }
    return next((kind for kind, applies in kinds.items() if applies), NO_REFLEX)


def last_liberty(board: NaiveBoard, stone: int) -> int:
    """Return the liberty of a chain in atari."""
    (liberty,) = board.chain(stone)[1]
    return liberty


def counter_captures(board: NaiveBoard, stone: int) -> set[int]:
    """Return the moves that capture the largest of the enemy chains in atari that touch a chain, ko excepted."""
    enemy = opponent(board.colors[stone])
    near = {n for each in board.chain(stone)[0] for n in board.neighbors[each] if board.colors[n] == enemy}
    chains = [board.chain(n) for n in near]
    moves = [(len(stones), min(free)) for stones, free in chains if len(free) == 1 and free != {board.ko_point}]
    return {point for size, point in moves if size == max(moves)[0]}


def _vital_points() -> dict[frozenset[tuple[int, int]], tuple[int, int]]:
    """Return the vital point of every nakade shape, turned and mirrored, moved to row and column 0."""
    found = {}
    for drawing in _NAKADE:
        cells = {
            (row, column): mark
            for row, marks in enumerate(drawing.split())
            for column, mark in enumerate(marks)
            if mark != "."
        }
        for swap, up, left in product((False, True), (1, -1), (1, -1)):
            moved = {(up * (c if swap else r), left * (r if swap else c)): mark for (r, c), mark in cells.items()}
            top, side = min(r for r, _ in moved), min(c for _, c in moved)
            shape = {(r - top, c - side): mark for (r, c), mark in moved.items()}
            found[frozenset(shape)] = next(place for place, mark in shape.items() if mark == "@")
    return found


_VITAL = _vital_points()


def nakade_point(board: NaiveBoard, stone: int) -> int:
    """Return the vital point of the first eye space of the stone's color next to it that has one, or NO_POINT."""
    for first in board.neighbors[stone]:
        if board.colors[first] != EMPTY:
            continue
        space, todo, borders = {first}, [first], set()
        while todo:
            for neighbor in board.neighbors[todo.pop()]:
                if board.colors[neighbor] != EMPTY:
                    borders.add(board.colors[neighbor])
                elif neighbor not in space:
                    space.add(neighbor)
                    todo.append(neighbor)
        cells = [row_column(point, board.width) for point in space]
        top, side = min(r for r, _ in cells), min(c for _, c in cells)
        vital = _VITAL.get(frozenset((r - top, c - side) for r, c in cells))
        if borders == {board.colors[stone]} and vital is not None:
            return point_at(vital[0] + top, vital[1] + side, board.width)
    return NO_POINT


def zobrist(point: int, color: int) -> int:
    """Return a stone's words of the table as one number, the first lowest."""
    return sum((int(word) % 2**16) << (16 * place) for place, word in enumerate(ZOBRIST[color, point]))


def position_hash(board: NaiveBoard) -> int:
    """Return the exclusive or of all stones' numbers."""
    bits = 0
    for point in board.points:
        if board.colors[point] != EMPTY:
            bits ^= zobrist(point, board.colors[point])
    return bits


def hash_after(board: NaiveBoard, point: int, color: int) -> int:
    """Return the hash of the stones after a move."""
    after = copy.deepcopy(board)
    after.place(point, color)
    return position_hash(after)
