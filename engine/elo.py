"""How strong, and how sure: intervals, Elo differences and ratings from counted results.

Pure functions of numbers. It plays nothing and reads no file.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

Z95 = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""

_MAX_STEPS = 200
_BISECTIONS = 24
_TO_ELO = 400.0 / math.log(10.0)


class Interval(NamedTuple):
    """A value with the ends of its interval."""

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
    """A fitted rating in Elo with its standard error and likelihood interval; ratings of one fit have mean 0."""

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
    low = 0.0 if wins == 0 else max(0.0, (center - spread) / scale)
    high = 1.0 if wins == n else min(1.0, (center + spread) / scale)
    return Interval(share, low, high)


def expected_score(elo: float) -> float:
    """Return the expected score of a player who is `elo` stronger: 1 / (1 + 10^(-elo / 400)).

    Source: A. E. Elo, "The Rating of Chessplayers, Past and Present" (1978), 8.4, logistic form.
    """
    return 1.0 / (1.0 + math.pow(10.0, -elo / 400.0))


def elo_difference(share: float) -> float:
    """Return the Elo difference that an expected score means, the inverse of `expected_score`.

    -inf at 0 and inf at 1. Raises ValueError outside [0, 1].
    """
    if not 0 <= share <= 1:
        raise ValueError(f"expected a share in [0, 1], got {share}")
    if share in (0.0, 1.0):
        return math.copysign(math.inf, share - 0.5)
    return 400.0 * math.log10(share / (1.0 - share))


def elo_from_score(wins: int, losses: int, draws: int = 0, z: float = Z95) -> Interval:
    """Return the Elo difference of a score with its interval; both may be infinite.

    The ends are the Elo differences of the Wilson interval's ends, so that a clean sweep still has
    a finite bound on one side, where the usual normal approximation (score +- z * deviation /
    sqrt(n)) has none.
    """
    share = wilson_interval(wins + draws / 2, wins + losses + draws, z)
    return Interval(*(elo_difference(value) for value in share))


def fit_ratings(results: Sequence[Pairing], prior_draws: float = 2.0, z: float = Z95) -> dict[str, Rating]:
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
    Raises ValueError when no finite ratings exist, because a group of players never met the others
    or, with no prior, never lost a point to them; and when a player meets himself.
    """
    if not results:
        return {}
    names = sorted({name for pairing in results for name in pairing[:2]})
    score, games = _score_matrix(results, names, prior_draws)
    if not _all_connected(score > 0):
        raise ValueError("no finite ratings: a group of players never scored against, or never met, the others")
    # Steps along the basis leave the mean of the ratings at 0.
    basis = _zero_sum_basis(len(names))
    ratings = _most_likely(score, games, np.zeros(len(names)), basis)
    _, information = _likelihood_slopes(score, games, ratings)
    errors = np.sqrt(np.diag(basis @ np.linalg.inv(basis.T @ information @ basis) @ basis.T))
    fitted = {}
    for place, name in enumerate(names):
        low, high = (_profile_end(score, games, ratings, place, side * z * errors[place], z) for side in (-1, 1))
        values = (ratings[place], errors[place], low, high)
        fitted[name] = Rating(*(float(value) * _TO_ELO for value in values))
    return fitted


_Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]
_Vector = np.ndarray[tuple[int], np.dtype[np.float64]]


def _score_matrix(results: Sequence[Pairing], names: list[str], prior_draws: float) -> tuple[_Matrix, _Matrix]:
    """Return score[i, j], points of i against j, and games[i, j], both with the prior added."""
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
        # Each player hands out prior_draws games, equally to everyone he met.
        given = np.where(games > 0, prior_draws / 2 / np.maximum(rivals, 1)[:, None], 0.0)
        prior = given + given.T
        score, games = score + prior / 2, games + prior
    return score, games


def _all_connected(scored: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> bool:
    """Return whether every player reaches every other along "scored against" (Ford's condition).

    Source: L. R. Ford, "Solution of a ranking problem from binary comparisons", Amer. Math. Monthly
    64 (1957), 28-33: exactly then the likelihood has a finite maximum.
    """
    reached = scored | np.eye(len(scored), dtype=np.bool_)
    for _ in range(len(scored).bit_length()):
        reached = (reached.astype(np.int64) @ reached.astype(np.int64)) > 0
    return bool(reached.all())


def _zero_sum_basis(count: int) -> _Matrix:
    """Return an orthonormal basis, by columns, of the vectors of this length whose sum is 0."""
    return np.linalg.svd(np.ones((1, count)))[2][1:].T


def _most_likely(score: _Matrix, games: _Matrix, ratings: _Vector, basis: _Matrix) -> _Vector:
    """Return the most likely of the ratings that differ from the given ones along a basis' columns."""
    for _ in range(_MAX_STEPS):
        gradient, information = _likelihood_slopes(score, games, ratings)
        step = basis @ np.linalg.solve(basis.T @ information @ basis, basis.T @ gradient)
        size = float(np.abs(step).max())
        ratings = ratings + step * min(1.0, 1.0 / max(size, 1e-12))
        if size < 1e-10:
            return ratings
    raise ArithmeticError(f"the ratings did not settle within {_MAX_STEPS} steps")


def _profile_end(score: _Matrix, games: _Matrix, ratings: _Vector, place: int, guess: float, z: float) -> float:
    """Return the rating of one player at which the profile likelihood has fallen to the end of an interval.

    guess: a first guess of how far it lies from the most likely rating, negative for the lower end.
    """
    others = np.arange(len(ratings)) != place
    basis = np.zeros((len(ratings), len(ratings) - 2))
    basis[others] = _zero_sum_basis(len(ratings) - 1)
    least = _log_likelihood(score, ratings) - z * z / 2

    def outside(distance: float) -> bool:
        moved = ratings - distance / (len(ratings) - 1)
        moved[place] = ratings[place] + distance
        return _log_likelihood(score, _most_likely(score, games, moved, basis)) < least

    inner, outer = 0.0, guess
    while not outside(outer):
        inner, outer = outer, 2 * outer
    for _ in range(_BISECTIONS):
        middle = (inner + outer) / 2
        inner, outer = (inner, middle) if outside(middle) else (middle, outer)
    return float(ratings[place]) + outer


def _log_likelihood(score: _Matrix, ratings: _Vector) -> float:
    """Return the log likelihood of score[i, j] points of i against j."""
    return -float((score * np.logaddexp(0.0, ratings[None, :] - ratings[:, None])).sum())


def _likelihood_slopes(score: _Matrix, games: _Matrix, ratings: _Vector) -> tuple[_Vector, _Matrix]:
    """Return the gradient and the negative second derivative of the log likelihood (natural units)."""
    expected = 1.0 / (1.0 + np.exp(ratings[None, :] - ratings[:, None]))
    gradient = (score - games * expected).sum(axis=1)
    weight = games * expected * (1.0 - expected)
    return gradient, np.diag(weight.sum(axis=1)) - weight
