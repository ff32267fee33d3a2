"""Mirrored play in plain Python on coordinates: the oracle for the kernels of `engine.search.mirror`."""

import math
from typing import Any

from engine.color import EMPTY
from engine.game import Game
from engine.vertex import PASS, neighbors, point_at, row_column


def mirror_of(game: Game, vertex: int) -> int:
    """Return a point turned by half a turn around the middle of the board."""
    if vertex == PASS:
        return PASS
    row, column = row_column(vertex, game.width)
    return point_at(game.height - row - 1, game.width - column - 1, game.width)


def center_of(game: Game) -> int | None:
    """Return the point that is its own image, if there is one."""
    middle = point_at(game.height // 2, game.width // 2, game.width)
    return middle if mirror_of(game, middle) == middle else None


def _squared(game: Game, one: int, two: int) -> int:
    return sum((a - b) ** 2 for a, b in zip(row_column(one, game.width), row_column(two, game.width), strict=True))


def _chain(game: Game, start: int) -> set[int]:
    found, waiting = {start}, [start]
    while waiting:
        for each in neighbors(waiting.pop(), game.width):
            if each not in found and game.color_at(each) == game.color_at(start):
                found.add(each)
                waiting.append(each)
    return found


def _touches_center(game: Game, vertex: int) -> bool:
    center = center_of(game)
    return center is not None and bool(set(neighbors(vertex, game.width)) & _chain(game, center))


def _liberties(game: Game, point: int) -> int:
    around = {each for stone in _chain(game, point) for each in neighbors(stone, game.width)}
    return sum(game.color_at(each) == EMPTY for each in around)


def _is_difficult(numbers: Any, game: Game) -> bool:
    center = center_of(game)
    has_it = center is not None and game.color_at(center) == numbers["mirror_color"]
    return has_it and numbers["mirror_lead"] >= -0.5


def mirror_prior(numbers: Any, game: Game, depth: int, answer: int, color: int, vertex: int, prior: float) -> float:
    """Return the prior of a move at a node of this depth."""
    share, center = 0.0, center_of(game)
    if color == numbers["mirror_color"]:
        if vertex == answer:
            share = 3.0 if _is_difficult(numbers, game) else 1.0
    elif vertex != PASS:
        row, column = row_column(vertex, game.width)
        # Twice the distance from the middle, so that even boards have no fractions.
        aside = max(abs(2 * row - game.height + 1), abs(2 * column - game.width + 1))
        odd = 0 if center is not None else 1
        if aside <= odd:
            share = 0.3
        elif aside <= odd + 2:
            share = 0.05
        if share < 0.3 and center is not None and numbers["mirror_center"] == numbers["mirror_color"]:
            taken = game.color_at(center) != EMPTY and _touches_center(game, vertex)
            if taken or _squared(game, vertex, center) <= 2:
                share = 0.05
            elif _squared(game, vertex, center) <= 4:
                share = 0.03
    return prior + (1 - prior) * share / (1 + math.sqrt(depth))


def _of_answer(numbers: Any, game: Game, answer: int, part: float, filled: float) -> float:
    """Return the bonus of a mirrored answer that has the share `filled` of its node's weight."""
    lead, error = float(numbers["mirror_lead"]), float(numbers["mirror_error"])
    forced, wanted = 0.05, 0.1
    if _is_difficult(numbers, game):
        forced, wanted = 0.2, 0.75
        if answer != PASS:
            middle = center_of(game)
            assert middle is not None
            far = math.sqrt(_squared(game, middle, answer))
            forced = max(0.2, 1 / (0.75 + far / 2) / max(1, error))
    elif lead >= 5:
        forced, wanted = 0.15, 0.5
    elif lead >= -5:
        forced, wanted = 0.1 + lead, 0.3 + 4 * lead
    forced *= 0.35 / max(1, math.sqrt(error)) if answer == PASS else 1
    divisor = error if error >= 1 else 1
    bonus = 100.0 if filled < forced / divisor else 0.0
    bonus += 0.18 * part if filled < wanted / divisor else 0.0
    return bonus + (0.36 * part if filled < wanted / divisor / 2 else 0.0)


def mirror_value(
    numbers: Any,
    game: Game,
    node: tuple[int, int, int, float, float],
    color: int,
    vertex: int,
    seen: tuple[float, float],
) -> float:
    """Return a visited move's value. node: depth, last move, answer, total weight, utility. seen: weight, value."""
    depth, last, answer, total, utility = node
    weight, value = seen
    part, center, forced = max(0.3, 1 - 0.7 * utility**2), center_of(game), 0.0
    if color == numbers["mirror_color"]:
        return value + (_of_answer(numbers, game, answer, part, weight / total) if vertex == answer else 0)
    if vertex == PASS or center is None:
        return value
    if _is_difficult(numbers, game):
        if _touches_center(game, vertex):
            liberties = _liberties(game, center)
            value += 0.75 / (1 + liberties) / max(1.0, float(numbers["mirror_error"])) * part
            forced = 0.1 / liberties
        for near, least in ((2, 0.01), (4, 0.005)):
            if _squared(game, vertex, center) <= near:
                forced = max(forced, least)
    if vertex == center:
        forced = 0.12 if depth else 0.06
    loss = utility - value
    if loss > 0 and loss * forced > 0.03:
        forced = (forced + 0.03 / loss) / 2
    if last > PASS:
        for near, factor in ((16, 0.9), (5, 0.825), (2, 0.75)):
            forced *= factor if _squared(game, center, last) <= near else 1
    return value + (100.0 if weight < forced * total else 0.0)


def value_by_center(numbers: Any, value: float, no_result: float, owned: float) -> float:
    """Return a value, Black-positive, after the center's owner was counted once more. owned: Black-positive."""
    total = 1 - no_result
    winrate = min(max(0.5 + value / total / 2, 1e-12), 1 - 1e-12)
    odds = winrate / (1 - winrate) * math.exp(2 * (0.7 if numbers["mirror_error"] <= 0 else 0.3) * owned)
    return total * (2 * odds / (1 + odds) - 1)
