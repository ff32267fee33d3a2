"""Parses the arguments of analysis commands and formats their lines, in the grammars of Leela Zero (0.17) and KataGo
(1.17).

Does not search and does not write to any stream.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.vertex import NO_POINT, PASS, format_vertex, point_at, points, row_column
from gtp.args import parse_bool, parse_color, parse_float, parse_int, parse_point, parse_vertex, syntax_error

if TYPE_CHECKING:
    from engine.search.analysis import Analysis, MoveInfo, RootInfo

# Intervals are given in centiseconds.
_PER_SECOND = 100.0
_LZ_UNIT = 10000
_FLAGS = {
    "rootInfo": "root_info",
    "ownership": "ownership",
    "ownershipStdev": "ownership_stdev",
    "movesOwnership": "moves_ownership",
    "movesOwnershipStdev": "moves_ownership_stdev",
    "pvVisits": "pv_visits",
    "pvEdgeVisits": "pv_edge_visits",
    "noResultValue": "no_result",
}


@dataclass
class AnalyzeOptions:
    """The arguments of an analysis command.

    color: side to search for, None for the side to move. interval: seconds between lines, None for only the last line.
    min_moves, max_moves: least and most legal moves to report. avoided: see `engine.players.Avoided`. The flags are
    KataGo's fields. frame: analyze the board as a problem with stones around it. auto_frame: if it looks like one.
    """

    is_kata: bool
    color: int | None = None
    interval: float | None = None
    min_moves: int = 0
    max_moves: int | None = None
    avoided: dict[int, dict[int, int]] = field(default_factory=dict)
    root_info: bool = False
    ownership: bool = False
    ownership_stdev: bool = False
    moves_ownership: bool = False
    moves_ownership_stdev: bool = False
    pv_visits: bool = False
    pv_edge_visits: bool = False
    no_result: bool = False
    frame: bool = False
    auto_frame: bool = False


def parse_options(args: list[str], width: int, height: int, *, is_kata: bool) -> AnalyzeOptions:
    """Parse `[COLOR] [INTERVAL] {KEY VALUE..}`. Raises GtpError for anything else."""
    options, words = AnalyzeOptions(is_kata), iter(args)
    word = next(words, None)
    if word is not None and word.lower() in ("b", "w", "black", "white"):
        options.color, word = parse_color(word), next(words, None)
    # Leela Zero's form: the interval may come without its keyword.
    if word is not None and (word[0].isdigit() or word[0] in "+-."):
        options.interval, word = parse_float(word, least=0.0) / _PER_SECOND, next(words, None)
    restricted: dict[int, str] = {}
    while word is not None:
        value = _next(words)
        if word in ("avoid", "allow"):
            color = parse_color(value)
            # KataGo accepts one `allow` for each color, and not together with `avoid`.
            if (word == "allow" and color in restricted) or restricted.get(color) == "allow":
                syntax_error()
            restricted[color] = word
            vertices = set(_vertices(_next(words), width, height))
            depth = parse_int(_next(words), least=1)
            if word == "allow":
                # `allow` is stored as avoiding everything else.
                vertices = {PASS, *points(width, height)} - vertices
            options.avoided.setdefault(color, {}).update(dict.fromkeys(vertices, depth))
        elif word == "interval":
            options.interval = parse_float(value, least=0.0) / _PER_SECOND
        elif word == "minmoves":
            options.min_moves = parse_int(value, least=0)
        elif word == "maxmoves":
            options.max_moves = parse_int(value, least=0)
        elif is_kata and word == "frame":
            options.auto_frame = value == "auto"
            options.frame = not options.auto_frame and parse_bool(value)
        elif is_kata and word in _FLAGS:
            setattr(options, _FLAGS[word], parse_bool(value))
        else:
            syntax_error()
        word = next(words, None)
    return options


def _next(words: Iterator[str]) -> str:
    word = next(words, None)
    return syntax_error() if word is None else word


def _vertices(text: str, width: int, height: int) -> Iterator[int]:
    """Yield the vertices of `V,V,..`; Leela Zero's `A1:C3` is a rectangle of points."""
    for part in filter(None, text.split(",")):
        first, colon, last = part.partition(":")
        if not colon:
            yield parse_vertex(part, width, height)
            continue
        corners = [row_column(parse_point(each, width, height), width) for each in (first, last)]
        rows, columns = (range(min(pair), max(pair) + 1) for pair in zip(*corners, strict=True))
        for row in rows:
            yield from (point_at(row, column, width) for column in columns)


