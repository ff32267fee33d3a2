"""Computes the statistics of a match: counts, intervals, ratings, times, and one-line summaries.

Returns numbers and text; `table` lays out tables, and the command line prints them.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import median
from typing import Any

from engine.match.settings import MatchSettings
from engine.match.store import GameRecord
from engine.support.elo import Interval, Pairing, elo_from_score, fit_ratings, wilson_interval

_AFTER_A_MOVE = {"passes", "moves", "repetition"}
"""Reasons of ends that a move brings; all others come with a genmove that brought none."""


@dataclass
class Tally:
    """One player's results: in all games, with one color, or against one opponent."""

    wins: int = 0
    losses: int = 0
    draws: int = 0

    def __str__(self) -> str:
        """Format as wins-losses-draws."""
        return f"{self.wins}-{self.losses}-{self.draws}"

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.wins + other.wins, self.losses + other.losses, self.draws + other.draws)

    def count(self, label: str, winner: str | None) -> None:
        """Add the result of one game for the player with this label."""
        if winner is None:
            self.draws += 1
        elif winner == label:
            self.wins += 1
        else:
            self.losses += 1

    @property
    def games(self) -> int:
        """Number of games."""
        return self.wins + self.losses + self.draws

    @property
    def points(self) -> float:
        """Points; a draw is half a point."""
        return self.wins + self.draws / 2

    @property
    def score(self) -> Interval:
        """Share of points with its Wilson 95 % interval."""
        return wilson_interval(self.points, self.games)

    @property
    def elo(self) -> Interval:
        """Elo difference for the score, with its 95 % interval."""
        return elo_from_score(self.wins, self.losses, self.draws)


@dataclass
class Standing:
    """One player's results in a match: by color, by opponent, losses by reason, times in seconds.

    main_shares: used share of the main time in each game; least_left: None without a clock.
    """

    name: str = ""
    black: Tally = field(default_factory=Tally)
    white: Tally = field(default_factory=Tally)
    against: dict[str, Tally] = field(default_factory=dict)
    losses_by_reason: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    moves: int = 0
    longest: float = 0.0
    least_left: float | None = None
    main_shares: list[float] = field(default_factory=list)

    @property
    def total(self) -> Tally:
        """Results with both colors."""
        return self.black + self.white

    @property
    def seconds_a_move(self) -> float:
        """Mean seconds for a genmove."""
        return self.seconds / self.moves if self.moves else 0.0

    @property
    def mean_main_share(self) -> float | None:
        """Mean used share of the main time, None without main time."""
        return sum(self.main_shares) / len(self.main_shares) if self.main_shares else None

    def count(self, label: str, record: GameRecord) -> None:
        """Add a game of the player with this label."""
        tally, other = (self.black, record.white) if record.black == label else (self.white, record.black)
        tally.count(label, record.winner)
        self.against.setdefault(other, Tally()).count(label, record.winner)
        if record.winner not in (None, label):
            self.losses_by_reason[record.reason] += 1
        self.name = record.names.get(label, self.name)
        self.seconds += record.seconds.get(label, 0.0)
        self.moves += record.moves.get(label, 0)
        self.longest = max(self.longest, record.longest.get(label, 0.0))
        if label in record.least_left:
            left = record.least_left[label]
            self.least_left = left if self.least_left is None else min(self.least_left, left)
        if label in record.main_share:
            self.main_shares.append(record.main_share[label])


def standings(records: Sequence[GameRecord], labels: Sequence[str]) -> dict[str, Standing]:
    """Return the standing of every player by label, in the order of `labels`; equal names have the label in front."""
    result = {label: Standing(label) for label in labels}
    for record in records:
        for label in (record.black, record.white):
            result[label].count(label, record)
    shared = Counter(standing.name for standing in result.values())
    for label, standing in result.items():
        if shared[standing.name] > 1:
            standing.name = _with_label(label, standing.name)
    return result


def _with_label(label: str, name: str) -> str:
    """Return the name of a player whose opponent has the same name, with the label in front."""
    return f"{label}: {name}"


def pairings(found: dict[str, Standing]) -> list[Pairing]:
    """Return the results of all pairs of players that have met."""
    return [
        Pairing(first, second, tally.wins, tally.losses, tally.draws)
        for first, second in combinations(found, 2)
        if (tally := found[first].against.get(second)) is not None
    ]


