"""How many positions are in flight: few in small searches and where more are no faster, many where it pays."""

from collections.abc import Callable

import pytest

from engine.evaluation.evaluator import Attributes
from engine.search.params import SearchParams
from engine.search.throughput import (
    FREE_IN_FLIGHT,
    LONGEST_CALL,
    Load,
    Throughput,
    load_of_visits,
    lost_in_flight,
    most_in_flight,
)

Machine = Callable[[Load], float]
"""Positions a second under a load."""
NETWORK = Attributes("network", preferred_batch=8, max_batch=64, concurrent=3)
VISITS = (1, 10, 100, 800, 5_000, 20_000, 100_000, 1_000_000)


def saturating(full: float, half: float) -> Machine:
    """Return a machine whose speed grows with the batch and is half of `full` at `half`."""
    return lambda load: full * load.batch / (load.batch + half) * min(1.0, load.calls / 2)


def settled(throughput: Throughput, machine: Machine, visits: int) -> Load:
    """Search for a while on a machine, and return the load in the end."""
    for _ in range(300):
        load = throughput.load(visits)
        throughput.record(*load, load.calls * load.batch / machine(load))
    return throughput.load(visits)


def test_larger_searches_have_more_in_flight() -> None:
    for throughput in (Throughput(NETWORK), Throughput(Attributes("gpu", 128, 1024, concurrent=3))):
        in_flight = [load.calls * load.batch for load in map(throughput.load, VISITS)]
        assert in_flight == sorted(in_flight)
        assert in_flight[0] < in_flight[-1]


def test_a_small_search_has_a_few_positions_in_flight_and_a_large_one_fills_the_evaluator() -> None:
    small, large = (settled(Throughput(NETWORK), saturating(2000, 1.0), visits) for visits in (50, 50_000))
    assert small.calls * small.batch <= 6
    assert large.calls == 3
    assert saturating(2000, 1.0)(large) > 0.85 * 2000


def test_where_a_batch_is_no_faster_it_is_one_position_whatever_the_search() -> None:
    for visits in VISITS:
        assert settled(Throughput(NETWORK), saturating(2000, 0.0), visits).batch == 1


def test_a_larger_batch_is_not_tried_in_a_small_search() -> None:
    throughput, tried = Throughput(NETWORK), set[int]()
    machine = saturating(2000, 0.0)
    for _ in range(300):
        load = throughput.load(100)
        tried.add(load.batch)
        throughput.record(*load, load.calls * load.batch / machine(load))
    assert max(tried) <= 2


def test_a_measured_speed_counts_for_more_than_an_expected_one() -> None:
    throughput = Throughput(NETWORK)
    expected = throughput.load(20_000)
    assert settled(throughput, saturating(2000, 40.0), 20_000).batch > expected.batch


@pytest.mark.parametrize(
    ("wanted", "load"), [(1, (1, 1)), (2, (2, 1)), (3, (3, 1)), (4, (2, 2)), (8, (2, 4)), (31, (3, 10))]
)
def test_a_search_that_visits_limit_has_at_most_as_many_in_flight_as_its_setting_says(
    wanted: int, load: tuple[int, int]
) -> None:
    assert load_of_visits(NETWORK, SearchParams(visits_in_flight=wanted), 100) == load
    alone = Attributes("alone", preferred_batch=8, max_batch=64)
    assert load_of_visits(alone, SearchParams(visits_in_flight=wanted), 100) == (1, wanted)


def test_a_search_of_few_visits_is_sequential_and_one_of_many_is_not() -> None:
    in_flight = [load.calls * load.batch for load in (load_of_visits(NETWORK, SearchParams(), each) for each in VISITS)]
    assert in_flight[:4] == [1, 1, 1, 1]
    assert in_flight == sorted(in_flight)
    assert in_flight[-1] > 30


def test_positions_in_flight_cost_at_most_ten_elo_where_visits_limit_a_search() -> None:
    for visits in VISITS:
        count = most_in_flight(visits)
        assert lost_in_flight(count, visits) <= FREE_IN_FLIGHT < lost_in_flight(count + 1, visits)


def test_a_given_batch_counts_for_more_than_positions_in_flight() -> None:
    assert load_of_visits(NETWORK, SearchParams(batch_size=5, visits_in_flight=1), 100) == Load(3, 5)


def test_a_call_is_short_where_a_longer_one_gains_little() -> None:
    machine = saturating(300, 0.5)
    load = settled(Throughput(NETWORK), machine, 1_000_000)
    assert load.calls * load.batch / machine(load) <= LONGEST_CALL


def test_a_call_is_long_where_a_short_one_wastes_the_machine() -> None:
    machine = saturating(6_000, 100.0)
    load = settled(Throughput(Attributes("gpu", 128, 1024, concurrent=3)), machine, 1_000_000)
    assert load.calls * load.batch / machine(load) > LONGEST_CALL
    assert machine(load) > 0.5 * 6_000


def test_no_batch_exceeds_what_evaluator_and_search_have_room_for() -> None:
    gpu = Attributes("gpu", 512, 100, concurrent=2)
    assert settled(Throughput(gpu), saturating(1e6, 1000.0), 10**7) == Load(2, 64)
    assert settled(Throughput(gpu, most=6), saturating(1e6, 1000.0), 10**7) == Load(2, 4)
    assert settled(Throughput(gpu, most=1), saturating(1e6, 1000.0), 10**7) == Load(2, 1)


def test_an_evaluator_of_one_call_gets_one() -> None:
    alone = Attributes("alone", 1, 16)
    assert {settled(Throughput(alone), saturating(100, 1.0), visits).calls for visits in VISITS} == {1}


def test_calls_at_the_end_of_a_search_are_not_measured() -> None:
    throughput = Throughput(NETWORK)
    before = throughput.rate(Load(3, 4))
    throughput.record(3, 5, 1.0)
    throughput.record(2, 4, 1.0)
    throughput.record(3, 4, 0.0)
    assert throughput.rate(Load(3, 4)) == before
    throughput.record(3, 4, 0.5)
    assert throughput.rate(Load(3, 4)) == pytest.approx(24.0)


def test_one_slow_call_changes_nothing() -> None:
    throughput = Throughput(NETWORK)
    load = settled(throughput, saturating(2000, 1.0), 800)
    rate = throughput.rate(load)
    throughput.record(*load, 60.0)
    assert throughput.rate(load) == pytest.approx(rate)


def test_a_measurement_that_met_a_busy_machine_is_made_again() -> None:
    throughput = Throughput(NETWORK)
    for batch in (1, 2):
        throughput.record(3, batch, 1.0 if batch == 1 else 60.0)
    assert throughput.load(20_000).batch == 1
    machine = saturating(2000, 1.0)
    assert settled(throughput, machine, 20_000).batch > 2


class FakeClock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds
