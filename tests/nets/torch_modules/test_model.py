"""The torch module against the naive network, with and without folded norms."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from engine.nets.spec import DensePolicyHead, Norm, tensors
from tests.nets.examples import EXAMPLES, random_inputs
from tests.oracle import naive_net

torch = pytest.importorskip("torch", reason="torch is not installed")

from engine.nets.torch_modules import pointwise  # noqa: E402
from engine.nets.torch_modules.layers import global_pool  # noqa: E402
from engine.nets.torch_modules.model import TorchModel  # noqa: E402
from engine.nets.torch_modules.one_pass import in_one_pass  # noqa: E402

SIZES = [(1, 1), (3, 5), (9, 9)]
DENSE_SIZES = [(5, 5)]
CASES = [
    (name, *size)
    for name, spec in EXAMPLES.items()
    for size in (DENSE_SIZES if isinstance(spec.policy, DensePolicyHead) else SIZES)
]


FORMS: Mapping[str, Callable[[TorchModel], TorchModel]] = {
    "as trained": TorchModel.eval,
    "fused": lambda model: model.fused(torch.float32),
    "as on a GPU": lambda model: in_one_pass(model, pointwise).computing(torch.float32),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "height", "width"), CASES)
def test_forward_equals_the_naive_network(name: str, height: int, width: int, form: str) -> None:
    model = FORMS[form](TorchModel(EXAMPLES[name]))
    planes, globals_ = random_inputs(EXAMPLES[name], height, width, 2)
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
    stored = sum(array.size for _, array in tensors(spec))
    norms = [module for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    held = sum(p.numel() for p in model.parameters()) + sum(2 * module.num_features for module in norms)
    absent = sum(
        len(norm.mean) * ((norm.scale is None) + (norm.bias is None)) for norm in _norms(spec) if isinstance(norm, Norm)
    )
    assert held == stored + absent


def _norms(node: object) -> list[object]:
    """Return every norm below a node of a spec."""
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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*script_method.*:DeprecationWarning")
@pytest.mark.skipif(shutil.which("g++") is None, reason="PyTorch compiles for the CPU with g++, which is not installed")
def test_a_pool_that_is_compiled_in_bfloat16_has_the_gradient_of_one_that_is_not() -> None:
    torch.manual_seed(1)
    layers = torch.nn.Sequential(torch.nn.Conv2d(4, 8, 1, bias=False), torch.nn.BatchNorm2d(8).eval(), torch.nn.Mish())
    points = torch.randn(4, 4, 9, 9)

    def gradient(step: Callable[[torch.Tensor], torch.Tensor]) -> list[torch.Tensor]:
        layers.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            result = step(points)
        result.backward()  # type: ignore[no-untyped-call]
        return [each.grad.clone() for each in layers.parameters() if each.grad is not None]

    def step(inputs: torch.Tensor) -> torch.Tensor:
        return global_pool(layers(inputs)).square().mean()

    for compiled, plain in zip(gradient(torch.compile(step, dynamic=False)), gradient(step), strict=True):
        torch.testing.assert_close(compiled, plain, atol=0.01, rtol=0.05)
