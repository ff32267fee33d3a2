"""Calls in flight at the same time: each gets the answers that it would get alone, and none waits in vain."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
import pytest

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch
from engine.evaluators.cache import WAYS, CachedEvaluator
from engine.evaluators.network import NetworkEvaluator, Slot
from engine.evaluators.rollout import RolloutEvaluator
from engine.evaluators.uniform import UniformEvaluator
from engine.game import Game
from engine.nets.kernels.operands import lanes_here
from tests.evaluators.naive_backend import NaiveBackend, naive_evaluator
from tests.nets.examples import EXAMPLES
from tests.positions import batch_of, evaluated, random_game

SPEC = EXAMPLES["hidden pass, two policies"]
TIMEOUT = 60.0
PARTS = ("policy", "value", "score", "ownership", "details", "first_play")


def in_threads(work: Callable[[int], object], count: int) -> None:
    """Call `work` with 0..count-1, each in its own thread, and wait for all of them."""
    pool = ThreadPoolExecutor(count)
    calls = [pool.submit(work, number) for number in range(count)]
    waiting = wait(calls, TIMEOUT).not_done
    pool.shutdown(wait=False)
    assert not waiting, "a call never came back"
    for call in calls:
        call.result()


def batches(*, seed: int, count: int, sizes: Sequence[tuple[int, int]] = ((5, 5),)) -> list[PositionBatch]:
    """Return batches of 1 to 6 positions of random games, each seen under its own symmetry and optimism."""
    chance = np.random.default_rng(seed)
    found = []
    for number in range(count):
        width, height = sizes[number % len(sizes)]
        games = [
            random_game(int(chance.integers(30)), width, height, moves=int(chance.integers(20)))
            for _ in range(chance.integers(1, 7))
        ]
        positions = batch_of(games)
        positions.symmetry[:] = chance.integers(0, 8, len(games))
        positions.optimism[:] = chance.integers(0, 3, len(games)) / 2
        positions.seeds[:] = chance.integers(1, 1 << 40, len(games))
        found.append(positions)
    return found


def assert_answers_as_alone(shared: Evaluator, alone: Evaluator, threads: int, asked: list[PositionBatch]) -> None:
    """Let threads ask one evaluator at the same time and compare with an evaluator that is asked in turn."""
    answers: dict[int, Evaluation] = {}

    def work(number: int) -> None:
        for index in range(number, len(asked), threads):
            answers[index] = evaluated(shared, asked[index])

    in_threads(work, threads)
    for index, positions in enumerate(asked):
        expected = evaluated(alone, positions)
        for name in PARTS:
            assert np.array_equal(getattr(answers[index], name), getattr(expected, name)), (index, name)


@pytest.mark.parametrize(("slots", "rows", "threads"), [(1, 8, 3), (2, 2, 4), (4, 1, 3)])
def test_a_network_answers_threads_as_it_answers_one(slots: int, rows: int, threads: int) -> None:
    shared = NetworkEvaluator(SPEC, NaiveBackend(SPEC, slots, rows, max_batch=8))
    assert_answers_as_alone(shared, naive_evaluator(SPEC), threads, batches(seed=slots, count=40))


def test_threads_may_ask_a_network_for_different_boards() -> None:
    shared = NetworkEvaluator(SPEC, NaiveBackend(SPEC, 2, 4))
    asked = batches(seed=5, count=30, sizes=((5, 5), (3, 4), (4, 3)))
    assert_answers_as_alone(shared, naive_evaluator(SPEC), 3, asked)


def openvino(threads: int) -> NetworkEvaluator:
    """Return OpenVINO's evaluator."""
    pytest.importorskip("openvino", reason="openvino is not installed")
    from engine.evaluators.openvino_backend import OpenVinoBackend

    return NetworkEvaluator(SPEC, OpenVinoBackend(SPEC, "fp32", threads=threads))


def own_kernels(threads: int) -> NetworkEvaluator:
    """Return the evaluator of Keima's own kernels."""
    from engine.evaluators.kernel_backend import NumbaBackend

    if not lanes_here():
        pytest.skip("kernels are not compiled here, or the CPU has no AVX2")
    return NetworkEvaluator(SPEC, NumbaBackend(SPEC, threads=threads))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("make", [openvino, own_kernels])
