"""The torch backend on a GPU against itself on the CPU."""

import threading

import numpy as np
import pytest

from engine.evaluation.evaluation import Evaluation
from engine.evaluators.network import NetworkEvaluator, Precision
from engine.nets.spec import DensePolicyHead, NetSpec
from tests.evaluators.naive_backend import assert_close, evaluated
from tests.nets.examples import EXAMPLES
from tests.positions import batch_of, random_game

torch = pytest.importorskip("torch", reason="torch is not installed")

from engine.evaluators.cuda_graphs import recorded_rows  # noqa: E402
from engine.evaluators.torch_backend import TorchBackend  # noqa: E402

NEEDS_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


def _evaluator(spec: NetSpec, device: str, precision: Precision = "fp32", max_batch: int = 64) -> NetworkEvaluator:
    return NetworkEvaluator(spec, TorchBackend(spec, precision, device, max_batch=max_batch))


def test_recordings_are_for_powers_of_two_and_three_quarters_of_large_ones() -> None:
    assert [recorded_rows(count, 100) for count in (1, 2, 3, 5, 12, 17, 24, 25, 48, 49, 65, 97)] == [
        *(1, 2, 4, 8, 16, 24, 24, 32, 48, 64, 96, 100)
    ]


@NEEDS_GPU
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_gpu_computes_what_the_cpu_computes(name: str) -> None:
    spec = EXAMPLES[name]
    width = 5 if isinstance(spec.policy, DensePolicyHead) else 6
    on_cpu, on_gpu = _evaluator(spec, "cpu"), _evaluator(spec, "cuda")
    # Sizes of batches in an order in which recordings are made, and used again for fewer rows.
    for count in (3, 1, 7, 5, 3):
        positions = batch_of([random_game(seed, width, 5, moves=35) for seed in range(count)])
        assert_close(evaluated(on_gpu, positions), evaluated(on_cpu, positions), 1e-4)


@NEEDS_GPU
@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_half_precision_is_close_to_fp32_on_a_gpu(name: str, precision: Precision) -> None:
    spec = EXAMPLES[name]
    positions = batch_of([random_game(seed, 5) for seed in range(4)])
    exact, rough = (evaluated(_evaluator(spec, "cuda", each), positions) for each in ("fp32", precision))
    assert np.abs(exact.policy - rough.policy).max() < 0.1
    assert np.abs(exact.value - rough.value).max() < 0.1


@NEEDS_GPU
def test_a_board_that_is_prepared_in_the_background_is_computed_meanwhile() -> None:
    spec = EXAMPLES["nested"]
    positions = batch_of([random_game(seed, 7) for seed in range(5)])
    expected = evaluated(_evaluator(spec, "cpu"), positions)
    evaluator = _evaluator(spec, "cuda")
    evaluator.prepare(7, 7)
    for _ in range(50):
        assert_close(evaluated(evaluator, positions), expected, 1e-4)
    evaluator.prepare(9, 9)
    evaluator.close()


@NEEDS_GPU
def test_threads_that_use_a_gpu_at_the_same_time_get_the_answers_of_one() -> None:
    evaluator = _evaluator(EXAMPLES["nested"], "cuda", max_batch=16)
    batches = [batch_of([random_game(100 * each + row, 7) for row in range(1 + each)]) for each in range(8)]
    alone = [evaluated(evaluator, batch) for batch in batches]
    outs = [Evaluation(len(batch.to_play), 7, 7) for batch in batches]

    def repeat(place: int) -> None:
        for _ in range(20):
            evaluator.evaluate(batches[place], len(batches[place].to_play), outs[place])

    threads = [threading.Thread(target=repeat, args=(place,)) for place in range(len(batches))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for out, expected in zip(outs, alone, strict=True):
        assert_close(out, expected, 1e-5)
