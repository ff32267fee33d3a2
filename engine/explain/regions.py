"""Splits a board in corners, sides and center, and counts whose points they are by the ownership."""

from collections.abc import Sequence

from engine.vertex import point_at, policy_index

_ROWS, _COLUMNS = ("upper", "", "lower"), ("left", "", "right")


def regions(width: int, height: int) -> dict[str, tuple[int, ...]]:
    """Return the points of each region by its name, from the upper left corner to the lower right one.

    A corner is a third of the board's lines in both directions, rounded down: 6 by 6 on 19x19, 3 by 3 on 9x9.
    """
    found: dict[str, list[int]] = {}
    for row in range(height):
        for column in range(width):
            name = _name(_third(row, height), _third(column, width))
            found.setdefault(name, []).append(point_at(row, column, width))
    return {name: tuple(points) for name, points in found.items()}


def _third(place: int, side: int) -> int:
    """Return 0, 1 or 2: the first third of the lines, what is between, or the last third."""
    third = side // 3
    return 0 if place < third else 2 if place >= side - third else 1


def _name(row: int, column: int) -> str:
    words = [word for word in (_ROWS[row], _COLUMNS[column]) if word]
    return " ".join([*words, "corner" if len(words) == 2 else "side"]) if words else "center"


def owned_points(ownership: Sequence[float], width: int, height: int) -> dict[str, float]:
    """Return the expected points of each region: Black's less White's, stones included.

    ownership: [area] in policy order, 1 Black's, -1 White's.
    """
    return {
        name: sum(ownership[policy_index(point, width, height)] for point in points)
        for name, points in regions(width, height).items()
    }
