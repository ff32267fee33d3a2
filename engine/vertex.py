"""Defines the vertex, one integer for every move, and all its conversions.

A vertex indexes a board that is stored with a one-point wall: rows of `width + 1` points, the first of each row a wall,
one wall row above and one below, and one more point at the end, so that every diagonal neighbor of a point is a valid
index. The four neighbors of a point are `p +- 1` and `p +- stride(width)`. Row 0 is the top row, column 0 the left one.
Only this module knows GTP letters, SGF letters and policy indices.
"""

from functools import lru_cache

from engine.errors import BadVertex

MAX_SIZE = 25
PASS = 0
"""The vertex of a pass: a wall index, so it is never a point."""
NO_POINT = -1
"""Marks the absence of a vertex, such as "no ko point"."""

GTP_COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
_SGF_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def stride(width: int) -> int:
    """Return the distance between vertically adjacent points."""
    return width + 1


def array_length(width: int, height: int) -> int:
    """Return the length of an array indexed by vertex, wall included."""
    # One wall column serves both sides: the right neighbor of a row's last point is the next row's wall.
    return (width + 1) * (height + 2) + 1


def point_at(row: int, column: int, width: int) -> int:
    """Return the vertex of a point. Does not check that it is on the board."""
    return (row + 1) * (width + 1) + column + 1


def row_column(vertex: int, width: int) -> tuple[int, int]:
    """Return (row, column) of a point, row 0 at the top. PASS is not allowed."""
    return vertex // (width + 1) - 1, vertex % (width + 1) - 1


def neighbors(vertex: int, width: int) -> tuple[int, int, int, int]:
    """Return the four neighbors of a point, possibly wall: above, left, right, below."""
    return vertex - stride(width), vertex - 1, vertex + 1, vertex + stride(width)


def points(width: int, height: int) -> list[int]:
    """Return every point in policy order: row by row from the top, left to right."""
    return list(_points(width, height))


@lru_cache
def _points(width: int, height: int) -> tuple[int, ...]:
    return tuple(point_at(row, column, width) for row in range(height) for column in range(width))


def policy_index(vertex: int, width: int, height: int) -> int:
    """Return the index of a vertex in a policy of `width * height + 1` entries, pass last."""
    if vertex == PASS:
        return width * height
    row, column = row_column(vertex, width)
    return row * width + column


def from_policy_index(index: int, width: int, height: int) -> int:
    """Return the vertex at a policy index; the inverse of `policy_index`."""
    if index == width * height:
        return PASS
    return point_at(index // width, index % width, width)


def format_vertex(vertex: int, width: int, height: int) -> str:
    """Return the GTP text of a vertex: "Q16", or "pass"."""
    if vertex == PASS:
        return "pass"
    row, column = row_column(vertex, width)
    return f"{GTP_COLUMNS[column]}{height - row}"


def parse_vertex(text: str, width: int, height: int) -> int:
    """Parse a GTP vertex, in any case.

    Raises BadVertex if the text is not a vertex or lies outside the board.
    """
    name = text.upper()
    if name == "PASS":
        return PASS
    digits = name[1:]
    if not (name[:1] in GTP_COLUMNS and 1 <= len(digits) <= 2 and digits.isascii() and digits.isdigit()):
        raise BadVertex(f"expected a vertex such as Q16 or pass, got {text!r}")
    column, row = GTP_COLUMNS.index(name[0]), height - int(digits)
    if not (column < width and 0 <= row < height):
        raise BadVertex(f"vertex {text!r} is outside the {width}x{height} board")
    return point_at(row, column, width)


def format_sgf(vertex: int, width: int) -> str:
    """Return the SGF text of a vertex: "pd", or "" for a pass."""
    if vertex == PASS:
        return ""
    row, column = row_column(vertex, width)
    return _SGF_LETTERS[column] + _SGF_LETTERS[row]


def parse_sgf(text: str, width: int, height: int) -> int:
    """Parse an SGF point; "" is a pass, and "tt" too up to 19x19.

    Raises BadVertex if the text is not a point of the board.
    """
    # SGF before FF[4] has no empty value; "tt" lies outside boards up to 19x19.
    if text == "" or (text == "tt" and width <= 19 and height <= 19):
        return PASS
    if len(text) != 2 or text[0] not in _SGF_LETTERS or text[1] not in _SGF_LETTERS:
        raise BadVertex(f"expected an SGF point such as pd, got {text!r}")
    column, row = _SGF_LETTERS.index(text[0]), _SGF_LETTERS.index(text[1])
    if not (column < width and row < height):
        raise BadVertex(f"SGF point {text!r} is outside the {width}x{height} board")
    return point_at(row, column, width)
