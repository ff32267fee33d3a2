"""The table as pages see it: one JSON object with the board as a picture."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from engine.apps.picture.svg import Mark, picture
from engine.apps.web.facts import MOST_CANDIDATES, Facts
from engine.apps.web.settings import RULES, Sitting
from engine.color import BLACK, WHITE, color_name, for_color
from engine.game import Game, Move
from engine.programs.answers import AnalysisAnswer, Candidate
from engine.rules import parse_rules
from engine.settings.levels import FULL_LEVEL
from engine.vertex import format_vertex

MOST_MISTAKES = 8
_LEAST_CHANCE = 0.05
"""Of winning, that a move must lose to be told of as a mistake."""
_LEAST_SHARE = 0.01
"""Of the best move's visits, below which a move is not drawn."""


def view(facts: Facts) -> dict[str, Any]:
    """Return what a page shows. Winrates are in [0, 1]; those of `estimates` are Black's, others the side to move's."""
    game, settings, answer = facts.game, facts.settings, facts.shown.answer
    candidates = _candidates(answer) if answer is not None and facts.switches.analysis else []
    sittings = {color_name(color): sitting for color, sitting in settings.sittings.items()}
    return {
        "version": facts.version,
        "board": picture(
            game,
            marks=_marks(candidates),
            ownership=_ownership(facts),
            dead=() if facts.shown.count is None else facts.shown.count.dead,
        ),
        "width": game.width,
        "height": game.height,
        "komi": game.komi,
        "handicap": len(game.setup_black) if not game.setup_white else 0,
        "rules": next((name for name in RULES if parse_rules(name) == parse_rules(settings.rules)), "others"),
        "known_rules": RULES,
        "seconds": settings.seconds,
        "level": settings.level if facts.has_levels else None,
        "full_level": FULL_LEVEL,
        "sittings": sittings,
        "engine": facts.engine,
        "people": {color_name(color): name for color, name in settings.people.items() if name},
        "to_play": color_name(game.to_play),
        "is_over": game.is_over,
        "may_play": not game.is_over and (facts.is_review or settings.sittings[game.to_play] is Sitting.PERSON),
        "shown": game.move_number,
        "moves": len(facts.line),
        "last": _named(game.moves[-1], game) if game.moves else None,
        "captured": {color_name(color): game.captured(color) for color in (BLACK, WHITE)},
        "result": facts.result,
        "score": None if facts.shown.count is None else facts.shown.count.score,
        "error": facts.shown.error,
        "busy": facts.busy,
        "switches": asdict(facts.switches),
        "note": facts.note,
        "reviewed": facts.reviewed,
        "ways": [{"number": way.began + 1, "move": way.move and _named(way.move, game)} for way in facts.ways],
        "way": facts.way,
        "mistakes": _mistakes(facts),
        "candidates": [_candidate(each, game.width, game.height) for each in candidates],
        "estimates": {str(number): [each.winrate, each.lead] for number, each in sorted(facts.estimates.items())},
    }


def _ownership(facts: Facts) -> Sequence[float] | None:
    """Return the owners of the points, Black's view: as counted, else as the engine expects, if switched on."""
    count, answer = facts.shown.count, facts.shown.answer
    if count is not None:
        return count.owners or None
    if answer is None or answer.ownership is None or not facts.switches.territory:
        return None
    return [for_color(float(each), facts.game.to_play) for each in answer.ownership]


def _named(move: Move, game: Game) -> str:
    return f"{color_name(move.color).capitalize()} {format_vertex(move.vertex, game.width, game.height)}"


def _mistakes(facts: Facts) -> list[dict[str, Any]]:
    """Return the moves that cost their player most, by the engine's estimates before and after them."""
    lost: list[dict[str, Any]] = []
    for number, move in enumerate(facts.line, 1):
        before, after = (facts.estimates.get(each) for each in (number - 1, number))
        if before is None or after is None:
            continue
        points = None if before.lead is None or after.lead is None else for_color(before.lead - after.lead, move.color)
        chance = for_color(before.winrate - after.winrate, move.color)
        if chance >= _LEAST_CHANCE:
            name = _named(move, facts.game)
            lost.append({"number": number, "move": name, "winrate": chance, "points": points})
    return sorted(lost, key=lambda each: -each["winrate"])[:MOST_MISTAKES]


def _candidates(answer: AnalysisAnswer) -> list[Candidate]:
    """Return the moves worth showing, the best first."""
    most = max((each.visits for each in answer.candidates), default=0)
    worth = [each for each in answer.candidates if each.visits >= max(1.0, _LEAST_SHARE * most)]
    return worth[:MOST_CANDIDATES]


def _marks(candidates: list[Candidate]) -> list[Mark]:
    most = max((each.visits for each in candidates), default=1)
    return [
        Mark(each.vertex, _lines(each), each.visits / most, is_best=index == 0) for index, each in enumerate(candidates)
    ]


def _lines(candidate: Candidate) -> tuple[str, ...]:
    chance = [] if candidate.winrate is None else [f"{100 * candidate.winrate:.0f}"]
    lead = [] if candidate.lead is None else [f"{candidate.lead:+.1f}"]
    return (*chance, *lead, _count(candidate.visits))


def _count(visits: int) -> str:
    if visits < 1000:
        return str(visits)
    return f"{visits / 1000:.1f}k" if visits < 10_000 else f"{visits // 1000}k"


def _candidate(candidate: Candidate, width: int, height: int) -> dict[str, Any]:
    return {
        "move": format_vertex(candidate.vertex, width, height),
        "winrate": candidate.winrate,
        "lead": candidate.lead,
        "visits": candidate.visits,
        "pv": [format_vertex(vertex, width, height) for vertex in candidate.pv],
    }
