"""What a run of `keima solve` is asked to do: its options and what they become. Imports nothing heavy."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click


@dataclass(frozen=True)
class SolveSettings:
    """Everything that answers depend on, and how many problems are wanted.

    visits: at which answers are read, ascending. network: what judges positions, by name.
    search: settings of the search that are not the defaults. limit: problems drawn by the seed, None for all.
    """

    file: Path
    visits: tuple[int, ...]
    framed: bool = True
    network: str = ""
    search: tuple[tuple[str, str], ...] = ()
    seed: int = 1
    limit: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return what must be equal for a run to go on: all but the limit; the file by its content."""
        import hashlib

        return {
            "problems": self.file.name,
            "problems_sha256": hashlib.sha256(self.file.read_bytes()).hexdigest(),
            "visits": list(self.visits),
            "framed": self.framed,
            "network": self.network,
            "search": dict(self.search),
            "seed": self.seed,
        }


class VisitCounts(click.ParamType[tuple[int, ...]]):
    """Ascending counts of visits, as 1,100,800."""

    name = "counts"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the counts."""
        if isinstance(value, tuple):
            return value
        parts = str(value).split(",")
        counts = tuple(int(part) for part in parts if part.isdecimal())
        if len(counts) < len(parts) or counts[0] < 1 or list(counts) != sorted(set(counts)):
            raise click.BadParameter(f"expected ascending counts such as 1,100,800, got {value!r}", ctx, param)
        return counts


_OPTIONS = (
    click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path)),
    click.option(
        "--visits",
        type=VisitCounts(),
        default="1,100,800,3200",
        show_default=True,
        help="Counts at which a search is asked for its move.",
    ),
    click.option("--limit", type=click.IntRange(min=1), help="Only so many problems, drawn by the seed."),
    click.option(
        "--frame/--no-frame",
        "framed",
        default=True,
        show_default=True,
        help="Wall off the rest of the board around a problem, so that it decides the game.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Of all random numbers, and of --limit.",
    ),
    click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder of answers, summary, plot."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
)


def solve_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a command with its file of problems and all options that are the solver's own."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
