"""Names the shape that a move makes: hane, keima, tiger's mouth, cut and others, each defined by geometry alone.

docs/explain.md has the definitions in words, tests/explain/test_shapes.py a diagram of each.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

from engine.board.tactics import breathes_after, is_eye
from engine.color import EMPTY, WALL, opponent
from engine.explain.stones import Stones
from engine.vertex import PASS, point_at, row_column

_SIDES = ((-1, 0), (0, -1), (0, 1), (1, 0))
_DIAGONALS = ((-1, -1), (-1, 1), (1, -1), (1, 1))
_CORNER_NAMES = {(3, 3): "3-3", (3, 4): "3-4", (4, 4): "4-4", (3, 5): "3-5", (4, 5): "4-5"}
_LEAST_SIDE = 9
"""Smallest board whose corner points have names."""
_CORNER = 6
"""Side of the square in which a stone makes an approach or an enclosure; boards of 13 have four of them."""
_LEAST_SIDE_OF_CORNERS = 13


@dataclass(frozen=True)
class Shape:
    """A shape that a move makes. stones: the other points that make it, of either color, in policy order."""

    name: str
    stones: tuple[int, ...] = ()


class _Move:
    """A move between two positions. own, enemy: colors. row, column: its place."""

    def __init__(self, before: Stones, after: Stones, vertex: int, color: int) -> None:
        self.before, self.after, self.vertex = before, after, vertex
        self.own, self.enemy = color, opponent(color)
        self.row, self.column = row_column(vertex, before.width)
        self.own_beside, self.enemy_beside = (before.beside(vertex, each) for each in (self.own, self.enemy))
        self.own_around = before.around(vertex, self.own)

    def was(self, down: int, right: int) -> int:
        """Return the color at an offset before the move."""
        return self.before.color_at(self.row + down, self.column + right)

    def is_now(self, down: int, right: int) -> int:
        """Return the color at an offset after the move."""
        return self.after.color_at(self.row + down, self.column + right)

    def point(self, down: int, right: int) -> int:
        """Return the point at an offset that is on the board."""
        return point_at(self.row + down, self.column + right, self.before.width)

    def survives(self, stone: int) -> bool:
        """True if the move did not capture a stone."""
        return self.after.color(stone) != EMPTY

    def shared_liberties(self, position: Stones, one: int, other: int) -> set[int]:
        """Return the liberties that the chains of two stones have in common."""
        return position.liberties(position.chain(one)) & position.liberties(position.chain(other))


def shapes_of(before: Stones, after: Stones, vertex: int, color: int) -> list[Shape]:
    """Return the shapes that a move makes; none for a pass."""
    if vertex == PASS:
        return []
    move = _Move(before, after, vertex, color)
    return [Shape(name, tuple(sorted(set(stones)))) for rule in _RULES for name, stones in rule(move)]


_Found = Iterator[tuple[str, list[int]]]


def _hane(move: _Move) -> _Found:
    if move.own_beside:
        return
    for down, right in _DIAGONALS:
        if move.was(down, right) != move.own:
            continue
        for side, other in (((down, 0), (0, right)), ((0, right), (down, 0))):
            if move.is_now(*side) == move.enemy and move.was(*other) == EMPTY:
                yield "hane", [move.point(down, right), move.point(*side)]
                yield from _head_of_two(move, side, other)


def _head_of_two(move: _Move, side: tuple[int, int], other: tuple[int, int]) -> _Found:
    """Yield the hane's name if its enemy stone is the end of a row of exactly two that has own stones beside it."""
    second, third = ((place[0] * side[0], place[1] * side[1]) for place in ((2, 2), (3, 3)))
    beside = second[0] + other[0], second[1] + other[1]
    if move.was(*second) == move.enemy and move.was(*third) != move.enemy and move.was(*beside) == move.own:
        yield "hane at the head of two", [move.point(*each) for each in (side, second, beside)]


def _kosumi(move: _Move) -> _Found:
    if move.own_beside:
        return
    for down, right in _DIAGONALS:
        if move.was(down, right) == move.own and move.was(down, 0) == EMPTY and move.was(0, right) == EMPTY:
            yield "kosumi-tsuke" if move.enemy_beside else "kosumi", [move.point(down, right), *move.enemy_beside]
            return


