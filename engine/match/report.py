"""What the games of a match say: counts, intervals, and their table and progress line.

Numbers and text only; where they are shown is `cli.py`'s.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engine.elo import Interval, elo_from_score, wilson_interval
from engine.match.store import GameRecord

if TYPE_CHECKING:
    from rich.table import Table


@dataclass
class Tally:
    """One player's results with one color."""

    wins: int = 0
    losses: int = 0
    draws: int = 0

    def __str__(self) -> str:
        """Return wins-losses-draws."""
        return f"{self.wins}-{self.losses}-{self.draws}"

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.wins + other.wins, self.losses + other.losses, self.draws + other.draws)

    @property
    def games(self) -> int:
        """All games."""
        return self.wins + self.losses + self.draws


@dataclass
class Standing:
    """One player's results in a match: with each color, losses by reason, time and moves."""

    name: str = ""
    black: Tally = field(default_factory=Tally)
    white: Tally = field(default_factory=Tally)
    losses_by_reason: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    moves: int = 0

    @property
    def total(self) -> Tally:
        """Both colors together."""
        return self.black + self.white

    @property
    def score(self) -> Interval:
        """The share of points, a draw half a point, with its Wilson 95 % interval."""
        total = self.total
        return wilson_interval(total.wins + total.draws / 2, total.games)

    @property
    def elo(self) -> Interval:
        """The Elo difference over the other player with its 95 % interval."""
        total = self.total
        return elo_from_score(total.wins, total.losses, total.draws)

    @property
    def seconds_a_move(self) -> float:
        """Mean seconds of a genmove."""
        return self.seconds / self.moves if self.moves else 0.0


def standings(records: list[GameRecord]) -> dict[str, Standing]:
    """Return the standing of "A" and of "B"."""
    result = {"A": Standing(), "B": Standing()}
    for record in records:
        for label, standing in result.items():
            tally = standing.black if record.black == label else standing.white
            if record.winner is None:
                tally.draws += 1
            elif record.winner == label:
                tally.wins += 1
            else:
                tally.losses += 1
                standing.losses_by_reason[record.reason] += 1
            standing.name = record.names.get(label, standing.name)
            standing.seconds += record.seconds.get(label, 0.0)
            standing.moves += record.moves.get(label, 0)
    return result


def repeated_games(records: list[GameRecord]) -> int:
    """Return how many games have the moves of an earlier one and so tell nothing new."""
    return len(records) - len({(record.black, record.digest) for record in records})


def progress_text(records: list[GameRecord], games: int) -> str:
    """Return the running score in one line."""
    if not records:
        return f"0/{games} games"
    a = standings(records)["A"]
    total, score = a.total, a.score
    return (
        f"{len(records)}/{games} games: {a.name} {total.wins} wins {total.losses} losses {total.draws} draws, "
        f"{score.value:.1%} [{score.low:.1%}, {score.high:.1%}]"
    )


def game_text(record: GameRecord) -> str:
    """Return one finished game in one line."""
    black, white = record.names[record.black], record.names["A" if record.black == "B" else "B"]
    text = f"game {record.number}: {black} (black) - {white}: {record.result} by {record.reason}"
    return text + (f": {record.detail}" if record.detail else "")


def summary(records: list[GameRecord]) -> dict[str, Any]:
    """Return the numbers of the table for summary.json; an infinite Elo is null."""
    players = {label: _player_summary(standing) for label, standing in standings(records).items()}
    return {"games": len(records), "repeated_games": repeated_games(records), "players": players}


def table(records: list[GameRecord], title: str) -> "Table":
    """Return the table of a match: one column a player, one row a fact."""
    from rich.table import Table

    result = Table(title=title)
    result.add_column("")
    found = standings(records)
    for label, standing in found.items():
        result.add_column(f"{label}: {standing.name}", justify="right")
    for title_of_row, cells in _rows(list(found.values())):
        result.add_row(title_of_row, *cells)
    repeated = repeated_games(records)
    if repeated:
        result.caption = f"{repeated} of {len(records)} games repeat the moves of an earlier one"
    return result


def _rows(columns: list[Standing]) -> list[tuple[str, list[str]]]:
    reasons = sorted({reason for column in columns for reason in column.losses_by_reason})
    return [
        ("as Black (win-loss-draw)", [str(column.black) for column in columns]),
        ("as White", [str(column.white) for column in columns]),
        ("total", [str(column.total) for column in columns]),
        ("score", [f"{column.score.value:.1%}" for column in columns]),
        ("Wilson 95 %", [f"{column.score.low:.1%} to {column.score.high:.1%}" for column in columns]),
        ("Elo difference", [f"{column.elo.value:+.0f}" for column in columns]),
        ("Elo 95 %", [f"{column.elo.low:+.0f} to {column.elo.high:+.0f}" for column in columns]),
        ("seconds a move", [f"{column.seconds_a_move:.3f}" for column in columns]),
        *(
            (_LOST.get(reason, f"lost by {reason}"), [str(column.losses_by_reason[reason]) for column in columns])
            for reason in reasons
        ),
    ]


_LOST = {"passes": "lost by count", "moves": "lost by count at the move limit", "resign": "resigned"}


def _player_summary(standing: Standing) -> dict[str, Any]:
    def pair(tally: Tally) -> dict[str, int]:
        return {"wins": tally.wins, "losses": tally.losses, "draws": tally.draws}

    def interval(values: Interval) -> list[float | None]:
        return [value if abs(value) != float("inf") else None for value in values]

    return {
        "name": standing.name,
        "black": pair(standing.black),
        "white": pair(standing.white),
        "score": interval(standing.score),
        "elo": interval(standing.elo),
        "seconds_a_move": standing.seconds_a_move,
        "losses_by_reason": dict(sorted(standing.losses_by_reason.items())),
    }
