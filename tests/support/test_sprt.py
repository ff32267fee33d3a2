"""The sequential test: its likelihoods against slow searches, its error rates against simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.support.sprt import PairedTest, Sprt, log_likelihood_ratio, most_likely

COUNTS = st.lists(st.integers(0, 60), min_size=5, max_size=5).filter(lambda counts: sum(counts) > 0)


def slow_log_likelihood(counts: list[int], mean: float) -> float:
    """Return the greatest log likelihood of [losses, draws, wins] with this mean, by trying every share of draws."""
    best = -math.inf
    for draws in np.linspace(0, 2 * min(mean, 1 - mean), 4_001)[1:-1]:
        wins = mean - draws / 2
        shares = (1 - wins - draws, draws, wins)
        if min(shares) > 0:
            best = max(best, sum(count * math.log(share) for count, share in zip(counts, shares, strict=True)))
    return best


@pytest.mark.parametrize("counts", [[10, 5, 12], [3, 40, 9], [100, 1, 140], [30, 20, 1]])
def test_the_ratio_of_single_games_is_that_of_a_search_over_all_distributions(counts: list[int]) -> None:
    slow = slow_log_likelihood(counts, 0.6) - slow_log_likelihood(counts, 0.5)
    assert log_likelihood_ratio(counts, 0.5, 0.6) == pytest.approx(slow, abs=1e-3)


def test_games_without_draws_are_walds_binomial_test() -> None:
    wins, losses = 61, 47
    exact = wins * math.log(0.6 / 0.5) + losses * math.log(0.4 / 0.5)
    assert log_likelihood_ratio([losses, wins], 0.5, 0.6) == pytest.approx(exact, abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(COUNTS, st.floats(0.1, 0.9), st.integers(0, 2**32 - 1))
def test_no_other_distribution_with_the_same_mean_is_likelier(counts: list[int], mean: float, seed: int) -> None:
    shares = np.maximum(counts, 1e-3) / np.maximum(counts, 1e-3).sum()
    found = np.array(most_likely(list(shares), mean))
    scores = np.arange(5) / 4
    assert found.sum() == pytest.approx(1, abs=1e-6)
    assert found @ scores == pytest.approx(mean, abs=1e-6)
    # A direction that keeps sum and mean, from random numbers by removing its parts along 1 and the scores.
    basis = np.linalg.qr(np.stack([np.ones(5), scores]).T)[0]
    step = np.random.default_rng(seed).normal(size=5)
    step -= basis @ (basis.T @ step)
    moved = found + step * (0.2 * found.min() / np.abs(step).max())
    assert shares @ np.log(moved) <= shares @ np.log(found) + 1e-9


@settings(deadline=None)
@given(COUNTS)
def test_seen_from_the_other_side_the_test_is_the_same(counts: list[int]) -> None:
    assert log_likelihood_ratio(counts, 0.45, 0.6) == pytest.approx(
        -log_likelihood_ratio(counts[::-1], 0.4, 0.55), abs=1e-6
    )


def decisions(score: float, runs: int, seed: int) -> list[tuple[str, int]]:
    """Play matches of paired games with a given expected score until the test ends; return outcomes and games.

    A pair has a good and a bad side of its opening, so that its two games hang together.
    The test looks after every fourth pair.
    """
    generator = np.random.default_rng(seed)
    test = Sprt(0.5, 0.6)
    found = []
    for _ in range(runs):
        counts = [0] * 5
        outcome = None
        while outcome is None:
            for edge in generator.uniform(-0.3, 0.3, size=4):
                pair = (generator.random() < score + edge, generator.random() < score - edge)
                counts[2 * sum(pair)] += 1
            outcome = test.verdict(counts).outcome
        found.append((outcome, 2 * sum(counts)))
    return found


@pytest.mark.parametrize(("score", "wrong"), [(0.5, "accept"), (0.6, "reject")])
def test_errors_are_as_rare_as_promised(score: float, wrong: str) -> None:
    outcomes = [outcome for outcome, _ in decisions(score, 200, seed=5)]
    # 5 % of 200 is 10, with a standard deviation of 3.1.
    assert outcomes.count(wrong) <= 10 + 2 * 3.1


def test_a_clear_case_ends_soon_and_a_close_one_late() -> None:
    clear = np.mean([games for _, games in decisions(0.69, 60, seed=1)])
    close = np.mean([games for _, games in decisions(0.55, 60, seed=2)])
    assert clear < 100 < close < 400


def test_a_test_of_nothing_goes_on() -> None:
    assert Sprt(0.5, 0.6).verdict([0] * 5).outcome is None


def test_a_clean_sweep_is_accepted_after_some_games() -> None:
    sweeps = [Sprt(0.5, 0.6).verdict([0, 0, 0, 0, pairs]).outcome for pairs in range(1, 25)]
    assert sweeps.index("accept") == math.ceil(math.log(19) / math.log(1.2)) - 1


@pytest.mark.parametrize("hypotheses", [(0.6, 0.5), (0.0, 0.5), (0.5, 1.0)])
def test_impossible_hypotheses_are_refused(hypotheses: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="expected 0 < low < high < 1"):
        Sprt(*hypotheses)


def test_pairs_count_in_their_order_however_the_games_end() -> None:
    points = [1.0, 0.5, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]
    straight, backwards = PairedTest(Sprt(0.5, 0.6)), PairedTest(Sprt(0.5, 0.6))
    for number, each in enumerate(points):
        straight.add(number, each)
    for number in reversed(range(len(points))):
        backwards.add(number, points[number])
        assert number == 0 or sum(backwards.counts) == 0
    assert straight.counts == backwards.counts == [0, 0, 1, 1, 2]
    assert straight.llr == backwards.llr == Sprt(0.5, 0.6).verdict([0, 0, 1, 1, 2]).llr


def test_games_after_the_pair_that_decided_are_not_counted() -> None:
    test = PairedTest(Sprt(0.5, 0.9))
    for number in range(40):
        test.add(number, 1.0)
    assert test.outcome == "accept"
    assert len(test.scores) == 2 * sum(test.counts) < test.games
