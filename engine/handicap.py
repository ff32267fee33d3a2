"""Chooses handicap points: GTP's fixed points, and well spread free ones. Does not place stones."""

from engine.errors import IllegalMove
from engine.vertex import point_at, points, row_column

_MIN_STONES = 2
_MIN_SIZE = 7
_SIZE_OF_FOURTH_LINE = 13
_MAX_FIXED = 9
_MAX_WITHOUT_CENTER = 4
# Penalty of a free stone on the first or second line, in points of distance to the nearest stone.
_LINE_PENALTY = {0: 4.0, 1: 1.5}


def max_fixed_handicap(width: int, height: int) -> int:
    """Return the largest fixed handicap: 9, or 4 if a side is even or 7 long, or 0 if a side is below 7."""
    if min(width, height) < _MIN_SIZE:
        return 0
    has_center = width % 2 == 1 and height % 2 == 1 and min(width, height) > _MIN_SIZE
    return _MAX_FIXED if has_center else _MAX_WITHOUT_CENTER


def possible_handicaps(width: int, height: int) -> str:
    """Return in words which fixed handicaps a board has."""
    most = max_fixed_handicap(width, height)
    return f"{_MIN_STONES} to {most} stones" if most else "none"


def fixed_handicap_points(number: int, width: int, height: int) -> list[int]:
    """Return the points of a fixed handicap (GTP 2, section 4.1.1) in GNU Go's order.

    Raises IllegalMove("invalid number of stones").
    """
    if not _MIN_STONES <= number <= max_fixed_handicap(width, height):
        raise IllegalMove("invalid number of stones")
    left, center_column, right = _lines(width)
    top, center_row, bottom = _lines(height)
    corners = [(top, left), (top, right), (bottom, left), (bottom, right)]
    sides = [(center_row, left), (center_row, right), (top, center_column), (bottom, center_column)]
    if number <= _MAX_WITHOUT_CENTER:
        # Two stones stand in opposite corners, upper right and lower left.
        places = corners[1:3] if number == _MIN_STONES else corners[:number]
    else:
        places = corners + sides[: (number - 4) // 2 * 2]
        if number % 2:
            places.append((center_row, center_column))
    return [point_at(row, column, width) for row, column in places]


def free_handicap_points(number: int, width: int, height: int) -> list[int]:
    """Return exactly `number` well spread points: the fixed points first, then the widest gaps.

    Any number that leaves one point empty is allowed: every chain then has a liberty.
    Raises IllegalMove("invalid number of stones").
    """
    if not _MIN_STONES <= number < width * height:
        raise IllegalMove("invalid number of stones")
    fixed = min(number, max_fixed_handicap(width, height))
    chosen = fixed_handicap_points(fixed, width, height) if fixed else []
    gaps = {vertex: _edge_penalty(vertex, width, height) for vertex in points(width, height)}
    nearest = dict.fromkeys(gaps, float(width + height))
    for vertex in chosen:
        _add_stone(vertex, nearest, width)
    while len(chosen) < number:
        # Greedy: each stone goes to the point farthest from all others, in Manhattan distance.
        best = max(nearest, key=lambda vertex: nearest[vertex] + gaps[vertex])
        chosen.append(best)
        _add_stone(best, nearest, width)
    return chosen


def _lines(length: int) -> tuple[int, int, int]:
    """Return the low, middle and high coordinate of handicap stones along one side."""
    margin = 3 if length >= _SIZE_OF_FOURTH_LINE else 2
    return margin, length // 2, length - 1 - margin


def _edge_penalty(vertex: int, width: int, height: int) -> float:
    row, column = row_column(vertex, width)
    line = min(row, column, height - 1 - row, width - 1 - column)
    return -_LINE_PENALTY.get(line, 0.0)


def _add_stone(placed: int, nearest: dict[int, float], width: int) -> None:
    """Remove a placed stone from the candidates and update their distance to the nearest stone."""
    del nearest[placed]
    row, column = row_column(placed, width)
    for vertex, distance in nearest.items():
        other_row, other_column = row_column(vertex, width)
        nearest[vertex] = min(distance, float(abs(row - other_row) + abs(column - other_column)))
