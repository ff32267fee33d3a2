"""Writes the report of a reviewed game, and the index of several, as HTML without scripts or other files.

Everything from a record is escaped by `html.escape`.
"""

from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from engine.apps.picture.svg import Mark, picture
from engine.apps.review.annotate import alternating, better_line, name_of, sentence
from engine.apps.review.graph import GRADE_PAINTS, score_graph
from engine.apps.review.judgement import COLUMNS, JudgedMove, Tally, phase_ends, player_of
from engine.apps.review.style import STYLE
from engine.apps.review.summary import Review
from engine.color import BLACK, EMPTY, WHITE, color_name, opponent
from engine.errors import IllegalMove
from engine.game import Game, Move
from engine.scoring import format_lead

MOST_BOARDS = 10
_MOST_PV = 10
_POINT_OF_VIEW = "Win rates and leads are Black's: 70% and B+3 favor Black, 30% and W+3 White."


def report_page(review: Review) -> str:
    """Return the report of one game."""
    game, record = review.game, review.game.record
    names = " &ndash; ".join(_player(review, color) for color in (BLACK, WHITE))
    about = [record.about.get(key, "") for key in ("DT", "EV", "PC")]
    facts = [*about, f"Result: {record.result}" if record.result else "", f"{len(record.moves)} moves"]
    swing = review.swing
    parts = [
        f"<h1>{names}</h1>",
        f'<p class="soft">{escape(", ".join(filter(None, facts)))}</p>',
        f'<p class="soft">{escape(_conditions(review))}</p>',
        f'<p class="soft">{escape(_POINT_OF_VIEW)}</p>',
        "<h2>Score</h2>",
        f'<div class="card">{score_graph(review.positions, review.mistakes, record.width * record.height)}'
        f"{_legend()}</div>",
    ]
    if swing is not None:
        before_and_after = f"{format_lead(swing.before.lead)} to {format_lead(swing.after.lead)}"
        parts.append(f"<p>Largest loss of points: {_move_name(review, swing)}, {before_and_after}.</p>")
    if review.turning_point is not None:
        turn = review.turning_point
        before_and_after = f"Black's win rate {turn.before.winrate:.0%} to {turn.after.winrate:.0%}"
        parts.append(f"<p>Turning point: {_move_name(review, turn)}, {before_and_after}.</p>")
    parts += ["<h2>Players</h2>", *(_player_table(review, color) for color in review.colors)]
    parts.append(f'<p class="soft">{escape(_explanation(review))}</p>')
    parts += _mistake_cards(review)
    title = f"{game.name[BLACK]}, {game.name[WHITE]}: review"
    return _page(title, "".join(parts))


def index_page(reviews: Sequence[Review]) -> str:
    """Return the page that lists several games, with links to their reports."""
    rows = []
    for review in reviews:
        game = review.game
        link = f'<a href="{quote(game.stem)}.html">{_player(review, BLACK)} &ndash; {_player(review, WHITE)}</a>'
        about = escape(", ".join(filter(None, [game.id, game.record.about.get("DT", ""), game.record.result])))
        first = f'<td class="name" rowspan="{len(review.colors)}">{link}<br><span class="soft">{about}</span></td>'
        for color in review.colors:
            rows.append(f"<tr>{first}<td>{player_of(color)}</td>{_cells(review.tallies(color)[None])}</tr>")
            first = ""
    heads = "".join(f"<th>{each}</th>" for each in ("game", "player", *(each.heading for each in COLUMNS)))
    table = f'<table class="games"><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    return _page("Review", f'<h1>Review of {len(reviews)} games</h1><div class="card scroll">{table}</div>')


def _page(title: str, body: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>{body}</main></body></html>\n"
    )


def _player(review: Review, color: int) -> str:
    rank = review.game.rank[color]
    return escape(f"{review.game.name[color]}{f' ({rank})' if rank else ''}")


def _conditions(review: Review) -> str:
    """Return one line: board, rules, komi, what was assumed, network and effort."""
    game, record = review.game, review.game.record
    assumed = f" ({' and '.join(game.assumed)} assumed: the record does not say)" if game.assumed else ""
    return (
        f"{record.width}x{record.height}, {game.rules_name} rules, komi {game.komi:g}{assumed}. "
        f"Analyzed by {review.network}, {review.effort}."
    )


def _move_name(review: Review, move: JudgedMove) -> str:
    """Return a move's number and player, as a link if the move has boards below."""
    name = f"move {move.number}, {player_of(move.color)}"
    return f'<a href="#move-{move.number}">{name}</a>' if move in review.worst(MOST_BOARDS) else name


def _legend() -> str:
    dots = "".join(
        f'<span><i class="dot" style="background:{paint}"></i>{grade.label}</span>'
        for grade, paint in GRADE_PAINTS.items()
    )
    lines = '<span><i class="full"></i>Black\'s lead</span><span><i class="dash"></i>Black\'s win rate</span>'
    return f'<div class="legend">{lines}{dots}</div>'


