"""The torch evaluator against the naive network on real positions, in both precisions."""

from dataclasses import replace

import numpy as np
import pytest

from engine.encoders import ENCODERS
from engine.evaluators.base import Evaluation, PositionBatch
from engine.evaluators.network import NetworkEvaluator
from engine.game import Game
from engine.nets.random import random_spec
from engine.nets.spec import NetSpec, ValueKind, WeightsError
from engine.rules import CHINESE, JAPANESE, TROMP_TAYLOR, Rules
from tests.nets.examples import EXAMPLES
from tests.oracle import naive_net
from tests.positions import batch_of, random_game

pytest.importorskip("torch", reason="torch is not installed")

from engine.evaluators.torch import Precision, TorchBackend


def torch_evaluator(spec: NetSpec, precision: Precision = "fp32", max_batch: int | None = None) -> NetworkEvaluator:
    return NetworkEvaluator(spec, TorchBackend(spec, precision, "cpu", max_batch=max_batch))


def evaluated(evaluator: NetworkEvaluator, positions: PositionBatch) -> Evaluation:
    out = Evaluation(positions.capacity, positions.width, positions.height)
    evaluator.evaluate(positions, positions.capacity, out)
    return out


@pytest.mark.parametrize("rules", [TROMP_TAYLOR, CHINESE, JAPANESE], ids=["tromp-taylor", "chinese", "japanese"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_evaluation_equals_the_naive_network(name: str, rules: Rules) -> None:
    spec = EXAMPLES[name]
    positions = batch_of([random_game(seed, 6, 5, moves=35, rules=rules) for seed in range(3)])
    out = evaluated(torch_evaluator(spec), positions)
    planes = np.zeros((3, spec.planes, 5, 6), np.float32)
    globals_ = np.zeros((3, spec.globals), np.float32)
    ENCODERS[spec.encoder].encode(positions, 3, planes, globals_)
    for row in range(3):
        no_result = rules is not TROMP_TAYLOR
        policy, value, score, ownership = naive_net.evaluate(
            spec, planes[row], globals_[row], positions.legal[row], no_result
        )
        np.testing.assert_allclose(out.policy[row], policy, atol=1e-5)
        assert out.value[row] == pytest.approx(value, abs=1e-5)
        assert out.score[row] == pytest.approx(score, abs=2e-4)
        if len(ownership):
            np.testing.assert_allclose(out.ownership[row], ownership, atol=1e-5)


def test_policy_is_zero_on_illegal_moves_and_sums_to_one() -> None:
    positions = batch_of([random_game(seed, 9, moves=120) for seed in range(8)])
    out = evaluated(torch_evaluator(EXAMPLES["pooling mish"]), positions)
    assert (out.policy[~positions.legal] == 0.0).all()
    assert (out.policy[positions.legal] > 0.0).all()
    np.testing.assert_allclose(out.policy.sum(axis=1), 1.0, atol=1e-6)
    assert (~positions.legal).any(axis=1).all()


def test_pass_takes_everything_where_nothing_else_is_legal() -> None:
    positions = batch_of([Game(1)])
    assert positions.legal.tolist() == [[False, True]]
    out = evaluated(torch_evaluator(EXAMPLES["plain tanh"]), positions)
    assert out.policy.tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("kind", list(ValueKind))
def test_bf16_is_close_to_fp32(kind: ValueKind) -> None:
    spec = random_spec(4, 32, ENCODERS["liberties"], 9, pool_every=2, value=kind)
    positions = batch_of([random_game(seed, 9, moves=60) for seed in range(8)])
    exact, rough = (evaluated(torch_evaluator(spec, p), positions) for p in ("fp32", "bf16"))
    assert np.abs(exact.policy - rough.policy).max() < 0.01
    assert np.abs(exact.value - rough.value).max() < 0.05
    assert np.abs(exact.ownership - rough.ownership).max() < 0.05
    assert not np.array_equal(exact.policy, rough.policy)
    assert (rough.policy[~positions.legal] == 0.0).all()
    np.testing.assert_allclose(rough.policy.sum(axis=1), 1.0, atol=1e-6)


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


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (replace(EXAMPLES["plain tanh"], encoder="v0"), "needs an unknown encoder, expected one of .*agz.*, got v0"),
        (
            replace(EXAMPLES["plain tanh"], encoder="liberties"),
            "stem.conv: wrong number of inputs for encoder liberties, expected 11, got 17",
        ),
        (
            replace(EXAMPLES["pooling mish"], stem=replace(EXAMPLES["pooling mish"].stem, globals=None)),
            "stem.globals: wrong number of inputs for encoder liberties, expected 3, got 0",
        ),
    ],
    ids=["unknown", "planes", "globals"],
)
def test_a_network_for_another_encoder_is_refused(spec: NetSpec, text: str) -> None:
    with pytest.raises(WeightsError, match=text):
        torch_evaluator(spec)


def test_a_board_that_the_network_is_not_for_is_refused() -> None:
    evaluator = torch_evaluator(replace(EXAMPLES["plain tanh"], board_sizes=(9, 9)))
    with pytest.raises(WeightsError, match="expected sides of 9 to 9, got 9x5"):
        evaluated(evaluator, batch_of([random_game(1, 9, 5)]))


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown precision 'int8', expected one of fp32 bf16 fp16"):
        torch_evaluator(EXAMPLES["plain tanh"], "int8")  # type: ignore[arg-type]
