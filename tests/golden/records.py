"""Golden files: finding and reading them, and what a check of one reports."""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from engine.color import BLACK, WHITE
from engine.game import Game
from engine.rules import TROMP_TAYLOR, Rules, parse_rules
from engine.vertex import parse_vertex, points

Golden: TypeAlias = Mapping[str, Any]
COLORS = {"B": BLACK, "W": WHITE}
_MARKS = ".XO"


@dataclass
class Report:
    """What a check found: records checked, the largest difference met, and the records that differ."""

    checked: int = 0
    largest: float = 0.0
    wrong: list[str] = field(default_factory=list)

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


def read_golden(path: Path) -> Golden:
    """Return the contents of one file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        data: Golden = json.load(file)
    return data


def records(data: Golden) -> Iterator[Golden]:
    """Yield the records of a file."""
    yield from data["records"]


def rules_of(value: object) -> Rules:
    """Return the rules of a record: a name or an object, as `kata-set-rules` takes them."""
    return parse_rules(value if isinstance(value, str) else json.dumps(value))


def play_record(record: Golden, *, rules: Rules = TROMP_TAYLOR, encore: bool = False, lenient: bool = False) -> Game:
    """Return the game that a record's handicap and moves lead to."""
    width, height = record["size"]
    game = Game(width, height, rules=rules, komi=record["komi"], encore=encore)
    if record.get("handicap"):
        game.place_handicap([parse_vertex(name, width, height) for name in record["handicap"]])
    for color, name in record["moves"]:
        game.play(COLORS[color], parse_vertex(name, width, height), lenient=lenient)
    return game


def drawn(owners: Any, width: int, height: int) -> list[str]:
    """Return colors by vertex as rows of X, O and dots, the top row first."""
    marks = "".join(_MARKS[int(owners[vertex])] for vertex in points(width, height))
    return [marks[start : start + width] for start in range(0, len(marks), width)]
