"""Evaluations that are begun and finished later: the answers of calls that are waited for, and nothing left behind."""

from typing import Any

import numpy as np
import pytest

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import AsynchronousEvaluator, Begun, asynchronous
from engine.evaluation.positions import PositionBatch
from engine.evaluators.cache import CachedEvaluator
from engine.evaluators.network import NetworkEvaluator
from engine.evaluators.profile import ProfiledEvaluator
from engine.evaluators.uniform import UniformEvaluator
from engine.nets.spec import WeightsError
from tests.evaluators.naive_backend import NaiveBackend, naive_evaluator
from tests.nets.examples import EXAMPLES
from tests.positions import batch_of, random_game

SPEC = EXAMPLES["hidden pass, two policies"]
PEOPLE = EXAMPLES["human"]
PARTS = ("policy", "value", "score", "ownership", "details")
BATCHES = [
    batch_of([random_game(seed, 5, 5, moves=seed) for seed in range(first, first + 3)]) for first in (0, 2, 9, 3)
]


def network(slots: int = 4, rows: int = 8) -> tuple[NetworkEvaluator, NaiveBackend]:
    backend = NaiveBackend(SPEC, slots, rows, max_batch=8)
    return NetworkEvaluator(SPEC, backend), backend


def begun(evaluator: Any, positions: PositionBatch) -> tuple[Begun | None, Evaluation]:
    out = Evaluation(positions.capacity, positions.width, positions.height)
    return evaluator.begin(positions, positions.capacity, out), out


def assert_evaluated(out: Evaluation, positions: PositionBatch) -> None:
    expected = Evaluation(positions.capacity, positions.width, positions.height)
    naive_evaluator(SPEC).evaluate(positions, positions.capacity, expected)
    for name in PARTS:
        assert np.array_equal(getattr(out, name), getattr(expected, name)), name


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
@pytest.mark.parametrize("cached", [False, True])
def test_calls_that_are_begun_at_once_answer_as_alone_in_whatever_order_they_are_finished(
    cached: bool, order: tuple[int, ...]
) -> None:
    batches = [batch_of([random_game(seed, 5, 5, moves=9) for seed in seeds]) for seeds in ((1,), (2, 3), (4,))]
    network_alone = network(slots=4)[0]
    evaluator = CachedEvaluator(network_alone) if cached else network_alone
    calls = [begun(evaluator, positions) for positions in batches]
    for number in order:
        call, out = calls[number]
        assert call is not None
        call.finish()
        assert_evaluated(out, batches[number])


def test_a_call_without_slots_enough_is_not_begun_and_takes_none() -> None:
    evaluator, backend = network(slots=4, rows=1)
    first, out = begun(evaluator, BATCHES[0])
    asked = len(backend.calls)
    assert first is not None
    assert begun(evaluator, BATCHES[1])[0] is None
    assert len(backend.calls) == asked
    first.finish()
    assert_evaluated(out, BATCHES[0])
    second, out = begun(evaluator, BATCHES[1])
    assert second is not None
    second.finish()
    assert_evaluated(out, BATCHES[1])


def test_a_call_that_would_wait_for_a_compiler_is_not_begun_and_takes_no_slots() -> None:
    evaluator, backend = network(slots=2)
    backend.compiled = 1
    asked = len(backend.calls)
    for _ in range(3):
        assert begun(evaluator, BATCHES[0])[0] is None
    assert [call for call in backend.calls[asked:] if call[0] == "start"] == []
    backend.compiled = 2
    call, out = begun(evaluator, BATCHES[0])
    assert call is not None
    call.finish()
    assert_evaluated(out, BATCHES[0])


def test_waiting_tells_whether_the_answer_is_there() -> None:
    evaluator, backend = network()
    backend.seconds = 0.5
    for each in (evaluator, CachedEvaluator(evaluator)):
        call = begun(each, BATCHES[0])[0]
        assert call is not None
        assert not call.wait(0.1)
        assert call.wait(60.0)
        call.finish()


def test_what_the_cache_knows_is_there_at_once_and_each_position_is_asked_for_once() -> None:
    evaluator, backend = network()
    backend.seconds = 1e9
    cache = CachedEvaluator(evaluator)
    for positions, is_known, hits, misses in (
        (BATCHES[0], False, 0, 3),
        (BATCHES[1], False, 1, 5),
        (BATCHES[0], True, 4, 5),
    ):
        asked = len(backend.calls)
        call, out = begun(cache, positions)
        assert call is not None
        assert call.wait(0.0) is is_known
        call.finish()
        assert (cache.hits, cache.misses) == (hits, misses)
        assert (len(backend.calls) == asked) is is_known
        assert_evaluated(out, positions)


def test_nothing_is_left_running_by_a_call_that_fails() -> None:
    evaluator, backend = network(slots=1, rows=2)
    positions = batch_of([random_game(1, 5, 5, moves=4)])
    broken, start = [True], backend.start

    def fail(slot: Any, count: int) -> None:
        if broken.pop():
            raise RuntimeError("made to fail")
        start(slot, count)

    backend.start = fail  # type: ignore[method-assign]
    for each in (evaluator, CachedEvaluator(evaluator)):
        broken[:] = [False, True]
        with pytest.raises(RuntimeError, match="made to fail"):
            begun(each, positions)
        call, out = begun(each, positions)
        assert call is not None
        call.finish()
        assert_evaluated(out, positions)


def test_an_answer_that_is_not_finite_is_told_when_it_is_taken_in() -> None:
    evaluator, backend = network(slots=1)
    wait = backend.wait

    def overflow(slot: Any) -> None:
        wait(slot)
        slot.outputs.policy[:] = np.inf

    backend.wait = overflow  # type: ignore[method-assign]
    cache = CachedEvaluator(evaluator)
    for _ in range(2):
        call = begun(cache, BATCHES[0])[0]
        assert call is not None
        with pytest.raises(WeightsError, match="not finite"):
            call.finish()
    assert cache.hits == cache.misses == 0


def test_people_are_told_to_a_call_that_is_begun() -> None:
    positions = BATCHES[0]
    profiled = ProfiledEvaluator(NetworkEvaluator(PEOPLE, NaiveBackend(PEOPLE)), "rank_5k")
    call, out = begun(profiled, positions)
    assert call is not None
    call.finish()
    expected = Evaluation(positions.capacity, positions.width, positions.height)
    profiled.evaluate(positions, positions.capacity, expected)
    assert np.array_equal(out.policy, expected.policy)


def test_too_many_positions_are_not_begun() -> None:
    many = batch_of([random_game(seed, 5, 5, moves=seed) for seed in range(9)])
    evaluator = network()[0]
    for each in (evaluator, CachedEvaluator(evaluator)):
        with pytest.raises(ValueError, match="9 positions exceed the batch of 8"):
            begun(each, many)


def test_only_backends_that_go_on_by_themselves_in_few_slots_are_begun() -> None:
    evaluator, backend = network()
    assert asynchronous(evaluator) is evaluator
    assert isinstance(asynchronous(CachedEvaluator(evaluator)), AsynchronousEvaluator)
    assert asynchronous(network(slots=5)[0]) is None
    backend.goes_on = False
    waiting = NetworkEvaluator(SPEC, backend)
    for each in (waiting, CachedEvaluator(waiting), UniformEvaluator(), CachedEvaluator(UniformEvaluator())):
        assert asynchronous(each) is None
        if isinstance(each, CachedEvaluator):
            assert begun(each, BATCHES[0])[0] is None