def lz_line(analysis: "Analysis", width: int, height: int) -> str:
    """Format a line for Leela Zero's protocol; winrates are whole numbers up to 10000. "" without moves."""
    return " ".join(
        f"info move {format_vertex(move.vertex, width, height)} visits {move.visits} winrate {_lz(move.winrate)}"
        f" prior {_lz(move.prior)} lcb {_lz(move.lcb)} order {move.order} pv {_variation(move, width, height)}"
        for move in analysis.moves
    )


def kata_line(
    analysis: "Analysis",
    options: AnalyzeOptions,
    raw: tuple[float, float, float],
    width: int,
    height: int,
) -> str:
    """Format a line for KataGo's protocol, "" without moves.

    raw: short-term errors of winrate and score, and the variance time, from the network at the root; -1 if unknown.
    """
    if not analysis.moves:
        return ""
    parts = [part for move in analysis.moves for part in _kata_move(move, options, width, height)]
    root = analysis.root
    if options.root_info:
        parts += _kata_root(root, raw)
    parts += _owners("ownership", root.ownership if options.ownership else None)
    parts += _owners("ownershipStdev", root.ownership_stdev if options.ownership_stdev else None)
    return " ".join(parts)


def _kata_move(move: "MoveInfo", options: AnalyzeOptions, width: int, height: int) -> Iterator[str]:
    yield f"info move {format_vertex(move.vertex, width, height)} visits {move.visits} edgeVisits {move.edge_visits}"
    yield f"utility {_fixed(move.utility)} winrate {_fixed(move.winrate)} {_scores(move)}"
    if options.no_result:
        yield f"noResultValue {_fixed(move.no_result)}"
    yield f"prior {_fixed(move.prior)} lcb {_fixed(move.lcb)} utilityLcb {_fixed(move.utility_lcb)}"
    yield f"weight {_fixed(move.weight)}"
    if move.is_symmetry_of != NO_POINT:
        yield f"isSymmetryOf {format_vertex(move.is_symmetry_of, width, height)}"
    yield f"order {move.order} pv {_variation(move, width, height)}"
    if options.pv_visits:
        yield f"pvVisits {_numbers(move.pv_visits)}"
    if options.pv_edge_visits:
        yield f"pvEdgeVisits {_numbers(move.pv_edge_visits)}"
    yield from _owners("movesOwnership", move.ownership if options.moves_ownership else None)
    yield from _owners("movesOwnershipStdev", move.ownership_stdev if options.moves_ownership_stdev else None)


def _kata_root(root: "RootInfo", raw: tuple[float, float, float]) -> Iterator[str]:
    yield f"rootInfo visits {root.visits} utility {_fixed(root.utility)} winrate {_fixed(root.winrate)}"
    yield f"{_scores(root)} weight {_fixed(root.weight)}"
    yield "rawStWrError {} rawStScoreError {} rawVarTimeLeft {}".format(*map(_fixed, raw))


def _scores(info: "MoveInfo | RootInfo") -> str:
    """Format the four score fields; `scoreMean` is KataGo's former name of the lead."""
    lead, stdev, mean = _fixed(info.lead), _fixed(info.score_stdev), _fixed(info.score_mean)
    return f"scoreMean {lead} scoreStdev {stdev} scoreLead {lead} scoreSelfplay {mean}"


def _owners(name: str, owners: Iterable[float] | None) -> Iterator[str]:
    if owners is not None:
        yield name
        yield " ".join([_fixed(owner) for owner in owners])


def _variation(move: "MoveInfo", width: int, height: int) -> str:
    return " ".join([format_vertex(vertex, width, height) for vertex in move.pv])


def _numbers(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))


def _lz(chance: float) -> int:
    return math.floor(chance * _LZ_UNIT + 0.5)


def _fixed(value: float) -> str:
    """Format a number with a decimal point, without exponent (Sabaki needs that) and without negative zero."""
    text = f"{value:.6f}"
    return "0.000000" if text == "-0.000000" else text
