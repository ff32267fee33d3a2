"""Reads and writes the markup of an SGF node: labels (LB), triangles, squares, circles and crosses (TR, SQ, CR, MA).

Keeps the properties that nothing here understands, such as time left (BL) or those of other programs, as they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from sgfmill import sgf_grammar

from engine.errors import BadVertex
from engine.vertex import PASS, format_sgf, parse_sgf, point_at, row_column

SYMBOLS = ("TR", "SQ", "CR", "MA")
LINES = ("AR", "LN")
"""Arrows and lines between two points; they are kept like unknown properties, and drawn."""
MOST_LINES = 1000
LONGEST_LABEL = 16
"""Characters of a label that are read: more cannot be drawn on a point."""
MOST_POINTS = 100_000
_GAME = ("GM", "FF", "CA", "AP", "SZ", "KM", "HA", "RU", "RE", "PB", "PW")
ABOUT = ("AN", "BR", "BT", "CP", "DT", "EV", "GC", "GN", "ON", "OT", "PC", "RO", "SO", "TM", "US", "WR", "WT")
"""Properties about a game that are kept as text, because the engine has no use for them."""
_READ_ELSEWHERE = {*SYMBOLS, "LB", "B", "W", "AB", "AW", "AE", "PL", "C", *_GAME, *ABOUT}
_TO = ":"
"""Between the corners of a rectangle, and between a point and its label."""


@dataclass(frozen=True)
class Markup:
    """What a node draws on the board. symbols: one of SYMBOLS by vertex. labels: text by vertex.

    others: values, in UTF-8 and escaped, of the properties that are kept unread.
    """

    symbols: Mapping[int, str] = field(default_factory=dict)
    labels: Mapping[int, str] = field(default_factory=dict)
    others: Mapping[str, Sequence[bytes]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Return whether the node has any of it."""
        return bool(self.symbols or self.labels or self.others)

    def joined(self, other: "Markup") -> "Markup":
        """Return both; where they differ at a point, `other` counts. Values of kept properties are appended."""
        others = {key: [*self.others.get(key, ()), *values] for key, values in other.others.items()}
        return Markup({**self.symbols, **other.symbols}, {**self.labels, **other.labels}, {**self.others, **others})


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
        others = {key: node[key] for key in node if key not in _READ_ELSEWHERE}
        return Markup(symbols, labels, others)

    def lines(self, others: Mapping[str, Sequence[bytes]]) -> list[tuple[str, int, int]]:
        """Return the arrows and lines among the kept properties: one of LINES and the vertices of both ends."""
        values = ((key, _decoded(value).partition(_TO)) for key in LINES for value in others.get(key, ()))
        found = []
        for key, (start, _, end) in islice(values, MOST_LINES):
            ends = [*self._points([start.strip()]), *self._points([end.strip()])]
            if len(ends) == 2:
                found.append((key, ends[0], ends[1]))
        return found

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
    found: dict[str, list[bytes]] = {key: list(values) for key, values in markup.others.items()}
    for vertex, symbol in sorted(markup.symbols.items()):
        found.setdefault(symbol, []).append(format_sgf(vertex, width).encode())
    for vertex, text in sorted(markup.labels.items()):
        # A colon would end the point of a composed value.
        escaped = sgf_grammar.escape_text(text.encode("utf-8", "replace")).replace(b":", b"\\:")
        found.setdefault("LB", []).append(format_sgf(vertex, width).encode() + b":" + escaped)
    return found
