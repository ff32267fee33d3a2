"""Draws positions as SVG: stones, numbered moves, ownership, and marks with an engine's statistics.

Reads no file and runs no search; callers pass in the marks.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape

from engine.color import BLACK, EMPTY, WHITE
from engine.game import Game
from engine.records.diagram import star_points
from engine.vertex import GTP_COLUMNS, NO_POINT, PASS, format_vertex, points, row_column

UNIT = 40
"""Pixels between two lines. The point in column x and row y, both from 0 at the top left, has the coordinates
UNIT * (x + 1.5) and UNIT * (y + 1.5)."""
_EDGE = 1.5
_LINE, _TEXT = "#5a4424", "#3d2e17"
_STONES = {BLACK: ("url(#black)", "#ffffff"), WHITE: ("url(#white)", "#111111")}
"""Fill of a stone, and color of the text on it, by stone color."""
_DEFINITIONS = (
    '<defs><radialGradient id="black" cx="0.36" cy="0.3" r="0.7"><stop offset="0" stop-color="#75726e"/>'
    '<stop offset="0.35" stop-color="#3a3835"/><stop offset="1" stop-color="#0d0c0b"/></radialGradient>'
    '<radialGradient id="white" cx="0.38" cy="0.32" r="0.75"><stop offset="0.1" stop-color="#ffffff"/>'
    '<stop offset="0.75" stop-color="#ebe7df"/><stop offset="1" stop-color="#bdb7ab"/></radialGradient>'
    '<linearGradient id="wood" x2="1" y2="0.35"><stop offset="0" stop-color="#e6be75"/>'
    '<stop offset="0.5" stop-color="#e2b86d"/><stop offset="1" stop-color="#e5bc72"/></linearGradient></defs>'
)
_GRAINS = 9
"""Dark lines in the wood."""
_SHADOW = (0.03, 0.06)
"""Where the shadow of a stone lies, in units to the right and below."""
_NOTE_LINE = 0.55
"""Height of a text line below the board, in units."""
_NOTES_LETTERS = 5
"""Characters of a text line below the board for each column of the board."""


@dataclass(frozen=True)
class Mark:
    """A disc with short lines of text on a point; the first line is large.

    strength: opacity, from 0 (pale) to 1. is_best: draws the disc in another color.
    """

    vertex: int
    lines: tuple[str, ...] = ()
    strength: float = 1.0
    is_best: bool = False


def picture(
    game: Game,
    *,
    numbered_from: int | None = None,
    earlier: int = 0,
    marks: Sequence[Mark] = (),
    ownership: Sequence[float] | None = None,
    dead: Collection[int] = (),
) -> str:
    """Return the present position of a game as an SVG document.

    numbered_from: the first move to number. Numbers of stones that are no longer visible are listed below the board.
    earlier: number of moves before the game's first one, added to all numbers.
    ownership: [area] in policy order, 1 Black's, -1 White's. dead: vertices of stones to draw pale.
    """
    numbered = [] if numbered_from is None else _numbered(game, numbered_from, earlier)
    numbers = {vertex: number for number, vertex in numbered if vertex != PASS and game.color_at(vertex) != EMPTY}
    notes = _notes(game, [(number, vertex) for number, vertex in numbered if numbers.get(vertex) != number])
    width, height = (size - 1 + 2 * _EDGE for size in (game.width, game.height))
    drawing = _Drawing(game)
    drawing.board(width, height)
    if ownership is not None:
        drawing.ownership(ownership)
    drawing.stones(set(dead), numbers)
    for mark in marks:
        drawing.mark(mark)
    drawing.notes(notes, height)
    height += len(notes) * _NOTE_LINE
    size = f'width="{width * UNIT:g}" height="{height * UNIT:g}" viewBox="0 0 {width * UNIT:g} {height * UNIT:g}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" text-anchor="middle">'
        f'{_DEFINITIONS}<rect width="100%" height="100%" fill="url(#wood)"/>{"".join(drawing.elements)}</svg>\n'
    )


def _numbered(game: Game, first: int, earlier: int) -> list[tuple[int, int]]:
    """Return (number, vertex) of the moves from number `first` on."""
    return [(number, vertex) for number, (_, vertex) in enumerate(game.moves, earlier + 1) if number >= first]


def _notes(game: Game, moves: list[tuple[int, int]]) -> list[str]:
    """Return lines of text such as "12 at D4, 15 pass"."""
    lines: list[str] = []
    for number, vertex in moves:
        place = "pass" if vertex == PASS else f"at {format_vertex(vertex, game.width, game.height)}"
        note = f"{number} {place}"
        if lines and len(lines[-1]) + len(note) < _NOTES_LETTERS * game.width:
            lines[-1] += f", {note}"
        else:
            lines.append(note)
    return lines


class _Drawing:
    """Collects the elements of one picture, from the back to the front."""

    def __init__(self, game: Game) -> None:
        self.elements: list[str] = []
        self._game = game

    def board(self, width: float, height: float) -> None:
        """Draw lines, star points, and the names of columns and rows on all sides."""
        game = self._game
        left, top = _EDGE * UNIT, _EDGE * UNIT
        right, bottom = (width - _EDGE) * UNIT, (height - _EDGE) * UNIT
        self._grain(width * UNIT, height * UNIT)
        lines = [f"M{left + column * UNIT:g} {top:g}V{bottom:g}" for column in range(game.width)]
        lines += [f"M{left:g} {top + row * UNIT:g}H{right:g}" for row in range(game.height)]
        self.elements.append(f'<path d="{"".join(lines)}" stroke="{_LINE}" stroke-linecap="square"/>')
        for vertex in sorted(star_points(game.width, game.height)):
            self._circle(vertex, 0.1, f'fill="{_LINE}"')
        near, size = 0.6 * UNIT, 0.36
        for column, letter in enumerate(GTP_COLUMNS[: game.width]):
            for y in (near, height * UNIT - near):
                self._text(left + column * UNIT, y, letter, size, _TEXT)
        for row in range(game.height):
            for x in (near, width * UNIT - near):
                self._text(x, top + row * UNIT, str(game.height - row), size, _TEXT)

    def _grain(self, width: float, height: float) -> None:
        """Draw the grain of the wood: a few pale curves from side to side."""
        step, curves = height / _GRAINS, []
        for line in range(_GRAINS):
            bend = f"{width * (0.3 + 0.05 * line):.0f} {step * (line + 0.9 * (line % 3) - 0.4):.0f}"
            curves.append(f"M0 {step * (line + 0.4):.0f}Q{bend} {width:g} {step * (line + 0.7):.0f}")
        style = 'fill="none" stroke="#8a5a1c" stroke-width="5" opacity="0.05"'
        self.elements.append(f'<path d="{"".join(curves)}" {style}/>')

    def ownership(self, ownership: Sequence[float]) -> None:
        """Draw squares in the owners' colors; their size grows with the certainty of the ownership."""
        for vertex, owned in zip(points(self._game.width, self._game.height), ownership, strict=True):
            side = abs(owned) * 0.9 * UNIT
            if side < 0.1 * UNIT:
                continue
            x, y = self._place(vertex)
            place = f'x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" width="{side:.1f}" height="{side:.1f}"'
            self.elements.append(f'<rect {place} fill="{"#000000" if owned > 0 else "#ffffff"}" opacity="0.4"/>')

    def stones(self, dead: set[int], numbers: dict[int, int]) -> None:
        """Draw stones, dead ones pale; the last move is marked unless moves are numbered."""
        game = self._game
        last = game.moves[-1].vertex if game.moves and not numbers else NO_POINT
        self._shadows(dead)
        for vertex in points(game.width, game.height):
            color = game.color_at(vertex)
            if color == EMPTY:
                continue
            paint, ink = _STONES[color]
            fading = ' opacity="0.4"' if vertex in dead else ""
            self._circle(vertex, 0.47, f'fill="{paint}"{fading}')
            if vertex in numbers:
                text = str(numbers[vertex])
                self._text(*self._place(vertex), text, 0.5 if len(text) < 3 else 0.4, ink)
            elif vertex == last:
                self._circle(vertex, 0.22, f'fill="none" stroke="{ink}" stroke-width="3"')

    def _shadows(self, dead: set[int]) -> None:
        """Draw the shadows of living stones as one path."""
        game, radius = self._game, 0.47 * UNIT
        discs = []
        for vertex in points(game.width, game.height):
            if game.color_at(vertex) != EMPTY and vertex not in dead:
                x, y = (place + UNIT * offset for place, offset in zip(self._place(vertex), _SHADOW, strict=True))
                arc = f"a{radius:g} {radius:g} 0 1 0"
                discs.append(f"M{x - radius:g} {y:g}{arc} {2 * radius:g} 0{arc} {-2 * radius:g} 0")
        if discs:
            self.elements.append(f'<path d="{"".join(discs)}" opacity="0.35"/>')

    def mark(self, mark: Mark) -> None:
        """Draw a disc with lines of text. A mark of a pass is not drawn."""
        if mark.vertex == PASS:
            return
        fill, strength = "#2f8fd8" if mark.is_best else "#4faa58", min(1.0, max(0.0, mark.strength))
        self._circle(mark.vertex, 0.47, f'fill="{fill}" opacity="{0.35 + 0.6 * strength:.2f}"')
        x, y = self._place(mark.vertex)
        for index, line in enumerate(mark.lines):
            above = (index - (len(mark.lines) - 1) / 2) * 0.3 * UNIT
            self._text(x, y + above, line, 0.32 if index == 0 else 0.24, "#000000")

    def notes(self, lines: list[str], top: float) -> None:
        """Write lines below the board."""
        middle = (self._game.width - 1 + 2 * _EDGE) * UNIT / 2
        for index, line in enumerate(lines):
            self._text(middle, (top + index * _NOTE_LINE) * UNIT, line, 0.36, _TEXT)

    def _place(self, vertex: int) -> tuple[float, float]:
        row, column = row_column(vertex, self._game.width)
        return (column + _EDGE) * UNIT, (row + _EDGE) * UNIT

    def _circle(self, vertex: int, radius: float, style: str) -> None:
        x, y = self._place(vertex)
        self.elements.append(f'<circle cx="{x:g}" cy="{y:g}" r="{radius * UNIT:g}" {style}/>')

    def _text(self, x: float, y: float, text: str, size: float, color: str) -> None:
        baseline = y + 0.36 * size * UNIT
        place = f'x="{x:g}" y="{baseline:.1f}" font-size="{size * UNIT:g}"'
        self.elements.append(f'<text {place} fill="{color}">{escape(text)}</text>')
