"""A strict reader of analysis lines: every field in its documented place, shape and range."""

import re
from dataclasses import dataclass, field
from typing import Any

from engine.vertex import parse_vertex

_REAL = re.compile(r"-?\d+\.\d{6}")
_WHOLE = re.compile(r"\d+")
_SIGNED = re.compile(r"-?\d+")
_VERTEX = re.compile(r"[A-HJ-Z]\d{1,2}|pass")
_CHANCE, _OWNER = (0.0, 1.0), (-1.0, 1.0)
_ANY = (-1e9, 1e9)


class BadLine(AssertionError):
    """A line that is not of the grammar."""


@dataclass
class Line:
    """What a line says: fields by name for each move, of the root, and owners of points."""

    moves: list[dict[str, Any]] = field(default_factory=list)
    root: dict[str, Any] = field(default_factory=dict)
    ownership: list[float] = field(default_factory=list)
    ownership_stdev: list[float] = field(default_factory=list)


class _Words:
    """The words of one line, taken one after the other."""

    def __init__(self, line: str, width: int, height: int) -> None:
        if line != line.strip() or "  " in line or not line.isascii():
            raise BadLine(f"stray spaces or letters: {line!r}")
        self._words = line.split(" ")
        self._place = 0
        self.width, self.height = width, height

    def peek(self) -> str:
        return self._words[self._place] if self._place < len(self._words) else ""

    def _before(self) -> str:
        """Return the last words taken."""
        return " ".join(self._words[max(0, self._place - 6) : self._place])

    def take(self, name: str) -> None:
        if self.peek() != name:
            raise BadLine(f"expected {name!r}, got {self.peek()!r} after {self._before()!r}")
        self._place += 1

    def _match(self, pattern: re.Pattern[str]) -> str:
        word = self.peek()
        if not pattern.fullmatch(word):
            raise BadLine(f"expected {pattern.pattern}, got {word!r} after {self._before()!r}")
        self._place += 1
        return word

    def real(self, name: str, bounds: tuple[float, float] = _ANY) -> float:
        self.take(name)
        return self.bare_real(bounds)

    def bare_real(self, bounds: tuple[float, float]) -> float:
        value = float(self._match(_REAL))
        if not bounds[0] <= value <= bounds[1]:
            raise BadLine(f"{value} is not within {bounds}")
        return value

    def whole(self, name: str, pattern: re.Pattern[str] = _WHOLE, most: int = 1 << 50) -> int:
        self.take(name)
        value = int(self._match(pattern))
        if value > most:
            raise BadLine(f"{name} {value} is above {most}")
        return value

    def vertex(self) -> str:
        word = self._match(_VERTEX)
        parse_vertex(word, self.width, self.height)
        return word

    def is_vertex(self) -> bool:
        return _VERTEX.fullmatch(self.peek()) is not None

    def owners(self, name: str, bounds: tuple[float, float]) -> list[float]:
        self.take(name)
        return [self.bare_real(bounds) for _ in range(self.width * self.height)]

    def line_of_moves(self, move: str) -> list[str]:
        """Return a variation; it starts with its move, so no reader finds it empty."""
        self.take("pv")
        found = [self.vertex()]
        while self.is_vertex():
            found.append(self.vertex())
        if found[0] != move:
            raise BadLine(f"the variation of {move} starts with {found[0]}")
        return found

    def counts(self, name: str, number: int) -> list[int]:
        self.take(name)
        return [int(self._match(_WHOLE)) for _ in range(number)]


def read_lz_line(line: str, width: int, height: int) -> Line:
    """Return what a line of `lz-analyze` says. Raises BadLine."""
    words, found = _Words(line, width, height), Line()
    while words.peek():
        words.take("info")
        words.take("move")
        move: dict[str, Any] = {"move": words.vertex(), "visits": words.whole("visits")}
        move["winrate"] = words.whole("winrate", most=10000)
        move["prior"] = words.whole("prior", most=10000)
        move["lcb"] = words.whole("lcb", _SIGNED)
        move["order"] = words.whole("order")
        move["pv"] = words.line_of_moves(move["move"])
        found.moves.append(move)
    _check_moves(found)
    return found


def read_kata_line(line: str, width: int, height: int, *flags: str) -> Line:
    """Return what a line of `kata-analyze` says; `flags` are the fields that were asked for. Raises BadLine."""
    words, found = _Words(line, width, height), Line()
    while words.peek() == "info":
        found.moves.append(_kata_move(words, flags))
    _check_moves(found)
    if "rootInfo" in flags:
        words.take("rootInfo")
        found.root = {"visits": words.whole("visits"), "utility": words.real("utility")}
        found.root["winrate"] = words.real("winrate", _CHANCE)
        found.root |= _scores(words) | {"weight": words.real("weight", (0.0, 1e12))}
        for name in ("rawStWrError", "rawStScoreError", "rawVarTimeLeft"):
            found.root[name] = words.real(name, (-1.0, 1e6))
    if "ownership" in flags:
        found.ownership = words.owners("ownership", _OWNER)
    if "ownershipStdev" in flags:
        found.ownership_stdev = words.owners("ownershipStdev", _CHANCE)
    if words.peek():
        raise BadLine(f"{words.peek()!r} was not asked for")
    return found


def _kata_move(words: _Words, flags: tuple[str, ...]) -> dict[str, Any]:
    words.take("info")
    words.take("move")
    move: dict[str, Any] = {"move": words.vertex(), "visits": words.whole("visits")}
    move["edgeVisits"] = words.whole("edgeVisits")
    move["utility"] = words.real("utility", (-10.0, 10.0))
    move["winrate"] = words.real("winrate", _CHANCE)
    move |= _scores(words)
    if "noResultValue" in flags:
        move["noResultValue"] = words.real("noResultValue", _CHANCE)
    move["prior"] = words.real("prior", _CHANCE)
    move["lcb"], move["utilityLcb"] = words.real("lcb"), words.real("utilityLcb")
    move["weight"] = words.real("weight", (0.0, 1e12))
    if words.peek() == "isSymmetryOf":
        words.take("isSymmetryOf")
        move["isSymmetryOf"] = words.vertex()
    move["order"] = words.whole("order")
    move["pv"] = words.line_of_moves(move["move"])
    for name in ("pvVisits", "pvEdgeVisits"):
        if name in flags:
            move[name] = words.counts(name, len(move["pv"]))
    for name, bounds in (("movesOwnership", _OWNER), ("movesOwnershipStdev", _CHANCE)):
        if name in flags:
            move[name] = words.owners(name, bounds)
    return move


def _scores(words: _Words) -> dict[str, float]:
    found = {"scoreMean": words.real("scoreMean"), "scoreStdev": words.real("scoreStdev", (0.0, 1e6))}
    found |= {"scoreLead": words.real("scoreLead"), "scoreSelfplay": words.real("scoreSelfplay")}
    if found["scoreMean"] != found["scoreLead"]:
        raise BadLine("scoreMean is not the lead")
    return found


def _check_moves(line: Line) -> None:
    """Check that there are moves, each once, numbered from the best, the unvisited ones last."""
    names = [move["move"] for move in line.moves]
    if not names or len(set(names)) < len(names):
        raise BadLine(f"no moves, or one of them twice: {names}")
    if [move["order"] for move in line.moves] != list(range(len(names))):
        raise BadLine("moves are not numbered in their order")
    visited = [move["visits"] > 0 for move in line.moves]
    if visited != sorted(visited, reverse=True):
        raise BadLine("a move without visits comes before one with")
