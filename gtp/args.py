"""Parses the arguments of GTP commands; unreadable ones are the standard's `syntax error`."""

import math
import re
from typing import NoReturn

from engine.color import BLACK, WHITE
from engine.errors import BadVertex
from engine.vertex import PASS
from engine.vertex import parse_vertex as read_vertex
from gtp.errors import SYNTAX_ERROR, GtpError

COLORS = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}
# 18 digits always fit into 64 bits.
_INT = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_BOOLS = {"true": True, "false": False}


def syntax_error() -> NoReturn:
    """Raise the standard's error for unreadable arguments."""
    raise GtpError(SYNTAX_ERROR)


def expect(args: list[str], least: int, most: int | None = None) -> None:
    """Check the number of arguments: exactly `least`, or `least` to `most`."""
    if not least <= len(args) <= (least if most is None else most):
        syntax_error()


def parse_color(text: str) -> int:
    """Parse `b`, `black`, `w` or `white`, in any case."""
    color = COLORS.get(text.lower())
    return syntax_error() if color is None else color


def parse_vertex(text: str, width: int, height: int) -> int:
    """Parse a vertex of the board, including PASS."""
    try:
        return read_vertex(text, width, height)
    except BadVertex:
        return syntax_error()


def parse_point(text: str, width: int, height: int) -> int:
    """Parse a vertex other than PASS."""
    vertex = parse_vertex(text, width, height)
    return syntax_error() if vertex == PASS else vertex


def parse_moves(args: list[str], width: int, height: int) -> list[tuple[int, int]]:
    """Parse `C V C V..` into (color, vertex) pairs; there may be none."""
    if len(args) % 2:
        syntax_error()
    pairs = zip(args[::2], args[1::2], strict=True)
    return [(parse_color(color), parse_vertex(vertex, width, height)) for color, vertex in pairs]


def parse_stones(args: list[str], width: int, height: int) -> tuple[list[int], list[int]]:
    """Parse `C V C V..` into the black and the white points."""
    stones = parse_moves(args, width, height)
    if any(vertex == PASS for _, vertex in stones):
        syntax_error()
    black, white = ([vertex for color, vertex in stones if color == side] for side in (BLACK, WHITE))
    return black, white


def parse_int(text: str, least: int | None = None) -> int:
    """Parse an integer, which must be at least `least`."""
    if not _INT.fullmatch(text):
        syntax_error()
    value = int(text)
    return syntax_error() if least is not None and value < least else value


def parse_float(text: str, least: float | None = None) -> float:
    """Parse a finite number, at least `least`. `nan`, `inf` and Python's `1_000` are errors."""
    if not _FLOAT.fullmatch(text):
        syntax_error()
    value = float(text)
    if not math.isfinite(value) or (least is not None and value < least):
        syntax_error()
    return value


def parse_bool(text: str) -> bool:
    """Parse `true` or `false`, in any case."""
    truth = _BOOLS.get(text.lower())
    return syntax_error() if truth is None else truth
