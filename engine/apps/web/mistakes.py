"""Lists the mistakes of a reviewed line: what was played, what it lost, and what was better."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.apps.web.snapshot import Estimate
from engine.color import for_color
from engine.game import Move

_POINTS = (2.0, 5.0, 10.0)
"""Points lost on 19x19 from which on a move is an inaccuracy, a mistake, a blunder."""
_WINRATES = (0.05, 0.1, 0.2)
"""The same for the loss of winrate, which alone decides where an engine reports no leads."""
_SIDE = 19


@dataclass(frozen=True)
class Mistake:
    """A move that lost something. number: from 1. points, winrate: what it lost; points is None without leads.

    size: 1 inaccuracy, 2 mistake, 3 blunder. better: the engine's variation instead, its first choice first.
    """

    number: int
    move: Move
    points: float | None
    winrate: float
    size: int
    better: tuple[int, ...]


def mistakes(line: Sequence[Move], estimates: Mapping[int, Estimate], width: int, height: int) -> list[Mistake]:
    """Return the mistakes, the largest loss of winrate first. estimates: by the number of moves before a position.

    The engine's first choice is no mistake: what a deeper search finds after it was not known before.
    """
    scale = math.sqrt(width * height) / _SIDE  # smaller boards have smaller mistakes
    found: list[Mistake] = []
    for number, move in enumerate(line, 1):
        before, after = (estimates.get(each) for each in (number - 1, number))
        if before is None or after is None or before.variation[:1] == (move.vertex,):
            continue
        points = None if before.lead is None or after.lead is None else for_color(before.lead - after.lead, move.color)
        winrate = for_color(before.winrate - after.winrate, move.color)
        size = sum(winrate >= limit for limit in _WINRATES)
        if points is not None:
            size = max(size, sum(points >= limit * scale for limit in _POINTS))
        if size:
            found.append(Mistake(number, move, points, winrate, size, before.variation))
    return sorted(found, key=lambda each: -each.winrate)
