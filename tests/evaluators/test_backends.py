"""Which backend computes a network, by what is installed and by what was asked for."""

import logging

import pytest

from engine.errors import GoError
from engine.evaluators import backends
from engine.evaluators.backends import choose, network_evaluator
from tests.nets.examples import EXAMPLES

SPEC = EXAMPLES["softmax silu"]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch):
    """Return a function that pretends what is installed and whether there is a GPU."""

    def pretend(*installed: str, gpu: bool = False) -> None:
        monkeypatch.setattr(backends.importlib.util, "find_spec", lambda name: object() if name in installed else None)
        monkeypatch.setattr(backends, "has_gpu", lambda: gpu)

    return pretend


@pytest.mark.parametrize(
    ("installed", "gpu", "chosen"),
    [
        (("openvino", "torch"), True, "torch"),
        (("openvino", "torch"), False, "openvino"),
        (("openvino",), True, "openvino"),
        (("openvino",), False, "openvino"),
        (("torch",), False, "torch"),
        (("torch",), True, "torch"),
    ],
)
def test_torch_computes_on_a_gpu_and_openvino_on_a_cpu_where_installed(machine, installed, gpu, chosen) -> None:
    machine(*installed, gpu=gpu)
    assert choose() == chosen


@pytest.mark.parametrize("backend", ["openvino", "torch"])
def test_a_backend_can_be_forced(machine, backend) -> None:
    machine("openvino", "torch", gpu=True)
    assert choose(backend) == backend


def test_what_is_not_installed_is_named_with_the_way_to_install_it(machine) -> None:
    machine("openvino")
    with pytest.raises(GoError, match="torch is not installed: make install EXTRAS=torch"):
        choose("torch")
    machine()
    with pytest.raises(GoError, match="needs openvino or torch, and neither is installed: make install"):
        choose()


@pytest.mark.parametrize(("option", "value"), [("backend", "tensorflow"), ("precision", "int3")])
def test_unknown_names_are_refused(option: str, value: str) -> None:
    with pytest.raises(GoError, match=f"unknown {option} '{value}', expected auto or "):
        network_evaluator(SPEC, **{option: value})


@pytest.mark.parametrize("backend", ["openvino", "torch"])
def test_the_evaluator_computes_with_the_backend_and_the_choice_is_logged(
    backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip(backend, reason=f"{backend} is not installed")
    with caplog.at_level(logging.INFO, logger="engine.evaluators.backends"):
        evaluator = network_evaluator(SPEC, backend, "fp32", threads=1)
    assert evaluator.attributes.name.startswith(f"{backend}-")
    assert evaluator.attributes.name.endswith("-fp32")
    assert f"is computed by {evaluator.attributes.name} (asked for: {backend}, fp32)" in caplog.text
    evaluator.close()
