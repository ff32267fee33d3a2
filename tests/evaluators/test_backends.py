"""Which backend computes a network, by what is installed and by what was asked for."""

import importlib.util
import logging

import pytest

from engine.errors import GoError
from engine.evaluators import backends, openvino_backend
from engine.evaluators import kernel_backend as kernels
from engine.evaluators.backends import choose, network_evaluator, to_compare
from engine.native import processor
from engine.nets.kernels import operands
from tests.nets.examples import EXAMPLES

SPEC = EXAMPLES["softmax silu"]
VNNI, PLAIN = "avx512vnni", "avx2"
AMD, INTEL = "AMD EPYC", "Intel(R) Xeon(R)"


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch):
    """Return a function that pretends what is installed, whether there is a GPU, and what the CPU knows."""

    def pretend(
        *installed: str,
        gpu: bool = False,
        instructions: str = VNNI,
        lanes: int = 8,
        tiles: bool = False,
        rounds: bool = False,
        byte_tiles: bool = False,
        processor_name: str = INTEL,
    ) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if name in installed else None)
        monkeypatch.setattr(backends, "has_gpu", lambda: gpu)
        monkeypatch.setattr(processor, "instruction_sets", lambda: [instructions])
        monkeypatch.setattr(operands, "instruction_sets", lambda: [instructions])
        monkeypatch.setattr(operands, "lanes_here", lambda: lanes)
        monkeypatch.setattr(operands, "IS_X86", True)
        for name, value in (
            ("lanes_here", lanes),
            ("tiles_here", tiles),
            ("multiplies_bytes", byte_tiles),
            ("rounds_here", rounds),
            ("processor_name", processor_name),
        ):
            monkeypatch.setattr(kernels, name, lambda value=value: value)

    return pretend


@pytest.mark.parametrize(
    ("installed", "gpu", "instructions", "chosen"),
    [
        (("openvino", "torch"), True, PLAIN, "torch"),
        (("openvino", "torch"), False, VNNI, "openvino"),
        (("openvino", "torch"), False, "amx-bf16", "openvino"),
        (("openvino", "torch"), False, PLAIN, "numba"),
        (("openvino",), True, VNNI, "openvino"),
        (("openvino",), False, PLAIN, "numba"),
        (("torch",), False, VNNI, "numba"),
        (("torch",), True, VNNI, "torch"),
        ((), False, VNNI, "numba"),
    ],
)
def test_torch_computes_on_a_gpu_openvino_where_rounding_is_fast_and_else_the_kernels(
    machine, installed, gpu, instructions, chosen
) -> None:
    machine(*installed, gpu=gpu, instructions=instructions)
    assert choose(SPEC) == chosen


def test_what_the_kernels_do_not_compute_is_left_to_frameworks(machine) -> None:
    machine("openvino", "torch", instructions=PLAIN, lanes=0)
    assert choose(SPEC) == choose(SPEC, precision="fp32") == "openvino"
    machine("torch", instructions=PLAIN, lanes=0)
    assert choose(SPEC) == "torch"


def test_the_kernels_compute_transformers_in_bf16_where_vectors_are_multiplied_in_it(machine) -> None:
    spec = EXAMPLES["transformer"]
    machine("openvino", "torch", instructions="avx512bf16", lanes=16, rounds=True)
    assert [choose(spec, precision=each) for each in ("auto", "bf16", "fp32", "int8")] == [*["numba"] * 3, "openvino"]
    assert choose(SPEC, precision="bf16") == "openvino"
    assert kernels.automatic_precisions(spec) == ("fp32", "bf16")
    machine("torch", instructions=PLAIN)
    assert choose(spec) == "numba"


def test_the_kernels_compute_transformers_by_tiles(machine) -> None:
    spec = EXAMPLES["transformer"]
    machine("openvino", "torch", instructions="amx-bf16", lanes=16, tiles=True, rounds=True)
    assert [choose(spec, precision=each) for each in ("auto", "bf16", "fp32")] == ["numba"] * 3


def test_the_kernels_compute_transformers_where_nothing_is_faster_than_avx2(machine) -> None:
    spec = EXAMPLES["transformer"]
    machine("openvino", "torch", instructions=PLAIN)
    assert [choose(spec, precision=each) for each in ("auto", "fp32", "int16")] == ["numba"] * 3
    machine("openvino", "torch", instructions=PLAIN, lanes=16)
    assert kernels.precisions(spec) == ("fp32",)
    assert choose(spec, precision="int16") == "openvino"


@pytest.mark.parametrize("spec", [SPEC, EXAMPLES["transformer"]], ids=["convolutions", "transformer"])
@pytest.mark.parametrize(("instructions", "lanes"), [(VNNI, 16), ("avxvnni", 8)])
def test_the_kernels_prefer_int16_where_one_instruction_adds_its_products(machine, spec, instructions, lanes) -> None:
    machine("torch", instructions=instructions, lanes=lanes)
    assert kernels.precisions(spec) == ("fp32", "int16")
    assert kernels.automatic_precisions(spec) == ("fp32", "int16")
    assert choose(spec) == choose(spec, precision="int16") == "numba"
    assert backends.cpu_candidates(spec) == [("numba", "int16"), ("numba", "fp32")]


