"""How much it may take to prove that Black takes a board from a position, and to refute it, judged by its stones.

The efforts order the search and are no part of what it proves. Three sums of what the stones show are fitted for each
side to move: the logarithm of the odds that the position can be proved, and the logarithms, to base 2, of the positions
that a proof and a refutation took. They were fitted to the positions that a search with a plainer rule met on 5x3 and
6x3. The odds are halved and the logarithms taken five times, by trial on 6x3.
"""

import numpy as np
from numpy.typing import NDArray

from engine.apps.book.enclosing import pass_alive_stones
from engine.apps.book.stone_sets import grown, size_of, spread
from engine.native.jit import kernel

_ODDS, _TO_PROVE, _TO_REFUTE = 0, 2, 4
_FITTED = {
    "stones of Black": (0.392, -0.241, 0.092, 0.765, -0.587, 0.043),
    "stones of White": (-0.791, -0.699, -0.806, -1.126, 0.436, 0.129),
    "liberties of Black alone": (0.571, -0.091, -0.135, 0.369, 1.272, 0.351),
    "liberties of White alone": (-0.958, -0.876, 0.564, 0.267, 1.384, 0.883),
    "liberties of both": (0.105, -0.227, 0.595, 0.708, 1.346, 0.7),
    "second liberties of Black": (0.067, -0.093, -0.022, 0.302, 1.298, 0.651),
    "second liberties of White": (-0.021, 0.236, 0.23, -0.577, -0.435, 0.112),
    "points away from Black": (0.386, -0.175, 1.186, 2.018, -0.209, -0.207),
    "points away from White": (0.106, 0.079, -0.327, -0.769, 0.339, 0.326),
    "chains of Black": (-0.603, -0.337, 0.895, 2.091, 0.082, -0.016),
    "chains of White": (0.871, 0.316, -1.246, -1.947, 0.27, 0.762),
    "stones of Black in atari": (-0.346, -1.608, 0.878, 3.147, -0.047, -0.013),
    "stones of White in atari": (1.011, 0.615, 0.138, -0.654, -0.315, 0.13),
    "stones of Black with two liberties": (0.035, -0.022, 0.174, 0.402, 0.092, 0.188),
    "stones of White with two liberties": (0.302, 0.422, 0.124, -0.08, 0.075, 0.075),
    "pass-alive stones of Black": (-0.151, 0.023, 0.105, 0.118, -0.182, 0.004),
    "regions around Black": (0.451, 0.65, -1.1, -2.973, 0.238, 0.397),
    "points of the largest": (-0.071, 0.066, 0.176, 0.116, 0.055, 0.173),
    "regions around White": (-1.88, -0.604, 2.312, 3.471, -1.804, -2.418),
    "points of the largest of these": (0.1, 0.189, 0.119, 0.047, -0.278, -0.488),
    "always 1": (2.579, 2.566, 0.369, 5.911, 4.263, 0.97),
}
"""By what the stones show: the odds with Black and with White to move, then the efforts to prove and to refute."""
FEATURES = len(_FITTED)
WEIGHTS = np.array(list(_FITTED.values())).T.copy()
"""[6, FEATURES], as above."""
_MOST_ODDS, _MOST_DOUBLINGS, _MOST_EFFORT = 13.0, 22.0, 1 << 26
"""Limits, because the fit knows small boards alone."""


@kernel
def _count_chains(stones: int, empty: int, masks: NDArray[np.int64], features: NDArray[np.float64], first: int) -> None:
    """Write the number of chains, at `first`, then their stones in atari (+ 2) and with two liberties (+ 4)."""
    features[first] = features[first + 2] = features[first + 4] = 0.0
    while stones:
        chain = spread(stones & -stones, stones, masks)
        stones &= ~chain
        features[first] += 1.0
        liberties = size_of(grown(chain, masks) & empty)
        if liberties <= 2:
            features[first + 2 * liberties] += size_of(chain)


@kernel
def _count_regions(stones: int, masks: NDArray[np.int64], features: NDArray[np.float64], first: int) -> None:
    """Write into how many regions a side's stones divide the rest of the board, and the size of the largest."""
    outside, features[first], features[first + 1] = masks[0] & ~stones, 0.0, 0.0
    while outside:
        region = spread(outside & -outside, outside, masks)
        outside &= ~region
        features[first] += 1.0
        features[first + 1] = max(features[first + 1], float(size_of(region)))


@kernel
def _describe(black: int, white: int, masks: NDArray[np.int64], features: NDArray[np.float64]) -> None:
    """Write what the stones show, in the order of the fit."""
    empty = masks[0] & ~(black | white)
    around_black, around_white = grown(black, masks), grown(white, masks)
    mine, others = around_black & empty, around_white & empty
    features[0], features[1] = size_of(black), size_of(white)
    features[2], features[3], features[4] = size_of(mine & ~others), size_of(others & ~mine), size_of(mine & others)
    # Second liberties that the other side does not touch.
    features[5] = size_of(grown(mine, masks) & empty & ~mine & ~others)
    features[6] = size_of(grown(others, masks) & empty & ~others & ~mine)
    features[7] = size_of(masks[0] & ~(black | around_black))
    features[8] = size_of(masks[0] & ~(white | around_white))
    _count_chains(black, empty, masks, features, 9)
    _count_chains(white, empty, masks, features, 10)
    features[15] = size_of(pass_alive_stones(black, white, masks))
    _count_regions(black, masks, features, 16)
    _count_regions(white, masks, features, 18)
    features[20] = 1.0


@kernel
def efforts_of(
    black: int,
    white: int,
    white_to_move: bool,
    masks: NDArray[np.int64],
    features: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> tuple[int, int]:
    """Return the efforts to prove and to refute a position, at least 1. features: [FEATURES], written over."""
    _describe(black, white, masks, features)
    side, odds, to_prove, to_refute = 1 if white_to_move else 0, 0.0, 0.0, 0.0
    for i in range(FEATURES):
        odds += features[i] * weights[_ODDS + side, i]
        to_prove += features[i] * weights[_TO_PROVE + side, i]
        to_refute += features[i] * weights[_TO_REFUTE + side, i]
    odds = min(max(odds, -_MOST_ODDS), _MOST_ODDS)
    to_prove = min(max(to_prove, 0.0), _MOST_DOUBLINGS)
    to_refute = min(max(to_refute, 0.0), _MOST_DOUBLINGS)
    first = min(int(np.exp2(to_prove) * (1.0 + np.exp(-odds))), _MOST_EFFORT)
    second = min(int(np.exp2(to_refute) * (1.0 + np.exp(odds))), _MOST_EFFORT)
    return first, second
