"""Measures training speed: samples/s by board size, batch size and precision, next to the machine's limit.

The limit is the speed of one large matrix product of the same precision, in the faster of torch's two libraries if it
has two. A sample costs three times the multiply-adds of an evaluation, once forward and twice backward. All
measurements alternate within each run, so that other load on the machine slows them all equally, and a share is the
median over the runs.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import nn

from engine.native.machine import machine, versions
from engine.nets.spec import NetSpec
from engine.nets.summary import multiply_adds
from engine.train.data.batches import Batch
from engine.train.data.samples import Samples, empty_samples
from engine.train.learning.device_batch import host_batch
from engine.train.learning.devices import Devices, compiled
from engine.train.learning.learner import Learner
from engine.train.learning.loss import loss
from engine.train.learning.train_config import Precision, TrainConfig

# Multiply-adds of a step relative to an evaluation: forward, input gradients, weight gradients.
_PASSES = 3
# Side of the square matrices whose product defines the limit.
_SIDE = {"cpu": 1536, "cuda": 8192}


@dataclass(frozen=True)
class Case:
    """One measured combination of board size (width, height), batch size and precision."""

    size: tuple[int, int]
    batch: int
    precision: Precision


@dataclass
class Measured:
    """Samples/s of a case in each run, and the floating-point operations/s of its limit."""

    rates: list[float] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)


def bench(spec: NetSpec, cases: Sequence[Case], config: TrainConfig, runs: int, seconds: float) -> dict[str, Any]:
    """Measure all cases alternately and return the results as JSON values.

    "figures" has one row for each case: samples_per_s, limit_samples_per_s and share as medians over the runs, and
    gflop per sample.
    """
    device = Devices(config).device
    steps = {case: _step(spec, case, config) for case in cases}
    products = {each: _products(device, each) for each in dict.fromkeys(case.precision for case in cases)}
    measured = {case: Measured() for case in cases}
    # One call of each before the clock starts: the first one compiles, allocates and starts threads.
    for warm in (*steps.values(), *(product for each in products.values() for product in each)):
        _per_second(warm, 0.0, device)
    for _ in range(runs):
        limits = {
            each: max(_per_second(product, seconds / 2, device) for product in those)
            for each, those in products.items()
        }
        for case, step in steps.items():
            measured[case].rates.append(case.batch * _per_second(step, seconds, device))
            measured[case].limits.append(limits[case.precision] * 2.0 * _SIDE[device.type] ** 3)
    return {
        "network": spec.name,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "threads": torch.get_num_threads(),
        "runs": runs,
        "figures": [_row(case, measured[case], _flop(spec, case)) for case in cases],
        "machine": machine(),
        "versions": versions(),
    }


def _row(case: Case, measured: Measured, flop: float) -> dict[str, Any]:
    width, height = case.size
    limits = [each / flop for each in measured.limits]
    return {
        "size": f"{width}x{height}" if width != height else str(width),
        "batch": case.batch,
        "precision": case.precision,
        "samples_per_s": float(f"{median(measured.rates):.4g}"),
        "limit_samples_per_s": float(f"{median(limits):.4g}"),
        "share": float(f"{median(a / b for a, b in zip(measured.rates, limits, strict=True)):.3g}"),
        "gflop": float(f"{flop / 1e9:.4g}"),
    }


def _flop(spec: NetSpec, case: Case) -> float:
    """Return the floating-point operations of training on one sample."""
    return 2.0 * _PASSES * multiply_adds(spec, *case.size)


def _step(spec: NetSpec, case: Case, config: TrainConfig) -> Callable[[], None]:
    """Return a function that performs one whole training step, from packed samples to the averaged weights."""
    settings = {**vars(config), "batch_size": case.batch, "precision": case.precision}
    config = TrainConfig(**settings)
    devices = Devices(config)
    learner = Learner(spec, config, devices.device)
    computed: Any = compiled(learner.net) if config.compile else learner.net
    batch = Batch(_random_samples(spec.encoder, case))

    def step() -> None:
        inputs, targets = host_batch(batch, spec, devices.device).to_device()
        with devices.autocast(), learner.sizes.noting(*case.size):
            predictions = computed(*inputs)
        result = loss(predictions, targets, spec, config)
        learner.optimizer.zero_grad(set_to_none=True)
        result.total.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(learner.parameters, config.gradient_norm or math.inf)
        learner.optimizer.step()
        learner.average.update(learner.net, 1)

    return step


def _random_samples(encoder: str, case: Case) -> Samples:
    """Return samples with random planes and random moves: the speed does not depend on their content."""
    generator, (width, height) = np.random.default_rng(1), case.size
    empty = empty_samples(encoder, width, height, case.batch)
    policy = np.zeros_like(empty.policy)
    policy[np.arange(case.batch), generator.integers(width * height + 1, size=case.batch)] = 1.0
    planes = generator.integers(0, 256, empty.planes.shape, dtype=np.uint8)
    outcome = np.full_like(empty.outcome, 1.0 / 3.0)
    arrays: dict[str, np.ndarray] = {"planes": planes, "policy": policy, "reply": policy, "outcome": outcome}
    # Ranks that are known, for networks that imitate people.
    return empty.with_arrays(arrays | {"weights": np.ones_like(empty.weights), "players": np.ones_like(empty.players)})


def _products(device: torch.device, precision: Precision) -> list[Callable[[], None]]:
    """Return functions that multiply two large matrices; on a CPU, one of them as a convolution.

    On a CPU, torch uses its BLAS for matrices and oneDNN for convolutions, and the BLAS can be slower: on a Zen 5, MKL
    multiplies in fp32 at 0.57 of oneDNN's speed.
    """
    dtype, side = torch.bfloat16 if precision == "bf16" else torch.float32, _SIDE[device.type]
    first, second = torch.randn(2, side, side, device=device, dtype=dtype).unbind()
    result = torch.empty_like(first)

    def as_matrices() -> None:
        torch.mm(first, second, out=result)

    def as_convolution() -> None:
        with torch.no_grad():
            nn.functional.conv2d(points, kernel)

    if device.type != "cpu":
        return [as_matrices]
    points = first.reshape(1, side, 1, side).contiguous(memory_format=torch.channels_last)
    kernel = second.reshape(side, side, 1, 1)
    return [as_matrices, as_convolution]


def _per_second(work: Callable[[], None], seconds: float, device: torch.device) -> float:
    """Return the calls of `work` per second, measured over `seconds` but at least one call."""
    count, begun, passed = 0, time.perf_counter(), 0.0
    while count == 0 or passed < seconds:
        work()
        # CUDA calls return before the work is done.
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        count, passed = count + 1, time.perf_counter() - begun
    return count / passed