def _solid(move: _Move) -> _Found:
    """Yield turn, push, nobi or narabi: solid moves beside one own chain."""
    if len({move.before.head(stone) for stone in move.own_beside}) != 1:
        return
    for (down, _), (_, right) in ((a, b) for a in _SIDES for b in _SIDES if a[0] and b[1]):
        sides = {move.was(down, 0), move.was(0, right)}
        if sides == {move.own, move.enemy} and move.was(down, right) in (move.own, move.enemy):
            name = "turn" if move.was(down, right) == move.own else "push"
            yield name, [move.point(down, 0), move.point(0, right), move.point(down, right)]
            return
    if not move.enemy_beside:
        touched = [enemy for stone in move.own_beside for enemy in move.before.beside(stone, move.enemy)]
        yield "nobi" if touched else "narabi", move.own_beside


def _jump(move: _Move) -> _Found:
    """Yield the nearest of ikken tobi, keima, niken tobi and ogeima; the points between must be empty."""
    if move.own_around:
        return
    for name, far, near in (("ikken tobi", 2, 0), ("keima", 2, 1), ("niken tobi", 3, 0), ("ogeima", 3, 1)):
        offsets = {(s * far, t * near) for s in (-1, 1) for t in (-1, 1)}
        offsets |= {(right, down) for down, right in offsets}
        stones = [move.point(*each) for each in offsets if move.was(*each) == move.own and _is_open(move, *each)]
        if stones:
            yield name, stones
            return


def _is_open(move: _Move, down: int, right: int) -> bool:
    """True if the rectangle between the move and an offset is empty but for these two corners."""
    rows, columns = (range(min(0, each), max(0, each) + 1) for each in (down, right))
    places = {(row, column) for row in rows for column in columns} - {(0, 0), (down, right)}
    return all(move.was(*place) == EMPTY for place in places)


def _contact(move: _Move) -> _Found:
    if move.enemy_beside and not move.own_around:
        stones = [stone for stone in move.enemy_beside if move.survives(stone)]
        opposite = [
            (move.point(down, right), move.point(-down, -right))
            for down, right in ((-1, 0), (0, -1))
            if move.was(down, right) == move.was(-down, -right) == move.enemy
        ]
        wedged = [pair for pair in opposite if move.before.head(pair[0]) != move.before.head(pair[1])]
        if wedged and len(stones) == len(move.enemy_beside):
            yield "wedge", list(wedged[0])
        elif stones:
            yield "tsuke", stones


def _cut(move: _Move) -> _Found:
    for one, other in combinations([stone for stone in move.enemy_beside if move.survives(stone)], 2):
        if move.before.head(one) == move.before.head(other):
            continue
        if move.shared_liberties(move.before, one, other) != {move.vertex}:
            continue
        places = [row_column(each, move.before.width) for each in (one, other)]
        # The fourth point of the square; for stones on opposite sides it is the move itself.
        fourth = places[0][0] + places[1][0] - move.row, places[0][1] + places[1][1] - move.column
        if move.own_beside or move.before.color_at(*fourth) == move.own:
            yield "cut", [one, other]
            return


def _connection(move: _Move) -> _Found:
    for one, other in combinations(move.own_beside, 2):
        is_joined = move.before.head(one) == move.before.head(other)
        if not is_joined and move.shared_liberties(move.before, one, other) == {move.vertex}:
            yield "connection", [one, other]
            return


def _peep(move: _Move) -> _Found:
    """Yield a peep: the point beside the move, which no own stone touched, is where the enemy can be cut."""
    for point in move.after.beside(move.vertex, EMPTY):
        if move.before.beside(point, move.own) or not breathes_after(move.after.board, point, move.own):
            continue
        for one, other in combinations(move.after.beside(point, move.enemy), 2):
            if move.after.head(one) == move.after.head(other):
                continue
            if move.shared_liberties(move.after, one, other) == {point}:
                yield "peep", [one, other]
                return


def _bamboo_joint(move: _Move) -> _Found:
    for down, right in _SIDES:
        for across in ((right, down), (-right, -down)):
            far = 2 * across[0], 2 * across[1]
            pairs = [(down, right), far, (far[0] + down, far[1] + right)]
            gap = [across, (across[0] + down, across[1] + right)]
            if all(move.is_now(*each) == move.own for each in pairs) and all(
                move.is_now(*each) == EMPTY for each in gap
            ):
                yield "bamboo joint", [move.point(*each) for each in pairs]
                return


def _tigers_mouth(move: _Move) -> _Found:
    for point in move.after.beside(move.vertex, EMPTY):
        own = move.after.beside(point, move.own)
        if len(own) == 3 and not move.after.beside(point, WALL):
            yield "tiger's mouth", [stone for stone in own if stone != move.vertex]
            return


