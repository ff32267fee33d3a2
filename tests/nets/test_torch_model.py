"""The torch module against the naive network, and its masked softmax."""

import numpy as np
import pytest

from tests.nets.examples import EXAMPLES
from tests.oracle import naive_net

torch = pytest.importorskip("torch", reason="torch is not installed")

from engine.nets.torch_model import TorchModel, masked_softmax  # noqa: E402

SIZES = [(1, 1), (3, 5), (9, 9)]


def inputs(name: str, height: int, width: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    spec = EXAMPLES[name]
    generator = np.random.default_rng(height * 100 + width)
    planes = (generator.random((count, spec.planes, height, width)) < 0.3).astype(np.float32)
    return planes, generator.normal(0, 0.5, (count, spec.globals)).astype(np.float32)


@pytest.mark.parametrize("fused", [False, True], ids=["as trained", "fused"])
@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("name", EXAMPLES)
def test_forward_equals_the_naive_network(name: str, height: int, width: int, fused: bool) -> None:
    model = TorchModel(EXAMPLES[name]).eval()
    model = model.fused(torch.float32) if fused else model
    planes, globals_ = inputs(name, height, width, 2)
    with torch.inference_mode():
        outputs = model(torch.from_numpy(planes), torch.from_numpy(globals_))
    for row in range(2):
        expected = naive_net.forward(EXAMPLES[name], planes[row], globals_[row])
        for field, values in expected.items():
            got = getattr(outputs, field)[row].numpy()
            assert got.shape == values.shape, field
            assert got.dtype == np.float32
            np.testing.assert_allclose(got, values, atol=1e-5, rtol=1e-5, err_msg=field)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_parameter_of_the_spec_is_in_the_module(name: str) -> None:
    spec = EXAMPLES[name]
    model = TorchModel(spec)
    from engine.nets.spec import Norm, tensors

    stored = sum(array.size for _, array in tensors(spec))
    norms = [module for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    held = sum(p.numel() for p in model.parameters()) + sum(2 * module.num_features for module in norms)
    absent = sum(
        len(norm.mean) * ((norm.scale is None) + (norm.bias is None)) for norm in _norms(spec) if isinstance(norm, Norm)
    )
    assert held == stored + absent


def _norms(node: object) -> list[object]:
    """Return every norm below a node of a spec."""
    from dataclasses import fields, is_dataclass

    from engine.nets.spec import Norm

    if isinstance(node, Norm):
        return [node]
    children = node if isinstance(node, tuple) else ()
    if is_dataclass(node):
        children = tuple(getattr(node, entry.name) for entry in fields(node))
    return [norm for child in children for norm in _norms(child)]


def test_training_changes_no_weight_of_the_spec() -> None:
    spec = EXAMPLES["plain tanh"]
    before = spec.stem.conv.weight.copy()
    model = TorchModel(spec)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
    assert np.array_equal(spec.stem.conv.weight, before)


@pytest.mark.parametrize(
    ("logits", "legal", "expected"),
    [
        ([0.0, 0.0, 5.0], [True, True, False], [0.5, 0.5, 0.0]),
        ([-900.0, -900.0, 0.0], [True, True, False], [0.5, 0.5, 0.0]),
        ([30.0, 20.0, -50.0], [False, False, True], [0.0, 0.0, 1.0]),
        ([-1e30, 1e30, -1e30], [True, False, True], [0.5, 0.0, 0.5]),
    ],
    ids=["equal", "all legal logits very negative", "pass only", "huge"],
)
def test_illegal_moves_have_probability_exactly_zero(
    logits: list[float], legal: list[bool], expected: list[float]
) -> None:
    policy = masked_softmax(torch.tensor([logits]), torch.tensor([legal]))
    assert policy[0].tolist() == pytest.approx(expected, abs=1e-7)
    assert [p for p, allowed in zip(policy[0].tolist(), legal, strict=True) if not allowed] == [
        0.0 for allowed in legal if not allowed
    ]
