"""The benchmark of `keima analysis`: reads queries from a file and prints its results as text."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from engine.apps.analysis_server.answer import Asked
from engine.errors import GoError
from gtp.json_analysis.fields import QueryError
from gtp.json_analysis.query import parse_query
from gtp.json_analysis.settings import Settings

if TYPE_CHECKING:
    from engine.apps.analysis_server.bench import Comparison, Speed
    from engine.apps.analysis_server.task import Report, Task


def read_tasks(file: Path, settings: Settings, sizes: tuple[int, int]) -> "list[Task]":
    """Return the positions of the queries in a file, one query a line. Raises GoError with the line."""
    tasks = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            given = {"id": str(number)} | json.loads(line)
            tasks += parse_query(given, settings, sizes, _ignore, _ignore_report)
        except (ValueError, TypeError) as error:
            raise GoError(f"{file}, line {number}: expected a JSON object: {error}") from None
        except QueryError as error:
            raise GoError(f"{file}, line {number}: {error.field}: {error}") from None
    if not tasks:
        raise GoError(f"{file}: expected a query on each line, got none")
    return tasks


def _ignore(field: str, message: str) -> None:
    """Ignore a warning."""


def _ignore_report(asked: Asked, task: "Task", report: "Report") -> None:
    """Ignore an answer."""


def table(found: "Comparison") -> str:
    """Format the results."""
    return "\n".join(
        [
            f"{found.positions} positions",
            _row("one by one", found.one_by_one),
            _row(f"{found.together.threads} at a time", found.together),
            f"together {found.gain:.2f} times as many positions a second",
        ]
    )


def _row(name: str, speed: "Speed") -> str:
    return (
        f"{name:<14} {speed.positions_per_second:8.1f} positions/s {speed.visits_per_second:9.0f} visits/s, "
        f"{speed.batch:.1f} positions a call"
    )
