"""Judges the moves of a game by the analyses of its positions: points lost, classes of mistakes, statistics of players.

Pure functions of numbers: no search, no file. All leads and win rates are Black's.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from itertools import pairwise
from typing import NamedTuple

from engine.color import BLACK, for_color, winrate_for_color
from engine.errors import GoError

_SIDE = 19
"""Side of the board that the limits are given for."""
_OPENING_SHARE, _ENDGAME_SHARE = 0.14, 0.42
"""Ends of opening and middle game, as shares of the board's points: moves 50 and 151 on 19x19, 11 and 34 on 9x9."""
_DECIDED = 0.98
"""Win rate from which on a game counts as decided."""
_RANK = re.compile(
    r"(?:P|PRO|职业|職業)?\s*([0-9]{1,2}|[初一二三四五六七八九十])\s*-?\s*(PRO|P|DAN|D|KYU|K|段|단|级|級|급)(?![A-Z])"
)
_PROFESSIONAL = re.compile(r"P[1-9]")
"""As the Fox server writes it."""
_MOST_KYU, _MOST_DAN = 30, 9
_CHINESE_NUMBERS = {"初": 1} | {digit: number for number, digit in enumerate("一二三四五六七八九十", 1)}


class Grade(IntEnum):
    """How bad a move is."""

    FINE = 0
    INACCURACY = 1
    MISTAKE = 2
    BLUNDER = 3

    @property
    def label(self) -> str:
        """The name in reports and files."""
        return self.name.lower()


class Phase(StrEnum):
    """The part of a game that a move belongs to."""

    OPENING = "opening"
    MIDDLE = "middle game"
    ENDGAME = "endgame"


@dataclass(frozen=True)
class Limits:
    """Points lost from which on a move is an inaccuracy, a mistake, a blunder. group: the players they are for."""

    group: str
    inaccuracy: float
    mistake: float
    blunder: float

    def grade(self, points_lost: float) -> Grade:
        """Return the grade of a move."""
        return Grade(sum(points_lost >= limit for limit in (self.inaccuracy, self.mistake, self.blunder)))


PROFESSIONAL = Limits("professionals", 1.0, 2.0, 5.0)
DAN = Limits("dan players", 1.5, 3.0, 7.0)
SINGLE_KYU = Limits("1 to 9 kyu", 2.0, 5.0, 10.0)
DOUBLE_KYU = Limits("10 to 19 kyu", 3.0, 7.0, 14.0)
BEGINNER = Limits("20 kyu and below", 5.0, 10.0, 20.0)
LIMITS = (PROFESSIONAL, DAN, SINGLE_KYU, DOUBLE_KYU, BEGINNER)
"""On 19x19, from the strongest players to the weakest."""


@dataclass(frozen=True)
class Position:
    """What the analysis of a position found. winrate, lead: Black's.

    best: the moves that the search prefers, the first choice and its mirror images; empty if nothing was searched.
    pv: the vertices of the best variation. visits: of the search.
    """

    winrate: float
    lead: float
    best: tuple[int, ...] = ()
    pv: tuple[int, ...] = ()
    visits: int = 0


@dataclass(frozen=True)
class JudgedMove:
    """A move and what it cost. number: from 1. winrate_lost: of the player who moved; negative if it rose.

    before, after: the positions before and after the move.
    """

    number: int
    color: int
    vertex: int
    before: Position
    after: Position
    points_lost: float
    winrate_lost: float
    grade: Grade
    phase: Phase

    @property
    def is_decided(self) -> bool:
        """True if the same side was sure to win before and after the move."""
        rates = self.before.winrate, self.after.winrate
        return min(rates) > _DECIDED or max(rates) < 1 - _DECIDED

    @property
    def is_top(self) -> bool:
        """True if the search's first choice was played."""
        return self.vertex in self.before.best


@dataclass(frozen=True)
class Tally:
    """Statistics of some moves. mean_loss: points a move. top_share: share of first choices, in [0, 1]."""

    moves: int
    mean_loss: float
    top_share: float
    inaccuracies: int
    mistakes: int
    blunders: int


class Column(NamedTuple):
    """A statistic of a player in reports.

    heading: with soft hyphens, for the narrow columns of a phone. text: of a tally. meaning: what the page says of it.
    at_terminal: whether the table at the terminal has it, too.
    """

    heading: str
    text: Callable[[Tally], str]
    meaning: str = ""
    at_terminal: bool = True


COLUMNS = (
    Column("moves", lambda tally: f"{tally.moves}"),
    Column("mean loss", lambda tally: f"{tally.mean_loss:.2f}", "points lost a move"),
    Column("top moves", lambda tally: f"{tally.top_share:.0%}", "share of moves that are the engine's first choice"),
    Column("inaccu\u00adracies", lambda tally: f"{tally.inaccuracies}", at_terminal=False),
    Column("mis\u00adtakes", lambda tally: f"{tally.mistakes}", at_terminal=False),
    Column("blun\u00adders", lambda tally: f"{tally.blunders}"),
)
"""All statistics, in the order of the tables."""


def rank_limits(rank: str) -> Limits:
    """Return the limits for a rank such as 5k, 3 dan or 9p; those of 1 to 9 kyu for an unknown rank."""
    return read_rank(rank) or SINGLE_KYU


