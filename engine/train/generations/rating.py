"""Ratings of generations: which matches are played, their results, and the ratings computed from them.

Every rated generation plays the one before and a few older ones, which connects the curve, and fixed opponents, which
give it a scale: the playout player, with more visits after it was beaten without a loss, and GNU Go, one level
higher after a level was beaten clearly. Ratings are Bradley-Terry ratings over all results on a board.

This file plays no games and opens no networks.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from engine.settings.setting import Kind, check_fields, number, numbers, option
from engine.support.elo import Pairing, Rating, fit_ratings
from engine.support.files import append_line
from engine.support.json_text import json_text
from engine.support.run_folder import parsed_lines

GNUGO_LEVELS = range(1, 11)
"""GNU Go's levels; its default is 10."""
_ROLLOUT = "rollout-"
_GNUGO = "gnugo-"
_GENERATION = "gen-"
# Sizes whose ratings are remembered at a time.
_MOST_SIZES = 8


@dataclass(frozen=True)
class RatingSettings:
    """Settings of the rating matches.

    The playout player gets more visits after each match that it lost completely, 1000 to 5000 by 1000 as in J. Song's
    AlphaZero_Gomoku, train.py.
    """

    every: int = number(5, "Generations between two rated ones; 0 for no ratings.", 0, unit="generations")
    sizes: tuple[int, ...] = numbers(
        (),
        "Boards to play on, some of selfplay.sizes, each with ratings of its own; without any, the first one in play.",
        2,
        25,
    )
    games: int = number(20, "Games of a match, an even number.", 2, unit="games")
    visits: int = number(50, "Visits of a generation for each move.", 1, unit="visits")
    back: tuple[int, ...] = numbers(
        (1, 2, 4), "Earlier generations to play, in rated ones back: 1 is the one rated last.", 1
    )
    rollout_first: int = number(
        1000, "Visits of the playout player for each move in its first match; 0 for no matches.", 0, unit="visits"
    )
    rollout_last: int = number(5000, "Most visits of the playout player.", unit="visits")
    rollout_step: int = number(1000, "Visits that it gets more after a match that it lost completely.", 1)
    gnugo: str = option(
        Kind.TEXT, "", "Command of GNU Go, to which the level is added.", metavar="COMMAND", default_text="none"
    )
    gnugo_share: float = number(0.75, "Share of the points that beats a level of GNU Go.", 0, 1, above=True)
    gnugo_visits: int = number(100, "Visits of a generation for each move against GNU Go.", 1, unit="visits")

    def __post_init__(self) -> None:
        """Raise ValueError on a value out of range."""
        check_fields(self)
        try:
            is_command = bool(shlex.split(self.gnugo)) or not self.gnugo
        except ValueError as error:
            raise ValueError(f"gnugo: no command line: {error}") from error
        if not is_command:
            raise ValueError(f"gnugo: expected a command, got {self.gnugo!r}")
        if self.games % 2:
            raise ValueError(f"games: expected an even number from 2 on, got {self.games}")
        if self.rollout_last < self.rollout_first:
            raise ValueError(f"rollout_last: expected {self.rollout_first} or more, got {self.rollout_last}")

    @property
    def rollout_levels(self) -> range:
        """The visits of the playout player, ascending; empty if it does not play."""
        if self.rollout_first == 0:
            return range(0)
        return range(self.rollout_first, self.rollout_last + 1, self.rollout_step)


@dataclass(frozen=True)
class MatchLine:
    """The result of a match, as in a line of ratings.jsonl, from the point of view of `first`, a generation.

    hours: of the run at the time of the match. skipped: the reason why it was not played, else "".
    size: the side of the board; 0 in lines of earlier versions, which played on the first of the sizes of self-play.
    """

    first: str
    second: str
    wins: int = 0
    losses: int = 0
    draws: int = 0
    hours: float = 0.0
    seconds: float = 0.0
    skipped: str = ""
    size: int = 0

    @property
    def games(self) -> int:
        """The number of games played."""
        return self.wins + self.losses + self.draws

    @property
    def points(self) -> float:
        """The points of `first`."""
        return self.wins + self.draws / 2


def player_of(generation: int) -> str:
    """Return the name of a generation in results and file names."""
    return f"{_GENERATION}{generation:04d}"


def generation_of(player: str) -> int | None:
    """Return the generation of a player by its name, None for a fixed opponent."""
    return int(player.removeprefix(_GENERATION)) if player.startswith(_GENERATION) else None


def rollout_player(visits: int) -> str:
    """Return the name of the playout player with `visits` visits per move."""
    return f"{_ROLLOUT}{visits}"


def rollout_visits(player: str) -> int | None:
    """Return the visits of a playout player by its name, None for any other player."""
    return int(player.removeprefix(_ROLLOUT)) if player.startswith(_ROLLOUT) else None


def gnugo_player(level: int) -> str:
    """Return the name of GNU Go at a level."""
    return f"{_GNUGO}{level}"


def gnugo_level(player: str) -> int | None:
    """Return the level of GNU Go by its name, None for any other player."""
    return int(player.removeprefix(_GNUGO)) if player.startswith(_GNUGO) else None


def is_rated(generation: int, settings: RatingSettings) -> bool:
    """Return whether a generation is rated."""
    return settings.every > 0 and generation % settings.every == 0