def test_int16_is_the_default_of_convolutions_on_an_amd(machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openvino_backend, "precisions", lambda: ("fp32", "int8"))
    for processor_name, first in ((AMD, ("numba", "int16")), (INTEL, ("openvino", "int8"))):
        machine("openvino", instructions=VNNI, lanes=16, rounds=True, processor_name=processor_name)
        assert choose(SPEC) == first[0]
        assert backends.cpu_candidates(SPEC)[0] == first
    machine("openvino", instructions=PLAIN, processor_name=AMD)
    assert backends.cpu_candidates(SPEC)[0] == ("numba", "fp32")


@pytest.mark.parametrize(("instructions", "lanes"), [(VNNI, 16), ("avxvnni", 8)])
def test_int16_is_the_default_of_transformers_and_a_candidate_beside_int8_for_others(
    machine, monkeypatch: pytest.MonkeyPatch, instructions, lanes
) -> None:
    machine("openvino", instructions=instructions, lanes=lanes)
    monkeypatch.setattr(openvino_backend, "precisions", lambda: ("fp32", "int8"))
    transformer = EXAMPLES["transformer"]
    assert (choose(transformer), choose(SPEC)) == ("numba", "openvino")
    assert backends.cpu_candidates(transformer)[0] == ("numba", "int16")
    assert backends.cpu_candidates(SPEC)[0] == ("openvino", "int8")
    assert ("numba", "int16") in backends.cpu_candidates(SPEC)
    assert ("openvino", "int8") in backends.cpu_candidates(transformer)


@pytest.mark.parametrize(
    ("processor_name", "expected"),
    [(AMD, ("fp32", "int16", "bf16")), (INTEL, ("fp32", "bf16", "int16"))],
)
def test_an_intel_computes_transformers_in_int16_rather_than_in_vectors_of_bf16(
    machine, processor_name, expected
) -> None:
    machine("openvino", instructions=VNNI, lanes=16, rounds=True, processor_name=processor_name)
    assert kernels.automatic_precisions(EXAMPLES["transformer"]) == expected
    machine("openvino", instructions=VNNI, lanes=16, rounds=True, tiles=True, processor_name=processor_name)
    assert kernels.automatic_precisions(EXAMPLES["transformer"]) == ("fp32", "bf16")


def test_bf16_and_int8_by_tiles_come_before_int16(machine) -> None:
    machine("openvino", "torch", instructions=VNNI, lanes=16, tiles=True, rounds=True, byte_tiles=True)
    assert kernels.precisions(SPEC) == ("fp32", "int16", "bf16", "int8")
    assert kernels.automatic_precisions(SPEC) == ("int8", "fp32", "bf16")


def test_int16_of_avx2_is_the_default_of_convolutions_on_an_intel(machine) -> None:
    machine("openvino", "torch", instructions=PLAIN, processor_name=INTEL)
    assert kernels.automatic_precisions(SPEC) == ("fp32", "int16")
    assert backends.cpu_candidates(SPEC)[0] == ("numba", "int16")
    assert kernels.automatic_precisions(EXAMPLES["transformer"]) == ("fp32",)


@pytest.mark.parametrize("spec", [SPEC, EXAMPLES["transformer"]], ids=["convolutions", "transformer"])
def test_int16_of_avx2_is_else_computed_only_where_it_is_asked_for(machine, spec) -> None:
    machine("openvino", "torch", instructions=PLAIN, processor_name=AMD)
    assert kernels.precisions(spec) == ("fp32", "int16")
    assert kernels.automatic_precisions(spec) == ("fp32",)
    assert choose(spec, precision="int16") == "numba"
    assert ("numba", "int16") not in backends.cpu_candidates(spec)


def test_the_kernels_compute_in_bf16_where_there_are_tiles(machine) -> None:
    machine("openvino", "torch", instructions="amx-bf16", tiles=True)
    assert [choose(SPEC, precision=each) for each in ("auto", "bf16", "int8")] == ["numba", "numba", "openvino"]
    assert choose(EXAMPLES["transformer"]) == "openvino"
    assert choose(EXAMPLES["leela"]) == "openvino"
    machine("openvino", "torch", instructions="amx-bf16", tiles=True, gpu=True)
    assert choose(SPEC) == "torch"


def test_the_kernels_compute_in_int8_only_where_there_are_tiles_of_bytes_and_it_was_measured_or_asked_for(
    machine,
) -> None:
    machine("openvino", "torch", instructions="amx-bf16", lanes=16, tiles=True, rounds=True, byte_tiles=True)
    assert kernels.precisions(SPEC) == ("fp32", "bf16", "int8")
    assert kernels.automatic_precisions(SPEC) == ("int8", "fp32", "bf16")
    assert choose(SPEC, precision="int8") == "numba"
    assert backends.cpu_candidates(SPEC)[0] == ("numba", "bf16")
    assert ("numba", "int8") in backends.cpu_candidates(SPEC)
    for name in ("transformer", "leela"):
        assert "int8" not in kernels.precisions(EXAMPLES[name])
        assert choose(EXAMPLES[name], precision="int8") == "openvino"


