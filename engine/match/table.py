"""Lays out the tables of a match: statistics of the players, and a crosstable for three or more players."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.match.report import Standing, is_informative, moves_after_openings, ratings, repeated_games, standings
from engine.match.settings import MatchSettings
from engine.match.store import GameRecord
from engine.support.elo import Interval

if TYPE_CHECKING:
    from rich.table import Table

_LOST = {
    "passes": "lost by count",
    "moves": "lost by count at the move limit",
    "resign": "resigned",
    "time": "lost on time",
}


def tables(records: Sequence[GameRecord], settings: MatchSettings, title: str) -> "list[Table]":
    """Return the tables of a match: statistics, after a crosstable if there are more than two players."""
    found = standings(records, settings.labels)
    certain = is_informative(records)
    facts = _facts(found, settings, certain)
    shown = [facts] if len(found) == 2 else [_crosstable(found, certain), facts]
    shown[0].title = title
    facts.caption = _caption(records, settings)
    return shown


def _caption(records: Sequence[GameRecord], settings: MatchSettings) -> str | None:
    """Return what keeps the games from being evidence, if anything does."""
    repeated = repeated_games(records)
    if not is_informative(records):
        return (
            f"only {len(records) - repeated} distinct games of {len(records)}: no interval and no Elo can be given; "
            "--openings, or randomness in a program, makes games differ"
        )
    if records and settings.openings is not None:
        moves = moves_after_openings(records)
        # Fewer moves than a side has points: games from undecided openings took 50 on 9x9, 180 on 19x19 (medians).
        if moves < max(settings.width, settings.height):
            return (
                f"half of the games ended within {moves:g} moves after their openings, which may be decided: play "
                "fewer moves of them (--opening-moves)"
            )
    return f"{repeated} of {len(records)} games repeat the moves of an earlier one" if repeated else None


def _crosstable(found: dict[str, Standing], certain: bool) -> "Table":
    """Return a table with a row for each player, the strongest first: rating, results, points and score."""
    from rich.table import Table

    fitted = ratings(found) if certain else None
    # Without ratings (not all players have met), by score.
    order = sorted(found, key=lambda label: -(fitted[label].value if fitted else found[label].total.score.value))
    table = Table(caption="Elo: Bradley-Terry, every player adds two drawn games; results are win-loss-draw")
    for heading in ("", "engine"):
        table.add_column(heading)
    for heading in ("Elo", "95 %", *(str(place) for place in range(1, len(order) + 1)), "points", "score"):
        table.add_column(heading, justify="right")
    for place, label in enumerate(order, 1):
        standing = found[label]
        rating = [_elo(fitted[label].value), _elo_range(fitted[label])] if fitted else ["", ""]
        results = [str(standing.against.get(other, "")) for other in order]
        total = standing.total
        points = [f"{total.points:g}/{total.games}", f"{total.score.value:.1%}"]
        table.add_row(str(place), standing.name, *rating, *results, *points)
    return table


def _facts(found: dict[str, Standing], settings: MatchSettings, certain: bool) -> "Table":
    """Return a table with one column for each player and one row for each statistic; certain: `is_informative`."""
    from rich.table import Table

    table = Table()
    table.add_column("")
    for label, standing in found.items():
        has_label = standing.name == label or standing.name.startswith(f"{label}: ")
        table.add_column(standing.name if has_label else f"{label}: {standing.name}", justify="right")
    columns = list(found.values())
    rows = [
        ("as Black (win-loss-draw)", [str(column.black) for column in columns]),
        ("as White", [str(column.white) for column in columns]),
        ("total", [str(column.total) for column in columns]),
        *_score_rows(columns, certain),
        *_time_rows(columns, settings),
        *_loss_rows(columns, settings),
    ]
    for name, cells in rows:
        table.add_row(name, *cells)
    return table


def _score_rows(columns: list[Standing], certain: bool) -> list[tuple[str, list[str]]]:
    scores, differences = [column.total.score for column in columns], [column.total.elo for column in columns]
    rows = [("score", [f"{score.value:.1%}" for score in scores])]
    if not certain:
        return rows
    rows.append(("Wilson 95 %", [f"{score.low:.1%} to {score.high:.1%}" for score in scores]))
    if len(columns) == 2:
        rows += [
            ("Elo difference", [_elo(elo.value) for elo in differences]),
            ("Elo 95 %", [_elo_range(elo) for elo in differences]),
        ]
    return rows


def _time_rows(columns: list[Standing], settings: MatchSettings) -> list[tuple[str, list[str]]]:
    rows = [
        ("seconds a move", [f"{column.seconds_a_move:.3f}" for column in columns]),
        ("longest move", [f"{column.longest:.2f} s" for column in columns]),
    ]
    if settings.time is not None:
        least = [column.least_left for column in columns]
        rows.append(("least time left", ["" if seconds is None else f"{seconds:.2f} s" for seconds in least]))
    if settings.time is not None and settings.time.main:
        shares = [column.main_shares for column in columns]
        rows.append(("main time used, mean", [f"{sum(each) / len(each):.1%}" if each else "" for each in shares]))
        rows.append(("main time used, least", [f"{min(each):.1%}" if each else "" for each in shares]))
    return rows


def _loss_rows(columns: list[Standing], settings: MatchSettings) -> list[tuple[str, list[str]]]:
    """Return a row for each reason of lost games, and always one for time if there is a clock."""
    reasons = {reason for column in columns for reason in column.losses_by_reason}
    if settings.time is not None:
        reasons.add("time")
    return [
        (_LOST.get(reason, f"lost by {reason}"), [str(column.losses_by_reason[reason]) for column in columns])
        for reason in sorted(reasons)
    ]


def _elo(value: float) -> str:
    return f"{round(value):+d}" if math.isfinite(value) else f"{value:+}"


def _elo_range(interval: Interval) -> str:
    return f"{_elo(interval.low)} to {_elo(interval.high)}"