def _empty_triangle(move: _Move) -> _Found:
    for down, right in _DIAGONALS:
        others = [(down, 0), (0, right), (down, right)]
        now = [move.is_now(*each) for each in others]
        if now.count(move.own) == 2 and now.count(EMPTY) == 1 and move.was(*others[now.index(EMPTY)]) == EMPTY:
            yield "empty triangle", [move.point(*each) for each, color in zip(others, now, strict=True) if color]
            return


def _captured_shape(move: _Move) -> _Found:
    captured = [stone for stone in move.enemy_beside if not move.survives(stone)]
    gone = [stone for head in captured for stone in move.before.chain(head)]
    if len(gone) == 1 and len(move.after.beside(gone[0], move.own)) == 4:
        yield "ponnuki", [stone for stone in move.after.beside(gone[0], move.own) if stone != move.vertex]


def _inside(move: _Move) -> _Found:
    """Yield the filling of an own eye, or a throw-in."""
    if is_eye(move.before.board, move.vertex, move.own):
        yield "eye-filling", move.own_beside
    alone = not move.own_beside and len(move.after.liberties((move.vertex,))) == 1
    if alone and len(move.before.beside(move.vertex, EMPTY)) == 1 and move.enemy_beside:
        yield "throw-in", move.enemy_beside


def _above(move: _Move) -> _Found:
    """Yield a shoulder hit or a cap: moves above an enemy stone, seen from the nearest edge, without contact."""
    if move.own_around or move.enemy_beside:
        return
    line = min(move.before.lines(move.vertex))
    for down, right in _DIAGONALS:
        if move.was(down, right) == move.enemy and move.was(down, 0) == move.was(0, right) == EMPTY:
            stone = move.point(down, right)
            if min(move.before.lines(stone)) in (3, 4) and line == min(move.before.lines(stone)) + 1:
                yield "shoulder hit", [stone]
                return
    if move.before.around(move.vertex, move.enemy):
        return
    for down, right in _SIDES:
        if move.was(2 * down, 2 * right) == move.enemy:
            stone = move.point(2 * down, 2 * right)
            if line == min(move.before.lines(stone)) + 2:
                yield "cap", [stone]
                return


def _place(move: _Move) -> _Found:
    """Yield the names of points: of the corner, the center, the first line."""
    sides = move.before.width, move.before.height
    lines = move.before.lines(move.vertex)
    if min(lines) == 1:
        yield "first line", []
    is_central = lines == ((sides[1] + 1) // 2, (sides[0] + 1) // 2)
    if is_central and all(side % 2 for side in sides) and min(sides) >= _LEAST_SIDE:
        yield "tengen", []
        return
    name = _CORNER_NAMES.get((min(lines), max(lines)))
    is_large = min(sides) >= (_LEAST_SIDE if max(lines) < 5 else _LEAST_SIDE_OF_CORNERS)
    if name and is_large and not move.own_beside and not move.enemy_beside:
        yield name, []


def _corner(move: _Move) -> _Found:
    """Yield an invasion at the 3-3 point, an approach or an enclosure: moves to a corner with one stone."""
    lines = move.before.lines(move.vertex)
    if min(move.before.width, move.before.height) < _LEAST_SIDE_OF_CORNERS or max(lines) > _CORNER:
        return
    near = [(place, move.before.color_at(*place)) for place in _corner_points(move)]
    stones = [(point_at(*place, move.before.width), color) for place, color in near if color]
    if lines == (3, 3) and any(color == move.enemy and move.before.lines(stone) == (4, 4) for stone, color in stones):
        if all(color == move.enemy for _, color in stones):
            yield "3-3 invasion", [stone for stone, _ in stones if move.before.lines(stone) == (4, 4)]
        return
    if len(stones) != 1 or min(lines) not in (3, 4):
        return
    [(stone, color)] = stones
    of_stone = move.before.lines(stone)
    if (min(of_stone), max(of_stone)) in _CORNER_NAMES and not move.enemy_beside and not move.own_beside:
        yield "approach" if color == move.enemy else "enclosure", [stone]


def _corner_points(move: _Move) -> list[tuple[int, int]]:
    """Return the (row, column) of the points of the move's corner, a square of side _CORNER."""
    height, width = move.before.height, move.before.width
    rows = range(_CORNER) if move.row < height / 2 else range(height - _CORNER, height)
    columns = range(_CORNER) if move.column < width / 2 else range(width - _CORNER, width)
    return [(row, column) for row in rows for column in columns]


_RULES: tuple[Callable[[_Move], _Found], ...] = (
    _captured_shape,
    _cut,
    _connection,
    _peep,
    _hane,
    _kosumi,
    _solid,
    _jump,
    _contact,
    _bamboo_joint,
    _tigers_mouth,
    _empty_triangle,
    _inside,
    _above,
    _corner,
    _place,
)
