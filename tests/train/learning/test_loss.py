"""The loss: each part by its formula on numbers worked out by hand, its masks, and what the weights do."""

import math

import numpy as np
import pytest

from engine.nets.spec import ValueKind
from tests.train.random_data import learnable_samples, tiny_config

torch = pytest.importorskip("torch", reason="torch is not installed")

from engine.train.data.batches import Batch  # noqa: E402
from engine.train.learning.device_batch import host_batch  # noqa: E402
from engine.train.learning.loss import (  # noqa: E402
    Targets,
    cross_entropy,
    loss,
    ownership_loss,
    policy_figures,
    stdev_loss,
    value_loss,
    values,
)
from engine.train.learning.network import Predictions, TrainableNet, default_spec  # noqa: E402

SPEC = default_spec(1, 4, encoder="liberties")
CPU = torch.device("cpu")


def predicted(count: int = 6) -> tuple[Predictions, Targets]:
    net = TrainableNet(SPEC).eval()
    inputs, targets = host_batch(Batch(learnable_samples(count, 3)), SPEC, CPU).to_device()
    return net(*inputs), targets


def test_cross_entropy_of_soft_targets() -> None:
    logits = torch.tensor([[0.0, math.log(3.0)]])
    expected = -(0.4 * math.log(0.25) + 0.6 * math.log(0.75))
    assert cross_entropy(logits, torch.tensor([[0.4, 0.6]])).item() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("result", "outcome", "kind", "expected"),
    [
        ([0.0, 0.0, 0.0], [0.5, 0.5, 0.0], ValueKind.SOFTMAX, math.log(3.0)),
        ([0.0, 0.0], [0.5, 0.5, 0.0], ValueKind.SOFTMAX, math.log(2.0)),
        ([0.0, 0.0], [0.0, 0.0, 1.0], ValueKind.SOFTMAX, 0.0),
        ([0.0], [1.0, 0.0, 0.0], ValueKind.TANH, 1.0),
        ([math.atanh(0.5)], [0.0, 1.0, 0.0], ValueKind.TANH, 2.25),
    ],
)
def test_the_value_loss(result: list[float], outcome: list[float], kind: ValueKind, expected: float) -> None:
    assert value_loss(torch.tensor([result]), torch.tensor([outcome]), kind).item() == pytest.approx(expected)


def test_ownership_is_learned_best_by_its_own_number() -> None:
    logits = torch.linspace(-2, 2, 4001)[:, None]
    losses = ownership_loss(logits, torch.full_like(logits, 0.6))
    assert math.tanh(logits[losses.argmin()].item()) == pytest.approx(0.6, abs=1e-3)


def test_the_deviation_is_learned_best_by_the_distance_and_leaves_the_mean_alone() -> None:
    mean = torch.zeros(2000, requires_grad=True)
    stdev = torch.linspace(0.01, 20, 2000)
    losses = stdev_loss(mean, stdev, torch.full((2000,), 6.0))
    assert stdev[losses.argmin()].item() ** 2 + 0.25 == pytest.approx(36.0, abs=0.3)
    assert not losses.requires_grad


def test_the_total_is_the_weighted_sum_of_the_parts() -> None:
    predictions, targets = predicted()
    targets = targets._replace(weights=torch.ones_like(targets.weights))
    config = tiny_config(policy_weight=1.0, value_weight=2.0, ownership_weight=3.0, reply_weight=0.5)
    result = loss(predictions, targets, SPEC, config)
    factors = {"policy": 1.0, "value": 2.0, "ownership": 3.0, "reply": 0.5}
    factors |= {"score_mean": 0.0015, "lead": 0.006, "score_stdev": 0.02}
    assert result.parts.keys() == factors.keys()
    expected = sum(factors[name] * part.item() for name, part in result.parts.items())
    assert result.total.item() == pytest.approx(expected, rel=1e-5)
    assert result.per_sample.mean().item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("column", range(5))
def test_a_masked_target_has_no_influence(column: int) -> None:
    predictions, targets = predicted()
    weights = torch.ones_like(targets.weights)
    weights[:, column] = 0.0
    masked = targets._replace(weights=weights)
    name = ("policy", "reply", "outcome", "score", "ownership")[column]
    changed = masked._replace(**{name: getattr(masked, name).flip(0) * 0.5})
    config = tiny_config()
    assert loss(predictions, masked, SPEC, config).total == loss(predictions, changed, SPEC, config).total
    full = targets._replace(weights=torch.ones_like(weights))
    assert loss(predictions, full, SPEC, config).total != loss(predictions, masked, SPEC, config).total


def test_importance_weighs_the_total_and_not_the_loss_of_a_sample() -> None:
    predictions, targets = predicted(4)
    plain = loss(predictions, targets, SPEC, tiny_config())
    importance = torch.tensor([0.0, 1.0, 0.5, 0.0])
    weighed = loss(predictions, targets._replace(importance=importance), SPEC, tiny_config())
    torch.testing.assert_close(weighed.per_sample, plain.per_sample)
    torch.testing.assert_close(weighed.total, (plain.per_sample * importance).mean())


def test_the_figures_of_a_policy() -> None:
    target = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    logits = torch.tensor([[2.0, 0.0], [2.0, 0.0], [0.0, 9.0]])
    figures = policy_figures(logits, target, torch.tensor([1.0, 1.0, 0.0]))
    chance = 1 / (1 + math.exp(-2.0))
    assert figures["accuracy"].item() == 0.5
    entropy = -chance * math.log(chance) - (1 - chance) * math.log(1 - chance)
    assert figures["entropy"].item() == pytest.approx(entropy, rel=1e-5)
    assert figures["kl"].item() == pytest.approx(-0.5 * (math.log(chance) + math.log(1 - chance)), rel=1e-5)


def test_values_are_what_the_side_to_move_expects() -> None:
    result = torch.tensor([[math.log(2.0), 0.0, 0.0]])
    assert values(result, ValueKind.SOFTMAX).item() == pytest.approx(0.25)
    assert values(torch.tensor([[0.5]]), ValueKind.TANH).item() == pytest.approx(math.tanh(0.5))


def test_fed_planes_are_the_samples_planes() -> None:
    from engine.train.data.samples import unpacked

    for encoder in ("katago-v7", "liberties"):
        samples = learnable_samples(3, 1, encoder)
        (planes, globals_), targets = host_batch(Batch(samples), default_spec(1, 4, encoder=encoder), CPU).to_device()
        np.testing.assert_array_equal(planes.numpy(), unpacked(samples))
        assert planes.is_contiguous(memory_format=torch.channels_last)
        np.testing.assert_array_equal(globals_.numpy(), samples.globals)
        assert set(targets.ownership.unique().tolist()) == {-1.0, 1.0}