def test_the_kernels_compute_where_fp32_is_asked_for(machine) -> None:
    machine("openvino", "torch")
    assert [choose(SPEC, precision=each) for each in ("fp32", "bf16", "int8")] == ["numba", "openvino", "openvino"]
    machine("openvino", "torch", gpu=True)
    assert choose(SPEC, precision="fp32") == "torch"


@pytest.mark.parametrize("backend", ["numba", "openvino", "torch"])
def test_a_backend_can_be_forced(machine, backend) -> None:
    machine("openvino", "torch", gpu=True)
    assert choose(SPEC, backend) == backend


def test_what_is_not_installed_is_named_with_the_way_to_install_it(machine) -> None:
    machine("openvino")
    with pytest.raises(GoError, match="torch is not installed: make install EXTRAS=torch"):
        choose(SPEC, "torch")
    machine()
    machine(lanes=0)
    with pytest.raises(GoError, match="needs openvino or torch, neither is installed: make install"):
        choose(EXAMPLES["transformer"])


@pytest.mark.parametrize(("option", "value"), [("backend", "tensorflow"), ("precision", "int3")])
def test_unknown_names_are_refused(option: str, value: str) -> None:
    with pytest.raises(GoError, match=f"unknown {option} '{value}', expected auto or "):
        network_evaluator(SPEC, **{option: value})


def test_torch_does_not_compute_in_int8(machine) -> None:
    machine("torch")
    with pytest.raises(GoError, match="torch does not compute in int8: choose fp32 or bf16 or fp16, or openvino"):
        network_evaluator(SPEC, "torch", "int8")


def test_without_tiles_the_kernels_compute_in_fp32_alone(machine) -> None:
    machine("torch")
    with pytest.raises(GoError, match=r"numba does not compute .* in bf16 here: choose fp32"):
        network_evaluator(SPEC, "numba", "bf16")


@pytest.mark.parametrize("backend", ["numba", "openvino", "torch"])
def test_the_evaluator_computes_with_the_backend_and_the_choice_is_logged(
    backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip(backend, reason=f"{backend} is not installed")
    if backend == "numba" and not kernels.lanes_here():
        pytest.skip("kernels are not compiled here, or the CPU has no AVX2")
    with caplog.at_level(logging.INFO, logger="engine.evaluators.backends"):
        evaluator = network_evaluator(SPEC, backend, "fp32", threads=1)
    assert evaluator.attributes.name.startswith(f"{backend}-")
    assert evaluator.attributes.name.endswith("-fp32")
    assert f"is computed by {evaluator.attributes.name} (asked for: {backend}, fp32)" in caplog.text
    evaluator.close()


FAST = {"openvino": ("fp32", "bf16"), "torch": ("fp32",)}
FULL_SPEED = backends.full_speed


def test_every_backend_is_compared_in_every_precision_that_is_fast_here(
    machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "full_speed", lambda spec, name: FAST.get(name) or FULL_SPEED(spec, name))
    of_openvino = [("openvino", "fp32"), ("openvino", "bf16")]
    machine("openvino", "torch")
    by_kernels = [("numba", "fp32"), ("numba", "int16")]
    for spec in (SPEC, EXAMPLES["transformer"]):
        assert to_compare(spec) == [*of_openvino, *by_kernels, ("torch", "fp32")]
    assert to_compare(SPEC, "openvino") == of_openvino
    assert to_compare(SPEC, precision="fp32") == [("numba", "fp32"), ("openvino", "fp32"), ("torch", "fp32")]
    assert to_compare(SPEC, precision="bf16") == [("openvino", "bf16"), ("torch", "bf16")]
    assert to_compare(SPEC, "torch", "bf16") == [("torch", "bf16")]
    machine("openvino", "torch", gpu=True)
    assert to_compare(SPEC)[0] == ("torch", "fp32")
    machine("openvino", instructions=PLAIN)
    assert to_compare(SPEC) == [*by_kernels, *of_openvino]


def test_backends_that_do_not_compute_in_a_precision_are_left_out_of_the_comparison(
    machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = {**FAST, "openvino": ("fp32", "int8")}
    monkeypatch.setattr(backends, "full_speed", lambda spec, name: fast.get(name) or FULL_SPEED(spec, name))
    machine("openvino", "torch")
    assert to_compare(SPEC, precision="int8") == [("openvino", "int8")]
    assert to_compare(SPEC, precision="fp16") == [("torch", "fp16")]
    machine("openvino", lanes=0)
    with pytest.raises(GoError, match="fp16 is not computed by openvino here: choose fp32 or int8"):
        to_compare(SPEC, precision="fp16")
