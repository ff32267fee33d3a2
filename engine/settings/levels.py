"""Ranks of play for people, weaker than full strength, and how a player of each rank chooses a move.

A search of few visits looks at the likely moves. Below a size's strongest ranks, those that lose at most some points
against the best of them are candidates, and one is drawn by the network's priors, which a temperature makes flatter:
the wider the choice and the more points a move may lose, the weaker the rank. With a human network beside the playing
one, moves are visited and drawn by its policy for people of the rank instead; below the weakest people that it knows,
by a flatter one. Strength depends on visits alone, not on the speed of the machine. `keima levels --measure` plays the
ranks against each other, GNU Go and KataGo.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.errors import GoError


@dataclass(frozen=True)
class Level:
    """How a player weaker than full strength chooses a move.

    visits: of the search. temperature: of the priors by which the move is drawn; 0 plays the best move.
    most_loss: points that a drawn move may lose against the best one that was visited.
    """

    visits: int
    temperature: float = 0.0
    most_loss: float = 0.0


FULL = "full"
"""In place of a rank: full strength."""
RANKS = (*(f"{kyu}k" for kyu in range(21, 0, -1)), *(f"{dan}d" for dan in range(1, 7)))
"""The ranks from the weakest on; 100 Elo apart, with GNU Go 3.8 at level 10 as 8k."""


def _ladder(first: str, *levels: tuple[int, float, float]) -> dict[str, Level]:
    """Return levels by rank, from `first` on, each a rank stronger than the one before."""
    start = RANKS.index(first)
    return {RANKS[start + number]: Level(*each) for number, each in enumerate(levels)}


_LADDER_9 = _ladder(
    "21k",
    *((47, 7.93, 63.0), (43, 7.5, 57.0), (39, 7.06, 52.0), (35, 6.63, 46.0), (32, 6.17, 42.0), (29, 5.7, 37.0)),
    *((26, 5.24, 32.0), (24, 4.8, 28.0), (21, 4.36, 23.0), (19, 3.92, 19.0), (16, 3.5, 15.0), (16, 3.21, 11.0)),
    *((16, 2.96, 8.6), (16, 2.72, 6.7), (16, 2.47, 5.2), (16, 2.23, 4.0), (16, 1.99, 3.0), (16, 1.75, 2.3)),
    *((16, 1.56, 1.8), (16, 1.25, 1.1), (16, 1.03, 0.74)),
    *((10, 0.0, 0.0), (13, 0.0, 0.0), (16, 0.0, 0.0), (32, 0.0, 0.0), (64, 0.0, 0.0), (128, 0.0, 0.0)),
)
_LADDER_13 = _ladder(
    "21k",
    *((25, 5.0, 30.0), (24, 4.78, 28.0), (22, 4.57, 25.0), (21, 4.36, 23.0), (20, 4.14, 21.0), (19, 3.94, 19.0)),
    *((18, 3.73, 17.0), (16, 3.54, 15.0), (16, 3.38, 13.0), (16, 3.3, 11.8), (16, 3.06, 9.5), (16, 2.99, 8.9)),
    *((16, 2.86, 7.8), (16, 2.73, 6.8), (16, 2.59, 5.9), (16, 2.45, 5.1), (16, 2.3, 4.3), (16, 2.13, 3.6)),
    *((16, 1.95, 2.9), (16, 1.74, 2.3), (16, 1.46, 1.6), (16, 1.1, 0.85)),
    *((10, 0.0, 0.0), (13, 0.0, 0.0), (16, 0.0, 0.0), (22, 0.0, 0.0), (32, 0.0, 0.0)),
)
_LADDER_19 = _ladder(
    "21k",
    *((35, 6.6, 47.0), (33, 6.3, 44.0), (31, 6.03, 40.0), (29, 5.76, 38.0), (28, 5.51, 35.0), (26, 5.26, 32.0)),
    *((25, 5.03, 30.0), (24, 4.8, 28.0), (23, 4.57, 25.0), (21, 4.35, 23.0), (20, 4.12, 20.0), (19, 3.9, 18.0)),
    *((18, 3.68, 16.0), (16, 3.48, 14.0), (16, 3.32, 12.0), (16, 3.19, 11.0), (16, 3.06, 9.4), (16, 2.94, 8.3)),
    *((16, 2.81, 7.4), (16, 2.7, 6.5), (16, 2.57, 5.8), (16, 2.46, 5.1), (16, 2.35, 4.5), (16, 2.24, 4.0)),
    *((16, 2.14, 3.6), (16, 2.04, 3.1), (16, 1.94, 2.8)),
)
_WEAKEST_PEOPLE = "20k"
"""The weakest people of profiles (`engine.records.human_profiles`)."""
# The power of the ladder's temperatures in `people_of`, and the largest temperature that a search takes.
_FLATTER, _MOST_FLAT = 2.5, 100.0
LEVELS: Mapping[int, Mapping[str, Level]] = {9: _LADDER_9, 13: _LADDER_13, 19: _LADDER_19}
"""By the side of the board, how a player of each rank chooses a move."""


def side_of_levels(width: int, height: int) -> int:
    """Return the side of the board whose levels a board has: the one with the nearest number of points."""
    return min(LEVELS, key=lambda side: abs(side * side - width * height))


def _ladder_on(width: int, height: int) -> Mapping[str, Level]:
    """Return the levels of a board."""
    return LEVELS[side_of_levels(width, height)]


def ranks_on(width: int, height: int) -> list[str]:
    """Return the ranks that differ on a board, the weakest first, and full strength."""
    return [*_ladder_on(width, height), FULL]


def rank_on(rank: str, width: int, height: int) -> str:
    """Return the nearest rank that a board has, for full strength this itself."""
    if rank == FULL:
        return FULL
    wanted = RANKS.index(rank)
    return min(_ladder_on(width, height), key=lambda each: abs(RANKS.index(each) - wanted))


def ranks_between(text: str, size: int) -> list[str]:
    """Return the ranks of a size in a range, `4k-1d`, or a single one, the weakest first. Raises GoError."""
    ladder = list(LEVELS[size])
    first, dash, last = text.partition("-")
    last = last if dash else first
    if not {first, last} <= {*ladder} or ladder.index(first) > ladder.index(last):
        raise GoError(
            f"not a range of ranks: {text!r}; expected one such as {ladder[0]}-{ladder[-1]}, the weaker first"
        )
    return ladder[ladder.index(first) : ladder.index(last) + 1]


@dataclass(frozen=True)
class KnownPeople:
    """Whom a human network knows, "" where its file does not say.

    weakest: their lowest rank. flatter_below: the rank below which its policy is drawn from with a temperature, because
    it plays better than they do.
    """

    weakest: str = ""
    flatter_below: str = ""


def people_of(rank: str, known: KnownPeople, width: int, height: int) -> tuple[str, float]:
    """Return whom a human network imitates at a rank, and the temperature of its policy.

    Below the weakest people that it knows a rank has their moves. The temperature is a power of the ratio of the
    ladder's temperatures at both ranks, such that a rank is some 110 Elo with keima-human9 (docs/performance.md).
    """
    ladder, played = _ladder_on(width, height), rank_on(rank, width, height)
    people = max(played, known.weakest or _WEAKEST_PEOPLE, _WEAKEST_PEOPLE, key=RANKS.index)
    strongest = rank_on(max(played, known.flatter_below or people, key=RANKS.index), width, height)
    flatter = ladder[played].temperature / (ladder[strongest].temperature or 1.0)
    return f"rank_{people}", min(max(1.0, flatter**_FLATTER), _MOST_FLAT)


def level_at(rank: str, width: int, height: int) -> Level | None:
    """Return how a player of a rank, or of the nearest that a board has, chooses a move; None at full strength."""
    return None if rank == FULL else _ladder_on(width, height)[rank_on(rank, width, height)]
