"""Draws the graph of a game as SVG: Black's lead, Black's win rate, and dots at the mistakes."""

from collections.abc import Callable, Sequence

from engine.apps.review.judgement import Grade, JudgedMove, Position, player_of
from engine.scoring import format_lead

GRADE_PAINTS = {Grade.INACCURACY: "#c98a00", Grade.MISTAKE: "#d9541e", Grade.BLUNDER: "#b3123f"}
"""Colors of the grades, darker with the loss, so that they also differ in a gray print."""
_WIDTH, _HEIGHT = 760, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 74, 14, 40
_LEAST_RANGE = 5.0
_RANGE_SHARE = 1 / 6
"""Largest lead that is drawn, as a share of the board's points: 60 on 19x19. Larger ones touch the edge."""
_RADII = {Grade.INACCURACY: 4, Grade.MISTAKE: 5.5, Grade.BLUNDER: 7}
_LEAD_PAINT, _WINRATE_PAINT, _GRID = "#1d2733", "#2f7fc4", "#d8d5cc"
_STEPS = (1, 2, 5, 10, 20, 50, 100)


def score_graph(positions: Sequence[Position], mistakes: Sequence[JudgedMove], area: int) -> str:
    """Return an SVG element. positions: before each move and at the end. area: number of points of the board.

    The lead has its scale on the left, Black's side above; the win rate on the right, 100% at the top.
    """
    largest = max(abs(each.lead) for each in positions)
    span = max(_LEAST_RANGE, min(largest * 1.08, area * _RANGE_SHARE))
    last = max(1, len(positions) - 1)

    def across(number: float) -> float:
        return _LEFT + number / last * (_WIDTH - _LEFT - _RIGHT)

    def down(share: float) -> float:
        """share: from -1 at the bottom to 1 at the top."""
        return _TOP + (1 - max(-1.0, min(1.0, share))) / 2 * (_HEIGHT - _TOP - _BOTTOM)

    leads = [(across(number), down(each.lead / span)) for number, each in enumerate(positions)]
    rates = [(across(number), down(2 * each.winrate - 1)) for number, each in enumerate(positions)]
    middle = down(0)
    area_path = f"M{leads[0][0]:.1f} {middle:.1f}{''.join(f'L{x:.1f} {y:.1f}' for x, y in leads)}"
    parts = [
        *_scales(span, last, across, down),
        f'<path d="{area_path}L{leads[-1][0]:.1f} {middle:.1f}Z" fill="{_LEAD_PAINT}" opacity="0.14"/>',
        _line(rates, _WINRATE_PAINT, 'stroke-width="1.6" stroke-dasharray="5 3"'),
        _line(leads, _LEAD_PAINT, 'stroke-width="2.4"'),
    ]
    for move in sorted(mistakes, key=lambda each: each.grade):
        x, y = leads[move.number]
        title = f"Move {move.number}, {player_of(move.color)}: {move.grade.label}, {move.points_lost:.1f} points"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_RADII[move.grade]}" fill="{GRADE_PAINTS[move.grade]}" '
            f'stroke="#fff"><title>{title}</title></circle>'
        )
    label = f"Black's lead and win rate by move; at the end {format_lead(positions[-1].lead)}"
    return (
        f'<svg class="graph" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{label}" font-family="sans-serif">{"".join(parts)}</svg>'
    )


def _scales(span: float, last: int, across: Callable[[float], float], down: Callable[[float], float]) -> list[str]:
    """Return grid lines with leads on the left, win rates on the right and move numbers below."""
    step = next((each for each in _STEPS if span / each <= 3.5), _STEPS[-1])
    parts = []
    for place in range(-int(span / step), int(span / step) + 1):
        lead, y = place * step, down(place * step / span)
        width = 1.6 if lead == 0 else 1
        parts.append(
            f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="{"#8d897d" if lead == 0 else _GRID}" '
            f'stroke-width="{width}"/>'
        )
        text = "0" if lead == 0 else f"{'B' if lead > 0 else 'W'}+{abs(lead)}"
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 6:.1f}" text-anchor="end" fill="{_LEAD_PAINT}">{text}</text>')
    for percent in (0, 50, 100):
        y = min(max(down(percent / 50 - 1) + 6, _TOP + 10), _HEIGHT - _BOTTOM)
        parts.append(f'<text x="{_WIDTH - _RIGHT + 8}" y="{y:.1f}" fill="{_WINRATE_PAINT}">{percent}%</text>')
    every = next((each for each in _STEPS if last / each <= 8), 200)
    for number in range(0, last + 1, every):
        parts.append(
            f'<text x="{across(number):.1f}" y="{_HEIGHT - 10}" text-anchor="middle" fill="#55514a">{number}</text>'
        )
    return parts


def _line(places: Sequence[tuple[float, float]], paint: str, style: str) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return f'<polyline points="{points}" fill="none" stroke="{paint}" stroke-linejoin="round" {style}/>'
