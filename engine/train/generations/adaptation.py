"""Settings of self-play that follow from the games of earlier generations: komi, resignation, and the source of forks.

They are computed from the records alone, so that a run that was stopped goes on with the same settings.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

from engine.support.files import whole_lines
from engine.train.games.selfplay_store import RECORDS

RESIGN_GENERATIONS, RESIGN_GAMES = 5, 20
"""Generations whose games decide the threshold of resignation, and their least number of games played in full."""
MOST_RESIGN = 0.2
"""The largest threshold: above it, games would be decided in which little is clear."""
_RESULT = re.compile(r"RE\[(?:([BW])\+([\d.]+)|0)\]")
_KOMI, _SIZE = re.compile(r"KM\[([-\d.]+)\]"), re.compile(r"SZ\[(\d+)\]")
_LOWEST = re.compile(r"winner's lowest winrate ([\d.]+)")
# Games that are not even by design say nothing about the fair komi.
_UNEVEN = re.compile(r"AB\[|fork=|playout doubling")


def records_of(folders: Iterable[Path]) -> list[str]:
    """Return the records of finished games in folders of self-play."""
    return [line for folder in folders for line in whole_lines(folder / RECORDS)]


def is_even(record: str) -> bool:
    """Return whether a game was even by design: without handicap or unequal visits, and no fork of another game."""
    return _UNEVEN.search(record) is None


def median_margin(records: Sequence[str], side: int) -> float | None:
    """Return the median of Black's points minus White's on the board, without komi, in even games of a size."""
    margins = []
    for line in records:
        size, komi, result = _SIZE.search(line), _KOMI.search(line), _RESULT.search(line)
        if size is None or komi is None or result is None or int(size[1]) != side or not is_even(line):
            continue
        score = 0.0 if result[1] is None else float(result[2]) * (1 if result[1] == "B" else -1)
        margins.append(score + float(komi[1]))
    return median(margins) if margins else None


def next_komi(komi: float, records: Sequence[str], side: int, rate: float) -> float:
    """Return the mean komi of the next generation: moved towards the median margin by a share of `rate`.

    Not the mean margin: of a random network's games, most of which end by early passes, some have the whole board. On
    9x9 the mean of 200 games was 19 points and the median 1, and a komi that followed the mean let Black win 2 %.
    """
    margin = median_margin(records, side)
    return komi if margin is None else round(komi + rate * (margin - komi), 4)


def resign_threshold(records: Sequence[str], false_rate: float, otherwise: float) -> float:
    """Return the largest threshold at which at most `false_rate` of the winners would have resigned (AGZ: 5 %).

    records: those played in full name the winner's lowest winrate. otherwise: while they are too few.
    """
    lowest = sorted(float(match[1]) for line in records if (match := _LOWEST.search(line)))
    if len(lowest) < RESIGN_GAMES:
        return otherwise
    place = int(false_rate * len(lowest))
    return min(lowest[place] if place < len(lowest) else MOST_RESIGN, MOST_RESIGN)