def read_rank(rank: str) -> Limits | None:
    """Return the limits for a rank, None for a text that is no rank."""
    text = unicodedata.normalize("NFKC", rank).strip().upper()
    if _PROFESSIONAL.fullmatch(text):
        return PROFESSIONAL
    found = _RANK.match(text)
    if found is None:
        return None
    number = int(found[1]) if found[1].isdigit() else _CHINESE_NUMBERS[found[1]]
    if found[2] in ("PRO", "P"):
        return PROFESSIONAL
    if found[2] in ("DAN", "D", "段", "단"):
        # Fox and others write professionals as P9段.
        return PROFESSIONAL if text.startswith(("P", "职业", "職業")) else DAN
    return SINGLE_KYU if number < 10 else DOUBLE_KYU if number < 20 else BEGINNER


def checked_rank(rank: str) -> str:
    """Return a rank that the user typed. Raises GoError if it is none from 30k to 9d, 1p to 9p."""
    found = _RANK.match(rank.strip().upper())
    most = 0 if found is None else _MOST_KYU if found[2] in ("K", "KYU", "级", "級", "급") else _MOST_DAN
    if found is None or (found[1].isdigit() and not 1 <= int(found[1]) <= most):
        raise GoError(f"expected a rank such as 12k, 3d or 9p, got {rank!r}")
    return rank


def scaled(limits: Limits, width: int, height: int) -> Limits:
    """Return the limits for a board: proportional to its side, because smaller boards have smaller mistakes."""
    factor = math.sqrt(width * height) / _SIDE
    return Limits(limits.group, limits.inaccuracy * factor, limits.mistake * factor, limits.blunder * factor)


def phase_of(number: int, width: int, height: int) -> Phase:
    """Return the phase of a move by its number: up to 14 % of the board's points, up to 42 %, and later."""
    opening, middle = phase_ends(width, height)
    return Phase.OPENING if number <= opening else Phase.MIDDLE if number <= middle else Phase.ENDGAME


def phase_ends(width: int, height: int) -> tuple[int, int]:
    """Return the numbers of the last moves of opening and middle game."""
    return int(width * height * _OPENING_SHARE), int(width * height * _ENDGAME_SHARE)


def points_lost(before: Position, after: Position, color: int, vertex: int) -> float:
    """Return how much a move lowered its player's lead, at least 0; 0 for the search's first choice.

    The first choice loses nothing by definition: what its deeper search changes is not the player's mistake.
    """
    return 0.0 if vertex in before.best else max(0.0, for_color(before.lead - after.lead, color))


def judge(
    moves: Sequence[tuple[int, int]], positions: Sequence[Position], size: tuple[int, int], limits: dict[int, Limits]
) -> list[JudgedMove]:
    """Judge all moves of a game.

    moves: (color, vertex). positions: before each move and at the end. limits: by color, for this board.
    """
    judged = []
    pairs = pairwise(positions)
    for number, ((color, vertex), (before, after)) in enumerate(zip(moves, pairs, strict=True), 1):
        lost = points_lost(before, after, color, vertex)
        change = winrate_for_color(before.winrate, color) - winrate_for_color(after.winrate, color)
        grade, phase = limits[color].grade(lost), phase_of(number, *size)
        judged.append(JudgedMove(number, color, vertex, before, after, lost, change, grade, phase))
    return judged


def tally(moves: Sequence[JudgedMove]) -> Tally:
    """Return the statistics of some moves."""
    count = max(1, len(moves))
    grades = [move.grade for move in moves]
    return Tally(
        moves=len(moves),
        mean_loss=sum(move.points_lost for move in moves) / count,
        top_share=sum(move.is_top for move in moves) / count,
        inaccuracies=grades.count(Grade.INACCURACY),
        mistakes=grades.count(Grade.MISTAKE),
        blunders=grades.count(Grade.BLUNDER),
    )


def tallies(moves: Sequence[JudgedMove], color: int) -> dict[Phase | None, Tally]:
    """Return a player's statistics of the whole game (None) and of each phase that the player moved in."""
    own = [move for move in moves if move.color == color]
    by_phase = {phase: [move for move in own if move.phase is phase] for phase in Phase}
    return {None: tally(own)} | {phase: tally(each) for phase, each in by_phase.items() if each}


def worst(moves: Sequence[JudgedMove], most: int) -> list[JudgedMove]:
    """Return up to `most` moves that are at least inaccuracies, the largest loss first.

    Those of decided games come last: points that no longer change the result teach little.
    """
    bad = [move for move in moves if move.grade > Grade.FINE]
    return sorted(bad, key=lambda move: (move.is_decided, -move.points_lost))[:most]


def largest_swing(moves: Sequence[JudgedMove]) -> JudgedMove | None:
    """Return the move that lost the most points, None if no move lost any."""
    most = max(moves, key=lambda move: move.points_lost, default=None)
    return most if most is not None and most.points_lost > 0 else None


def turning_point(moves: Sequence[JudgedMove]) -> JudgedMove | None:
    """Return the move, with a loss of points, after which its player's win rate fell the most; None if there is none.

    It differs from the largest swing where a game is decided: there many points change the win rate by little.
    """
    falls = [move for move in moves if move.points_lost > 0 and move.winrate_lost > 0]
    return max(falls, key=lambda move: move.winrate_lost, default=None)


def player_of(color: int) -> str:
    """Return "Black" or "White"."""
    return "Black" if color == BLACK else "White"
