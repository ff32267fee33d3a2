"""The OpenVINO backend against plain loops on real positions: board sizes, batches, streams and precisions."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from engine.encoders import ENCODERS
from engine.errors import GoError
from engine.evaluators import memory
from engine.evaluators.network import NetworkEvaluator, Precision
from engine.native.processor import instruction_sets
from engine.nets.random import random_spec
from engine.nets.spec import DensePolicyHead, NetSpec, WeightsError
from tests.evaluators.naive_backend import assert_close, evaluated, naive_evaluator
from tests.nets.examples import EXAMPLES
from tests.positions import batch_of, random_game
from tests.waiting import wait_until
from weights.registry import load

pytest.importorskip("openvino", reason="openvino is not installed")

import engine.evaluators.openvino_backend as backend_module
from engine.evaluators.openvino_backend import OpenVinoBackend, precisions

ABLE = precisions()


def openvino_evaluator(spec: NetSpec, precision: Precision = "fp32", threads: int = 2) -> NetworkEvaluator:
    return NetworkEvaluator(spec, OpenVinoBackend(spec, precision, threads=threads, emulate=True))


@pytest.mark.parametrize("name", EXAMPLES)
def test_evaluation_equals_plain_loops(name: str) -> None:
    spec = EXAMPLES[name]
    width = 5 if isinstance(spec.policy, DensePolicyHead) else 6
    positions = batch_of([random_game(seed, width, 5, moves=35) for seed in range(3)])
    assert_close(evaluated(openvino_evaluator(spec), positions), evaluated(naive_evaluator(spec), positions), 1e-5)


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-5), ("int8", 1e-2)])
def test_a_network_of_one_channel_without_blocks_is_computed(
    precision: Precision, tolerance: float, tmp_path: Path
) -> None:
    draw = np.random.default_rng(1)
    shapes = ((1, 1, 7, 1), (1,), (81, 8), (8,), (8, 81), (81,))
    np.savez(tmp_path / "net.npz", *(draw.normal(0, 0.3, shape).astype(np.float32) for shape in shapes))
    spec, positions = load(tmp_path / "net.npz"), batch_of([random_game(seed, 9, moves=35) for seed in range(3)])
    found, expected = (
        evaluated(each, positions) for each in (openvino_evaluator(spec, precision), naive_evaluator(spec))
    )
    assert_close(found, expected, tolerance)


def test_every_count_up_to_the_largest_is_evaluated_alike_on_every_number_of_streams() -> None:
    spec = EXAMPLES["pooling mish"]
    games = [random_game(seed, 5, moves=10) for seed in range(64)]
    evaluators = [openvino_evaluator(spec, threads=threads) for threads in (1, 2)]
    whole = evaluated(evaluators[1], batch_of(games))
    for evaluator in evaluators:
        for count in (1, 2, 3, 5, 8, 9, 15, 17, 32):
            part = evaluated(evaluator, batch_of(games[:count]))
            np.testing.assert_allclose(part.policy, whole.policy[:count], atol=1e-6)
            np.testing.assert_allclose(part.value, whole.value[:count], atol=1e-6)
            np.testing.assert_allclose(part.ownership, whole.ownership[:count], atol=1e-6)


def test_one_evaluator_serves_every_board_size_in_turn() -> None:
    evaluator = openvino_evaluator(EXAMPLES["softmax silu"])
    sizes = [(5, 5), (9, 4), (5, 5), (13, 13)]
    first, _, again, _ = (evaluated(evaluator, batch_of([random_game(1, *size)])) for size in sizes)
    assert np.array_equal(first.policy, again.policy)


def test_models_beyond_the_bound_of_memory_are_forgotten_and_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "OTHER_BOARDS", 0)
    evaluator = openvino_evaluator(EXAMPLES["softmax silu"])
    sizes = [(5, 5), (9, 4), (5, 5)]
    first, _, again = (evaluated(evaluator, batch_of([random_game(1, *size)])) for size in sizes)
    assert np.array_equal(first.policy, again.policy)


@pytest.mark.skipif(sys.platform != "linux", reason="counts the threads in /proc")
def test_the_threads_of_dropped_board_sizes_are_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "OTHER_BOARDS", 2 * 4 * memory.openvino_model_bytes(EXAMPLES["softmax silu"]))
    backend, threads = OpenVinoBackend(EXAMPLES["softmax silu"], "fp32", threads=2), list[int]()
    for side in range(5, 15):
        for slot in backend.slots(side, side):
            for count in (1, 2, 4, 8):
                backend.infer(slot, count)
        threads.append(len(list(Path("/proc/self/task").iterdir())))
    assert backend.boards == [(12, 12), (13, 13), (14, 14)]
    # One board more than are kept may still be freed while the next is compiled; at first so may those of other tests.
    assert max(threads[4:]) <= threads[3]
    backend.close()


def test_models_that_a_call_waits_for_are_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "OTHER_BOARDS", 0)
    compile_at_once, begun, go_on = OpenVinoBackend.compile, threading.Event(), threading.Event()

    def compile_later(self: OpenVinoBackend, *what: int) -> object:
        begun.set()
        assert go_on.wait(20)
        return compile_at_once(self, *what)

    monkeypatch.setattr(OpenVinoBackend, "compile", compile_later)
    backend = OpenVinoBackend(EXAMPLES["softmax silu"], "fp32", threads=1)
    slot = backend.slots(5, 5)[0]
    with ThreadPoolExecutor() as pool:
        started = pool.submit(backend.infer, slot, 8)
        assert begun.wait(20)
        while not backend._awaited[5, 5]:
            time.sleep(0.001)
        backend.prepare(9, 9)
        assert backend.boards == [(5, 5), (9, 9)]
        go_on.set()
        started.result(timeout=20)
    backend.prepare(7, 7)
    assert backend.boards == [(7, 7)]
    backend.close()


def test_models_that_only_a_dropped_program_waits_for_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "OTHER_BOARDS", 0)
    compile_at_once, go_on = OpenVinoBackend.compile, threading.Event()

    def compile_later(self: OpenVinoBackend, *what: int) -> object:
        assert go_on.wait(60)
        return compile_at_once(self, *what)

    monkeypatch.setattr(OpenVinoBackend, "compile", compile_later)
    backend = OpenVinoBackend(EXAMPLES["softmax silu"], "fp32", threads=1)
    if not backend.native_threads:
        pytest.skip("kernels cannot call OpenVINO here")
    program = backend.program(5, 5)
    backend.prepare(9, 9)
    assert backend.boards == [(5, 5), (9, 9)]
    del program
    backend.prepare(7, 7)
    assert backend.boards == [(7, 7)]
    go_on.set()
    backend.close()


def test_a_network_is_compiled_before_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, compiled, compile_model = EXAMPLES["softmax silu"], list[int](), OpenVinoBackend.compile

    def note(backend: OpenVinoBackend, batch: int, width: int, height: int) -> object:
        model = compile_model(backend, batch, width, height)
        compiled.append(batch)
        return model

    monkeypatch.setattr(OpenVinoBackend, "compile", note)
    backend = OpenVinoBackend(spec, "fp32", threads=1)
    backend.prepare(7, 7)
    wait_until(lambda: len(compiled) == 4)
    slot = backend.slots(7, 7)[0]
    for count in (1, 2, 3, 8):
        backend.infer(slot, count)
    assert np.isfinite(slot.outputs.policy).all()
    assert slot.outputs.policy.any()


def test_the_board_asked_for_last_is_compiled_first_and_small_batches_before_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled, begun, go_on = list[tuple[int, int]](), threading.Event(), threading.Event()

    def compile_later(_: OpenVinoBackend, batch: int, width: int, height: int) -> None:
        begun.set()
        assert go_on.wait(20)
        compiled.append((width, batch))

    monkeypatch.setattr(OpenVinoBackend, "compile", compile_later)
    backend = OpenVinoBackend(EXAMPLES["softmax silu"], "fp32", threads=1)
    backend.prepare(5, 5)
    assert begun.wait(20)
    backend.prepare(9, 9)
    go_on.set()
    wait_until(lambda: len(compiled) == 8)
    backend.close()
    assert compiled == [(5, 1), (9, 1), (9, 2), (9, 4), (9, 8), (5, 2), (5, 4), (5, 8)]


def test_what_fails_to_compile_fails_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenVinoBackend, "compile", lambda *_: 1 / 0)
    backend = OpenVinoBackend(EXAMPLES["softmax silu"], "fp32", threads=1)
    slot = backend.slots(5, 5)[0]
    with pytest.raises(ZeroDivisionError):
        backend.infer(slot, 1)
    backend.close()


def test_closing_leaves_uncompiled_what_nobody_needs_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, begun, go_on = list[int](), threading.Event(), threading.Event()

    def compile_later(_: OpenVinoBackend, batch: int, *size: int) -> None:
        begun.set()
        assert go_on.wait(20)
        compiled.append(batch)

    monkeypatch.setattr(OpenVinoBackend, "compile", compile_later)
    backend = OpenVinoBackend(EXAMPLES["softmax silu"], "fp32", threads=1)
    backend.prepare(5, 5)
    assert begun.wait(20)
    threading.Timer(0.2, go_on.set).start()
    backend.close()
    assert compiled == [1]


def test_a_board_that_the_network_is_not_for_is_refused() -> None:
    spec = random_spec(1, 4, ENCODERS["liberties"], 1, board_sizes=(9, 13))
    with pytest.raises(WeightsError, match="sides of 9 to 13"):
        openvino_evaluator(spec).prepare(19, 19)


def test_rounding_to_bf16_is_close_to_fp32() -> None:
    spec = random_spec(4, 32, ENCODERS["liberties"], 9, pool_every=2)
    positions = batch_of([random_game(seed, 9, moves=60) for seed in range(8)])
    exact, rough = (evaluated(openvino_evaluator(spec, each), positions) for each in ("fp32", "bf16"))
    assert np.abs(exact.policy - rough.policy).max() < 0.01
    assert np.abs(exact.value - rough.value).max() < 0.05
    assert np.abs(exact.ownership - rough.ownership).max() < 0.05
    # With AVX-512 alone, OpenVINO rounds by software; without it, it computes in fp32.
    assert np.array_equal(exact.policy, rough.policy) != ("avx512f" in instruction_sets())


@pytest.mark.parametrize(
    ("net", "instructions", "able", "chosen"),
    [
        ("softmax silu", ["avx2", "fma"], ("fp32",), "fp32"),
        ("softmax silu", ["avx512f", "avx512vnni"], ("fp32", "int8"), "int8"),
        ("softmax silu", ["avx512f", "avx512vnni", "avx512bf16"], ("fp32", "bf16", "int8"), "int8"),
        ("softmax silu", ["avx512f", "avx512vnni", "avx512bf16", "amx-bf16"], ("fp32", "bf16", "int8"), "bf16"),
        ("transformer", ["avx512f", "avx512vnni"], ("fp32", "int8"), "int8"),
        ("transformer", ["avx512f", "avx512vnni", "avx512bf16"], ("fp32", "bf16", "int8"), "bf16"),
        ("nested", ["avx512f", "avx512vnni", "avx512bf16"], ("fp32", "bf16", "int8"), "bf16"),
    ],
)
def test_the_fastest_precision_for_the_network_is_chosen(
    net: str, instructions: list[str], able: tuple[str, ...], chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend_module, "instruction_sets", lambda: instructions)
    monkeypatch.setattr(backend_module, "precisions", lambda: able)
    assert OpenVinoBackend(EXAMPLES[net]).name == f"openvino-cpu-{chosen}"


def test_rounding_to_int8_is_close_to_fp32_and_the_same_every_time() -> None:
    spec = random_spec(3, 32, ENCODERS["liberties"], 9, pool_every=2)
    positions = batch_of([random_game(seed, 9, moves=60) for seed in range(8)])
    exact, rough, again = (evaluated(openvino_evaluator(spec, each), positions) for each in ("fp32", "int8", "int8"))
    assert np.abs(exact.policy - rough.policy).max() < 0.01
    assert np.abs(exact.value - rough.value).max() < 0.1
    assert np.abs(exact.ownership - rough.ownership).max() < 0.1
    assert not np.array_equal(exact.policy, rough.policy)
    assert np.array_equal(rough.policy, again.policy)
    assert np.array_equal(rough.value, again.value)


def test_small_boards_are_computed_exactly_in_int8() -> None:
    spec = random_spec(3, 32, ENCODERS["liberties"], 9, pool_every=2)
    for width, height, is_exact in ((9, 6, True), (7, 7, False)):
        positions = batch_of([random_game(1, width, height, moves=20)])
        exact, rough = (evaluated(openvino_evaluator(spec, each), positions) for each in ("fp32", "int8"))
        assert np.array_equal(exact.policy, rough.policy) == is_exact


def test_int8_is_refused_without_instructions_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_module, "instruction_sets", lambda: ["avx2", "fma", "avx512f"])
    with pytest.raises(GoError, match="does not compute in int8"):
        OpenVinoBackend(EXAMPLES["softmax silu"], "int8")
    monkeypatch.setattr(backend_module, "instruction_sets", lambda: ["avx2", "fma", "avxvnni"])
    assert "int8" in precisions()


def test_what_is_disabled_is_not_used_for_bf16_and_int8(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEIMA_DISABLE_CPU_FEATURES", "*")
    assert "fp32" in precisions()
    assert not {"bf16", "int8"}.intersection(precisions())


@pytest.mark.parametrize("precision", ["bf16", "fp16", "int8"])
def test_a_precision_that_the_cpu_only_imitates_is_refused(precision: Precision) -> None:
    if precision in ABLE:
        assert OpenVinoBackend(EXAMPLES["softmax silu"], precision).name == f"openvino-cpu-{precision}"
    else:
        with pytest.raises(GoError, match=f"does not compute in {precision}.*choose .*fp32"):
            OpenVinoBackend(EXAMPLES["softmax silu"], precision)
