"""Parses the fields of a query. Error messages have KataGo's words."""

import re
from typing import Any

from engine.errors import BadVertex
from engine.vertex import PASS, parse_vertex, point_at
from gtp.args import COLORS

Object = dict[str, Any]

_COORDINATES = re.compile(r"\(\s*([0-9]{1,3})\s*,\s*([0-9]{1,3})\s*\)", re.ASCII)
_PAIRS = 'Must be an array of pairs of the form: ["b" or "w", GTP board vertex]'
_VERTICES = "Must be an array of GTP board vertices"


class QueryError(Exception):
    """An error in one field of a query."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def integer(given: Object, field: str, least: int, most: int, message: str) -> int:
    """Return an integer field within bounds."""
    value = given.get(field)
    # `bool` is a subclass of `int`, but JSON's true is no number.
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise QueryError(field, message)
    return value


def real(given: Object, field: str, least: float, most: float, message: str) -> float:
    """Return a numeric field within bounds."""
    value = given.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise QueryError(field, message)
    return float(value)


def truth(given: Object, field: str, *, other: str = "") -> bool:
    """Return a boolean field, False if it is missing. other: a further value that the field can have, for the error."""
    value = given.get(field, False)
    if not isinstance(value, bool):
        raise QueryError(field, "Must be a boolean" + (f" or {other}" if other else ""))
    return value


def integers(given: Object, field: str, message: str) -> list[int]:
    """Return a field with an array of integers."""
    value = given.get(field)
    if not isinstance(value, list) or not all(_is_integer(each) for each in value):
        raise QueryError(field, message)
    return value


def player(given: Object, field: str) -> int:
    """Return a field with a color."""
    value = given.get(field)
    color = COLORS.get(value.lower()) if isinstance(value, str) else None
    if color is None:
        raise QueryError(field, 'Must be "b" or "w"')
    return color


def vertices(given: Object, field: str, size: tuple[int, int], within: str) -> list[int]:
    """Return a field with an array of vertices, also PASS, of an object in the field `within`."""
    value = given.get(field)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise QueryError(field, _VERTICES)
    return [_vertex(each, size, within) for each in value]


def moves(given: Object, field: str, size: tuple[int, int], *, may_pass: bool) -> list[tuple[int, int]]:
    """Return a field with an array of [player, vertex], each as (color, vertex)."""
    value = given.get(field)
    if not isinstance(value, list):
        raise QueryError(field, _PAIRS)
    found = []
    for pair in value:
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(each, str) for each in pair):
            raise QueryError(field, _PAIRS)
        color = COLORS.get(pair[0].lower())
        if color is None:
            raise QueryError(field, f"Could not parse player: {pair[0]}")
        vertex = _vertex(pair[1], size, field)
        if vertex == PASS and not may_pass:
            raise QueryError(field, f"Could not parse board location: {pair[1]}")
        found.append((color, vertex))
    return found


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _vertex(text: str, size: tuple[int, int], field: str) -> int:
    """Parse "Q16", "pass" or "(15,3)"; the latter counts from the top left corner."""
    coordinates = _COORDINATES.fullmatch(text.strip())
    if coordinates:
        column, row = (int(each) for each in coordinates.groups())
        if column < size[0] and row < size[1]:
            return point_at(row, column, size[0])
        raise QueryError(field, f"Could not parse board location: {text}")
    try:
        return parse_vertex(text.strip(), *size)
    except BadVertex:
        raise QueryError(field, f"Could not parse board location: {text}") from None
