"""Pass-alive chains, area and independent life in plain Python: the yardstick for `engine.board.area`.

Follows the steps of KataGo's area algorithm one by one, on sets of points; counts no score.
"""

from engine.color import BLACK, EMPTY, WHITE, opponent
from tests.oracle.naive_board import NaiveBoard


def connected(board: NaiveBoard, members: set[int]) -> list[set[int]]:
    """Return the 4-connected parts of a set of points."""
    parts, left = [], set(members)
    while left:
        part, todo = set(), [left.pop()]
        while todo:
            point = todo.pop()
            part.add(point)
            near = left.intersection(board.neighbors[point])
            left -= near
            todo += near
        parts.append(part)
    return parts


def around(board: NaiveBoard, members: set[int]) -> set[int]:
    """Return the points next to a set of points, which may be points of the set."""
    return {neighbor for point in members for neighbor in board.neighbors[point]}


def of_color(board: NaiveBoard, color: int) -> set[int]:
    """Return the points that hold a color."""
    return {point for point in board.points if board.colors[point] == color}


def benson(board: NaiveBoard, color: int, suicide: bool) -> tuple[list[set[int]], list[set[int]]]:
    """Return the pass-alive chains of a color, and its regions that touch no other chain of it."""
    empty = of_color(board, EMPTY)
    alive = [stones for owner, stones, _ in board.chains() if owner == color]
    regions = [r for r in connected(board, set(board.points) - of_color(board, color)) if r & empty]
    while True:
        mortal = [chain for chain in alive if len([r for r in regions if is_vital(board, r, chain, suicide)]) < 2]
        if not mortal:
            return alive, regions
        alive = [chain for chain in alive if chain not in mortal]
        regions = [r for r in regions if not any(around(board, chain) & r for chain in mortal)]


def is_vital(board: NaiveBoard, region: set[int], chain: set[int], suicide: bool) -> bool:
    """True if all empty points of a region are next to a chain; where suicide is legal, all its points."""
    must_touch = region if suicide else region & of_color(board, EMPTY)
    return must_touch <= around(board, chain)


def area_map(
    board: NaiveBoard, suicide: bool, *, safe_big: bool = True, unsafe_big: bool, stones_alive: bool
) -> dict[int, int]:
    """Return the owner of every point.

    safe_big: regions of any size without enemy stones count where they are pass-alive. unsafe_big: so do those
    that are not. stones_alive: so do stones that nothing else claims.
    """
    owner = dict.fromkeys(board.points, EMPTY)
    for color in (BLACK, WHITE):
        own, enemy = of_color(board, color), of_color(board, opponent(color))
        if not own:
            continue
        chains, safe = benson(board, color, suicide)
        for chain in chains:
            owner |= dict.fromkeys(chain, color)
        unsafe = []
        for region in connected(board, set(board.points) - own):
            far = region - around(board, own)
            if region in safe and (len(far) <= 1 or (safe_big and not region & enemy)):
                owner |= dict.fromkeys(region, color)
            elif unsafe_big and region & of_color(board, EMPTY) and not region & enemy:
                unsafe += region
        owner |= {point: color for point in unsafe if owner[point] == EMPTY}
    if stones_alive:
        owner |= {point: board.colors[point] for point in board.points if owner[point] == EMPTY}
    return owner


def independent_life(board: NaiveBoard, owner: dict[int, int]) -> tuple[dict[int, int], dict[int, int]]:
    """Return the part of an area map that is not in seki, and the number of groups in it by color."""
    neutral = {point for point in of_color(board, EMPTY) if owner[point] == EMPTY}
    result = dict.fromkeys(board.points, EMPTY)
    groups = {BLACK: 0, WHITE: 0}
    for color in (BLACK, WHITE):
        in_atari = {
            stone for who, stones, free in board.chains() if who == color and len(free) == 1 for stone in stones
        }
        for group in connected(board, {point for point in board.points if owner[point] == color}):
            if not group & in_atari and not around(board, group) & neutral:
                result |= dict.fromkeys(group, color)
                groups[color] += 1
    return result, groups
