"""The tables of docs/compare.md that say, line by line, what Keima, KataGo and Leela Zero can do."""

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parent.parent / "docs" / "compare.md"
NO = "no"
_PROGRAMS = {"keima", "katago", "leelaz", "python3", "autogtp", "validation", "dump_supervised", "training/tf"}
"""First words of what is no command of GTP, and of what the third column alone has."""


class Line(NamedTuple):
    """What a program can do, and how each does it: cells of a table in Markdown."""

    what: str
    keima: str
    katago: str
    leela_zero: str


def lines() -> list[Line]:
    """Return the lines of the tables."""
    text = PAGE.read_text(encoding="utf-8").split("\n## Line by line\n")[1].split("\n## ")[0]
    rows = [row for row in text.splitlines() if row.startswith("| ") and not row.startswith("| | ")]
    return [Line(*(cell.strip() for cell in row.strip("| ").split(" | "))) for row in rows]


def gtp_commands(cell: str) -> list[str]:
    """Return the commands of GTP in a cell."""
    return [each for each in _spans(cell) if each.split()[0] not in _PROGRAMS and not each.startswith('"')]


def json_options(cell: str) -> list[str]:
    """Return the options of the JSON analysis in a cell, without the braces around them."""
    return [each for each in _spans(cell) if each.startswith('"')]


def _spans(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)
