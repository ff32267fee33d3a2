"""The backend of Keima's own kernels against plain loops: board sizes, batches, threads and precisions."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import engine.evaluators.kernel_backend as backend_module
from engine.encoders import ENCODERS
from engine.errors import GoError
from engine.evaluation.positions import PositionBatch
from engine.evaluators import memory
from engine.evaluators.kernel_backend import NumbaBackend, precisions
from engine.evaluators.network import NetworkEvaluator, Precision
from engine.nets.kernels.operands import ALL_FUSED, integers_here, lanes_here
from engine.nets.random import random_spec
from engine.nets.spec import DensePolicyHead, NetSpec, ResidualBlock, WeightsError
from tests.evaluators.naive_backend import assert_close, evaluated, naive_evaluator
from tests.nets.examples import EXAMPLES
from tests.nets.kernels.lanes import needs_byte_tiles, needs_lanes, needs_rounding, needs_tiles
from tests.nets.kernels.test_model import BY_TILES, TRANSFORMERS
from tests.positions import batch_of, random_game
from tests.waiting import wait_until

pytestmark = needs_lanes

SPEC = EXAMPLES["pooling mish"]
needs_fast_integers = pytest.mark.skipif("int16" not in precisions(SPEC), reason="the CPU has AVX-512 and no VNNI")
PRECISIONS = [
    "fp32",
    pytest.param("bf16", marks=needs_tiles),
    pytest.param("int16", marks=needs_fast_integers),
    pytest.param("int8", marks=needs_byte_tiles),
]


def numba_evaluator(spec: NetSpec, precision: Precision = "fp32", threads: int = 2) -> NetworkEvaluator:
    return NetworkEvaluator(spec, NumbaBackend(spec, precision, threads=threads, beside=False))


def some_positions(spec: NetSpec) -> PositionBatch:
    """Return positions on a board that a network is for."""
    width = 5 if isinstance(spec.policy, DensePolicyHead) else 6
    return batch_of([random_game(seed, width, 5, moves=35) for seed in range(3)])


@pytest.mark.parametrize("name", EXAMPLES)
def test_evaluation_equals_plain_loops(name: str) -> None:
    spec, positions = EXAMPLES[name], some_positions(EXAMPLES[name])
    assert_close(evaluated(numba_evaluator(spec), positions), evaluated(naive_evaluator(spec), positions), 1e-5)


@needs_tiles
@pytest.mark.parametrize("name", BY_TILES)
def test_evaluation_in_bf16_is_close_to_plain_loops(name: str) -> None:
    spec, positions = EXAMPLES[name], some_positions(EXAMPLES[name])
    assert_close(evaluated(numba_evaluator(spec, "bf16"), positions), evaluated(naive_evaluator(spec), positions), 0.03)


@pytest.mark.parametrize("name", [name for name, spec in EXAMPLES.items() if "int16" in precisions(spec)])
def test_evaluation_in_int16_is_close_to_plain_loops(name: str) -> None:
    spec, positions = EXAMPLES[name], some_positions(EXAMPLES[name])
    evaluator = numba_evaluator(spec, "int16")
    assert_close(evaluated(evaluator, positions), evaluated(naive_evaluator(spec), positions), 0.005)


@needs_rounding
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_evaluation_of_transformers_in_bf16_is_close_to_plain_loops(name: str) -> None:
    spec, positions = EXAMPLES[name], some_positions(EXAMPLES[name])
    assert_close(evaluated(numba_evaluator(spec, "bf16"), positions), evaluated(naive_evaluator(spec), positions), 0.03)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_every_count_up_to_the_largest_is_evaluated_alike_by_every_number_of_threads(precision: Precision) -> None:
    games = [random_game(seed, 5, moves=10) for seed in range(64)]
    evaluators = [numba_evaluator(SPEC, precision, threads) for threads in (1, 2)]
    whole = evaluated(evaluators[1], batch_of(games))
    for evaluator in evaluators:
        for count in (1, 2, 3, 5, 8, 9, 15, 17, 32):
            part = evaluated(evaluator, batch_of(games[:count]))
            for field in ("policy", "value", "ownership"):
                assert np.array_equal(getattr(part, field), getattr(whole, field)[:count])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_one_evaluator_serves_every_board_size_in_turn(precision: Precision) -> None:
    evaluator = numba_evaluator(SPEC, precision)
    sizes = [(5, 5), (9, 4), (5, 5), (13, 13)]
    first, _, again, _ = (evaluated(evaluator, batch_of([random_game(1, *size)])) for size in sizes)
    assert np.array_equal(first.policy, again.policy)


def test_models_beyond_the_bound_of_memory_are_forgotten_and_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "OTHER_BOARDS", 0)
    backend = NumbaBackend(SPEC, threads=1, beside=False)
    evaluator = NetworkEvaluator(SPEC, backend)
    first, _, again = (evaluated(evaluator, batch_of([random_game(1, *size)])) for size in [(5, 5), (9, 4), (5, 5)])
    assert np.array_equal(first.policy, again.policy)
    assert backend.boards == [(5, 5)]


def test_a_call_that_began_before_its_model_was_forgotten_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "OTHER_BOARDS", 0)
    backend, begun, go_on = NumbaBackend(SPEC, threads=1), threading.Event(), threading.Event()
    build = backend_module.build_model

    def build_later(*what: object, **kind: bool) -> object:
        begun.set()
        assert go_on.wait(20)
        return build(*what, **kind)

    monkeypatch.setattr(backend_module, "build_model", build_later)
    slot = backend.slots(5, 5)[0]
    with ThreadPoolExecutor() as pool:
        started = pool.submit(backend.infer, slot, 8)
        assert begun.wait(20)
        backend.prepare(9, 9)
        assert backend.boards == [(9, 9)]
        go_on.set()
        started.result(timeout=20)
    assert np.all(np.ptp(slot.outputs.policy, axis=2) > 0)
    backend.close()


def test_a_network_is_built_and_its_kernel_loaded_before_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    computed, infer = list[int](), backend_module.infer_rows
    monkeypatch.setattr(backend_module, "infer_rows", lambda *what: computed.append(1) or infer(*what))
    backend = NumbaBackend(SPEC, threads=1)
    backend.prepare(7, 7)
    wait_until(lambda: bool(computed))
    backend.close()


def test_what_fails_to_be_built_fails_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_module, "build_model", lambda *_, **__: 1 / 0)
    backend = NumbaBackend(SPEC, threads=1)
    slot = backend.slots(5, 5)[0]
    with pytest.raises(ZeroDivisionError):
        backend.infer(slot, 1)
    backend.close()


@needs_fast_integers
@pytest.mark.parametrize("spec", [SPEC, EXAMPLES["transformer"]], ids=["convolutions", "transformer"])
def test_int16_is_taken_without_bf16_if_one_instruction_adds_its_products(
    monkeypatch: pytest.MonkeyPatch, spec: NetSpec
) -> None:
    monkeypatch.setattr(backend_module, "tiles_here", lambda: False)
    monkeypatch.setattr(backend_module, "rounds_here", lambda: False)
    monkeypatch.setattr(backend_module, "processor_name", lambda: "AMD EPYC")
    is_fused = integers_here(lanes_here()) in ALL_FUSED
    assert NumbaBackend(spec, threads=1, beside=False).name == f"numba-cpu-{'int16' if is_fused else 'fp32'}"


@needs_tiles
def test_the_fastest_precision_is_taken_where_none_is_asked_for() -> None:
    assert NumbaBackend(SPEC, threads=1, beside=False).name == "numba-cpu-bf16"
    assert NumbaBackend(EXAMPLES["plain tanh"], threads=1, beside=False).name == "numba-cpu-bf16"


def test_a_precision_that_the_kernels_do_not_compute_in_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_module, "multiplies_bytes", lambda: False)
    with pytest.raises(GoError, match=r"numba does not compute .* in int8 here: choose fp32"):
        NumbaBackend(SPEC, "int8")
    monkeypatch.setattr(backend_module, "tiles_here", lambda: False)
    assert NumbaBackend(SPEC, threads=1, beside=False).name in ("numba-cpu-fp32", "numba-cpu-int16")
    with pytest.raises(GoError, match=r"numba does not compute .* in bf16 here: choose fp32( or int16)?$"):
        NumbaBackend(SPEC, "bf16")


def test_networks_whose_activations_are_added_to_are_not_computed_in_bf16() -> None:
    others = EXAMPLES.keys() - BY_TILES.keys() - TRANSFORMERS.keys()
    assert others
    assert {name for name in EXAMPLES if "bf16" not in precisions(EXAMPLES[name])} >= others


def test_a_cpu_without_long_vectors_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_module, "lanes_here", lambda: 0)
    with pytest.raises(GoError, match="needs a CPU with AVX2 and FMA or NEON, and kernels that are compiled"):
        NumbaBackend(SPEC)


@pytest.mark.parametrize("precision", ["fp32", pytest.param("int16", marks=needs_fast_integers)])
def test_numbers_that_overflow_are_found_though_relu_follows(precision: Precision) -> None:
    spec = random_spec(2, 16, ENCODERS["katago-v7"], 1, pool_every=0)
    first = spec.blocks[0]
    assert isinstance(first, ResidualBlock)
    huge = [replace(conv, weight=conv.weight * np.float32(1e25)) for conv in (first.conv1, first.conv2)]
    spec = replace(spec, blocks=(replace(first, conv1=huge[0], conv2=huge[1]), *spec.blocks[1:]))
    evaluator = numba_evaluator(spec, precision, 1)
    with pytest.raises(WeightsError, match="not finite"):
        evaluated(evaluator, batch_of([random_game(1, 9, moves=20)]))
    evaluator.close()
