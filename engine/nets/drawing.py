"""Draws the architecture of a network as SVG: inputs, trunk and heads from top to bottom.

Repeated parts are drawn once, with their number; inner blocks are drawn inside the box of their block. The text repeats
what the colors show, so that the drawing can be read in black and white.
"""

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from engine.nets.spec import NetSpec, parameters
from engine.nets.summary import Output, Part, Run, folded, gflop, outputs, parts

_SIDES = (9, 13, 19)
_WIDTH = 760
_MARGIN = 24
_GAP = 20
"""Height of the arrow between two boxes."""
_LINE = 17
_PAD = 10
_BADGE = 52
"""Room at the right of repeated parts for their number."""
_SIZE, _SMALL = 13, 11.5
_LETTER = 0.56
"""Average width of a letter in usual sans-serif fonts, as a fraction of the font size."""
_COLORS = {
    "input": "#eceff1",
    "stem": "#d6e4f0",
    "residual": "#e3f1e1",
    "post activation": "#e3f1e1",
    "global pool": "#fde9c9",
    "nested bottleneck": "#f1f6ef",
    "attention": "#eadcf4",
    "feed forward": "#f5e3ee",
    "tip": "#d6e4f0",
    "output": "#ffffff",
}
_HEAD_COLOR = "#f8d9d4"


def svg(spec: NetSpec, inputs: Sequence[str]) -> str:
    """Return the drawing of a network as an SVG document. inputs: lines of text that describe its inputs."""
    canvas = _Canvas()
    full = _WIDTH - 2 * _MARGIN
    canvas.text(_MARGIN, _MARGIN + 6, spec.name, bold=True, size=17, width=full)
    canvas.text(_MARGIN, _MARGIN + 26, _subtitle(spec), color="#555555", width=full)
    y = canvas.box(_MARGIN, _MARGIN + 40.0, full, "input", "", list(inputs))
    *trunk, policy, value = parts(spec, *largest_board(spec))
    for run in folded(trunk):
        canvas.arrow(_WIDTH / 2, y, y + _GAP)
        y = canvas.run(run, _MARGIN, y + _GAP, full)
    y = _heads(canvas, y, (policy, value), outputs(spec))
    return canvas.document(y + _MARGIN)


def largest_board(spec: NetSpec) -> tuple[int, int]:
    """Return the board size for a network's description: 19x19, or the nearest size that it supports."""
    smallest, largest = spec.board_sizes
    side = min(max(19, smallest), largest)
    return side, side


def sides_of(spec: NetSpec) -> list[int]:
    """Return the boards that a network is examined on."""
    smallest, largest = spec.board_sizes
    return [side for side in _SIDES if smallest <= side <= largest] or [largest]


def _subtitle(spec: NetSpec) -> str:
    width, height = largest_board(spec)
    work = f"{gflop(spec, width, height):.3g} GFLOP on {width}x{height}"
    return f"{spec.format} {spec.version}, {parameters(spec):,} parameters, {work}"


def _heads(canvas: "_Canvas", top: float, heads: tuple[Part, Part], results: list[Output]) -> float:
    """Draw the two heads side by side, with their outputs below; return the lower end."""
    is_policy = [output.size.endswith("+ 1") or output.size.endswith("+ 1)") for output in results]
    half = (_WIDTH - 2 * _MARGIN - _GAP) / 2
    ends = []
    for index, head in enumerate(heads):
        x = _MARGIN + index * (half + _GAP)
        canvas.arrow(x + half / 2, top, top + _GAP)
        y = canvas.box(x, top + _GAP, half, head.kind, f"{head.path} head", _lines(head.text))
        lines = [
            f"{output.name} [{output.size}]"
            for output, of_policy in zip(results, is_policy, strict=True)
            if of_policy == (index == 0)
        ]
        canvas.arrow(x + half / 2, y, y + _GAP)
        ends.append(canvas.box(x, y + _GAP, half, "output", "", lines))
    return max(ends)


def _lines(text: str) -> list[str]:
    return text.replace("->", "→").split(", ")