def test_a_backend_answers_threads_as_it_answers_one(make: Callable[[int], NetworkEvaluator], threads: int) -> None:
    shared, alone = make(threads), make(threads)
    singles = [batch_of([random_game(seed, 7, moves=seed)]) for seed in range(60)]
    assert_answers_as_alone(shared, alone, 4, singles)
    asked = batches(seed=3, count=60)
    answers: dict[int, Evaluation] = {}

    def work(number: int) -> None:
        for index in range(number, len(asked), 4):
            answers[index] = evaluated(shared, asked[index])

    in_threads(work, 4)
    for index, positions in enumerate(asked):
        expected = evaluated(alone, positions)
        for name in ("policy", "value", "ownership"):
            # How a call is divided depends on the others, and the last bit on the size of a part.
            np.testing.assert_allclose(getattr(answers[index], name), getattr(expected, name), atol=1e-6)
    shared.close()
    alone.close()


@pytest.mark.parametrize("threads", [1, 2])
def test_rollouts_answer_threads_as_they_answer_one(threads: int) -> None:
    asked = batches(seed=7, count=40, sizes=((5, 5), (7, 4)))
    assert_answers_as_alone(RolloutEvaluator(threads), RolloutEvaluator(1), 4, asked)


@pytest.mark.parametrize("megabytes", [0.0, 0.02, 8.0])
def test_the_cache_answers_threads_as_it_answers_one(megabytes: float) -> None:
    asked = batches(seed=11, count=80, sizes=((4, 4),))
    cached = CachedEvaluator(naive_evaluator(SPEC), megabytes)
    assert_answers_as_alone(cached, naive_evaluator(SPEC), 4, asked)
    assert cached.hits + cached.misses == sum(positions.capacity for positions in asked)


class Meeting:
    """An evaluator in which calls wait until `count` of them are inside."""

    def __init__(self, count: int) -> None:
        self.attributes = UniformEvaluator().attributes
        self.evaluations = 0
        self.barrier = threading.Barrier(count)
        self._inner, self._lock = UniformEvaluator(), threading.Lock()

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        with self._lock:
            self.evaluations += count
        self.barrier.wait(TIMEOUT)
        self._inner.evaluate(positions, count, out)

    def close(self) -> None:
        self._inner.close()


def test_two_calls_are_inferred_at_the_same_time() -> None:
    barrier = threading.Barrier(2)

    class Waiting(NaiveBackend):
        def infer(self, slot: Slot, count: int) -> None:
            barrier.wait(TIMEOUT)
            super().infer(slot, count)

    evaluator = NetworkEvaluator(SPEC, Waiting(SPEC, slots=2))
    in_threads(lambda number: evaluated(evaluator, batch_of([random_game(number, 5)])), 2)
    assert not barrier.broken


def test_the_cache_is_not_locked_while_positions_are_evaluated() -> None:
    inner = Meeting(3)
    cached = CachedEvaluator(inner)
    in_threads(lambda number: evaluated(cached, batch_of([random_game(number, 5)])), 3)
    assert inner.evaluations == cached.misses == 3


def test_a_position_that_two_calls_miss_at_once_is_remembered_once() -> None:
    inner = Meeting(2)
    cached = CachedEvaluator(inner, megabytes=0.0)
    in_threads(lambda _: evaluated(cached, batch_of([Game(5)])), 2)
    assert (inner.evaluations, cached.entries) == (2, WAYS)
    inner.barrier, inner.evaluations = threading.Barrier(1), 0
    games = [Game(5), *(random_game(seed, 5, moves=9) for seed in range(WAYS - 1))]
    for game in games:
        evaluated(cached, batch_of([game]))
    assert inner.evaluations == WAYS - 1
    for game in games:
        evaluated(cached, batch_of([game]))
    assert inner.evaluations == WAYS - 1


def test_what_is_evaluated_while_the_cache_is_cleared_is_forgotten() -> None:
    entered, cleared = threading.Event(), threading.Event()
    calls = 0

    class Slow(UniformEvaluator):
        def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
            nonlocal calls
            calls += 1
            entered.set()
            assert cleared.wait(TIMEOUT)
            super().evaluate(positions, count, out)

    cached = CachedEvaluator(Slow())

    def work(number: int) -> None:
        if number == 0:
            evaluated(cached, batch_of([Game(5)]))
        else:
            assert entered.wait(TIMEOUT)
            cached.clear()
            cleared.set()

    in_threads(work, 2)
    evaluated(cached, batch_of([Game(5)]))
    evaluated(cached, batch_of([Game(5)]))
    assert calls == 2
