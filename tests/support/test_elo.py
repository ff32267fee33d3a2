"""Intervals, Elo differences and ratings against known figures and recovered synthetic ratings."""

import math
from itertools import pairwise

import numpy as np
import pytest

from engine.support.elo import (
    Z95,
    Pairing,
    elo_difference,
    elo_from_score,
    expected_score,
    fit_ratings,
    fit_steps,
    wilson_interval,
)


@pytest.mark.parametrize(
    ("wins", "n", "low", "high"),
    [
        # The first four: R. G. Newcombe, Statistics in Medicine 17 (1998), 857-872, table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (20, 20, 0.8389, 1.0),
        (262, 480, 0.5011, 0.5898),
        (2.5, 5, 0.1704, 0.8296),
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilson_intervals(wins: float, n: int, low: float, high: float) -> None:
    interval = wilson_interval(wins, n)
    assert interval.value == (wins / n if n else 0.5)
    assert (interval.low, interval.high) == (pytest.approx(low, abs=6e-5), pytest.approx(high, abs=6e-5))


def test_wilson_ends_are_the_shares_that_the_score_test_just_allows() -> None:
    for wins, n in ((262, 480), (2.5, 5), (99, 100)):
        interval = wilson_interval(wins, n)
        for end in interval[1:]:
            assert abs(interval.value - end) == pytest.approx(Z95 * math.sqrt(end * (1 - end) / n))


def test_wilson_intervals_cover_as_often_as_they_say() -> None:
    rng = np.random.default_rng(1)
    for p in (0.5, 0.8, 0.95):
        intervals = [wilson_interval(int(wins), 100) for wins in rng.binomial(100, p, 4000)]
        covered = float(np.mean([interval.low <= p <= interval.high for interval in intervals]))
        assert 0.93 < covered < 0.975


@pytest.mark.parametrize(("wins", "n"), [(-1, 3), (4, 3), (1, 0)])
def test_impossible_counts_are_errors(wins: int, n: int) -> None:
    with pytest.raises(ValueError, match="wins"):
        wilson_interval(wins, n)


@pytest.mark.parametrize(
    ("share", "elo"), [(0.5, 0), (0.64, 99.95), (0.76, 200.24), (10 / 11, 400), (1, math.inf), (0, -math.inf)]
)
def test_elo_differences(share: float, elo: float) -> None:
    assert elo_difference(share) == pytest.approx(elo, abs=0.01)
    assert expected_score(elo) == pytest.approx(share, abs=1e-5)


def test_elo_outside_a_share_is_an_error() -> None:
    with pytest.raises(ValueError, match="share"):
        elo_difference(1.1)


def test_elo_from_score_has_an_interval_around_it() -> None:
    elo = elo_from_score(60, 30, 10)
    assert elo.value == elo_difference(0.65)
    assert 0 < elo.low < elo.value < elo.high
    mirrored = elo_from_score(30, 60, 10)
    assert (mirrored.low, mirrored.high) == (pytest.approx(-elo.high), pytest.approx(-elo.low))


def test_a_clean_sweep_has_a_finite_lower_bound() -> None:
    elo = elo_from_score(20, 0)
    assert (elo.value, elo.high) == (math.inf, math.inf)
    assert elo.low == pytest.approx(elo_difference(0.8389), abs=0.2)


def test_two_players_fit_to_their_elo_difference() -> None:
    ratings = fit_ratings([Pairing("a", "b", 70, 20, 10)], prior_draws=0)
    assert ratings["a"].elo - ratings["b"].elo == pytest.approx(elo_difference(0.75))
    assert ratings["a"].elo == pytest.approx(-ratings["b"].elo)


def test_a_draw_counts_as_half_a_win_and_half_a_loss() -> None:
    drawn = fit_ratings([Pairing("a", "b", 10, 0, 20), Pairing("b", "c", 5, 5, 0)])
    split = fit_ratings([Pairing("a", "b", 20, 10, 0), Pairing("b", "c", 5, 5, 0)])
    assert {name: rating.elo for name, rating in drawn.items()} == pytest.approx(
        {name: rating.elo for name, rating in split.items()}
    )


def test_synthetic_ratings_are_recovered_within_their_errors() -> None:
    rng = np.random.default_rng(7)
    true = {"a": 250.0, "b": 100.0, "c": 0.0, "d": -50.0, "e": -300.0}
    deviations = []
    for _ in range(20):
        results = []
        for first in true:
            for second in (name for name in true if name > first):
                share = expected_score(true[first] - true[second])
                draws = 0.1 * min(share, 1 - share)
                wins, losses, drawn = rng.multinomial(200, [share - draws / 2, 1 - share - draws / 2, draws])
                results.append(Pairing(first, second, int(wins), int(losses), int(drawn)))
        fitted = fit_ratings(results)
        assert sum(rating.elo for rating in fitted.values()) == pytest.approx(0, abs=1e-6)
        deviations += [(fitted[name].elo - true[name]) / fitted[name].error for name in true]
    assert abs(float(np.mean(deviations))) < 0.4
    assert 0.7 < float(np.std(deviations)) < 1.3
    assert max(abs(deviation) for deviation in deviations) < 4


def test_more_games_make_smaller_errors() -> None:
    few, many = (fit_ratings([Pairing("a", "b", 6 * n, 4 * n)], prior_draws=0)["a"].error for n in (1, 100))
    assert many == pytest.approx(few / 10)


def test_the_likelihood_intervals_of_two_players_end_where_the_binomial_likelihood_does() -> None:
    fitted = fit_ratings([Pairing("a", "b", 30, 10)], prior_draws=0)
    most = 30 * math.log(0.75) + 10 * math.log(0.25)
    for end in (fitted["a"].low, fitted["a"].high):
        share = expected_score(2 * end)  # the other player's rating is the negative of this one
        likelihood = 30 * math.log(share) + 10 * math.log(1 - share)
        assert 2 * (most - likelihood) == pytest.approx(Z95 * Z95, abs=1e-5)
    assert (fitted["b"].low, fitted["b"].high) == (pytest.approx(-fitted["a"].high), pytest.approx(-fitted["a"].low))


def test_likelihood_intervals_agree_with_the_errors_of_many_even_games_only() -> None:
    many = fit_ratings([Pairing("a", "b", 2000, 2000), Pairing("b", "c", 2100, 1900), Pairing("a", "c", 2000, 2000)])
    for rating in many.values():
        assert rating.high - rating.elo == pytest.approx(Z95 * rating.error, rel=0.01)
        assert rating.elo - rating.low == pytest.approx(Z95 * rating.error, rel=0.01)
    sweep = fit_ratings([Pairing("a", "b", 20, 0), Pairing("b", "c", 10, 10)])["a"]
    assert sweep.high - sweep.elo > 1.2 * (sweep.elo - sweep.low)


def test_likelihood_intervals_cover_as_often_as_they_say() -> None:
    rng = np.random.default_rng(3)
    true = {"a": 200.0, "b": 0.0, "c": -200.0}
    covered = []
    for _ in range(100):
        results = []
        for first, second in (("a", "b"), ("a", "c"), ("b", "c")):
            wins = int(rng.binomial(40, expected_score(true[first] - true[second])))
            results.append(Pairing(first, second, wins, 40 - wins))
        fitted = fit_ratings(results)
        covered += [fitted[name].low <= true[name] <= fitted[name].high for name in true]
    assert 0.92 < float(np.mean(covered)) < 0.98


def slow_end(results: list[Pairing], along: dict[str, float], other: dict[str, float], top: float, side: int) -> float:
    """Return the end of an interval of the rating along `along`, the best of `other` being searched in thirds.

    top: the most likely rating. side: 1 for the upper end, -1 for the lower.
    """

    def profile(elo: float) -> float:
        def likelihood(step: float) -> float:
            ratings = {name: elo * along[name] + step * other[name] for name in along}
            shares = [expected_score(ratings[each.first] - ratings[each.second]) for each in results]
            points = zip(results, shares, strict=True)
            return sum(each.wins * math.log(share) + each.losses * math.log(1 - share) for each, share in points)

        low, high = -2000.0, 2000.0
        while high - low > 1e-4:
            third = (high - low) / 3
            low, high = (
                (low + third, high) if likelihood(low + third) < likelihood(high - third) else (low, high - third)
            )
        return likelihood(low)

    inner, outer, least = top, top + side * 1000, profile(top) - Z95 * Z95 / 2
    while abs(outer - inner) > 1e-3:
        middle = (inner + outer) / 2
        inner, outer = (middle, outer) if profile(middle) > least else (inner, middle)
    return outer


LOPSIDED = [Pairing("a", "b", 19, 1), Pairing("b", "c", 30, 12), Pairing("a", "c", 9, 1)]


@pytest.mark.parametrize(
    ("origin", "along", "other"),
    [
        (None, {"a": 1, "b": -0.5, "c": -0.5}, {"a": 0, "b": 1, "c": -1}),
        ("c", {"a": 1, "b": 0, "c": 0}, {"a": 0, "b": 1, "c": 0}),
    ],
)
@pytest.mark.parametrize("side", [-1, 1])
def test_likelihood_intervals_are_those_of_a_slow_search(
    origin: str | None, along: dict[str, float], other: dict[str, float], side: int
) -> None:
    rating = fit_ratings(LOPSIDED, prior_draws=0, origin=origin)["a"]
    end = slow_end(LOPSIDED, along, other, rating.elo, side)
    assert (rating.low if side < 0 else rating.high) == pytest.approx(end, abs=0.01)


def test_ratings_above_a_player_have_the_errors_of_differences() -> None:
    fitted = fit_ratings([Pairing("a", "b", 30, 10)], prior_draws=0, origin="b")
    assert fitted["b"] == (0, 0, 0, 0)
    assert fitted["a"].elo == pytest.approx(elo_difference(0.75))
    assert fitted["a"].error == pytest.approx(elo_difference(math.e / (1 + math.e)) / math.sqrt(40 * 0.75 * 0.25))
    chain = [Pairing(f"{n}", f"{n + 1}", 20, 20) for n in range(5)]
    errors = [fit_ratings(chain, origin="0")[f"{n}"].error for n in range(6)]
    assert errors == sorted(errors), "the longer the chain to the origin, the larger the error"


def test_a_step_is_the_rating_above_the_player_before() -> None:
    games = {"ab": (12, 28), "bc": (15, 25), "ac": (9, 31), "cd": (20, 20)}
    results = [Pairing(*pair, *counts) for pair, counts in games.items()]
    to_b, to_c = fit_steps(results, ["a", "b", "c"])
    assert to_b == pytest.approx(fit_ratings(results, origin="a")["b"])
    assert to_c == pytest.approx(fit_ratings(results, origin="b")["c"])
    ratings = fit_ratings(results)
    assert to_c.high - to_c.low < sum(ratings[each].high - ratings[each].low for each in "bc")
    assert fit_steps(results, ["a"]) == []
    with pytest.raises(ValueError, match="e"):
        fit_steps(results, ["a", "e"])


def test_intervals_of_lopsided_results_settle_on_both_sides() -> None:
    results = [Pairing(first, second, 10_000, 0) for first, second in pairwise("abcdef")]
    for each in fit_ratings([*results, Pairing("a", "f", 1, 0)]).values():
        assert each.low < each.elo < each.high


def test_ratings_take_fewer_factorizations_than_there_are_players(monkeypatch: pytest.MonkeyPatch) -> None:
    factored = []
    for name in ("solve", "inv"):
        function = getattr(np.linalg, name)
        monkeypatch.setattr(np.linalg, name, lambda *system, call=function: factored.append(1) or call(*system))
    rng = np.random.default_rng(5)
    wins = [(n, back, int(rng.binomial(20, 0.6))) for n in range(1, 20) for back in {1, min(n, 3)}]
    fit_ratings([Pairing(f"{n}", f"{n - back}", won, 20 - won) for n, back, won in wins])
    assert len(factored) < 20


def test_an_unbeaten_player_needs_the_prior() -> None:
    games = [Pairing("a", "b", 10, 0), Pairing("b", "c", 5, 5)]
    assert 200 < fit_ratings(games)["a"].elo < 800
    with pytest.raises(ValueError, match="no finite ratings"):
        fit_ratings(games, prior_draws=0)


@pytest.mark.parametrize("games", [1, 20, 48, 50, 51, 200, 10_000])
def test_a_player_who_won_every_game_has_finite_errors(games: int) -> None:
    fitted = fit_ratings([Pairing("a", "b", games, 0), Pairing("a", "c", games, 0)])
    two = fit_ratings([Pairing("a", "b", games, 0)])
    # The prior adds a drawn game of each of the two.
    difference = two["a"].elo - two["b"].elo
    assert difference == pytest.approx(elo_difference((games + 1) / (games + 2)))
    # Of a difference d the information is n p (1 - p); a rating is d / 2.
    points, share = games + 2, (games + 1) / (games + 2)
    error = elo_difference(math.e / (1 + math.e)) / math.sqrt(points * share * (1 - share)) / 2
    assert two["a"].error == pytest.approx(error)
    for each in (*fitted.values(), *two.values()):
        assert each.low < each.elo < each.high
        assert each.high - each.low < 10 * each.error


def test_players_who_never_met_have_no_common_ratings() -> None:
    with pytest.raises(ValueError, match="no finite ratings"):
        fit_ratings([Pairing("a", "b", 5, 5), Pairing("c", "d", 5, 5)])


def test_nobody_meets_himself() -> None:
    with pytest.raises(ValueError, match="himself"):
        fit_ratings([Pairing("a", "a", 1, 0)])


def test_no_results_give_no_ratings() -> None:
    assert fit_ratings([]) == {}


def test_ratings_of_a_long_run_are_those_of_full_newton_steps() -> None:
    # From the fit that solved a linear system for each step, to 0.001 Elo.
    rng = np.random.default_rng(0)
    games = [(n, n - back, int(rng.integers(8, 21))) for n in range(1, 21) for back in (1, 2, 4) if n >= back]
    fitted = fit_ratings([Pairing(f"{n}", f"{old}", won, 20 - won) for n, old, won in games], origin="0")
    assert fitted["20"] == pytest.approx((1510.7255, 144.2195, 1246.0356, 1822.4451), abs=1e-3)
