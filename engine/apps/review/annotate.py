"""Writes the annotated record of a reviewed game: comments at mistakes, and the better moves as variations."""

from collections.abc import Mapping, Sequence

from engine.apps.review.games import ReviewGame
from engine.apps.review.judgement import Grade, JudgedMove, player_of
from engine.color import opponent
from engine.game import Game, Move
from engine.records.sgf_editor import RecordEditor
from engine.scoring import format_lead
from engine.vertex import format_vertex


def annotated_sgf(game: ReviewGame, mistakes: Sequence[JudgedMove], reasons: Mapping[int, Sequence[str]]) -> str:
    """Return the SGF text of a game with its mistakes; everything that the record has is kept.

    reasons: sentences about mistakes, by the number of the move.
    """
    editor, end = RecordEditor(game.data, game.record), game.record.game(rules=game.rules, komi=game.komi)
    for mistake in mistakes:
        editor.comment(mistake.number, "\n".join([comment_on(mistake, end), *reasons.get(mistake.number, ())]))
        if line := better_line(mistake):
            editor.add_variation(mistake.number, line, _better(mistake, end))
    return editor.text()


def better_line(mistake: JudgedMove) -> list[Move]:
    """Return the better variation as moves of alternating colors."""
    return alternating(mistake.color, mistake.before.pv)


def alternating(first: int, vertices: Sequence[int]) -> list[Move]:
    """Return vertices as moves of alternating colors."""
    colors = (first, opponent(first))
    return [Move(colors[place % 2], vertex) for place, vertex in enumerate(vertices)]


def comment_on(mistake: JudgedMove, game: Game) -> str:
    """Return the comment at a mistake, as plain text. game: any position on this board."""
    better = f" Better: {name_of(mistake.before.pv[0], game)}." if mistake.before.pv else ""
    return f"{sentence(mistake, game)}{better}"


def sentence(move: JudgedMove, game: Game) -> str:
    """Describe what a move cost: its grade, points, Black's lead and win rate before and after it."""
    kind = "Move" if move.grade is Grade.FINE else move.grade.label.capitalize()
    before, after = move.before, move.after
    return (
        f"{kind}: {player_of(move.color)} {name_of(move.vertex, game)} loses {move.points_lost:.1f} points "
        f"({format_lead(before.lead)} to {format_lead(after.lead)}; "
        f"Black's win rate {before.winrate:.0%} to {after.winrate:.0%})."
    )


def name_of(vertex: int, game: Game) -> str:
    """Return the name of a point on a game's board."""
    return format_vertex(vertex, game.width, game.height)


def _better(mistake: JudgedMove, game: Game) -> str:
    before = mistake.before
    return (
        f"Better: {name_of(before.pv[0], game)} "
        f"({format_lead(before.lead)}, Black's win rate {before.winrate:.0%} before this move)."
    )