def ratings(found: dict[str, Standing]) -> dict[str, Interval] | None:
    """Return the players' Elo ratings, with mean 0, and 95 % intervals; None until the results connect all players."""
    try:
        # Fails while some players have not met, directly or through others.
        fitted = fit_ratings(pairings(found))
    except ValueError:
        return None
    if fitted.keys() != found.keys():
        return None
    return {label: Interval(fitted[label].elo, fitted[label].low, fitted[label].high) for label in found}


def repeated_games(records: Sequence[GameRecord]) -> int:
    """Return the number of games that repeat the moves and players of an earlier one, and so add no information."""
    return len(records) - len({(record.black, record.white, record.digest) for record in records})


def moves_after_openings(records: Sequence[GameRecord]) -> float:
    """Return the median of the moves that both players made in a game."""
    return median(sum(record.moves.values()) - (record.reason not in _AFTER_A_MOVE) for record in records)


def is_informative(records: Sequence[GameRecord]) -> bool:
    """Return whether an interval or an Elo difference of these games means anything: at most half repeat another.

    Both assume independent games. Two programs without randomness play one game again and again, and its result would
    be counted as proof.
    """
    return 2 * repeated_games(records) <= len(records)


def progress_text(records: Sequence[GameRecord], settings: MatchSettings) -> str:
    """Return the running score in one line."""
    games = f"{len(records)}/{len(settings.fixtures())} games"
    if not records:
        return games
    found = standings(records, settings.labels)
    if len(found) > 2:
        return f"{games}: " + ", ".join(
            f"{each.name} {each.total.points:g}/{each.total.games}" for each in found.values()
        )
    first = next(iter(found.values()))
    total, score = first.total, first.total.score
    if is_informative(records):
        certainty = f"[{score.low:.1%}, {score.high:.1%}]"
    else:
        certainty = f"in {len(records) - repeated_games(records)} distinct games"
    return (
        f"{games}: {first.name} {total.wins} wins {total.losses} losses {total.draws} draws, "
        f"{score.value:.1%} {certainty}"
    )


def game_text(record: GameRecord) -> str:
    """Describe one finished game in one line."""
    black, white = record.names[record.black], record.names[record.white]
    if black == white:
        black, white = _with_label(record.black, black), _with_label(record.white, white)
    text = f"game {record.number}: {black} (black) - {white}: {record.result} by {record.reason}"
    return text + (f": {record.detail}" if record.detail else "")


def summary(records: Sequence[GameRecord], settings: MatchSettings) -> dict[str, Any]:
    """Return the statistics for summary.json.

    An infinite Elo is null, and so is every interval and Elo of games that are not `is_informative`.
    """
    found = standings(records, settings.labels)
    certain = is_informative(records)
    fitted = ratings(found) if certain else None
    return {
        "games": len(records),
        "repeated_games": repeated_games(records),
        "settings": settings.to_json(),
        "players": {label: _player_summary(standing, certain) for label, standing in found.items()},
        "pairings": [
            {"first": pairing.first, "second": pairing.second}
            | _tally_summary(found[pairing.first].against[pairing.second], certain)
            for pairing in pairings(found)
        ],
        "ratings": None if fitted is None else {label: _interval(rating) for label, rating in fitted.items()},
    }


def _player_summary(standing: Standing, certain: bool) -> dict[str, Any]:
    return {
        "name": standing.name,
        **_tally_summary(standing.total, certain),
        "black": _counts(standing.black),
        "white": _counts(standing.white),
        "losses_by_reason": dict(sorted(standing.losses_by_reason.items())),
        "lost_on_time": standing.losses_by_reason["time"],
        "moves": standing.moves,
        "seconds": round(standing.seconds, 3),
        "seconds_a_move": standing.seconds_a_move,
        "longest_move": standing.longest,
        "least_left": standing.least_left,
        "main_share": {"mean": standing.mean_main_share, "least": min(standing.main_shares, default=None)},
    }


def _tally_summary(tally: Tally, certain: bool) -> dict[str, Any]:
    if not certain:
        return _counts(tally) | {"score": [tally.score.value, None, None], "elo": [None, None, None]}
    return _counts(tally) | {"score": _interval(tally.score), "elo": _interval(tally.elo)}


def _counts(tally: Tally) -> dict[str, int]:
    return {"wins": tally.wins, "losses": tally.losses, "draws": tally.draws}


def _interval(values: Interval) -> list[float | None]:
    # JSON has no infinity.
    return [value if math.isfinite(value) else None for value in values]
