"""A reviewed game: its judged moves and statistics, and the JSON that programs read."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from engine.apps.review.analyzer import Analyzed
from engine.apps.review.games import ReviewGame
from engine.apps.review.judgement import (
    Grade,
    JudgedMove,
    Limits,
    Phase,
    Position,
    Tally,
    judge,
    largest_swing,
    rank_limits,
    scaled,
    tallies,
    turning_point,
    worst,
)
from engine.apps.review.reasons import facts_of
from engine.color import BLACK, WHITE, color_letter, color_name
from engine.explain.as_json import move_object
from engine.explain.facts import MoveFacts
from engine.explain.words import reasons
from engine.vertex import format_vertex

_DECIMALS = 4


@dataclass(frozen=True, eq=False)
class Review:
    """A game and what its analysis says.

    network, effort: what analyzed it, in words. colors: the players that are reported on. limits: by color, for this
    board. positions: before each move and at the end. moves: all moves of the game. facts: about the mistakes, by the
    number of the move.
    """

    game: ReviewGame
    analyzed: Analyzed
    network: str
    effort: str
    colors: tuple[int, ...]
    limits: Mapping[int, Limits]
    positions: Sequence[Position]
    moves: Sequence[JudgedMove]
    facts: Mapping[int, MoveFacts] = field(default_factory=dict)

    @cached_property
    def own_moves(self) -> list[JudgedMove]:
        """The moves of the players that are reported on."""
        return [move for move in self.moves if move.color in self.colors]

    @cached_property
    def mistakes(self) -> list[JudgedMove]:
        """The moves of these players that are at least inaccuracies, in the order of the game."""
        return [move for move in self.own_moves if move.grade > Grade.FINE]

    @cached_property
    def reasons(self) -> dict[int, list[str]]:
        """One or two sentences for each mistake that say why it is one, by the number of the move."""
        return {number: reasons(facts) for number, facts in self.facts.items()}

    def worst(self, most: int) -> list[JudgedMove]:
        """Return up to `most` of the mistakes, the largest loss first."""
        return worst(self.own_moves, most)

    @property
    def swing(self) -> JudgedMove | None:
        """The move of these players that lost the most points."""
        return largest_swing(self.own_moves)

    @property
    def turning_point(self) -> JudgedMove | None:
        """The move of these players after which the win rate fell the most."""
        return turning_point(self.own_moves)

    def tallies(self, color: int) -> dict[Phase | None, Tally]:
        """Return the statistics of a player, of the whole game (None) and of each phase."""
        return tallies(self.moves, color)


def review_of(
    game: ReviewGame, analyzed: Analyzed, player: str | None, rank: str | None, made: dict[str, str]
) -> Review:
    """Judge a game whose positions are all analyzed.

    player: report on this player only. rank: of both players, instead of the record's. made: network and effort.
    """
    size = game.record.width, game.record.height
    limits = {color: scaled(rank_limits(rank or game.rank[color]), *size) for color in (BLACK, WHITE)}
    positions = [analyzed.positions[turn] for turn in range(len(game.record.moves) + 1)]
    moves = judge(game.record.moves, positions, size, limits)
    review = Review(game, analyzed, made["network"], made["effort"], game.colors_of(player), limits, positions, moves)
    return replace(review, facts=facts_of(game, analyzed, review.mistakes))


def summary(review: Review) -> dict[str, Any]:
    """Return the review as plain data for JSON. All win rates and leads are Black's."""
    game, record = review.game, review.game.record
    swing, turn = review.swing, review.turning_point
    return {
        "record": game.id,
        "black": {"name": record.black, "rank": game.rank[BLACK]},
        "white": {"name": record.white, "rank": game.rank[WHITE]},
        "date": record.about.get("DT", ""),
        "result": record.result,
        "size": [record.width, record.height],
        "rules": game.rules_name,
        "komi": game.komi,
        "assumed": list(game.assumed),
        "network": review.network,
        "effort": review.effort,
        "limits": {color_name(color): asdict(review.limits[color]) for color in review.colors},
        "players": {
            color_name(color): {
                "game" if phase is None else phase.value: _rounded(asdict(each))
                for phase, each in review.tallies(color).items()
            }
            for color in review.colors
        },
        "largest_swing": None if swing is None else swing.number,
        "turning_point": None if turn is None else turn.number,
        "moves": [_move(review, move) for move in review.own_moves],
    }


def _move(review: Review, move: JudgedMove) -> dict[str, Any]:
    size = review.game.record.width, review.game.record.height
    pv = [format_vertex(vertex, *size) for vertex in move.before.pv]
    facts = review.facts.get(move.number)
    why = {} if facts is None else {"reasons": reasons(facts), "facts": move_object(facts)}
    judged = _rounded(
        {
            "number": move.number,
            "color": color_letter(move.color),
            "move": format_vertex(move.vertex, *size),
            "points_lost": move.points_lost,
            "winrate_lost": move.winrate_lost,
            "class": move.grade.label,
            "phase": move.phase.value,
            "is_top": move.is_top,
            "better": pv[0] if pv and not move.is_top else None,
            "pv": pv,
            "winrate_before": move.before.winrate,
            "winrate_after": move.after.winrate,
            "lead_before": move.before.lead,
            "lead_after": move.after.lead,
        }
    )
    return judged | why


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    return {key: round(each, _DECIMALS) if isinstance(each, float) else each for key, each in values.items()}
