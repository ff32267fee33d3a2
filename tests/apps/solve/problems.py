"""Small problems drawn as diagrams, and files of them."""

import gzip
import json
from pathlib import Path
from typing import Any

from engine.apps.solve.problems import Problem, read_problems
from engine.color import color_letter
from engine.vertex import format_sgf, parse_vertex
from tests.diagrams import parse_diagram

CAPTURE = """
  . . . . . . .
  . . X X X . .
  . X O O O X .
  . X O O . X .
  . . X X . . .
  . . . . . . .
  . . . . . . .
"""
"""Black captures five stones at E4."""
CAPTURE_BY_WHITE = """
  . . . . . . .
  . . . O O . .
  . . O X X O .
  . O . X X O .
  . . . O O . .
  . . . . . . .
  . . . . . . .
  to play: white
"""
"""White captures four stones at C4."""
RACE = """
  X X X X X X .
  O O O O O O .
  X X X X X X X
  . . . . . . .
  X X X X X X X
  O O O O O O O
  . O . . . . .
"""
"""Whoever plays first at G6 or G7 captures a row and wins the game."""


def entry(diagram: str, *correct: str, **facts: Any) -> dict[str, Any]:
    """Return a line of a file: the stones and the side to move of a diagram, moves as GTP has them."""
    drawn = parse_diagram(diagram.strip("\n"))
    size = drawn.width
    return {
        "size": size,
        "to_play": color_letter(drawn.to_play),
        "B": [format_sgf(vertex, size) for vertex in drawn.black],
        "W": [format_sgf(vertex, size) for vertex in drawn.white],
        "correct": [format_sgf(parse_vertex(move, size, size), size) for move in correct],
    } | facts


def write(path: Path, *lines: dict[str, Any] | str) -> Path:
    """Write a file of problems, compressed if its name says so."""
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    with gzip.open(path, "wt", encoding="utf-8") if path.suffix == ".gz" else path.open("w", encoding="utf-8") as file:
        file.write(text)
    return path


def problem(path: Path, diagram: str, *correct: str) -> Problem:
    """Return a problem as a file of one line has it."""
    return read_problems(write(path / "one.jsonl", entry(diagram, *correct)))[0]


def capture_file(path: Path, count: int = 3) -> Path:
    """Write the capture so many times, of two kinds and ranks."""
    entries = [
        entry(CAPTURE, "E4", id=f"p{number}", type=("capture", "race")[number % 2], rank=("5k", "2d")[number % 2])
        for number in range(count)
    ]
    return write(path / "captures.jsonl", *entries)
