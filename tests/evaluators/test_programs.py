"""Evaluations by kernels without Python: bit by bit what `evaluate` answers, through the cache, too."""

from dataclasses import replace

import numpy as np
import pytest

from engine.color import BLACK, WHITE
from engine.encoders import ENCODERS
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator, Program, program_of
from engine.evaluation.positions import PositionBatch
from engine.evaluators.cache import CachedEvaluator
from engine.evaluators.human_profile import HumanProfileEvaluator
from engine.evaluators.joined import JoinedEvaluator
from engine.evaluators.kernel_backend import NumbaBackend
from engine.evaluators.network import NetworkEvaluator, Precision
from engine.native.closures import FAILED
from engine.nets.random import random_spec
from engine.nets.spec import Activation, NetSpec, Score, ValueHead, ValueKind, WeightsError
from engine.rules import CHINESE, JAPANESE, TROMP_TAYLOR
from engine.symmetry import applicable
from tests.evaluators.naive_backend import naive_evaluator
from tests.native_fakes import CALLS, NativeFake, call, needs_closures
from tests.nets.examples import EXAMPLES
from tests.nets.kernels.lanes import needs_lanes, needs_tiles
from tests.positions import batch_of, random_game

pytestmark = needs_closures
PARTS = ("policy", "value", "score", "ownership", "details")
SPECS = {
    name: random_spec(
        3,
        8,
        encoder,
        seed=1,
        activation=Activation.MISH,
        value=ValueKind.SOFTMAX,
        scores=(Score.MEAN, Score.STDEV, Score.LEAD),
    )
    for name, encoder in ENCODERS.items()
    if encoder.closure is not None
}
SPEC = SPECS["katago-v7"]


def numba_evaluator(spec: NetSpec, precision: Precision = "fp32") -> NetworkEvaluator:
    return NetworkEvaluator(spec, NumbaBackend(spec, precision, threads=2))


def some_positions(width: int = 6, height: int = 5, count: int = 8) -> PositionBatch:
    """Return positions, each seen under a symmetry of its own, with some optimism, of an unequal game."""
    positions = batch_of([random_game(seed, width, height, moves=10 + 3 * seed) for seed in range(count)])
    positions.symmetry[:] = np.arange(count) % len(applicable(width, height))
    positions.optimism[:] = np.linspace(0, 1, count)
    positions.playout_doubling = 0.7
    return positions


def run(program: Program, count: int) -> int:
    for step in program.steps:
        count = call(step.closure.address, count)
    return count


def assert_same(got: Evaluation, expected: Evaluation, count: int) -> None:
    for name in PARTS:
        assert np.array_equal(getattr(got, name)[:count], getattr(expected, name)[:count]), name
        assert not getattr(got, name)[count:].any(), name


def empty(positions: PositionBatch) -> Evaluation:
    return Evaluation(positions.capacity, positions.width, positions.height)


def assert_program_answers_alike(evaluator: Evaluator, positions: PositionBatch, counts: tuple[int, ...]) -> None:
    for count in counts:
        got, expected = empty(positions), empty(positions)
        program = program_of(evaluator, positions, got)
        assert program is not None
        assert program.rows >= count
        assert run(program, count) == count
        evaluator.evaluate(positions, count, expected)
        assert_same(got, expected, count)


@needs_lanes
@pytest.mark.parametrize("name", SPECS)
def test_a_program_answers_as_the_network(name: str) -> None:
    assert_program_answers_alike(numba_evaluator(SPECS[name]), some_positions(), (1, 3, 8))


@needs_tiles
@pytest.mark.parametrize("name", SPECS)
def test_a_program_answers_as_the_network_in_bf16(name: str) -> None:
    assert_program_answers_alike(numba_evaluator(SPECS[name], "bf16"), some_positions(), (1, 3, 8))


@needs_lanes
@pytest.mark.parametrize("rules", [TROMP_TAYLOR, CHINESE, JAPANESE], ids=str)
def test_a_program_knows_rules_and_board_sizes(rules: object) -> None:
    evaluator = numba_evaluator(SPEC)
    for size in ((5, 5), (9, 7), (5, 5)):
        positions = some_positions(*size)
        positions.rules = rules  # type: ignore[assignment]
        assert_program_answers_alike(evaluator, positions, (8,))