def by_size(lines: Sequence[MatchLine], first: int) -> dict[int, list[MatchLine]]:
    """Return the matches on each board, the smallest first. first: the side of the board of those without a size."""
    found: dict[int, list[MatchLine]] = {}
    for line in lines:
        found.setdefault(line.size or first, []).append(line)
    return dict(sorted(found.items()))


def next_opponent(generation: int, lines: Sequence[MatchLine], settings: RatingSettings) -> str | None:
    """Return the next opponent of a generation's rating, None if its rating is complete. lines: matches on one board.

    It follows from the recorded matches, so an interrupted rating resumes with the missing match. Fixed opponents can
    get stronger within one rating: a generation that beats one level plays the next.
    """
    player = player_of(generation)
    met = {line.second: line for line in lines if line.first == player}
    for earlier in earlier_generations(generation, settings):
        if player_of(earlier) not in met:
            return player_of(earlier)
    swept = _highest(lines, rollout_visits, lambda line: line.points == line.games)
    for visits in settings.rollout_levels:
        if visits > swept or visits == settings.rollout_levels[-1]:
            if rollout_player(visits) not in met:
                return rollout_player(visits)
            # One level at a time: the next one follows only after this one was beaten.
            break
    if not settings.gnugo or any(gnugo_level(name) and line.skipped for name, line in met.items()):
        return None
    beaten = _highest(lines, gnugo_level, lambda line: line.points >= settings.gnugo_share * line.games)
    level = min(beaten + 1, GNUGO_LEVELS[-1])
    return None if gnugo_player(level) in met else gnugo_player(level)


def earlier_generations(generation: int, settings: RatingSettings) -> list[int]:
    """Return the earlier rated generations to play, the latest first; generation 0 counts as rated."""
    wanted = (generation - steps * max(settings.every, 1) for steps in settings.back)
    return [earlier for earlier in wanted if earlier >= 0]


def _highest(lines: Sequence[MatchLine], level_of: Any, is_beaten: Any) -> int:
    """Return the highest level of a fixed opponent that any generation has beaten, 0 if none."""
    levels = [level_of(line.second) for line in lines if line.games and is_beaten(line)]
    return max((level for level in levels if level is not None), default=0)


def ratings(lines: Sequence[MatchLine]) -> dict[str, Rating]:
    """Return Bradley-Terry ratings of all players linked by matches to generation 0 (else the weakest), which is 0."""
    return dict(_ratings(tuple(line for line in lines if line.games)))


def origin(lines: Sequence[MatchLine]) -> str:
    """Return the player whose rating is 0: generation 0 unless the ratings begin later."""
    return next((player for player, rating in ratings(lines).items() if rating.error == 0), player_of(0))


@lru_cache(maxsize=_MOST_SIZES)
def _ratings(lines: tuple[MatchLine, ...]) -> dict[str, Rating]:
    """Return the ratings of the matches that were played."""
    # Cached, because one report needs the same ratings several times.
    if not lines:
        return {}
    first = player_of(0)
    if not any(first in (line.first, line.second) for line in lines):
        fitted = fit_ratings(_linked(lines, lines[0].first))
        first = min(fitted, key=lambda player: fitted[player].elo)
    return fit_ratings(_linked(lines, first), origin=first)


def _linked(lines: Sequence[MatchLine], player: str) -> list[Pairing]:
    """Return the results of all players linked to a player by matches; others have no comparable rating."""
    pairings = [Pairing(line.first, line.second, line.wins, line.losses, line.draws) for line in lines]
    linked, more = set[str](), {player}
    while more != linked:
        linked, more = more, more.union(*(each[:2] for each in pairings if not more.isdisjoint(each[:2])))
    return [each for each in pairings if each.first in linked]


@dataclass(frozen=True)
class Point:
    """A generation on the rating curve. hours: of the run when it was first rated."""

    generation: int
    hours: float
    rating: Rating


def curve(lines: Sequence[MatchLine]) -> list[Point]:
    """Return the rated generations in order, generation 0 at 0 hours."""
    fitted = ratings(lines)
    hours = {player_of(0): 0.0}
    for line in lines:
        hours.setdefault(line.first, line.hours)
    points = []
    for player, rating in fitted.items():
        generation = generation_of(player)
        if generation is not None and player in hours:
            points.append(Point(generation, hours[player], rating))
    return sorted(points, key=lambda point: point.generation)


def write_line(path: Path, line: MatchLine) -> None:
    """Append a match to ratings.jsonl."""
    append_line(path, json_text(asdict(line)))


def read_lines(path: Path) -> list[MatchLine]:
    """Return the matches of ratings.jsonl. Raises GoError with the line number on any other content."""
    return parsed_lines(path, lambda line: MatchLine(**line), "match")


def summary(lines: Sequence[MatchLine]) -> dict[str, Any]:
    """Return the ratings and their matches as JSON values."""
    fitted: Mapping[str, Rating] = ratings(lines)
    return {
        "ratings": {player: [round(value, 1) for value in rating] for player, rating in sorted(fitted.items())},
        "curve": [
            {"generation": point.generation, "hours": round(point.hours, 4), "elo": round(point.rating.elo, 1)}
            for point in curve(lines)
        ],
        "matches": [asdict(line) for line in lines],
    }
