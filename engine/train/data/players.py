"""The players of a sample as three numbers, and the inputs of a human network that they stand for.

Samples have the profile that fits a game (`engine.records.human_profiles.profile_of_game`), not all that KataGo's
inputs could say of it: what a network learns from is what people ask it for by --human-profile.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from engine.color import BLACK
from engine.encoders.human import human_metadata
from engine.evaluation.positions import METADATA
from engine.records.human_profiles import RANKS, parse_profile

NUMBERS = 3
"""Of a sample: the rank of the side to move and of the other, from 1 for 9 dan, and a kind; zeros if unknown."""
PROFESSIONAL, UNKNOWN = "professional", "unknown"
"""The groups of professionals and of players without a rank."""
_TODAY, _BEFORE_PROGRAMS = 1, 2
"""Kinds of amateurs; the kind of professionals is the year."""

_GROUPS = (3, 6, 9, 12, 15, 19, len(RANKS))
"""The weakest rank of each group of `group_of`, as a number."""


def group_of(own: int, kind: int) -> str:
    """Return the group of ranks to which a player belongs, such as "4d-6d"; "unknown" if own is 0."""
    if own == 0 or kind > _BEFORE_PROGRAMS:
        return PROFESSIONAL if own else UNKNOWN
    place = next(place for place, last in enumerate(_GROUPS) if own <= last)
    strongest = _GROUPS[place - 1] if place else 0
    # The lower number first, as people say it: 7d-9d, 1k-3k.
    ends = RANKS[strongest], RANKS[_GROUPS[place] - 1]
    return "-".join(ends if ends[0].endswith("k") else reversed(ends))


def players_of(profile: str, color: int) -> tuple[int, int, int]:
    """Return the numbers of a profile for the side to move. Raises GoError for an unknown one."""
    parsed = parse_profile(profile)
    kind = {"rank": _TODAY, "preaz": _BEFORE_PROGRAMS}.get(profile.partition("_")[0], parsed.day.year)
    own, enemy = (parsed.black, parsed.white) if color == BLACK else (parsed.white, parsed.black)
    return own, enemy, kind


def metadata_of(players: NDArray[np.int16], width: int, height: int) -> NDArray[np.float32]:
    """Return the inputs [B, METADATA] of human networks for the numbers [B, NUMBERS] of samples."""
    rows = [_row(*each, width, height) for each in players.tolist()]
    return np.stack(rows) if rows else np.zeros((0, METADATA), np.float32)


# The batches of a run have a few hundred pairs of ranks, and the years of professionals.
@lru_cache(maxsize=4096)
def _row(own: int, enemy: int, kind: int, width: int, height: int) -> NDArray[np.float32]:
    if kind > _BEFORE_PROGRAMS:
        profile = f"proyear_{kind}"
    else:
        profile = f"{'rank' if kind == _TODAY else 'preaz'}_{RANKS[own - 1]}_{RANKS[enemy - 1]}"
    row: NDArray[np.float32] = human_metadata(profile, width, height)[0]
    return row