@needs_lanes
def test_programs_of_several_threads_do_not_disturb_each_other_or_calls() -> None:
    from concurrent.futures import ThreadPoolExecutor

    evaluator = numba_evaluator(SPEC)
    batches = [some_positions(count=8), some_positions(count=5)]
    batches[1].playout_doubling = -1.0
    expected = [empty(positions) for positions in batches]
    for positions, out in zip(batches, expected, strict=True):
        evaluator.evaluate(positions, positions.capacity, out)
    outs = [empty(positions) for positions in batches]
    programs = [evaluator.program(positions, out) for positions, out in zip(batches, outs, strict=True)]
    with ThreadPoolExecutor(3) as pool:
        for _ in range(30):
            begun = [
                pool.submit(run, program, positions.capacity)
                for program, positions in zip(programs, batches, strict=True)
            ]
            again = empty(batches[0])
            evaluator.evaluate(batches[0], 8, again)
            assert [each.result(20) for each in begun] == [8, 5]
            for got, wanted, count in zip([*outs, again], [*expected, expected[0]], (8, 5, 8), strict=True):
                assert_same(got, wanted, count)


@needs_lanes
def test_a_network_that_answers_with_no_number_has_failed() -> None:
    head = SPEC.value
    assert isinstance(head, ValueHead)
    result = replace(head.result, weight=np.full_like(head.result.weight, 3e38))
    spoiled = replace(SPEC, value=replace(head, result=result))
    evaluator, positions = numba_evaluator(spoiled), some_positions()
    program = evaluator.program(positions, empty(positions))
    assert run(program, 4) == FAILED
    with pytest.raises(WeightsError, match="not finite"):
        evaluator.evaluate(positions, 4, empty(positions))


@needs_lanes
def test_the_cache_answers_as_the_network_whatever_it_knows() -> None:
    evaluator = CachedEvaluator(numba_evaluator(SPEC))
    positions = some_positions()
    fresh, expected = numba_evaluator(SPEC), empty(positions)
    fresh.evaluate(positions, 8, expected)
    got = empty(positions)
    program = evaluator.program(positions, got)
    for count, hits, misses in ((3, 0, 3), (8, 3, 8), (8, 11, 8)):
        assert run(program, count) == count
        for name in PARTS:
            assert np.array_equal(getattr(got, name)[:count], getattr(expected, name)[:count]), name
        assert (evaluator.hits, evaluator.misses) == (hits, misses)
    again = empty(positions)
    evaluator.evaluate(positions, 8, again)
    assert_same(again, expected, 8)
    assert (evaluator.hits, evaluator.misses) == (19, 8)


def test_random_batches_through_the_cache_are_evaluated_once_and_answered_as_alone() -> None:
    chooser, inner = np.random.default_rng(3), NativeFake()
    evaluator = CachedEvaluator(inner)
    games = [random_game(seed, 7, 5, moves=10 + seed) for seed in range(40)]
    seen: set[int] = set()
    for _ in range(60):
        chosen = chooser.integers(0, len(games), chooser.integers(1, 9)).tolist()
        positions = batch_of([games[number] for number in chosen])
        got, expected = empty(positions), empty(positions)
        program = evaluator.program(positions, got)
        before = evaluator.misses
        assert run(program, len(chosen)) == len(chosen)
        assert evaluator.misses - before == len(set(chosen) - seen)
        seen |= set(chosen)
        NativeFake().evaluate(positions, len(chosen), expected)
        assert_same(got, expected, len(chosen))


def test_what_fails_is_not_remembered() -> None:
    inner = NativeFake(fail_at=1)
    evaluator, positions = CachedEvaluator(inner), some_positions()
    program = evaluator.program(positions, empty(positions))
    assert run(program, 4) == FAILED
    assert run(program, 4) == 4
    assert inner.counts[0][CALLS] == 2


def test_who_needs_python_has_no_program() -> None:
    for evaluator in (
        naive_evaluator(EXAMPLES["pooling mish"]),
        CachedEvaluator(naive_evaluator(EXAMPLES["pooling mish"])),
        JoinedEvaluator(NativeFake()),
        HumanProfileEvaluator(naive_evaluator(EXAMPLES["human"]), "rank_5k"),
    ):
        positions = some_positions()
        assert program_of(evaluator, positions, empty(positions)) is None


@needs_lanes
def test_the_colors_see_an_advantage_from_their_own_side() -> None:
    evaluator = numba_evaluator(SPEC)
    positions = batch_of([random_game(1, 5), random_game(2, 5)])
    positions.to_play[:] = BLACK, WHITE
    positions.playout_doubling = 1.0
    assert_program_answers_alike(evaluator, positions, (2,))
