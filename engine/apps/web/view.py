"""Converts a snapshot to the JSON object that pages get, with the board as an SVG picture."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from engine.apps.picture.svg import picture
from engine.apps.review.judgement import rank_limits, scaled
from engine.apps.web.counting import sums
from engine.apps.web.mistakes import mistakes
from engine.apps.web.records import MOST_BEST
from engine.apps.web.settings import RULES, PlayerKind, offered_name
from engine.apps.web.snapshot import MOST_CANDIDATES, BookPage, ClockReading, Snapshot
from engine.color import BLACK, EMPTY, WHITE, color_name, for_color
from engine.game import Game, Move
from engine.match.clock import clock_text
from engine.programs.answers import AnalysisAnswer, Candidate
from engine.settings.levels import rank_on, ranks_on
from engine.vertex import format_vertex, points

_STONES = {EMPTY: ".", BLACK: "X", WHITE: "O"}
_MIN_VISIT_SHARE = 0.01
"""Moves with a smaller share of the best move's visits are not drawn."""


def view(snapshot: Snapshot) -> dict[str, Any]:
    """Return the JSON object. Winrates in [0, 1]: Black's in `estimates`, elsewhere those of the side to move."""
    game, settings, answer = snapshot.game, snapshot.settings, snapshot.shown.answer
    candidates = _candidates(answer) if answer is not None and snapshot.switches.analysis else []
    last = snapshot.line[snapshot.number - 1] if snapshot.number else None
    players = {color_name(color): sitting for color, sitting in settings.players.items()}
    return {
        "version": snapshot.version,
        "board": picture(
            game,
            ownership=_ownership(snapshot),
            dead=() if snapshot.shown.count is None else snapshot.shown.count.dead,
        ),
        "width": game.width,
        "height": game.height,
        "komi": game.komi,
        "handicap": len(game.setup_black) if not game.setup_white else 0,
        "stones": "".join(_STONES[game.color_at(each)] for each in points(game.width, game.height)),
        "rules": offered_name(game.rules),
        "known_rules": RULES,
        "seconds": settings.seconds,
        "visits": settings.visits,
        "limits": asdict(snapshot.limits),
        "clock": _clock(snapshot.clock),
        "clock_settings": None if settings.clock is None else clock_text(settings.clock),
        "review_seconds": settings.review_seconds,
        "rank": rank_on(settings.rank, game.width, game.height) if snapshot.has_ranks else None,
        "ranks": ranks_on(game.width, game.height),
        "players": players,
        "engine": snapshot.engine,
        "people": {color_name(color): name for color, name in settings.people.items() if name},
        "is_record": settings.is_record,
        "to_play": color_name(game.to_play),
        "is_over": game.is_over,
        "may_play": not game.is_over and (snapshot.is_review or settings.players[game.to_play] is PlayerKind.PERSON),
        "shown": snapshot.number,
        "moves": len(snapshot.line),
        "last": _named(last, game) if isinstance(last, Move) else None,
        "captured": {color_name(color): game.captured(color) for color in (BLACK, WHITE)},
        "result": snapshot.result,
        "score": None if snapshot.shown.count is None else snapshot.shown.count.score,
        "sums": None if snapshot.shown.count is None else sums(game, snapshot.shown.count),
        "is_proposed": snapshot.is_proposed,
        "may_agree": game.rules.may_agree,
        "session": snapshot.session,
        "error": snapshot.shown.error,
        "busy": snapshot.busy,
        "switches": asdict(snapshot.switches),
        "reviewed": snapshot.reviewed,
        **_record(snapshot),
        "mistakes": _mistakes(snapshot),
        "book": None if snapshot.book is None else _book(snapshot.book, game),
        "candidates": [_candidate(each, game.width, game.height) for each in candidates],
        "estimates": {str(number): [each.winrate, each.lead] for number, each in sorted(snapshot.estimates.items())},
    }


