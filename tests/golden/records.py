"""Golden files: finding them, and what a check of one reports."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.apps.net.records import COLORS, Golden, play_record, read_golden, rules_of
from engine.vertex import points

__all__ = ["COLORS", "Golden", "Report", "drawn", "golden_files", "play_record", "read_golden", "records", "rules_of"]
_MARKS = ".XO"


@dataclass
class Report:
    """What a check found: records checked, the largest difference met, and the records that differ.

    lines: more to tell, one line each.
    """

    checked: int = 0
    largest: float = 0.0
    wrong: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def number(self, name: str, found: float, expected: float, tolerance: float = 0.0) -> None:
        """Compare one number."""
        difference = abs(found - expected)
        self.largest = max(self.largest, difference)
        if not difference <= tolerance:
            self.wrong.append(f"{name}: {found:g} instead of {expected:g}")

    def same(self, name: str, found: object, expected: object) -> None:
        """Compare two values that must be equal."""
        if found != expected:
            self.largest = max(self.largest, 1.0)
            self.wrong.append(f"{name}: {found} instead of {expected}")


def golden_files(folder: Path) -> list[Path]:
    """Return the golden files of a folder, sorted by name."""
    return sorted(folder.glob("*.json.gz"))


def records(data: Golden) -> Iterator[Golden]:
    """Yield the records of a file."""
    yield from data["records"]


def drawn(owners: Any, width: int, height: int) -> list[str]:
    """Return colors by vertex as rows of X, O and dots, the top row first."""
    marks = "".join(_MARKS[int(owners[vertex])] for vertex in points(width, height))
    return [marks[start : start + width] for start in range(0, len(marks), width)]
