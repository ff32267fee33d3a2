"""Auxiliary heads: their losses beside slow ones, what they change, and that no network file has them."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.train.data.samples import HORIZONS, Samples
from tests.train.random_data import MadeUpSource, differing, figures_of, learnable_samples, tiny_config

torch = pytest.importorskip("torch", reason="torch is not installed")

from engine.train.data.batches import Batch  # noqa: E402
from engine.train.learning.auxiliary import Auxiliary, Extra, extra_heads, score_offsets  # noqa: E402
from engine.train.learning.device_batch import TrainingError, host_batch  # noqa: E402
from engine.train.learning.loss import Targets, distribution_loss, loss, softened  # noqa: E402
from engine.train.learning.network import Predictions, TrainableNet, default_spec  # noqa: E402
from engine.train.learning.train import train  # noqa: E402

SPEC = default_spec(1, 4, encoder="liberties")
WEIGHTS = {
    "soft_policy_weight": 8.0,
    "score_distribution_weight": 0.02,
    "short_value_weight": 0.72,
    "short_score_weight": 0.0004,
}


def samples_with_future(count: int = 6) -> Samples:
    samples, generator = learnable_samples(count, 3), np.random.default_rng(5)
    chances = generator.dirichlet([1, 1, 1], (count, HORIZONS))
    later = np.concatenate([chances, generator.normal(0, 9, (count, HORIZONS, 1))], axis=2).astype(np.float32)
    later[0] = 0
    return samples.with_arrays({"later": later, "weights": np.ones_like(samples.weights)})


def predicted(samples: Samples, extra: Extra) -> tuple[Predictions, Targets]:
    net = TrainableNet(SPEC, extra=extra).eval()
    inputs, targets = host_batch(Batch(samples), SPEC, torch.device("cpu")).to_device()
    return net(*inputs), targets


def log_softmax(logits: np.ndarray) -> np.ndarray:
    return logits - math.log(sum(math.exp(each) for each in logits))


def test_the_losses_of_all_heads_are_those_of_plain_loops() -> None:
    samples = samples_with_future()
    config = tiny_config(**WEIGHTS)
    predictions, targets = predicted(samples, extra_heads(config))
    parts = loss(predictions, targets, SPEC, config).parts
    found = Auxiliary(*(each.detach().double().numpy() for each in predictions.auxiliary))
    soft, belief, value, score = [], [], [], []
    for row in range(len(samples)):
        powers = [(float(each) + 1e-7) ** 0.25 for each in samples.policy[row]]
        soft.append(-sum(p / sum(powers) * q for p, q in zip(powers, log_softmax(found.soft[row]), strict=True)))
        logs, margin = log_softmax(found.distribution[row]), float(samples.score[row])
        target = [max(0.0, 1 - abs(margin - entry)) for entry in score_offsets(25).tolist()]
        cumulative = np.cumsum(np.exp(logs)) - np.cumsum(target)
        belief.append(-sum(p * q for p, q in zip(target, logs, strict=True)) + float((cumulative**2).sum()))
        if row == 0:
            continue  # its future is unknown
        value.append(0.0)
        score.append(0.0)
        for horizon in range(HORIZONS):
            chances = samples.later[row, horizon, :3].astype(float)
            logits = log_softmax(found.short_values[row].reshape(HORIZONS, 3)[horizon])
            value[-1] += sum(p * (math.log(p) - q) for p, q in zip(chances, logits, strict=True))
            miss = abs(float(found.short_scores[row, horizon]) - float(samples.later[row, horizon, 3]))
            score[-1] += miss**2 / 2 if miss < 12 else 12 * (miss - 6)
    expected = {"soft_policy": soft, "score_distribution": belief, "short_value": value, "short_score": score}
    for name, each in expected.items():
        assert parts[name].item() == pytest.approx(float(np.mean(each)), rel=1e-4), name


def test_a_soft_target_is_flatter_and_keeps_the_order() -> None:
    soft = softened(torch.tensor([[0.81, 0.16, 0.03, 0.0]]))[0].tolist()
    assert sum(soft) == pytest.approx(1)
    assert soft[0] / soft[1] == pytest.approx((0.81 / 0.16) ** 0.25, rel=1e-4)
    assert soft == sorted(soft, reverse=True)
    assert soft[3] > 0


@pytest.mark.parametrize("score", [-85.0, -84.5, -7.5, 0.0, 3.0, 84.5, 300.0])
def test_a_distribution_is_learned_best_by_all_weight_on_its_score(score: float) -> None:
    entries = score_offsets(25)
    right = (1 - (entries - min(max(score, -84.5), 84.5)).abs()).clamp(min=1e-12).log()
    away = torch.roll(right, 3)
    losses = distribution_loss(torch.stack([right, away]), torch.tensor([score, score]))
    assert losses[0] < losses[1]


@pytest.mark.parametrize("name", sorted(WEIGHTS))
def test_a_weight_of_0_makes_no_head_and_a_head_changes_the_trunk_alone(name: str) -> None:
    plain, extra = extra_heads(tiny_config()), extra_heads(tiny_config(**{name: WEIGHTS[name]}))
    assert not any(plain)
    assert sum(extra) == 1
    first, second = TrainableNet(SPEC), TrainableNet(SPEC, extra=extra)
    assert differing(first.to_spec(), second.to_spec()) == set()
    assert len(list(second.parameters())) > len(list(first.parameters()))


@pytest.mark.parametrize("name", sorted(WEIGHTS))
def test_a_stopped_run_with_a_head_ends_as_one_that_was_not_stopped(tmp_path: Path, name: str) -> None:
    samples = samples_with_future(64)
    shared = {"schedule": "constant", "checkpoint_every": 4}
    config = tiny_config(**{name: WEIGHTS[name]}, **shared, steps=12)
    whole = train(config, MadeUpSource(samples=samples), tmp_path / "whole", start=SPEC)
    first = replace(config, steps=4)
    train(first, MadeUpSource(samples=samples), tmp_path / "halves", start=SPEC)
    again = train(config, MadeUpSource(samples=samples), tmp_path / "halves", start=SPEC)
    plain = train(tiny_config(**shared, steps=12), MadeUpSource(samples=samples), tmp_path / "plain", start=SPEC)
    assert differing(whole.net, again.net) == set()
    assert differing(whole.net, plain.net)


def test_the_heads_learn(tmp_path: Path) -> None:
    samples = samples_with_future(64)
    train(tiny_config(**WEIGHTS, steps=60, learning_rate=5e-3), MadeUpSource(samples=samples), tmp_path, start=SPEC)
    for name in ("soft_policy", "score_distribution", "short_value", "short_score"):
        losses = figures_of(tmp_path, name)
        assert np.mean(losses[-10:]) < np.mean(losses[:10]), name


@pytest.mark.parametrize("adds", [True, False])
@pytest.mark.parametrize("name", sorted(WEIGHTS))
def test_a_run_refuses_to_add_or_drop_a_head(tmp_path: Path, name: str, adds: bool) -> None:
    without, having = tiny_config(steps=2), tiny_config(**{name: WEIGHTS[name]}, steps=2)
    before, now = (without, having) if adds else (having, without)
    train(before, MadeUpSource(), tmp_path, start=SPEC)
    with pytest.raises(TrainingError, match=f"{name}: expected {getattr(before, name)}, with which the run started"):
        train(replace(now, steps=4), MadeUpSource(), tmp_path, start=SPEC)


def test_a_weight_of_a_head_that_a_run_has_may_change_from_and_to_0(tmp_path: Path) -> None:
    source = MadeUpSource(samples=samples_with_future(64))
    for steps, value, score in ((2, 0.7, 0.0), (4, 0.7, 0.1), (6, 0.0, 0.1)):
        weights = {"short_value_weight": value, "short_score_weight": score}
        assert train(tiny_config(**weights, steps=steps), source, tmp_path, start=SPEC).step == steps
    with pytest.raises(TrainingError, match="short_score_weight: expected"):
        train(tiny_config(steps=8), source, tmp_path, start=SPEC)
