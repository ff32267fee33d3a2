"""Targets of the near future: averages of what the searches of the next turns found, at three horizons (KataGo)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.color import BLACK, EMPTY
from engine.train.data.targets import FinalResult

SHARES_OF_AREA = (0.176, 0.056, 0.016)
"""Mean turns to the horizons, as shares of the board's points (cpp/dataio/trainingwrite.cpp)."""
Rows = NDArray[np.float32]


def search_row(value: float, score: float) -> tuple[float, float, float, float]:
    """Return P(Black wins), P(White wins), P(no result) and score of a search. value, score: Black-positive."""
    return (1 + value) / 2, (1 - value) / 2, 0.0, score


def later_targets(found: Sequence[tuple[float, float] | None], result: FinalResult, area: int) -> Rows:
    """Return P(Black wins), P(White wins), P(no result) and score at each horizon: [turns, HORIZONS, 4].

    found: by turn, the value and score of the search, Black-positive; None for turns without a search, which are left
    out. Each turn counts 1 / (1 + share * area) of what the turns before it have left, and the end of the game, as
    `result`, all the rest. Without a score, as in a void game, the last search's score stands for it.
    """
    factors = 1.0 / (1.0 + np.array(SHARES_OF_AREA) * area)
    last = next((each[1] for each in reversed(found) if each is not None), 0.0)
    score = last if result.score is None else result.score
    end = {None: (0.0, 0.0, 1.0), EMPTY: (0.5, 0.5, 0.0), BLACK: (1.0, 0.0, 0.0)}.get(result.winner, (0.0, 1.0, 0.0))
    rest = np.tile(np.array([*end, score]), (len(factors), 1))
    rows = np.empty((len(found), *rest.shape), np.float32)
    for turn in reversed(range(len(found))):
        each = found[turn]
        if each is not None:
            rest = rest + factors[:, None] * (np.array(search_row(*each)) - rest)
        rows[turn] = rest
    return rows


def for_side(rows: Rows, color: int) -> Rows:
    """Return the targets of one turn, [HORIZONS, 4], from the point of view of `color`."""
    if color == BLACK:
        return rows
    return np.stack([rows[:, 1], rows[:, 0], rows[:, 2], -rows[:, 3]], axis=1)