def _record(snapshot: Snapshot) -> dict[str, Any]:
    """Return what the record says, and its lines."""
    game = snapshot.game
    return {
        "changed": _at_points({vertex: _STONES[color] for vertex, color in snapshot.changed.items()}, game),
        "symbols": _at_points(snapshot.symbols, game),
        "labels": _at_points(snapshot.labels, game),
        "lines": [
            [kind, *(format_vertex(end, game.width, game.height) for end in ends)] for kind, *ends in snapshot.lines
        ],
        "following": [move and format_vertex(move.vertex, game.width, game.height) for move in snapshot.following],
        "variations": [
            {
                "from": variation.branch_point,
                "parent": variation.parent,
                "colors": variation.colors,
                "move": variation.move and _named(variation.move, game),
            }
            for variation in snapshot.variations
        ],
        "note": snapshot.note,
        "variation": snapshot.variation,
        "may_undo": snapshot.may_undo,
        "has_previous": snapshot.has_previous,
        "open_game": snapshot.open_game,
        "notice": asdict(snapshot.notice),
        "info": dict(snapshot.info),
    }


def _ownership(snapshot: Snapshot) -> Sequence[float] | None:
    """Return the owner of each point in Black's view: from the count, else from the engine if the switch is on."""
    count, answer = snapshot.shown.count, snapshot.shown.answer
    if count is not None:
        return count.owners or None
    if answer is None or answer.ownership is None or not snapshot.switches.territory:
        return None
    return [for_color(float(each), snapshot.game.to_play) for each in answer.ownership]


def _clock(reading: ClockReading | None) -> dict[str, Any] | None:
    """Return both clocks: settings, seconds and periods left by color, and whose clock has run for how long."""
    if reading is None:
        return None
    settings = reading.settings
    return {
        "kind": settings.kind,
        "period": settings.period,
        "periods": settings.count,
        "increment": settings.increment,
        "left": {color_name(color): left for color, left in reading.left.items()},
        "running": None if reading.running is None else color_name(reading.running),
        "elapsed": reading.elapsed,
        "is_paused": reading.is_paused,
    }


def _at_points(texts: Mapping[int, str], game: Game) -> dict[str, str]:
    """Return texts by the names of their points."""
    return {format_vertex(vertex, game.width, game.height): text for vertex, text in texts.items()}


def _named(move: Move, game: Game) -> dict[str, str]:
    return {"color": color_name(move.color), "at": format_vertex(move.vertex, game.width, game.height)}


def _mistakes(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return the mistakes of the line with the better variations, the largest loss of winrate first."""
    game, about = snapshot.game, snapshot.settings.about or {}
    ranks = {BLACK: about.get("BR", ""), WHITE: about.get("WR", "")}
    limits = {color: scaled(rank_limits(rank), game.width, game.height) for color, rank in ranks.items()}
    return [
        {
            "number": each.number,
            **_named(each.move, game),
            "winrate": each.winrate,
            "points": each.points,
            "size": int(each.grade),
            "better": [format_vertex(vertex, game.width, game.height) for vertex in each.better[:MOST_BEST]],
        }
        for each in mistakes(snapshot.line, snapshot.estimates, limits)
    ]


def _book(page: BookPage, game: Game) -> dict[str, Any]:
    """Return what the book has; each move with the points that symmetry makes equal to it."""
    found = page.found
    return {
        "misfit": page.misfit,
        "winrate": None if found is None else found.winrate,
        "visits": None if found is None else found.visits,
        "moves": [
            {
                "points": [format_vertex(vertex, game.width, game.height) for vertex in move.vertices],
                "winrate": move.winrate,
                "lead": move.lead,
                "visits": move.visits,
            }
            for move in (() if found is None else found.moves)
        ],
    }


def _candidates(answer: AnalysisAnswer) -> list[Candidate]:
    """Return the moves to show, best first."""
    most = max((each.visits for each in answer.candidates), default=0)
    worth = [each for each in answer.candidates if each.visits >= max(1.0, _MIN_VISIT_SHARE * most)]
    return worth[:MOST_CANDIDATES]


def _candidate(candidate: Candidate, width: int, height: int) -> dict[str, Any]:
    return {
        "move": format_vertex(candidate.vertex, width, height),
        "winrate": candidate.winrate,
        "lead": candidate.lead,
        "visits": candidate.visits,
        "pv": [format_vertex(vertex, width, height) for vertex in candidate.pv or (candidate.vertex,)],
    }
