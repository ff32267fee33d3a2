"""Facts as plain data for JSON, with the names and the point of view of KataGo's analysis fields."""

from collections.abc import Iterable
from typing import Any

from engine.color import BLACK, WHITE, color_letter
from engine.explain.facts import Atari, Line, Measured, MoveFacts, PositionFacts, TurnValue
from engine.explain.ladders import Ladder
from engine.vertex import format_vertex

_DECIMALS = 4
Object = dict[str, Any]


def position_object(facts: PositionFacts) -> Object:
    """Return the facts of a position."""
    name = _Names(facts.size)
    found = {
        "currentPlayer": color_letter(facts.to_play),
        **_measured(facts.measured),
        "best": name.line(facts.best),
        "ataris": [name.atari(each) for each in facts.ataris],
        "ladders": [name.ladder(each) for each in facts.ladders],
        "groups": [
            {
                "color": color_letter(each.color),
                "stones": name.all(each.stones),
                "chains": each.chains,
                "liberties": each.liberties,
                "survival": None if each.survival is None else _rounded(each.survival),
                "status": each.status,
            }
            for each in facts.groups
        ],
        "regions": {region: _rounded(value) for region, value in facts.regions.items()},
    }
    return found if facts.turn is None else found | {"passing": name.turn(facts.turn)}


def move_object(facts: MoveFacts) -> Object:
    """Return the facts of a move, without those of the positions before and after it."""
    name = _Names(facts.before.size)
    found = {
        "player": color_letter(facts.color),
        "move": name.one(facts.vertex),
        "moveNumber": facts.number,
        "before": _measured(facts.before.measured),
        "after": _measured(facts.after.measured),
        "pointsLost": _rounded(facts.points_lost),
        "winrateLost": _rounded(facts.winrate_lost),
        "shapes": [{"name": each.name, "stones": name.all(each.stones)} for each in facts.shapes],
        "captured": [name.all(each) for each in facts.captured],
        "givesAtari": [name.atari(each) for each in facts.gives_atari],
        "selfAtari": [name.atari(each) for each in facts.self_atari],
        "leftInAtari": [name.atari(each) for each in facts.left_in_atari],
        "saved": [name.all(each) for each in facts.saved],
        "takesKo": facts.takes_ko,
        "laddersMade": [name.ladder(each) for each in facts.ladders_made],
        "laddersBroken": [name.ladder(each) for each in facts.ladders_broken],
        "groups": [
            {
                "color": color_letter(each.color),
                "stones": name.all(each.stones),
                "survivalBefore": _rounded(each.before),
                "survivalAfter": _rounded(each.after),
                "points": _rounded(each.points),
            }
            for each in facts.groups
        ],
        "regions": {
            region: {"before": _rounded(before), "after": _rounded(after), "change": _rounded(after - before)}
            for region, (before, after) in facts.regions.items()
        },
        "better": None if facts.better is None else name.line(facts.better),
        "refutation": name.line(facts.refutation) | {"points": _rounded(facts.points_lost)},
    }
    if facts.threat is not None:
        found["threat"] = name.turn(facts.threat)
    return found if facts.is_sente is None else found | {"sente": facts.is_sente}


class _Names:
    """Turns vertices, and what has vertices, into GTP names for one board size."""

    def __init__(self, size: tuple[int, int]) -> None:
        self._size = size

    def one(self, vertex: int) -> str:
        return format_vertex(vertex, *self._size)

    def all(self, vertices: Iterable[int]) -> list[str]:
        return [self.one(vertex) for vertex in vertices]

    def line(self, line: Line) -> Object:
        captured = {color_letter(color): line.captured[color] for color in (BLACK, WHITE)}
        return {"pv": self.all(line.moves), "captured": captured, "visits": line.visits}

    def atari(self, atari: Atari) -> Object:
        stones = {"color": color_letter(atari.color), "stones": self.all(atari.stones)}
        return stones | {"liberty": self.one(atari.liberty), "escapes": atari.escapes}

    def ladder(self, ladder: Ladder) -> Object:
        return {
            "color": color_letter(ladder.color),
            "stones": self.all(ladder.chain),
            "liberties": ladder.liberties,
            "works": ladder.works,
            "starts": self.all(ladder.starts),
            "breakers": self.all(ladder.breakers),
        }

    def turn(self, turn: TurnValue) -> Object:
        costs = {"points": _rounded(turn.points), "winrate": _rounded(turn.winrate)}
        return costs | self.line(turn.line)


def _measured(measured: Measured) -> Object:
    return {
        "winrate": _rounded(measured.winrate),
        "scoreLead": _rounded(measured.lead),
        "visits": measured.visits,
    }


def _rounded(number: float) -> float:
    # Adding 0.0 turns -0.0 into 0.0.
    return round(number, _DECIMALS) + 0.0
