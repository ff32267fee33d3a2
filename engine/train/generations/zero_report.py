"""Reports of a run of `keima zero`: tables for a terminal, and report.md in the run folder.

Reads the files of the run folder and writes nothing but the report.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.support.files import write_atomically
from engine.train.generations.gate import read_gates
from engine.train.generations.rating import MatchLine, generation_of, player_of, ratings, read_lines
from engine.train.generations.zero_state import STEPS, Clock, State, read_state, read_steps

if TYPE_CHECKING:
    from rich.table import Table

# Number of generations shown on a terminal.
_NEWEST = 12


@dataclass(frozen=True)
class Sheet:
    """A table of strings, for a terminal or Markdown."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Progress:
    """The contents of a run folder's state and result files."""

    state: State
    seconds: dict[str, float]
    steps: list[dict[str, Any]]
    gates: list[dict[str, Any]]
    matches: list[MatchLine]


def read_progress(folder: Path) -> Progress:
    """Read the files of a run. Raises GoError if one cannot be read."""
    return Progress(
        read_state(folder / "state.json"),
        {str(step): seconds for step, seconds in Clock(folder / "clock.json").seconds.items()},
        read_steps(folder / "steps.jsonl"),
        read_gates(folder / "gate.jsonl"),
        read_lines(folder / "ratings.jsonl"),
    )


def sheets(progress: Progress, newest: int | None = None) -> list[Sheet]:
    """Return the tables of totals, of generations (only the `newest`, None for all), and of fixed opponents."""
    found = [_totals(progress), _generations(progress, newest)]
    return found + ([_opponents(progress)] if progress.matches else [])


def tables(progress: Progress) -> list["Table"]:
    """Return the tables for a terminal, with only the newest generations."""
    from rich.table import Table

    shown = []
    for sheet in sheets(progress, _NEWEST):
        table = Table(title=sheet.title, title_justify="left")
        for place, column in enumerate(sheet.columns):
            table.add_column(column, justify="left" if place == 0 else "right")
        for row in sheet.rows:
            table.add_row(*row)
        shown.append(table)
    return shown


def write_report(folder: Path, title: str) -> None:
    """Write report.md."""
    progress = read_progress(folder)
    parts = [f"# {title}\n"]
    for sheet in sheets(progress):
        parts.append(f"## {sheet.title}\n")
        lines = [sheet.columns, ("---",) + ("---:",) * (len(sheet.columns) - 1), *sheet.rows]
        parts.append("\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n")
    write_atomically(folder / "report.md", "\n".join(parts))


def rate(steps: Sequence[dict[str, Any]], step: str, figure: str) -> float | None:
    """Return a statistic per second over the steps of a kind, None if unknown.

    For a step that took several sessions, only the last one counts, for the statistic and the seconds alike.
    """
    counted = [line for line in steps if line["step"] == step and line.get(figure) is not None]
    seconds = sum(line["sitting_seconds"] for line in counted)
    return sum(line[figure] for line in counted) / seconds if seconds > 0 else None


_RATES = (
    ("games/s", "selfplay", "sitting_games"),
    ("evaluations/s", "selfplay", "sitting_evaluations"),
    ("new samples/s", "selfplay", "sitting_samples"),
    ("trained samples/s", "train", "sitting_samples"),
)


def _totals(progress: Progress) -> Sheet:
    state, total = progress.state, sum(progress.seconds.values())
    rows = [
        ("next", f"{state.step} of generation {state.generation}; generation {state.best} plays"),
        ("hours", f"{total / 3600:.2f}"),
    ]
    if total:
        shares = ", ".join(f"{step} {100 * progress.seconds[step] / total:.0f} %" for step in STEPS)
        rows.append(("of which", shares))
    for figure in ("games", "samples"):
        count = sum(line.get(figure, 0) for line in progress.steps if line["step"] == "selfplay")
        rows.append((figure, f"{count:,}"))
    for name, step, figure in _RATES:
        value = rate(progress.steps, step, figure)
        if value is not None:
            rows.append((name, f"{value:,.2f}" if value < 100 else f"{value:,.0f}"))
    return Sheet("Run", ("what", "how much"), tuple(rows))


def _generations(progress: Progress, newest: int | None) -> Sheet:
    by_generation: dict[int, dict[str, dict[str, Any]]] = {}
    for line in progress.steps:
        by_generation.setdefault(line["generation"], {})[line["step"]] = line
    gates = {line["candidate"]: line for line in progress.gates}
    fitted = ratings(progress.matches)
    rows = []
    for generation in sorted(by_generation)[-newest if newest else None :]:
        steps = by_generation[generation]
        played, trained = steps.get("selfplay", {}), steps.get("train", {})
        rating = fitted.get(player_of(generation))
        rows.append(
            (
                str(generation),
                f"{max(line['hours'] for line in steps.values()):.2f}",
                _count(played.get("games")),
                _count(played.get("samples")),
                "" if trained.get("loss") is None else f"{trained['loss']:.4f}",
                _gate_text(gates.get(generation)),
                "" if rating is None else f"{rating.elo:+.0f}",
            )
        )
    return Sheet("Generations", ("generation", "hours", "games", "samples", "loss", "gate", "Elo"), tuple(rows))


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _gate_text(line: dict[str, Any] | None) -> str:
    if line is None or line["ended"] == "no gate":
        return ""
    share, low, high = (100 * value for value in line["share"])
    return f"{share:.0f} % of {line['games']} ({low:.0f}-{high:.0f}) {'yes' if line['promoted'] else 'no'}"


def _opponents(progress: Progress) -> Sheet:
    """Return the table of fixed opponents with the latest result against each."""
    newest = {line.second: line for line in progress.matches if generation_of(line.second) is None}
    fitted = ratings(progress.matches)
    rows = []
    for opponent, line in newest.items():
        result = line.skipped or f"+{line.wins} -{line.losses} ={line.draws}"
        elo = f"{fitted[opponent].elo:+.0f}" if opponent in fitted else ""
        rows.append((opponent, line.first, result, elo))
    origin = player_of(0)
    return Sheet(f"Fixed opponents (Elo above {origin})", ("opponent", "met last by", "result", "Elo"), tuple(rows))
