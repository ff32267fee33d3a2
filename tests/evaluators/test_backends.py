"""Which backend computes a network, by what is installed and by what was asked for."""

import logging

import pytest

from engine.errors import GoError
from engine.evaluators import backends
from engine.evaluators.backends import choose, network_evaluator, to_compare
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


def test_torch_does_not_compute_in_int8(machine) -> None:
    machine("torch")
    with pytest.raises(GoError, match="torch does not compute in int8: choose fp32 or bf16 or fp16, or openvino"):
        network_evaluator(SPEC, "torch", "int8")


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


def test_every_backend_is_compared_in_every_precision_that_is_fast_here(
    machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = {"openvino": ("fp32", "bf16"), "torch": ("fp32",)}
    monkeypatch.setattr(backends, "_full_speed", fast.__getitem__)
    machine("openvino", "torch")
    assert to_compare() == [("openvino", "fp32"), ("openvino", "bf16"), ("torch", "fp32")]
    assert to_compare("openvino") == [("openvino", "fp32"), ("openvino", "bf16")]
    assert to_compare(precision="bf16") == [("openvino", "bf16"), ("torch", "bf16")]
    assert to_compare("torch", "bf16") == [("torch", "bf16")]
    machine("openvino", "torch", gpu=True)
    assert to_compare()[0] == ("torch", "fp32")
    machine("openvino")
    assert to_compare() == [("openvino", "fp32"), ("openvino", "bf16")]


def test_backends_that_do_not_compute_in_a_precision_are_left_out_of_the_comparison(
    machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = {"openvino": ("fp32", "int8"), "torch": ("fp32",)}
    monkeypatch.setattr(backends, "_full_speed", fast.__getitem__)
    machine("openvino", "torch")
    assert to_compare(precision="int8") == [("openvino", "int8")]
    assert to_compare(precision="fp16") == [("torch", "fp16")]
    machine("openvino")
    with pytest.raises(GoError, match="fp16 is not computed by openvino here: choose fp32 or int8"):
        to_compare(precision="fp16")
