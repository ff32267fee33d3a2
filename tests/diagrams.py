"""Reads the text diagram of a position, which `engine.records.diagram` writes.

Spaces between points, row numbers and lines of column letters are optional, and so are the lines below the board.
Parentheses around the last move are ignored. Reading a diagram and writing it again gives the same text.
"""

import re

from engine.color import BLACK, EMPTY, WHITE
from engine.errors import GoError
from engine.records.diagram import Diagram
from engine.vertex import GTP_COLUMNS, MAX_SIZE, parse_vertex, point_at

_CELLS = {".": EMPTY, "+": EMPTY, "X": BLACK, "O": WHITE}
_ROW = re.compile(r"(?:\d{1,2})?\s*([XO.+() ]+?)\s*(?:\d{1,2})?")
_COLUMNS = re.compile(r"[A-Z](?: ?[A-Z])*")
_CAPTURED = re.compile(r"black (\d{1,6}), white (\d{1,6})")
_FACTS = ("to play", "ko", "last move", "move", "komi", "captured")


def parse_diagram(text: str) -> Diagram:
    """Parse a diagram. Raises GoError with the line that does not belong to one."""
    rows: list[str] = []
    facts: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        key, colon, value = stripped.partition(":")
        row = _ROW.fullmatch(stripped)
        if colon and key in _FACTS:
            facts[key] = value.strip()
        elif row:
            rows.append(re.sub(r"[() ]", "", row.group(1)))
        elif stripped and not _is_column_line(stripped):
            raise GoError(f"diagram line {number}: {stripped!r} is neither a row nor one of: {', '.join(_FACTS)}")
    width, height = len(rows[0]) if rows else 0, len(rows)
    if not (1 <= width <= MAX_SIZE and height <= MAX_SIZE) or any(len(row) != width for row in rows):
        raise GoError(f"diagram: {height} rows of {sorted({len(row) for row in rows})} points are not a board")
    colors = {point_at(y, x, width): _CELLS[cell] for y, row in enumerate(rows) for x, cell in enumerate(row)}
    return Diagram(
        width,
        height,
        black=tuple(vertex for vertex, color in colors.items() if color == BLACK),
        white=tuple(vertex for vertex, color in colors.items() if color == WHITE),
        **_read_facts(facts, width, height),  # type: ignore[arg-type]
    )


def _read_facts(facts: dict[str, str], width: int, height: int) -> dict[str, object]:
    """Parse the `key: value` lines into fields of `Diagram`."""
    fields: dict[str, object] = {}
    for key, value in facts.items():
        try:
            if key == "to play":
                fields["to_play"] = {"black": BLACK, "white": WHITE}[value]
            elif key == "ko":
                fields["ko_point"] = parse_vertex(value, width, height)
            elif key == "last move":
                fields["last_move"] = parse_vertex(value, width, height)
            elif key == "move":
                fields["move_number"] = int(value)
            elif key == "komi":
                fields["komi"] = float(value)
            else:
                fields["captured"] = _read_captured(value)
        except (KeyError, ValueError) as error:
            raise GoError(f"diagram: {key}: {value!r} cannot be read: {error}") from error
    return fields


def _read_captured(value: str) -> tuple[int, int]:
    match = _CAPTURED.fullmatch(value)
    if not match:
        raise ValueError("expected black N, white N")
    return int(match.group(1)), int(match.group(2))


def _is_column_line(line: str) -> bool:
    letters = line.replace(" ", "")
    return bool(_COLUMNS.fullmatch(line)) and GTP_COLUMNS.startswith(letters)
