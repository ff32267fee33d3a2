"""The slow count of a final position: take the dead stones off and count what is left, literally."""

from collections.abc import Collection

from engine.color import BLACK, EMPTY, WHITE
from engine.game import Game
from engine.rules import Tax
from engine.vertex import points

_DIRECTIONS = ((-1, 0), (1, 0), (0, -1), (0, 1))


def literal_score(game: Game, dead: Collection[int], seki: Collection[int]) -> float:
    """Return Black minus White, komi included, when the given stones are dead or in seki.

    Area counts the stones left and the empty regions that touch one color. Territory counts those regions, unless they
    touch a stone in seki under rules that tax it, and the prisoners with the dead stones among them.
    """
    colors = _colors(game, dead)
    total = 0
    if game.rules.is_area:
        total += sum(_sign(color) for color in colors.values())
    else:
        total += game.captured(WHITE) - game.captured(BLACK) - sum(_sign(game.color_at(vertex)) for vertex in dead)
    taxed = set() if game.rules.tax is Tax.NONE else set(seki)
    for region, border in _regions(game, colors):
        touched = {colors[vertex] for vertex in border}
        if len(touched) == 1 and not border & taxed:
            total += len(region) * _sign(touched.pop())
    return total - game.fixed_bonus


def neutral_points(game: Game, dead: Collection[int]) -> set[int]:
    """Return the empty points that touch both colors, or none, once the dead stones are off."""
    colors = _colors(game, dead)
    regions = ((region, {colors[vertex] for vertex in border}) for region, border in _regions(game, colors))
    return {vertex for region, touched in regions if len(touched) != 1 for vertex in region}


def _colors(game: Game, dead: Collection[int]) -> dict[int, int]:
    return {vertex: EMPTY if vertex in dead else game.color_at(vertex) for vertex in points(game.width, game.height)}


def _sign(color: int) -> int:
    return {BLACK: 1, WHITE: -1, EMPTY: 0}[color]


def _regions(game: Game, colors: dict[int, int]) -> list[tuple[set[int], set[int]]]:
    """Return the empty regions, each with the stones around it."""
    stride = game.width + 1
    found, left = [], {vertex for vertex, color in colors.items() if color == EMPTY}
    while left:
        todo, region, border = [left.pop()], set(), set()
        while todo:
            vertex = todo.pop()
            region.add(vertex)
            for row, column in _DIRECTIONS:
                near = vertex + row * stride + column
                if near in left:
                    left.remove(near)
                    todo.append(near)
                elif colors.get(near, EMPTY) != EMPTY:
                    border.add(near)
        found.append((region, border))
    return found
