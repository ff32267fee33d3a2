"""Encodes the extra inputs of human networks: the players' ranks, clock, date and source of the game.

Profiles: `rank_5k` and `rank_3d_1k` (Black's rank, then White's) are players of today, `preaz_5k` the same before
programs changed the openings, `proyear_1985` professionals of that year.
"""

import math
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from engine.color import BLACK, WHITE
from engine.errors import GoError
from engine.evaluation.positions import METADATA

_RANKS = [*(f"{rank}d" for rank in range(9, 0, -1)), *(f"{rank}k" for rank in range(1, 21))]
_OWN_RANK, _ENEMY_RANK, _RATED, _CLOCK, _MAIN_TIME = 6, 40, 74, 75, 82
_DATE, _SOURCE = 87, 151
_UNKNOWN_CLOCK, _BYO_YOMI = 0, 4
_KGS, _GOGOD, _GO4GO = 2, 5, 6
# Shortest wave of the date, in days (a week), and the ratio of the longest wave to it.
_WAVES = 32
_SHORTEST_WAVE, _WAVE_RANGE = 7.0, 80_000.0
_FIRST_YEAR, _LAST_OLD_YEAR, _LAST_YEAR = 1800, 2020, 2023


@dataclass(frozen=True)
class _Profile:
    """The values of a profile. Ranks count down from 1, which is 9d; times are in seconds."""

    black: int
    white: int
    day: date
    source: int
    rated: float = 0.0
    clock: int = _UNKNOWN_CLOCK
    main_time: float = 0.0
    period_time: float = 0.0
    periods: int = 0


def human_metadata(profile: str, width: int, height: int) -> NDArray[np.float32]:
    """Return the inputs [2, METADATA] of a profile, row 0 for Black to move, row 1 for White.

    Raises GoError for an unknown profile.
    """
    parsed = _parse(profile)
    rows = np.zeros((2, METADATA), dtype=np.float32)
    for color in (BLACK, WHITE):
        row = rows[color - 1]
        own, enemy = (parsed.black, parsed.white) if color == BLACK else (parsed.white, parsed.black)
        row[:2] = 1.0  # both are human
        # A thermometer code: rank r sets the first r inputs, so neighboring ranks look alike.
        row[_OWN_RANK : _OWN_RANK + own] = 1.0
        row[_ENEMY_RANK : _ENEMY_RANK + enemy] = 1.0
        row[_RATED] = parsed.rated
        row[_CLOCK + parsed.clock] = 1.0
        row[_MAIN_TIME : _MAIN_TIME + 5] = (
            0.4 * (math.log(parsed.main_time + 60) - 6.5),
            0.3 * (math.log(parsed.period_time + 1) - 3),
            0.5 * (math.log(parsed.periods + 2) - 1.5),
            0.25 * (math.log(2) - 1.5),  # no moves left in Canadian byo-yomi
            0.5 * math.log(width * height / 361),
        )
        row[_DATE : _DATE + 2 * _WAVES] = _date_waves(parsed.day)
        row[_SOURCE + parsed.source] = 1.0
    return rows


def _date_waves(day: date) -> list[float]:
    """Return the cosine and sine of a date on 32 waves from a week to 1500 years."""
    days = (day - date(1970, 1, 1)).days
    waves = []
    for index in range(_WAVES):
        # Wavelengths grow geometrically, so both the season and the century of a date are distinguishable.
        angle = 2 * math.pi * days / (_SHORTEST_WAVE * _WAVE_RANGE ** (index / (_WAVES - 1)))
        waves += [math.cos(angle), math.sin(angle)]
    return waves


def _parse(name: str) -> _Profile:
    kind, _, rest = name.partition("_")
    if kind == "proyear" and rest.isascii() and rest.isdigit() and _FIRST_YEAR <= int(rest) <= _LAST_YEAR:
        year = int(rest)
        # KataGo's training data label professional games by their collection: GoGoD up to 2020, then Go4Go.
        return _Profile(1, 1, date(year, 6, 1), _GOGOD if year <= _LAST_OLD_YEAR else _GO4GO)
    ranks = rest.split("_")
    if kind in ("rank", "preaz") and len(ranks) <= 2 and all(rank in _RANKS for rank in ranks):
        black, white = _RANKS.index(ranks[0]) + 1, _RANKS.index(ranks[-1]) + 1
        day = date(2020, 3, 1) if kind == "rank" else date(2016, 9, 1)
        return _Profile(
            black, white, day, _KGS, rated=0.5, clock=_BYO_YOMI, main_time=1200.0, period_time=30.0, periods=5
        )
    raise GoError(
        f"unknown human profile {name!r}, expected rank_R, rank_R_R, preaz_R, preaz_R_R with R from 9d to 20k, "
        f"or proyear_{_FIRST_YEAR} to proyear_{_LAST_YEAR}"
    )