class _Canvas:
    """Collects the elements of one document; y grows downwards, in pixels."""

    def __init__(self) -> None:
        self._elements: list[str] = []

    def run(self, run: Run, x: float, y: float, width: float) -> float:
        """Draw repeated parts once and return the lower end."""
        is_pattern = len(run.parts) > 1
        inner = width if run.count == 1 else width - _BADGE
        left, top = (x + _PAD, y + _PAD) if is_pattern else (x, y)
        inner -= 2 * _PAD if is_pattern else 0
        start = len(self._elements)
        if is_pattern:
            top = self._chain(folded(run.parts), left, top, inner) + _PAD
            frame = self._rectangle(x, y, width - _BADGE, top - y, "none", dashed=True)
            self._elements.insert(start, frame)
        else:
            top = self.part(run.parts[0], left, top, inner)
        if run.count > 1:
            self.text(x + width - _BADGE + 10, (y + top) / 2 + 5, f"x {run.count}", bold=True, size=15)
        return top

    def _chain(self, runs: list[Run], x: float, y: float, width: float) -> float:
        """Draw runs below each other with arrows between them; return the lower end."""
        for index, run in enumerate(runs):
            if index:
                self.arrow(x + width / 2, y, y + _GAP)
                y += _GAP
            y = self.run(run, x, y, width)
        return y

    def part(self, part: Part, x: float, y: float, width: float) -> float:
        """Draw a part with the parts inside it and return the lower end."""
        if not part.children:
            return self.box(x, y, width, part.kind, part.kind, [part.text.replace("->", "→")])
        before, after, *rest = _lines(part.text)
        start = len(self._elements)
        top = self._caption(x, y, width, part.kind, [", ".join([before, *rest])])
        top = self._chain(folded(part.children), x + _PAD, top, width - 2 * _PAD)
        self.text(x + width - _PAD, top + _LINE, after, size=_SMALL, anchor="end", width=width - 2 * _PAD)
        bottom = top + _LINE + _PAD
        self._elements.insert(start, self._rectangle(x, y, width, bottom - y, _color(part.kind)))
        return bottom

    def box(self, x: float, y: float, width: float, kind: str, title: str, lines: list[str]) -> float:
        """Draw a box with a title and lines and return the lower end."""
        start = len(self._elements)
        bottom = self._caption(x, y, width, title, lines)
        self._elements.insert(start, self._rectangle(x, y, width, bottom - y, _color(kind)))
        return bottom

    def _caption(self, x: float, y: float, width: float, title: str, lines: list[str]) -> float:
        """Write a title, with a single line beside it or several lines below it; return the lower end."""
        room = width - 2 * _PAD
        baseline = y + _LINE + 2
        if title:
            self.text(x + _PAD, baseline, title, bold=True)
        beside = len(lines) == 1 and title
        title_width = (len(title) + 3) * _SIZE * _LETTER
        if beside and len(lines[0]) * _SMALL * _LETTER <= room - title_width:
            self.text(x + width - _PAD, baseline, lines[0], size=_SMALL, anchor="end")
            return baseline + _PAD
        for index, line in enumerate(lines):
            if title or index:
                baseline += _LINE
            self.text(x + _PAD, baseline, line, size=_SMALL, width=room)
        return baseline + _PAD

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = _SIZE,
        bold: bool = False,
        color: str = "#222222",
        anchor: str = "start",
        width: float | None = None,
    ) -> None:
        """Write a line of text, condensed if it would exceed `width`."""
        style = ' font-weight="bold"' if bold else ""
        if anchor != "start":
            style += f' text-anchor="{anchor}"'
        if width is not None and len(text) * size * _LETTER > width:
            style += f' textLength="{width:g}" lengthAdjust="spacingAndGlyphs"'
        self._elements.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{color}"{style}>{escape(_printable(text))}</text>'
        )

    def arrow(self, x: float, top: float, bottom: float) -> None:
        """Draw an arrow downwards."""
        self._elements.append(
            f'<path d="M{x:g} {top:g} V{bottom - 2:g} m-4 -5 l4 5 l4 -5" fill="none" stroke="#666666"/>'
        )

    def _rectangle(self, x: float, y: float, width: float, height: float, fill: str, dashed: bool = False) -> str:
        style = ' stroke-dasharray="5 3"' if dashed else ""
        place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5"'
        return f'<rect {place} fill={quoteattr(fill)} stroke="#888888"{style}/>'

    def document(self, height: float) -> str:
        """Return the SVG document."""
        size = f'width="{_WIDTH}" height="{height:g}" viewBox="0 0 {_WIDTH} {height:g}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="Helvetica, Arial, sans-serif">'
        background = f'<rect width="{_WIDTH}" height="{height:g}" fill="#ffffff"/>'
        return "\n".join([head, background, *self._elements, "</svg>"]) + "\n"


def _color(kind: str) -> str:
    return _COLORS.get(kind, _HEAD_COLOR)


def _printable(text: str) -> str:
    """Replace the characters that XML forbids by question marks; names in network files may have any."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
