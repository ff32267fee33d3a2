"""Encodes the extra inputs of human networks: the players' ranks, clock, date and source of the game."""

import math
from datetime import date

import numpy as np
from numpy.typing import NDArray

from engine.color import BLACK, WHITE
from engine.evaluation.positions import METADATA
from engine.records.human_profiles import parse_profile

_OWN_RANK, _ENEMY_RANK, _RATED, _CLOCK, _MAIN_TIME = 6, 40, 74, 75, 82
_DATE, _SOURCE = 87, 151
# Shortest wave of the date, in days (a week), and the ratio of the longest wave to it.
_WAVES = 32
_SHORTEST_WAVE, _WAVE_RANGE = 7.0, 80_000.0


def human_metadata(profile: str, width: int, height: int) -> NDArray[np.float32]:
    """Return the inputs [2, METADATA] of a profile, row 0 for Black to move, row 1 for White.

    profile: see `engine.records.human_profiles`. Raises GoError for an unknown one.
    """
    parsed = parse_profile(profile)
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
