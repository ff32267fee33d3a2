"""The torch backend against plain loops on real positions, in every precision."""

import numpy as np
import pytest

from engine.encoders import ENCODERS
from engine.evaluation.evaluation import Evaluation
from engine.evaluators.network import NetworkEvaluator
from engine.nets.random import random_spec
from engine.nets.spec import DensePolicyHead, NetSpec, ValueKind
from tests.evaluators.naive_backend import assert_close, evaluated, naive_evaluator
from tests.nets.examples import EXAMPLES
from tests.positions import batch_of, random_game

pytest.importorskip("torch", reason="torch is not installed")

from engine.evaluators.torch_backend import Precision, TorchBackend


def torch_evaluator(spec: NetSpec, precision: Precision = "fp32", max_batch: int | None = None) -> NetworkEvaluator:
    return NetworkEvaluator(spec, TorchBackend(spec, precision, "cpu", max_batch=max_batch))


@pytest.mark.parametrize("name", EXAMPLES)
def test_evaluation_equals_plain_loops(name: str) -> None:
    spec = EXAMPLES[name]
    width = 5 if isinstance(spec.policy, DensePolicyHead) else 6
    positions = batch_of([random_game(seed, width, 5, moves=35) for seed in range(3)])
    assert_close(evaluated(torch_evaluator(spec), positions), evaluated(naive_evaluator(spec), positions), 1e-5)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
@pytest.mark.parametrize("kind", list(ValueKind))
def test_half_precision_is_close_to_fp32(kind: ValueKind, precision: Precision) -> None:
    spec = random_spec(4, 32, ENCODERS["liberties"], 9, pool_every=2, value=kind)
    positions = batch_of([random_game(seed, 9, moves=60) for seed in range(8)])
    exact, rough = (evaluated(torch_evaluator(spec, each), positions) for each in ("fp32", precision))
    assert np.abs(exact.policy - rough.policy).max() < 0.01
    assert np.abs(exact.value - rough.value).max() < 0.05
    assert np.abs(exact.ownership - rough.ownership).max() < 0.05
    assert not np.array_equal(exact.policy, rough.policy)
    assert (rough.policy[~positions.legal] == 0.0).all()
    np.testing.assert_allclose(rough.policy.sum(axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_layer_computes_in_half_precision(name: str) -> None:
    positions = batch_of([random_game(seed, 5) for seed in range(2)])
    exact, rough = (evaluated(torch_evaluator(EXAMPLES[name], each), positions) for each in ("fp32", "bf16"))
    assert np.abs(exact.policy - rough.policy).max() < 0.1
    assert np.abs(exact.value - rough.value).max() < 0.1


def test_an_evaluation_does_not_depend_on_the_rest_of_the_batch() -> None:
    games = [random_game(seed, 7) for seed in range(6)]
    evaluator = torch_evaluator(EXAMPLES["pooling mish"])
    together = evaluated(evaluator, batch_of(games))
    for row, game in enumerate(games):
        alone = evaluated(evaluator, batch_of([game]))
        np.testing.assert_allclose(alone.policy[0], together.policy[row], atol=1e-6)
        assert alone.value[0] == pytest.approx(together.value[row], abs=1e-6)


def test_one_evaluator_serves_every_board_size_in_turn() -> None:
    evaluator = torch_evaluator(EXAMPLES["softmax silu"])
    sizes = [(5, 5), (9, 4), (5, 5), (19, 19)]
    first, _, again, _ = (evaluated(evaluator, batch_of([random_game(1, *size)])) for size in sizes)
    assert np.array_equal(first.policy, again.policy)


def test_rows_beyond_the_count_are_left_alone_and_too_many_are_refused() -> None:
    positions = batch_of([random_game(seed, 5) for seed in range(3)])
    evaluator = torch_evaluator(EXAMPLES["plain tanh"], max_batch=2)
    out = Evaluation(3, 5, 5)
    evaluator.evaluate(positions, 2, out)
    assert out.policy[2].sum() == 0.0
    with pytest.raises(ValueError, match="3 positions exceed the batch of 2"):
        evaluator.evaluate(positions, 3, out)


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown precision 'int8', expected one of fp32 bf16 fp16"):
        torch_evaluator(EXAMPLES["plain tanh"], "int8")  # type: ignore[arg-type]
