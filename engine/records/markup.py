"""Reads and writes the markup of an SGF node: labels (LB), triangles, squares, circles and crosses (TR, SQ, CR, MA)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sgfmill import sgf_grammar

from engine.errors import BadVertex
from engine.vertex import PASS, format_sgf, parse_sgf, point_at, row_column

SYMBOLS = ("TR", "SQ", "CR", "MA")
LONGEST_LABEL = 16
"""Characters of a label that are read: more cannot be drawn on a point."""
MOST_POINTS = 100_000
_TO = ":"
"""Between the corners of a rectangle, and between a point and its label."""


@dataclass(frozen=True)
class Markup:
    """What a node draws on the board. symbols: one of SYMBOLS by vertex. labels: text by vertex."""

    symbols: Mapping[int, str] = field(default_factory=dict)
    labels: Mapping[int, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Return whether anything is drawn."""
        return bool(self.symbols or self.labels)

    def joined(self, other: "Markup") -> "Markup":
        """Return both; where they differ at a point, `other` counts."""
        return Markup({**self.symbols, **other.symbols}, {**self.labels, **other.labels})


class MarkupReader:
    """Reads the markup of a record's nodes, at most MOST_POINTS points in all: each value may be a rectangle."""

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width, height
        self._left = MOST_POINTS

    def read(self, node: Mapping[str, Sequence[bytes]]) -> Markup:
        """Return the markup of a node. What is not on the board, cannot be read or exceeds the limit is left out."""
        symbols: dict[int, str] = {}
        labels: dict[int, str] = {}
        for key in SYMBOLS:
            for value in node.get(key, ()):
                symbols |= dict.fromkeys(self._points(_decoded(value).strip().split(_TO)), key)
        for value in node.get("LB", ()):
            point, _, text = _decoded(value).partition(_TO)
            if text.strip():
                labels |= dict.fromkeys(self._points([point.strip()]), text.strip()[:LONGEST_LABEL])
        return Markup(symbols, labels)

    def _points(self, corners: Sequence[str]) -> list[int]:
        """Return the points between two corners, or the only one."""
        if self._left <= 0 or len(corners) > 2:
            return []
        try:
            vertices = [parse_sgf(corner, self._width, self._height) for corner in corners]
        except BadVertex:
            return []
        if PASS in vertices:
            return []
        (top, left), (bottom, right) = (row_column(vertices[place], self._width) for place in (0, -1))
        rows, columns = (range(min(ends), max(ends) + 1) for ends in ((top, bottom), (left, right)))
        self._left -= len(rows) * len(columns)
        return [point_at(row, column, self._width) for row in rows for column in columns]


def _decoded(value: bytes) -> str:
    text: bytes = sgf_grammar.simpletext_value(value)
    return text.decode("utf-8", "replace")


def markup_properties(markup: Markup, width: int) -> dict[str, list[bytes]]:
    """Return the SGF properties of a node's markup."""
    found: dict[str, list[bytes]] = {}
    for vertex, symbol in sorted(markup.symbols.items()):
        found.setdefault(symbol, []).append(format_sgf(vertex, width).encode())
    for vertex, text in sorted(markup.labels.items()):
        # A colon would end the point of a composed value.
        escaped = sgf_grammar.escape_text(text.encode("utf-8", "replace")).replace(b":", b"\\:")
        found.setdefault("LB", []).append(format_sgf(vertex, width).encode() + b":" + escaped)
    return found
