"""The status of any training run, for a person: whether it is running, the time left, how a number moves."""

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

from engine.support.files import is_claimed
from engine.support.progress import duration

if TYPE_CHECKING:
    from rich.table import Table

# Relative changes below this are noise between two stretches of a run.
_STEADY = 0.005


class Sheet(NamedTuple):
    """A table of strings, for a terminal or Markdown."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def table(self) -> "Table":
        """Return the table for a terminal."""
        from rich.table import Table

        table = Table(title=self.title, title_justify="left")
        for place, column in enumerate(self.columns):
            table.add_column(column, justify="left" if place == 0 or len(self.columns) == 2 else "right")
        for row in self.rows:
            table.add_row(*row)
        return table

    def markdown(self) -> str:
        """Return the title as a heading, and the table."""
        lines = [self.columns, ("---",) + ("---:",) * (len(self.columns) - 1), *self.rows]
        return f"## {self.title}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def headline(folder: Path, command: str, *, complete: bool, heartbeat: Path) -> str:
    """Return in a sentence whether a run is running.

    command: continues the run. complete: it has reached its bound. heartbeat: a file that it writes as it goes.
    """
    if is_claimed(folder):
        return f"{folder} is running"
    if complete:
        return f"{folder} is complete"
    if not heartbeat.exists():
        return f"{folder} has not begun; `{command}` starts it"
    ago = duration(time.time() - heartbeat.stat().st_mtime)
    return f"{folder} stopped {ago} ago; `{command}` continues it"


def moved(values: Sequence[float], digits: int = 3, unit: str = "") -> str:
    """Return the mean of the newest values, and how it differs from the mean of as many before them."""
    newest, before = newest_and_before(values)
    text = f"{mean(newest):.{digits}f}{unit}"
    if not before:
        return text
    change = mean(newest) - mean(before)
    if abs(change) <= _STEADY * abs(mean(before)):
        return f"{text}, steady"
    return f"{text}, {'up' if change > 0 else 'down'} from {mean(before):.{digits}f}"


def newest_and_before(values: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    """Return the newest tenth of the values, at least one, and as many before them; both empty without values."""
    count = max(1, len(values) // 10)
    return values[-count:], values[-2 * count : -count]


def until(seconds: float) -> str:
    """Return the time left and the local time of the end."""
    days = "%H:%M" if seconds < 12 * 3600 else "%b %d, %H:%M"
    return f"{duration(seconds)}, until {time.strftime(days, time.localtime(time.time() + seconds))}"
