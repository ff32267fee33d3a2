"""The players that a human network can imitate, by KataGo's names for them. Imports nothing heavy.

`rank_5k` and `rank_3d_1k` (Black's rank, then White's) are players of today, `preaz_5k` the same before programs
changed the openings, `proyear_1985` professionals of that year.
"""

import re
from dataclasses import dataclass
from datetime import date

from engine.errors import GoError

RANKS = (*(f"{rank}d" for rank in range(9, 0, -1)), *(f"{rank}k" for rank in range(1, 21)))
"""The ranks of profiles, from the highest; a rank's number is its place here, from 1."""
MEASURED_PROFILE = "rank_1d"
"""The players that a human network imitates where it is only checked, calibrated or measured."""
UNKNOWN_CLOCK, BYO_YOMI = 0, 4
"""Numbers of the time controls that profiles have."""
_KGS, _GOGOD, _GO4GO = 2, 5, 6
_FIRST_YEAR, _LAST_OLD_YEAR, _LAST_YEAR = 1800, 2020, 2023
_FIRST_YEAR_OF_PROGRAMS = 2017
_DANS = 9
_RANK = re.compile(r"\s*(\d{1,2}) ?(d|dan|k|kyu|p|pro)(?![a-z])", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)[12]\d{3}(?!\d)")
NO_PROFILE = ("", "_", '""')
"""Names that KataGo takes for no profile."""


@dataclass(frozen=True)
class Profile:
    """The values of a profile. Ranks count down from 1, which is 9d; times are in seconds."""

    black: int
    white: int
    day: date
    source: int
    rated: float = 0.0
    clock: int = UNKNOWN_CLOCK
    main_time: float = 0.0
    period_time: float = 0.0
    periods: int = 0


def profile_of_game(black: str, white: str, dated: str) -> str | None:
    """Return the name of the profile that fits a game, None if a player's rank is not known or below 20 kyu.

    black, white, dated: the ranks and the date as a record has them: "3d", "12 kyu", "9p", "2016-03-09". Ranks above 9
    dan count as 9 dan, and so does a professional's who plays an amateur; 0 kyu, on OGS, as 1 kyu. A game without a
    date is one of today, but for professionals, who then have no profile.
    """
    ranks, year = [_RANK.match(text) for text in (black, white)], _YEAR.search(dated)
    if all(rank is not None and rank[2][0].lower() == "p" for rank in ranks):
        return f"proyear_{min(max(int(year[0]), _FIRST_YEAR), _LAST_YEAR)}" if year else None
    first, second = (_amateur_rank(rank) for rank in ranks)
    if first is None or second is None:
        return None
    kind = "preaz" if year and int(year[0]) < _FIRST_YEAR_OF_PROGRAMS else "rank"
    return f"{kind}_{first}" if first == second else f"{kind}_{first}_{second}"


def _amateur_rank(found: re.Match[str] | None) -> str | None:
    if found is None:
        return None
    number, kind = int(found[1]), found[2][0].lower()
    if kind == "k":
        return f"{max(number, 1)}k" if number <= len(RANKS) - _DANS else None
    return f"{_DANS if kind == 'p' else min(max(number, 1), _DANS)}d"


def parse_profile(name: str) -> Profile:
    """Return the values of a profile. Raises GoError for an unknown name."""
    kind, _, rest = name.partition("_")
    if kind == "proyear" and rest.isascii() and rest.isdigit() and _FIRST_YEAR <= int(rest) <= _LAST_YEAR:
        year = int(rest)
        # KataGo's training data label professional games by their collection: GoGoD up to 2020, then Go4Go.
        return Profile(1, 1, date(year, 6, 1), _GOGOD if year <= _LAST_OLD_YEAR else _GO4GO)
    ranks = rest.split("_")
    if kind in ("rank", "preaz") and len(ranks) <= 2 and all(rank in RANKS for rank in ranks):
        black, white = RANKS.index(ranks[0]) + 1, RANKS.index(ranks[-1]) + 1
        day = date(2020, 3, 1) if kind == "rank" else date(2016, 9, 1)
        return Profile(
            black, white, day, _KGS, rated=0.5, clock=BYO_YOMI, main_time=1200.0, period_time=30.0, periods=5
        )
    raise GoError(
        f"unknown human profile {name!r}, expected rank_R, rank_R_R, preaz_R, preaz_R_R with R from 9d to 20k, "
        f"or proyear_{_FIRST_YEAR} to proyear_{_LAST_YEAR}"
    )
