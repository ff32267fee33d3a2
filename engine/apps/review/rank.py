"""Estimates a player's rank from reviewed games, with an interval, and says what the estimate rests on.

A game's figure is the logarithm of the mean win rate that a move of its player lost, without passes and moves of
decided games. On games of players with known ranks it falls by a straight line with the rank. The estimate is the rank
at which the line has the mean figure of the player's games. Its interval holds the spread of single games, which
shrinks with their number, and that among players of one rank, which does not.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.apps.review.judgement import JudgedMove
from engine.apps.review.summary import Review
from engine.color import BLACK, WHITE
from engine.vertex import PASS

ESTIMATE = "estimate"
"""In place of a rank."""
VISITS = 40
"""Of each position's search in the games that the estimate rests on."""
LEAST_MOVES = 10
"""Moves of undecided play that a game must have to count."""
_LEAST_LOSS = 0.005
"""Added to the mean loss of win rate, so that a game without a loss has a figure, too."""
_QUANTILE = 1.96


@dataclass(frozen=True)
class Calibration:
    """The line for one board side. Ranks are numbers: 1 is 1 dan, 0 is 1 kyu, -9 is 10 kyu.

    intercept: figure at rank 0. slope: change a rank. within, between: standard deviations of the figure, of one game
    and among players of one rank. weakest, strongest: the ranks of the players. players: their number. visits: of each
    position's search, by `network`. source: who they were.
    """

    intercept: float
    slope: float
    within: float
    between: float
    weakest: int
    strongest: int
    players: int
    visits: int
    network: str
    source: str


# From the reviews of 643 games of 9x9 by keima-t7c96 at 40 visits (docs/review.md). That people of one rank differ by
# 0.08, about a rank, is an assumption: no player of these records has two games.
CALIBRATIONS = {
    9: Calibration(-2.942, -0.0842, 0.604, 0.08, -9, 9, 1181, VISITS, "keima-t7c96", "on OGS"),
}


@dataclass(frozen=True)
class RankEstimate:
    """A player's rank on boards of one side, as a number. low, high: 95 %. figure: mean of the games'."""

    player: str
    side: int
    games: int
    moves: int
    figure: float
    rank: float
    low: float
    high: float
    calibration: Calibration

    @property
    def texts(self) -> tuple[str, str]:
        """The rank and its interval; ranks outside those of the calibration are not distinguished."""
        low, rank, high = (_named(each, self.calibration) for each in (self.low, self.rank, self.high))
        return rank, f"{low} to {high}"

    def as_json(self, reviewed: str) -> dict[str, Any]:
        """Return the estimate and what it rests on as plain data; ranks also as numbers, 1 for 1 dan, 0 for 1 kyu.

        reviewed: how the games were, in words.
        """
        made, calibration = round(self.rank, 2), self.calibration
        return {
            "player": self.player,
            "size": self.side,
            "games": self.games,
            "moves": self.moves,
            "rank": _named(self.rank, calibration),
            "low": _named(self.low, calibration),
            "high": _named(self.high, calibration),
            "number": made,
            "interval": [round(self.low, 2), round(self.high, 2)],
            "figure": round(self.figure, 4),
            "rests_on": basis(calibration),
            "reviewed": reviewed,
        }


def basis(calibration: Calibration) -> str:
    """Return what the estimates of one board side rest on."""
    ranks = f"{rank_name(calibration.weakest)} to {rank_name(calibration.strongest)}"
    return f"{calibration.players} players, {ranks}, {calibration.source}, {conditions(calibration)}"


def conditions(calibration: Calibration) -> str:
    """Return how the games of a calibration were reviewed; in games reviewed otherwise players lose more or less."""
    return f"{calibration.visits} visits a position by {calibration.network}"


def rank_name(number: int) -> str:
    """Return the name of a rank: 1 is 1d, 0 is 1k."""
    return f"{number}d" if number > 0 else f"{1 - number}k"


def _named(rank: float, calibration: Calibration) -> str:
    if rank < calibration.weakest - 0.5:
        return f"below {rank_name(calibration.weakest)}"
    if rank > calibration.strongest + 0.5:
        return f"above {rank_name(calibration.strongest)}"
    return rank_name(round(rank))


def figure(moves: Sequence[JudgedMove], color: int) -> tuple[float, int] | None:
    """Return a player's figure in a game and the number of moves it is made of; None if they are too few."""
    losses = [
        0.0 if each.is_top else max(0.0, each.winrate_lost)
        for each in moves
        if each.color == color and each.vertex != PASS and not each.is_decided
    ]
    if len(losses) < LEAST_MOVES:
        return None
    return math.log(sum(losses) / len(losses) + _LEAST_LOSS), len(losses)


def estimates(reviews: Iterable[Review]) -> list[RankEstimate]:
    """Return an estimate for each player and board side that has a calibration, the players with most games first."""
    found: dict[tuple[str, int], list[tuple[float, int]]] = {}
    spelled: dict[str, str] = {}  # as it is first, by the name without case
    for review in reviews:
        record = review.game.record
        if record.width != record.height or record.width not in CALIBRATIONS or record.is_handicap_game:
            continue
        for color, player in ((BLACK, record.black.strip()), (WHITE, record.white.strip())):
            # Players without a name may be anybody.
            if player and color in review.colors and (each := figure(review.moves, color)) is not None:
                name = spelled.setdefault(player.casefold(), player)
                found.setdefault((name, record.width), []).append(each)
    made = [estimate(player, side, games, CALIBRATIONS[side]) for (player, side), games in found.items()]
    return sorted(made, key=lambda each: (-each.games, each.player.casefold(), each.side))


def estimate(player: str, side: int, games: Sequence[tuple[float, int]], calibration: Calibration) -> RankEstimate:
    """Return the estimate for one player. games: the figure of each and its number of moves."""

    mean = sum(each for each, _ in games) / len(games)
    rank = (mean - calibration.intercept) / calibration.slope
    deviation = math.sqrt(calibration.between**2 + calibration.within**2 / len(games)) / abs(calibration.slope)
    low, high = rank - _QUANTILE * deviation, rank + _QUANTILE * deviation
    return RankEstimate(player, side, len(games), sum(count for _, count in games), mean, rank, low, high, calibration)
