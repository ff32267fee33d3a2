"""The results of `keima bench --quality` as tables and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.apps.quality.choices import Choices, Limit
from engine.apps.quality.positions import Position
from engine.apps.quality.reference import Reference
from engine.apps.quality.settings import QualitySettings
from engine.apps.quality.statistics import Estimate, Regrets, estimates, regrets, rounded

if TYPE_CHECKING:
    from rich.table import Table

_ALL = "all"
_DIGITS = 5


@dataclass
class Measured:
    """The finished positions of one board size. choices: by setting and limit."""

    size: str
    reference: Reference
    positions: list[Position] = field(default_factory=list)
    choices: dict[tuple[str, Limit], Choices] = field(default_factory=dict)

    def add(self, positions: Sequence[Position], choices: Mapping[tuple[str, Limit], Choices]) -> None:
        """Add positions in which all moves were judged."""
        self.positions += positions
        for key, found in choices.items():
            self.choices.setdefault(key, {}).update(found)

    def regrets(self, key: tuple[str, Limit]) -> Regrets:
        """Return the regrets of a setting at a limit."""
        return regrets(self.reference, self.positions, self.choices[key])


@dataclass(frozen=True)
class _Row:
    """One setting at one limit on one board size or all. difference: from the base, None for the base itself."""

    size: str
    limit: str
    setting: str
    positions: int
    means: Mapping[str, Estimate]
    difference: Mapping[str, Estimate] | None
    visits: float
    seconds: float


def _rows(measured: Sequence[Measured]) -> Iterator[_Row]:
    """Yield the rows of each board size, and of all together if there are several."""
    measured = [each for each in measured if each.positions]
    boards = [(each.size, [each]) for each in measured] + ([(_ALL, list(measured))] if len(measured) > 1 else [])
    for size, group in boards:
        base = next(iter(group[0].choices))[0]
        for name, limit in sorted(group[0].choices, key=lambda key: (key[1].seconds or 0, key[1].visits or 0)):
            found, before = _together(group, (name, limit)), _together(group, (base, limit))
            chosen = [choice for each in group for choice in each.choices[name, limit].values()]
            yield _Row(
                size,
                str(limit),
                name,
                len(chosen),
                estimates(found),
                None if name == base else estimates(found, before),
                fmean(each.visits for each in chosen),
                fmean(each.seconds for each in chosen),
            )


def _together(group: Sequence[Measured], key: tuple[str, Limit]) -> Regrets:
    each = [measured.regrets(key) for measured in group]
    return Regrets(*(np.concatenate(values) for values in zip(*each, strict=True)))


def json_of(settings: QualitySettings, measured: Sequence[Measured]) -> dict[str, Any]:
    """Return all results for --json. Winrates and shares are in [0, 1]."""
    return {
        "network": settings.network,
        "reference_visits": settings.reference_visits,
        "positions": {
            each.size: {phase: sum(p.phase == phase for p in each.positions) for phase in _phases(each.positions)}
            for each in measured
        },
        "results": [
            {
                "size": row.size,
                "limit": row.limit,
                "setting": row.setting,
                "positions": row.positions,
                "visits": round(row.visits, 1),
                "seconds": round(row.seconds, 3),
                "regret": rounded(row.means, _DIGITS),
                "difference": None if row.difference is None else rounded(row.difference, _DIGITS),
            }
            for row in _rows(measured)
        ],
    }


def _phases(positions: Sequence[Position]) -> list[str]:
    return list(dict.fromkeys(each.phase for each in positions))


def tables(settings: QualitySettings, measured: Sequence[Measured]) -> "Iterator[Table]":
    """Yield a table for each board size and one for all together."""
    from rich.table import Table

    rows = list(_rows(measured))
    for size in dict.fromkeys(row.size for row in rows):
        mine = [row for row in rows if row.size == size]
        what = "all boards" if size == _ALL else size
        title = f"{what}, {mine[0].positions} positions, reference {settings.reference_visits:,} visits"
        table = Table("limit", "setting", "visits", "regret, winrate", "regret, points", "equal", title=title)
        has_others = any(row.difference for row in mine)
        if has_others:
            table.add_column("difference, winrate")
            table.add_column("difference, points")
        for row in mine:
            table.add_row(*_cells(row, has_others=has_others))
        yield table


def _cells(row: _Row, *, has_others: bool) -> Iterator[str]:
    yield from (row.limit, row.setting, f"{row.visits:,.0f}")
    yield percent_text(row.means["winrate"])
    yield points_text(row.means["points"])
    yield f"{row.means['equal'].mean:.1%}"
    if has_others:
        different = row.difference
        yield "" if different is None else percent_text(different["winrate"], "+")
        yield "" if different is None else points_text(different["points"], "+")


def percent_text(value: Estimate, sign: str = "") -> str:
    """Format a share with its interval in percent, "1.23 % (1.01 to 1.45)"."""
    mean, low, high = (f"{100 * each:{sign}.2f}" for each in value)
    return f"{mean} % ({low} to {high})"


def points_text(value: Estimate, sign: str = "") -> str:
    """Format points with their interval, "0.123 (0.101 to 0.145)"."""
    mean, low, high = (f"{each:{sign}.3f}" for each in value)
    return f"{mean} ({low} to {high})"
