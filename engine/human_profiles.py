"""The players that a human network can imitate, by KataGo's names for them. Imports nothing heavy.

`rank_5k` and `rank_3d_1k` (Black's rank, then White's) are players of today, `preaz_5k` the same before programs
changed the openings, `proyear_1985` professionals of that year.
"""

from dataclasses import dataclass
from datetime import date

from engine.errors import GoError

_RANKS = [*(f"{rank}d" for rank in range(9, 0, -1)), *(f"{rank}k" for rank in range(1, 21))]
UNKNOWN_CLOCK, BYO_YOMI = 0, 4
"""Numbers of the time controls that profiles have."""
_KGS, _GOGOD, _GO4GO = 2, 5, 6
_FIRST_YEAR, _LAST_OLD_YEAR, _LAST_YEAR = 1800, 2020, 2023
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


def parse_profile(name: str) -> Profile:
    """Return the values of a profile. Raises GoError for an unknown name."""
    kind, _, rest = name.partition("_")
    if kind == "proyear" and rest.isascii() and rest.isdigit() and _FIRST_YEAR <= int(rest) <= _LAST_YEAR:
        year = int(rest)
        # KataGo's training data label professional games by their collection: GoGoD up to 2020, then Go4Go.
        return Profile(1, 1, date(year, 6, 1), _GOGOD if year <= _LAST_OLD_YEAR else _GO4GO)
    ranks = rest.split("_")
    if kind in ("rank", "preaz") and len(ranks) <= 2 and all(rank in _RANKS for rank in ranks):
        black, white = _RANKS.index(ranks[0]) + 1, _RANKS.index(ranks[-1]) + 1
        day = date(2020, 3, 1) if kind == "rank" else date(2016, 9, 1)
        return Profile(
            black, white, day, _KGS, rated=0.5, clock=BYO_YOMI, main_time=1200.0, period_time=30.0, periods=5
        )
    raise GoError(
        f"unknown human profile {name!r}, expected rank_R, rank_R_R, preaz_R, preaz_R_R with R from 9d to 20k, "
        f"or proyear_{_FIRST_YEAR} to proyear_{_LAST_YEAR}"
    )
