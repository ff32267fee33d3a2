"""Lists the mistakes of a reviewed line: what was played, what it lost, and what was better."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.apps.review.judgement import Grade, Limits
from engine.apps.web.snapshot import Estimate
from engine.color import for_color
from engine.game import Move
from engine.records.setup import Step

_WINRATES = (0.05, 0.1, 0.2)
"""Loss of winrate of an inaccuracy, a mistake, a blunder where the engine reports no leads, and no points are known."""


@dataclass(frozen=True)
class Mistake:
    """A move that lost something.

    number: of the step, from 1. points, winrate: what it lost; points is None without leads.
    better: the engine's variation instead, its first choice first.
    """

    number: int
    move: Move
    points: float | None
    winrate: float
    grade: Grade
    better: tuple[int, ...]


def mistakes(line: Sequence[Step], estimates: Mapping[int, Estimate], limits: Mapping[int, Limits]) -> list[Mistake]:
    """Return the mistakes, the largest loss of winrate first.

    estimates: by the number of steps before a position. limits: by color, for the size of the board.
    The engine's first choice is no mistake: what a deeper search finds after it was not known before.
    """
    found: list[Mistake] = []
    for number, move in enumerate(line, 1):
        before, after = (estimates.get(each) for each in (number - 1, number))
        if not isinstance(move, Move) or before is None or after is None or before.variation[:1] == (move.vertex,):
            continue
        points = None if before.lead is None or after.lead is None else for_color(before.lead - after.lead, move.color)
        winrate = for_color(before.winrate - after.winrate, move.color)
        by_winrate = Grade(sum(winrate >= limit for limit in _WINRATES))
        grade = by_winrate if points is None else limits[move.color].grade(points)
        if grade > Grade.FINE:
            found.append(Mistake(number, move, points, winrate, grade, before.variation))
    return sorted(found, key=lambda each: -each.winrate)
