"""A sequential test on game results, which stops a match as soon as it is clear who is stronger.

The generalized sequential probability ratio test (GSPRT) on the scores of paired games. H0: the expected score of a
game is `low`; H1: it is `high`. Pure functions of counts, and `PairedTest`, which counts the pairs of a match.

Sources: A. Wald, "Sequential Tests of Statistical Hypotheses", Ann. Math. Statist. 16 (1945), 117-186 (the
test and its bounds); X. Li, J. Liu, Z. Ying, "Generalized Sequential Probability Ratio Test for Separate
Families of Hypotheses", Sequential Analysis 33 (2014), 539-563 (unknown distributions at their most likely);
M. Van den Bergh, "A Practical Introduction to the GSPRT" (2020), as used by Fishtest (the most likely
distribution with a given mean, and pairs of games as one observation of five values, because the two games
of an opening are not independent).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["accept", "reject"]

PAIR_SCORES = 5
"""Scores of a pair of games: 0, 0.5, 1, 1.5 and 2 points."""
# Replaces a count of 0, which would make a score impossible that merely has not occurred yet.
_FLOOR = 1e-3
_BISECTIONS = 50


@dataclass(frozen=True)
class Verdict:
    """The state of a test: the log likelihood ratio, the bounds between which it continues, and the outcome.

    outcome: "accept" means H1, "reject" means H0, None means undecided.
    """

    llr: float
    lower: float
    upper: float
    outcome: Outcome | None


@dataclass(frozen=True)
class Sprt:
    """A test of H0 "the expected score of a game is `low`" against H1 "it is `high`".

    alpha: probability of accepting if H0 holds; beta: of rejecting if H1 holds.
    """

    low: float
    high: float
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        """Raise ValueError on hypotheses or error rates out of range."""
        if not 0 < self.low < self.high < 1:
            raise ValueError(f"expected 0 < low < high < 1, got low {self.low}, high {self.high}")
        if not (0 < self.alpha < 0.5 and 0 < self.beta < 0.5):
            raise ValueError(f"expected error rates between 0 and 0.5, got alpha {self.alpha}, beta {self.beta}")

    def verdict(self, counts: Sequence[float]) -> Verdict:
        """Return the state of the test. counts: as in `log_likelihood_ratio`."""
        # Wald's bounds: they hold the error rates without knowing how many games will be played.
        lower = math.log(self.beta / (1 - self.alpha))
        upper = math.log((1 - self.beta) / self.alpha)
        llr = log_likelihood_ratio(counts, self.low, self.high)
        outcome: Outcome | None = "accept" if llr >= upper else "reject" if llr <= lower else None
        return Verdict(llr, lower, upper, outcome)


class PairedTest:
    """The test of a match in which games 2 p and 2 p + 1 have the same opening with colors exchanged.

    A pair is one observation, because the two games of an opening are not independent. Pairs are counted in the order
    of their numbers, however the games end: short games end first, and counting them first would favor the side that
    wins quickly. sprt: None counts without a test. llr: log likelihood ratio. counts: of pairs, as in `Sprt.verdict`.
    """

    def __init__(self, sprt: Sprt | None) -> None:
        self._sprt = sprt
        self._scores: dict[int, float] = {}
        self._next_pair = 0
        self.counts = [0] * PAIR_SCORES
        self.llr = 0.0
        self.outcome: Outcome | None = None

    @property
    def games(self) -> int:
        """The number of games so far."""
        return len(self._scores)

    @property
    def scores(self) -> list[float]:
        """The points of the games, those after the pair that decided the test left out."""
        tested = 2 * self._next_pair if self.outcome is not None else max(self._scores, default=0) + 1
        return [score for number, score in self._scores.items() if number < tested]

    def add(self, number: int, points: float) -> None:
        """Count a game by its number from 0 and its points: 1, 0.5 or 0; test every pair that is now complete."""
        self._scores[number] = points
        while self.outcome is None and {2 * self._next_pair, 2 * self._next_pair + 1} <= self._scores.keys():
            first, second = self._scores[2 * self._next_pair], self._scores[2 * self._next_pair + 1]
            self.counts[round(2 * (first + second))] += 1
            self._next_pair += 1
            if self._sprt is not None:
                verdict = self._sprt.verdict(self.counts)
                self.llr, self.outcome = verdict.llr, verdict.outcome


def log_likelihood_ratio(counts: Sequence[float], low: float, high: float) -> float:
    """Return log P(counts | mean is high) - log P(counts | mean is low), each for its most likely distribution.

    counts: of equally spaced scores from 0 to 1: [losses, draws, wins] of single games, or the counts of game pairs
    with 0, 0.5, 1, 1.5 and 2 points. Returns 0 without results. Raises ValueError on fewer than two counts or a
    negative one.
    """
    if len(counts) < 2 or min(counts) < 0:
        raise ValueError(f"expected two or more counts of 0 or more, got {list(counts)}")
    if sum(counts) == 0:
        return 0.0
    weights = [max(float(count), _FLOOR) for count in counts]
    total = sum(weights)
    shares = [weight / total for weight in weights]
    first, second = most_likely(shares, low), most_likely(shares, high)
    return sum(weight * math.log(b / a) for weight, a, b in zip(weights, first, second, strict=True))


def most_likely(shares: Sequence[float], mean: float) -> list[float]:
    """Return the maximum-likelihood distribution for the given shares among those with this mean.

    shares: positive shares of equally spaced scores from 0 to 1, sum 1. With Lagrange's multiplier t it is
    p_i = share_i / (1 + t (a_i - mean)), where t solves sum_i share_i (a_i - mean) / (1 + t (a_i - mean)) = 0;
    the sum decreases in t, so bisection finds it.
    """
    scores = [index / (len(shares) - 1) for index in range(len(shares))]
    # Between these bounds all probabilities are positive.
    low, high = -1 / (1 - mean), 1 / mean
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        slope = sum(
            share * (score - mean) / (1 + middle * (score - mean)) for share, score in zip(shares, scores, strict=True)
        )
        low, high = (middle, high) if slope > 0 else (low, middle)
    multiplier = (low + high) / 2
    return [share / (1 + multiplier * (score - mean)) for share, score in zip(shares, scores, strict=True)]