def _player_table(review: Review, color: int) -> str:
    rows = []
    for phase, each in review.tallies(color).items():
        name = "whole game" if phase is None else phase.value
        rows.append(f"<tr{'' if phase else ' class=whole'}><td>{name}</td>{_cells(each)}</tr>")
    heads = "".join(f"<th>{each}</th>" for each in ("", *(each.heading for each in COLUMNS)))
    heading = _player(review, color)
    if review.game.name[color] != player_of(color):
        heading = f"{player_of(color)}: {heading}"
    return (
        f'<div class="card scroll"><h3>{heading}</h3>'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cells(tally: Tally) -> str:
    return "".join(f"<td>{each.text(tally)}</td>" for each in COLUMNS)


def _explanation(review: Review) -> str:
    """Return what the words in the tables mean for this game."""
    limits = []
    for color in review.colors:
        each = review.limits[color]
        limits.append(
            f"{player_of(color)}, limits of {each.group}: inaccuracy from {each.inaccuracy:.1f} points, mistake from "
            f"{each.mistake:.1f}, blunder from {each.blunder:.1f}."
        )
    opening, middle = phase_ends(review.game.record.width, review.game.record.height)
    meanings = " ".join(f"{each.heading.capitalize()}: {each.meaning}." for each in COLUMNS if each.meaning)
    return f"{meanings} {' '.join(limits)} Opening: to move {opening}; endgame: from move {middle + 1}."


def _mistake_cards(review: Review) -> list[str]:
    """Return a card with two boards for each of the worst moves, the worst first."""
    worst = review.worst(MOST_BOARDS)
    if not worst:
        return ["<h2>Mistakes</h2><p>None by these limits.</p>"]
    count = len(review.mistakes)
    heading = f"The {len(worst)} worst of {count} moves with a loss" if count > len(worst) else "Moves with a loss"
    games = _positions_of(review, {move.number - 1 for move in worst})
    return [f"<h2>{heading}</h2>", *(_card(review, move, games[move.number - 1]) for move in worst)]


def _positions_of(review: Review, turns: set[int]) -> dict[int, Game]:
    return {turn: game.copy() for turn, game in enumerate(review.game.positions()) if turn in turns}


def _card(review: Review, move: JudgedMove, game: Game) -> str:
    better = name_of(move.before.pv[0], game) if move.before.pv else "no other move"
    played = name_of(move.vertex, game)
    answer = [Move(move.color, move.vertex), *alternating(opponent(move.color), move.after.pv)]
    actual, moves = _variation(game, answer[: _MOST_PV // 2])
    empty = [vertex for vertex in move.before.pv[:1] if actual.color_at(vertex) == EMPTY]
    as_played = picture(
        actual,
        numbered_from=1,
        earlier=-len(game.moves),
        marks=[Mark(vertex, is_best=True) for vertex in empty],
        ownership=review.analyzed.owners(move.number),
    )
    after, shown = _variation(game, better_line(move))
    variation = picture(
        after, numbered_from=1, earlier=-len(game.moves), ownership=review.analyzed.owners(move.number - 1)
    )
    grade = f'<span class="grade" style="background:{GRADE_PAINTS[move.grade]}">{move.grade.label}</span>'
    text = sentence(move, game).partition(": ")[2]
    heading = f"<h3>{grade}Move {move.number}, {player_of(move.color)} {played}</h3>"
    return (
        f'<section class="card mistake" id="move-{move.number}">{heading}'
        f"<p>{escape(text)} Better: <b>{better}</b>. <span class=soft>({move.phase.value})</span></p>"
        f"{_why(review, move)}"
        f'<div class="boards"><figure>{as_played}<figcaption>1: {played}, as played, and the answer: '
        f"{escape(moves)}.{f' Blue: {better}, better.' if empty else ''} Squares: probable owners of points after "
        f"{played}.</figcaption></figure><figure>{variation}<figcaption>The better variation, "
        f"{color_name(move.color)} first: {escape(shown)}. Squares: probable owners before the move."
        "</figcaption></figure></div></section>"
    )


def _why(review: Review, move: JudgedMove) -> str:
    """Return the reasons for a mistake as a list, nothing if the facts show none."""
    found = review.reasons.get(move.number, [])
    return f'<ul class="why">{"".join(f"<li>{escape(each)}</li>" for each in found)}</ul>' if found else ""


def _variation(game: Game, line: Sequence[Move]) -> tuple[Game, str]:
    """Return the game after a variation, as far as it can be played, and the names of its moves."""
    after, names = game.copy(), []
    for color, vertex in line[:_MOST_PV]:
        try:
            after.play(color, vertex, lenient=True)
        except IllegalMove:
            break
        names.append(name_of(vertex, game))
    return after, " ".join(names)
