"""What networks say of the near future: how the losses weigh positions, and that all of these outputs learn."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.encoders import ENCODERS
from engine.nets.random import random_spec
from engine.nets.spec import ErrorForm, NetSpec, PolicyHead, Scales, Score, ValueHead, ValueKind
from engine.train.data.samples import Samples
from tests.train.random_data import ENCODER, MadeUpSource, learnable_samples, tiny_config

torch = pytest.importorskip("torch", reason="torch is not installed")

from engine.train.data.batches import Batch  # noqa: E402
from engine.train.learning.device_batch import host_batch  # noqa: E402
from engine.train.learning.loss import loss  # noqa: E402
from engine.train.learning.network import TrainableNet  # noqa: E402
from engine.train.learning.optimism import (  # noqa: E402
    Expected,
    Found,
    optimism,
    score_error_loss,
    squared_errors,
    value_error_loss,
)
from engine.train.learning.train import train  # noqa: E402

SCORES = (Score.MEAN, Score.STDEV, Score.LEAD, Score.VARIANCE_TIME, Score.VALUE_ERROR, Score.SCORE_ERROR)
CPU = torch.device("cpu")


def spec() -> NetSpec:
    """Return a network with all outputs of KataGo's newer ones."""
    plain = random_spec(1, 8, ENCODERS[ENCODER], 3, value=ValueKind.SOFTMAX, scores=SCORES)
    head = plain.policy
    assert isinstance(head, PolicyHead)
    conv, linear = head.conv2, head.pass_linear
    both = replace(
        head,
        conv2=replace(conv, weight=np.repeat(conv.weight, 2, axis=0)),
        pass_linear=replace(linear, weight=np.repeat(linear.weight, 2, axis=1), bias=None),
        optimistic=1,
    )
    return replace(plain, policy=both)


def samples(count: int = 64, *, foreseen: bool = True) -> Samples:
    """Return positions won or lost, whose near future is known or not."""
    made = learnable_samples(count, 5)
    later = np.zeros((count, 3, 4), np.float32)
    if foreseen:
        later[:, :, :3], later[:, :, 3] = made.outcome[:, None], made.score[:, None]
    return made.with_arrays({"later": later, "weights": np.ones((count, 5), np.float32)})


def found(near: tuple[float, float], known: float, win: float = 0.5, score: float = 0.0) -> Found:
    """Return what came of one position. near: value and score."""
    chance = (1 + near[0]) / 2
    return Found(
        near=torch.tensor([[chance, 1 - chance, 0.0, near[1]]]),
        known=torch.tensor([known]),
        outcome=torch.tensor([[win, 1 - win, 0.0]]),
        score=torch.tensor([score]),
        has_outcome=torch.ones(1),
        has_score=torch.ones(1),
    )


@pytest.mark.parametrize(
    ("near", "known", "win", "score", "expected"),
    [
        # 0.3 and 3 points are three times what the network expects to be wrong by: nearly certainly better.
        ((0.3, 0.0), 1.0, 0.0, 0.0, 0.99),
        ((0.0, 3.0), 1.0, 0.0, 0.0, 0.98),
        ((0.0, 0.0), 1.0, 1.0, 30.0, 0.02),
        ((-0.3, -3.0), 1.0, 1.0, 30.0, 0.0),
        # Without a near future the game counts.
        ((0.3, 3.0), 0.0, 0.0, -20.0, 0.0),
        ((-0.3, -3.0), 0.0, 1.0, 0.0, 1.0),
        ((0.0, 0.0), 0.0, 0.5, 0.0, 0.25 + 0.011),
        ((0.0, 0.0), 0.0, 0.0, 15.0, 0.5),
    ],
)
def test_the_optimistic_policy_learns_where_a_side_does_better_than_expected(
    near: tuple[float, float], known: float, win: float, score: float, expected: float
) -> None:
    wanted = Expected(torch.zeros(1), torch.zeros(1), torch.full((1,), 10.0))
    errors = {Score.VALUE_ERROR: torch.tensor([0.01]), Score.SCORE_ERROR: torch.tensor([1.0])}
    assert optimism(wanted, errors, found(near, known, win, score)).item() == pytest.approx(expected, abs=0.012)


@pytest.mark.parametrize("form", ErrorForm)
def test_squared_errors_are_the_squares_of_what_a_search_reads(form: ErrorForm) -> None:
    from engine.evaluators.postprocess import LINEAR, ROOT, SQUARED, short_term_error

    head = spec().value
    assert isinstance(head, ValueHead)
    net = replace(spec(), value=replace(head, error_form=form, scales=Scales(value_error=0.25, score_error=30.0)))
    raw = torch.linspace(-3, 3, 7)[:, None].repeat(1, len(SCORES))
    squares = squared_errors(raw, net)
    kind = {ErrorForm.LINEAR: LINEAR, ErrorForm.ROOT: ROOT, ErrorForm.SQUARED: SQUARED}[form]
    for score, scale, linear in ((Score.VALUE_ERROR, 0.25, 1.0), (Score.SCORE_ERROR, 30.0, 10.0)):
        read = [short_term_error(float(x), scale, kind, linear) ** 2 for x in raw[:, 0]]
        assert squares[score].tolist() == pytest.approx(read, rel=1e-5)


def test_errors_are_learned_best_by_what_they_were() -> None:
    squares = torch.linspace(0, 40, 40_001)
    what = found((0.5, 6.0), 1.0)
    what = what._replace(near=what.near.repeat(len(squares), 1))
    expected, mean = torch.full_like(squares, 0.2), torch.full_like(squares, 2.0)
    for each, wrong in (
        (value_error_loss(squares, Expected(expected, None, None), what), 0.3),
        (score_error_loss(squares, mean, what), 4.0),
    ):
        assert math.sqrt(squares[each.argmin()].item()) == pytest.approx(wrong, abs=2e-3)


def test_without_a_near_future_no_error_is_learned() -> None:
    for foreseen in (False, True):
        net = TrainableNet(spec())
        inputs, targets = host_batch(Batch(samples(foreseen=foreseen)), net.spec, CPU).to_device()
        loss(net(*inputs), targets, net.spec, tiny_config()).total.backward()
        layer = net.model.value.score
        assert layer is not None
        touched = layer.weight.grad.abs().sum(1) > 0
        assert touched.tolist() == [True, True, True, False, foreseen, foreseen]


def test_training_moves_the_optimistic_policy_towards_the_moves_of_those_who_win(tmp_path: Path) -> None:
    data = samples(foreseen=False)
    before = spec()
    config = tiny_config(steps=150, learning_rate=1e-2, policy_weight=0.0, optimistic_policy_weight=1.0)
    after = train(config, MadeUpSource(32, samples=data), tmp_path / "run", start=before).net
    won = data.outcome[:, 0] > 0

    def losses(net: NetSpec, channel: int) -> np.ndarray:
        inputs, targets = host_batch(Batch(data), net, CPU).to_device()
        with torch.no_grad():
            logits = TrainableNet(net).eval()(*inputs).outputs.policy[:, channel]
        return -(targets.policy * logits.log_softmax(1)).sum(1).numpy()

    assert losses(after, 1)[won].mean() < losses(before, 1)[won].mean() - 0.3
    assert losses(after, 1)[won].mean() < losses(after, 1)[~won].mean()
