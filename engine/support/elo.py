"""Computes intervals, Elo differences and ratings from counted results.

Pure functions of numbers: plays no games and reads no files.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

Z95 = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""

_MAX_STEPS = 200
# The fit has converged when the largest step, in natural units, is below this.
_SETTLED = 1e-10
# Part of the step before above which a step shows that the curvature is of ratings too far away.
_SLOW = 0.5
_TO_ELO = 400.0 / math.log(10.0)


class Interval(NamedTuple):
    """A value and its confidence interval."""

    value: float
    low: float
    high: float


class Pairing(NamedTuple):
    """The results of player `first` against player `second`, counted for `first`."""

    first: str
    second: str
    wins: int
    losses: int
    draws: int = 0


class Rating(NamedTuple):
    """A fitted rating in Elo with its standard error and likelihood interval; see `fit_ratings`."""

    elo: float
    error: float
    low: float
    high: float


def wilson_interval(wins: float, n: int, z: float = Z95) -> Interval:
    """Return the share `wins / n` with its Wilson score interval; a draw is half a win.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
    J. Amer. Statist. Assoc. 22 (1927), 209-212:
    (p + z2/2n +- z sqrt(p(1-p)/n + z2/4n2)) / (1 + z2/n), with z2 = z * z. It stays inside [0, 1]
    and has a width at p = 0 and p = 1. With draws it is too wide, never too narrow: a draw has less
    variance than the win and the loss that it replaces. No games give (0.5, 0, 1).
    Raises ValueError unless 0 <= wins <= n.
    """
    if not 0 <= wins <= n:
        raise ValueError(f"expected 0 <= wins <= games, got {wins} wins of {n}")
    if n == 0:
        return Interval(0.5, 0.0, 1.0)
    share = wins / n
    center = share + z * z / (2 * n)
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # Rounding could leave a tiny positive bound.
    low = 0.0 if wins == 0 else max(0.0, (center - spread) / scale)
    high = 1.0 if wins == n else min(1.0, (center + spread) / scale)
    return Interval(share, low, high)


def expected_score(elo: float) -> float:
    """Return the expected score of a player who is `elo` stronger: 1 / (1 + 10^(-elo / 400)).

    Source: A. E. Elo, "The Rating of Chessplayers, Past and Present" (1978), 8.4, logistic form.
    """
    return 1.0 / (1.0 + math.pow(10.0, -elo / 400.0))


def elo_difference(share: float) -> float:
    """Return the Elo difference for an expected score: the inverse of `expected_score`.

    -inf at 0 and inf at 1. Raises ValueError outside [0, 1].
    """
    if not 0 <= share <= 1:
        raise ValueError(f"expected a share in [0, 1], got {share}")
    if share in (0.0, 1.0):
        return math.copysign(math.inf, share - 0.5)
    return 400.0 * math.log10(share / (1.0 - share))


def elo_from_score(wins: int, losses: int, draws: int = 0, z: float = Z95) -> Interval:
    """Return the Elo difference of a score with its interval; both may be infinite.

    The ends are the Elo differences of the Wilson interval's ends. So even a clean sweep has a finite bound on one
    side, unlike in the usual normal approximation (score +- z * deviation / sqrt(n)).
    """
    share = wilson_interval(wins + draws / 2, wins + losses + draws, z)
    return Interval(*(elo_difference(value) for value in share))


def fit_ratings(
    results: Sequence[Pairing], prior_draws: float = 2.0, z: float = Z95, origin: str | None = None
) -> dict[str, Rating]:
    """Return Bradley-Terry ratings in Elo of all players in `results`, with errors and intervals.

    Maximum likelihood of P(i beats j) = expected_score(i - j), a draw as half a win and half a
    loss, found by Newton steps; the likelihood is concave, so the start does not matter. Errors
    come from the inverse of the observed information, orthogonal to a shift of all ratings. An
    interval holds the ratings at which the likelihood, all other ratings chosen best, is at least
    exp(-z * z / 2) of its maximum: it is wider on the side about which lopsided results say less.
    Sources: R. A. Bradley and M. E. Terry, Biometrika 39 (1952), 324-345; D. R. Hunter, "MM
    algorithms for generalized Bradley-Terry models", Annals of Statistics 32 (2004), 384-406;
    D. J. Venzon and S. H. Moolgavkar, "A method for computing profile-likelihood-based confidence
    intervals", Applied Statistics 37 (1988), 87-94.

    prior_draws: drawn games added and shared out among each player's pairings, as bayeselo does; it
    keeps an unbeaten player's rating finite. 0 is pure maximum likelihood.
    origin: the player above whom ratings, errors and intervals are; None for the mean of all.
    Raises ValueError when no finite ratings exist, because a group of players never met the others
    or, with no prior, never lost a point to them; and when a player meets himself.
    """
    if not results:
        return {}
    names, likelihood, ratings = _fitted(results, prior_draws)
    reference = np.full(len(names), 1 / len(names)) if origin is None else np.eye(len(names))[names.index(origin)]
    contrasts = np.eye(len(names)) - reference
    return dict(zip(names, _ratings(likelihood, ratings, contrasts, z), strict=True))


def fit_steps(
    results: Sequence[Pairing], players: Sequence[str], prior_draws: float = 2.0, z: float = Z95
) -> list[Rating]:
    """Return how far each of `players` but the first is above the one before, as `fit_ratings` rates them all.

    An interval of a difference: narrower than those of the two ratings, which share how far off their origin is.
    Raises ValueError as `fit_ratings` does, and for a player without results.
    """
    names, likelihood, ratings = _fitted(results, prior_draws)
    one = np.eye(len(names))[[names.index(player) for player in players]]
    return _ratings(likelihood, ratings, np.diff(one, axis=0), z)


_Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]
_Vector = np.ndarray[tuple[int], np.dtype[np.float64]]


class _Likelihood:
    """The log likelihood of ratings in natural units. score: points of i against j. games: of i and j.

    Only pairs that met are kept: most players of a long run of ratings never meet.
    """

    def __init__(self, score: _Matrix, games: _Matrix) -> None:
        self._count = len(score)
        self._first, self._second = np.nonzero(np.triu(games))
        self._points, self._games = score[self._first, self._second], games[self._first, self._second]

    def _differences(self, ratings: _Vector) -> _Vector:
        return ratings[self._first] - ratings[self._second]

    def value(self, ratings: _Vector) -> float:
        """Return the log likelihood."""
        difference = self._differences(ratings)
        lost = (self._games - self._points) * np.logaddexp(0.0, difference)
        return -float((self._points * np.logaddexp(0.0, -difference) + lost).sum())

    def gradient(self, ratings: _Vector) -> _Vector:
        """Return the first derivative."""
        excess = self._points - self._games / (1.0 + np.exp(-self._differences(ratings)))
        gradient = np.zeros(self._count)
        np.add.at(gradient, self._first, excess)
        np.subtract.at(gradient, self._second, excess)
        return gradient

    def information(self, ratings: _Vector) -> _Matrix:
        """Return the negative second derivative: a weighted graph Laplacian, singular along a shift of all ratings."""
        expected = 1.0 / (1.0 + np.exp(-self._differences(ratings)))
        weight = np.zeros((self._count, self._count))
        weight[self._first, self._second] = self._games * expected * (1.0 - expected)
        weight += weight.T
        return np.diag(weight.sum(axis=1)) - weight


class _Curvature:
    """The inverse of the information at some ratings, for Newton steps there and near by."""

    def __init__(self, likelihood: _Likelihood, ratings: _Vector) -> None:
        information = likelihood.information(ratings)
        # A shift of all ratings gets the mean of the eigenvalues; what is solved for has no part along it.
        shift = np.trace(information) / len(ratings) ** 2
        self._inverse = np.linalg.inv(information + shift)

    def solved(self, side: _Vector) -> _Vector:
        """Return the solution of information @ x = side with sum 0. side: of sum 0."""
        return self._inverse @ side

    def step(self, gradient: _Vector, contrast: _Vector | None) -> _Vector:
        """Return the Newton step that leaves contrast @ ratings, if given, as it is."""
        step = self.solved(gradient)
        if contrast is None:
            return step
        along = self.solved(contrast)
        return step - along * (contrast @ step) / (contrast @ along)


def _fitted(results: Sequence[Pairing], prior_draws: float) -> tuple[list[str], _Likelihood, _Vector]:
    """Return the names of all players, the likelihood and the most likely ratings, of sum 0 in natural units."""
    names = sorted({name for pairing in results for name in pairing[:2]})
    score, games = _score_matrix(results, names, prior_draws)
    if not _all_connected(score > 0):
        raise ValueError("no finite ratings: a group of players never scored against, or never met, the others")
    likelihood, start = _Likelihood(score, games), np.zeros(len(names))
    # The likelihood does not change when all ratings shift, so their sum stays 0.
    return names, likelihood, _most_likely(likelihood, start, None, _Curvature(likelihood, start))[0]


def _score_matrix(results: Sequence[Pairing], names: list[str], prior_draws: float) -> tuple[_Matrix, _Matrix]:
    """Return score[i, j], points of i against j, and games[i, j], both including the prior."""
    index: Mapping[str, int] = {name: number for number, name in enumerate(names)}
    score = np.zeros((len(names), len(names)))
    for first, second, wins, losses, draws in results:
        if first == second:
            raise ValueError(f"player {first!r} meets himself")
        score[index[first], index[second]] += wins + draws / 2
        score[index[second], index[first]] += losses + draws / 2
    games = score + score.T
    rivals = (games > 0).sum(axis=1)
    if prior_draws:
        # Each player distributes prior_draws games equally among all opponents.
        given = np.where(games > 0, prior_draws / 2 / np.maximum(rivals, 1)[:, None], 0.0)
        prior = given + given.T
        score, games = score + prior / 2, games + prior
    return score, games


def _all_connected(scored: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> bool:
    """True if every player reaches every other along "scored against" (Ford's condition).

    Source: L. R. Ford, "Solution of a ranking problem from binary comparisons", Amer. Math. Monthly 64 (1957), 28-33:
    exactly then the likelihood has a finite maximum.
    """
    reached = scored | np.eye(len(scored), dtype=np.bool_)
    for _ in range(len(scored).bit_length()):
        # Squaring doubles the length of the paths, so log2(players) rounds are enough.
        reached = (reached.astype(np.int64) @ reached.astype(np.int64)) > 0
    return bool(reached.all())


def _most_likely(
    likelihood: _Likelihood, ratings: _Vector, contrast: _Vector | None, curvature: _Curvature
) -> tuple[_Vector, _Curvature]:
    """Maximize the likelihood by Newton steps, keeping contrast @ ratings constant if it is given.

    curvature: at ratings near by; it serves for many steps, because a new one costs more than a step by a factor of
    the number of players. Returns it, or the newer one that was needed.
    """
    before = math.inf
    for _ in range(_MAX_STEPS):
        gradient = likelihood.gradient(ratings)
        step = curvature.step(gradient, contrast)
        if np.abs(step).max() > _SLOW * before:
            curvature = _Curvature(likelihood, ratings)
            step = curvature.step(gradient, contrast)
        before = float(np.abs(step).max())
        # Steps of at most 1 (174 Elo): full Newton steps overshoot where results are lopsided.
        ratings = ratings + step * min(1.0, 1.0 / max(before, 1e-12))
        if before < _SETTLED:
            return ratings, curvature
    raise ArithmeticError(f"the ratings did not settle within {_MAX_STEPS} steps")


def _ratings(likelihood: _Likelihood, ratings: _Vector, contrasts: _Matrix, z: float) -> list[Rating]:
    """Return contrast @ ratings, a difference of the most likely ratings, in Elo with its error and interval."""
    found, curvature = [], _Curvature(likelihood, ratings)
    for contrast in contrasts:
        if contrast.any():
            error = math.sqrt(contrast @ curvature.solved(contrast))
            low, high = (
                _profile_end(likelihood, ratings, contrast, side * z * error, z, curvature) for side in (-1, 1)
            )
            found.append(Rating(*(float(value) * _TO_ELO for value in (contrast @ ratings, error, low, high))))
        else:
            found.append(Rating(0.0, 0.0, 0.0, 0.0))
    return found


def _profile_end(
    likelihood: _Likelihood, ratings: _Vector, contrast: _Vector, change: float, z: float, curvature: _Curvature
) -> float:
    """Return the value of contrast @ ratings at one end of its profile likelihood interval.

    ratings: the most likely ones. change: first guess of the distance to the end, negative for the lower end. The
    profile is concave, so the root of its tangent lies at or beyond the end, and no step crosses the maximum.
    """
    least = likelihood.value(ratings) - z * z / 2
    for _ in range(_MAX_STEPS):
        # The direction in which the other ratings follow while the contrast changes by 1.
        along = curvature.solved(contrast)
        along = along / (contrast @ along)
        ratings, curvature = _most_likely(likelihood, ratings + change * along, contrast, curvature)
        change = (least - likelihood.value(ratings)) / float(likelihood.gradient(ratings) @ along)
        if abs(change) < _SETTLED:
            return float(contrast @ ratings)
    raise ArithmeticError(f"an interval did not settle within {_MAX_STEPS} steps")
