"""When a search ends: facts of each stopper, with a clock that the test turns."""

from dataclasses import replace

import pytest

from engine.search.stoppers import PlannedStopper, SearchStats, SettledStopper, TimeStopper, difficulty

VERTEX = 40


class Hands:
    """A clock that the test turns."""

    def __init__(self) -> None:
        self.time = 50.0

    def __call__(self) -> float:
        return self.time


def stats(
    elapsed: float = 1.0,
    visits: int = 1000,
    best: int = 400,
    second: int = 398,
    value: float = 0.2,
    second_value: float = 0.1,
    since: int = 0,
    prior: float = 0.3,
    moves: int = 80,
) -> SearchStats:
    """Return figures of a search in two minds, of visits all its own."""
    return SearchStats(visits, visits, elapsed, best, second, VERTEX, value, second_value, 0.1, since, prior, moves)


def stop_time(of: SearchStats, seconds: float = 10.0, most: float = 30.0, *, is_kept: bool = True) -> float:
    """Return when a planned search stops whose figures grow evenly with time."""
    hands = Hands()
    stopper = PlannedStopper(seconds, most, now=hands, is_kept=is_kept)
    while True:
        hands.time += 0.1
        share = (hands.time - 50.0) / 10.0
        visits, best, second = (int(each * share) for each in (of.visits, of.best_visits, of.second_visits))
        grown = SearchStats(
            visits,
            visits,
            hands.time - 50.0,
            best,
            second,
            of.best_vertex,
            of.best_value,
            of.second_value,
            of.root_value,
            int(of.best_since * share),
            of.best_prior,
            of.move_count,
        )
        if stopper.should_stop(grown):
            return hands.time - 50.0


def test_a_search_of_average_difficulty_takes_its_plan() -> None:
    assert stop_time(stats()) == pytest.approx(10.0, abs=0.2)


@pytest.mark.parametrize(
    ("found", "factor"),
    [
        (stats(since=900), 1.7),
        (stats(second_value=0.25), 1.7),
        (stats(since=900, second_value=0.25), 2.5),
    ],
    ids=["new-best", "rival-better-valued", "both"],
)
def test_doubt_about_the_best_move_buys_time_up_to_the_bound(found: SearchStats, factor: float) -> None:
    assert difficulty(found) == factor
    assert stop_time(found) == pytest.approx(10.0 * factor, abs=0.2)
    assert stop_time(found, most=12.0) == pytest.approx(12.0, abs=0.2)


def test_a_rarely_visited_move_of_better_value_is_no_rival() -> None:
    assert difficulty(stats(second=50, second_value=0.9)) == 1.0


def test_the_only_legal_move_takes_no_time() -> None:
    assert stop_time(stats(moves=1)) == pytest.approx(0.1)


def test_an_obvious_move_takes_a_quarter_of_the_plan_at_most() -> None:
    assert stop_time(stats(best=800, second=100, prior=0.95, value=0.4)) <= 2.5 + 0.2


def test_the_more_visits_one_move_has_the_less_time_it_needs() -> None:
    times = [stop_time(stats(best=best, second=second)) for best, second in [(500, 450), (700, 250), (900, 50)]]
    assert times[0] > times[1] > times[2]


def test_time_that_cannot_be_kept_is_used() -> None:
    assert stop_time(stats(best=900, second=10, prior=0.99), is_kept=False) == pytest.approx(10.0, abs=0.2)
    assert stop_time(stats(since=900), is_kept=False) == pytest.approx(17.0, abs=0.2)
    assert stop_time(stats(moves=1), is_kept=False) == pytest.approx(0.1)


def test_visits_of_a_pondered_tree_settle_a_move_at_once() -> None:
    found = stats(elapsed=0.0, visits=9000, best=8000, second=500)
    assert not SettledStopper(5.0).should_stop(found)
    assert SettledStopper(5.0, speed=1000.0).should_stop(found)
    assert not SettledStopper(5.0, speed=2000.0).should_stop(found)
    assert PlannedStopper(5.0, 9.0, speed=1000.0).should_stop(found)


def test_a_move_is_settled_once_no_other_can_get_the_visits_to_be_chosen_for_its_bound() -> None:
    # 111 playouts are left.
    assert not SettledStopper(10.0, share=0.15).should_stop(stats(elapsed=9.0, best=800, second=20))
    assert not SettledStopper(10.0, share=0.15).should_stop(stats(elapsed=9.0, best=200, second=0))
    assert SettledStopper(10.0, share=0.15).should_stop(stats(elapsed=9.0, best=900, second=20))


def test_visits_alone_settle_a_move_where_they_choose() -> None:
    for second_value in (0.1, 0.3):
        assert SettledStopper(10.0).should_stop(stats(elapsed=9.0, best=600, second=200, second_value=second_value))
    assert not SettledStopper(10.0).should_stop(stats(elapsed=9.0, best=300, second=200))


def test_a_position_with_one_move_is_settled_at_once() -> None:
    assert SettledStopper(10.0, share=0.15).should_stop(stats(elapsed=0.1, best=10, second=0, moves=1))


def test_a_clocks_move_goes_on_while_another_may_be_chosen_for_its_value() -> None:
    clear = stats(elapsed=0.9, visits=900, best=600, second=200)
    hands = Hands()
    for found, stops in ((clear, True), (replace(clear, second_value=0.3), False)):
        planned = PlannedStopper(1.0, 9.0, now=hands)
        hands.time += 0.9
        assert planned.should_stop(found) == stops


def test_time_ends_no_search_below_the_visits_that_it_must_have() -> None:
    hands = Hands()
    timed = TimeStopper(1.0, now=hands, least_visits=2)
    assert not timed.should_stop(stats(elapsed=0.5, visits=5))
    hands.time += 1.5
    assert not timed.should_stop(stats(elapsed=1.5, visits=1))
    assert timed.should_stop(stats(elapsed=1.5, visits=2))


def test_time_that_passes_while_the_process_is_held_counts() -> None:
    hands = Hands()
    timed, planned = TimeStopper(2.5, now=hands), PlannedStopper(1.0, 2.5, now=hands)
    hands.time += 2.6
    held = stats(elapsed=0.3)
    assert timed.should_stop(held)
    assert planned.should_stop(held)
