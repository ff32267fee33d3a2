"""Reads files of problems: one JSON object a line in UTF-8, plain (.jsonl) or compressed (.jsonl.gz).

A line has a position and the first moves that solve it:

    {"size": 19, "to_play": "B", "B": ["ab", "bb"], "W": ["ac"], "correct": ["ba"],
     "id": "ea3a023eb729", "rank": "5d", "type": "tesuji"}

size: points along each side of the board, 1 to 25.
to_play: the side to move, "B" or "W".
B, W: the stones, each a point in SGF letters, column before row, "aa" the upper left corner.
correct: the moves that solve the problem, at least one and no pass, because a problem asks where to play.
id: unique name of the problem; by default the number of its line.
rank: the difficulty, "15k" to "9d". type: such as "lifeAndDeath". Both are optional.

Other keys and empty lines are ignored.
"""

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.color import BLACK, WHITE
from engine.errors import GoError
from engine.game import Game
from engine.rules import CHINESE, Rules
from engine.vertex import MAX_SIZE, PASS, format_vertex, parse_sgf

UNKNOWN = ""
"""The rank or type of a problem without one."""
_COLORS = {"B": BLACK, "W": WHITE}
_RANK = re.compile(r"([1-9]\d?)([kdp])")


class ProblemError(GoError):
    """A file of problems that cannot be read; the message names file, line, what was expected and what was found."""


@dataclass(frozen=True)
class Problem:
    """A legal position and the moves that solve it, as vertices."""

    name: str
    size: int
    to_play: int
    black: tuple[int, ...]
    white: tuple[int, ...]
    correct: frozenset[int]
    rank: str = UNKNOWN
    kind: str = UNKNOWN

    def game(self, rules: Rules = CHINESE) -> Game:
        """Return the position as a new game. Raises IllegalMove if the stones are not a legal position."""
        game = Game(self.size, rules=rules)
        game.setup(self.black, self.white, self.to_play)
        return game


def read_problems(path: Path) -> list[Problem]:
    """Return the problems of a file in file order.

    Raises ProblemError for the first line that is not a problem, and for a file without problems.
    """
    problems: list[Problem] = []
    names: dict[str, int] = {}
    for number, line in _lines(path):
        place = f"{path}:{number}"
        problem = _problem(line, place, str(number))
        if problem.name in names:
            raise ProblemError(f"{place}: expected a new id, got {problem.name!r}, as in line {names[problem.name]}")
        names[problem.name] = number
        problems.append(problem)
    if not problems:
        raise ProblemError(f"{path}: expected problems, one JSON object a line, got an empty file")
    return problems


def rank_order(rank: str) -> tuple[int, int]:
    """Return a key that sorts ranks from weak to strong, unknown ones last."""
    match = _RANK.fullmatch(rank)
    if not match:
        return 3, 0
    number = int(match.group(1))
    return "kdp".index(match.group(2)), -number if match.group(2) == "k" else number


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not empty, each with its number, from 1."""
    try:
        # By the first bytes, not by the suffix: a renamed file can be read, too.
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if packed else path.open("rb") as file:
            for number, line in enumerate(file, 1):
                # Editors of Windows write a byte order mark.
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                if text:
                    yield number, text
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ProblemError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _problem(line: str, place: str, name: str) -> Problem:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ProblemError(f"{place}: expected a JSON object, got {line[:60]!r}: {error}") from None
    if not isinstance(entry, dict):
        raise ProblemError(f"{place}: expected a JSON object, got {line[:60]!r}")
    size, to_play = entry.get("size"), entry.get("to_play")
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= MAX_SIZE:
        raise ProblemError(f"{place}: size: expected a number from 1 to {MAX_SIZE}, got {size!r}")
    if not isinstance(to_play, str) or to_play not in _COLORS:
        raise ProblemError(f"{place}: to_play: expected 'B' or 'W', got {to_play!r}")
    correct = _vertices(entry, "correct", size, place)
    if not correct:
        raise ProblemError(f"{place}: correct: expected at least one move, got none")
    if PASS in correct:
        raise ProblemError(f"{place}: correct: expected points of the board, got a pass")
    problem = Problem(
        name=_text(entry, "id", place) or name,
        size=size,
        to_play=_COLORS[to_play],
        black=_vertices(entry, "B", size, place),
        white=_vertices(entry, "W", size, place),
        correct=frozenset(correct),
        rank=_text(entry, "rank", place),
        kind=_text(entry, "type", place),
    )
    _require_playable(problem, place)
    return problem


def _text(entry: dict[str, Any], key: str, place: str) -> str:
    value = entry.get(key, UNKNOWN)
    if not isinstance(value, str):
        raise ProblemError(f"{place}: {key}: expected text, got {value!r}")
    return value


def _vertices(entry: dict[str, Any], key: str, size: int, place: str) -> tuple[int, ...]:
    points = entry.get(key)
    if not isinstance(points, list) or not all(isinstance(point, str) for point in points):
        raise ProblemError(f'{place}: {key}: expected a list of points such as "ab", got {points!r}')
    try:
        return tuple(parse_sgf(point, size, size) for point in points)
    except GoError as error:
        raise ProblemError(f"{place}: {key}: {error}") from None


def _require_playable(problem: Problem, place: str) -> None:
    """Raise ProblemError unless the stones are a position in which every correct move is legal."""
    if PASS in problem.black + problem.white:
        raise ProblemError(f"{place}: expected points of the board as stones, got a pass")
    try:
        game = problem.game()
    except GoError as error:
        raise ProblemError(f"{place}: expected stones that are a position, got {error}") from None
    for vertex in problem.correct:
        reason = game.legality(problem.to_play, vertex)
        if reason:
            move = format_vertex(vertex, problem.size, problem.size)
            raise ProblemError(f"{place}: correct: expected legal moves, got {move}: {reason}")
