"""Writes the annotated record of a reviewed game: comments at mistakes, and the better moves as variations."""

from collections.abc import Sequence

from engine.apps.review.games import ReviewGame
from engine.apps.review.judgement import Grade, JudgedMove, lead_text, player_of
from engine.color import opponent
from engine.game import Game, Move
from engine.records.sgf import load_variations
from engine.records.sgf_writer import Variation, write_game
from engine.vertex import format_vertex

_MOST_VARIATIONS = 1000
"""Variations of the original record that are kept."""


def annotated_sgf(game: ReviewGame, mistakes: Sequence[JudgedMove]) -> str:
    """Return the SGF text of a game with its mistakes; the record's comments, markup and variations are kept.

    Where stones are set up between moves, the text begins at the last such place, because SGF properties of setup
    cannot be written after moves.
    """
    record = game.record
    end = record.game(rules=game.rules, komi=game.komi)
    before = len(record.moves) - len(end.moves)
    comments = {number - before: text for number, text in record.comments.items() if number >= before}
    markup = {number - before: each for number, each in record.markup.items() if number >= before}
    variations = []
    for mistake in mistakes:
        number = mistake.number - before
        if number < 1:
            continue
        comments[number] = "\n\n".join(filter(None, [comments.get(number), comment_on(mistake, end)]))
        line = better_line(mistake)
        if line:
            variations.append(Variation([*end.moves[: number - 1], *line], {number: _better(mistake, end)}))
    if before == 0:
        originals = load_variations(game.data, record, _MOST_VARIATIONS)
        variations += [
            Variation(each.moves, each.comments, each.markup) for each in originals if each.setups == record.setups
        ]
    return write_game(
        end,
        result=record.result,
        black=record.black,
        white=record.white,
        comment=comments.pop(0, ""),
        about=record.about,
        move_comments=comments,
        markup=markup,
        variations=variations,
    )


def better_line(mistake: JudgedMove) -> list[Move]:
    """Return the better variation as moves of alternating colors."""
    colors = (mistake.color, opponent(mistake.color))
    return [Move(colors[place % 2], vertex) for place, vertex in enumerate(mistake.before.pv)]


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
        f"({lead_text(before.lead)} to {lead_text(after.lead)}; "
        f"Black's win rate {before.winrate:.0%} to {after.winrate:.0%})."
    )


def name_of(vertex: int, game: Game) -> str:
    """Return the name of a point on a game's board."""
    return format_vertex(vertex, game.width, game.height)


def _better(mistake: JudgedMove, game: Game) -> str:
    before = mistake.before
    return (
        f"Better: {name_of(before.pv[0], game)} "
        f"({lead_text(before.lead)}, Black's win rate {before.winrate:.0%} before this move)."
    )
