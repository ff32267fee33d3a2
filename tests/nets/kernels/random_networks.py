"""Networks of random architectures by the kernels, between canaries: nothing outside of any buffer is read or written.

    python -m tests.nets.kernels.random_networks --count 10000 [--seed 1]

Each has other blocks, channels and activations, a board from 2x2 to 25x25, rectangles among them, and 1 to 64
positions. Around the memory, the weights, the inputs and the outputs are numbers that must not change; around what is
only read they are NaN, which shows in the outputs. The outputs are compared with PyTorch's.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from engine.encoders import ENCODERS
from engine.nets.kernels.byte_ranges import measured_ranges
from engine.nets.kernels.kernels import infer_rows
from engine.nets.kernels.model import build_byte_model, build_model, is_transformer
from engine.nets.kernels.operands import LANES_OF, ROUNDED, TILED, lanes_here, rounds_here
from engine.nets.kernels.plan import Rows
from engine.nets.kernels.tiles import multiplies_bytes, tiles_here
from engine.nets.random import Layers, random_spec
from engine.nets.spec import Activation, NestedBottleneckBlock, NetSpec, Score, ValueKind, tensors
from engine.nets.torch_modules.model import TorchModel
from engine.support.progress import ProgressBar
from tests.nets.examples import random_inputs
from tests.nets.kernels.lanes import OF_INTEGERS

FIELDS = ("policy", "result", "score", "ownership")
GUARD = 64
"""Numbers before and after a buffer: a whole number of cache lines, so that buffers stay aligned."""
CANARY = np.float32(12345.0)
LANES = (8, 16)
_ACTIVATIONS = (Activation.RELU, Activation.MISH, Activation.SILU)
_EXACT, _INTEGERS, _BYTES, _ROUNDED, _TIMES_TORCH = 1e-4, 0.01, 0.2, 0.03, 3.0
"""Largest errors in fp32, int16, int8 and bf16; the last may be three times torch's (0.15 with 4 channels)."""
_MOST_WORK = 40_000_000
"""Products of a case, which bound the number of positions."""


class Guarded:
    """A float32 buffer between two canaries, aligned to cache lines."""

    def __init__(self, size: int, canary: np.float32 = CANARY) -> None:
        whole = np.full(size + 2 * GUARD + 16, canary, dtype=np.float32)
        start = GUARD + (-(whole.ctypes.data // 4 + GUARD)) % 16
        self.buffer = whole[start : start + size]
        self._before, self._after, self._canary = whole[:start], whole[start + size :], canary

    @classmethod
    def holding(cls, numbers: np.ndarray) -> "Guarded":
        """Return a buffer that is only read: beside it are NaN."""
        made = cls(numbers.size, np.float32(np.nan))
        made.buffer[:] = numbers.ravel()
        return made

    def is_intact(self) -> bool:
        """Return whether both canaries are as they were."""
        return all(np.array_equal(each, np.full_like(each, self._canary), True) for each in (self._before, self._after))


def random_network(generator: np.random.Generator) -> NetSpec:
    """Return a network of a random architecture."""
    blocks, channels = int(generator.integers(1, 4)), int(generator.integers(2, 40))
    transforms = bool(generator.random() < 0.4)
    activation = _ACTIVATIONS[generator.integers(3)]
    spec = random_spec(
        blocks,
        2 * channels if transforms else channels,
        list(ENCODERS.values())[generator.integers(len(ENCODERS))],
        int(generator.integers(1 << 30)),
        transformer=transforms,
        pool_every=int(generator.integers(0, 4)),
        activation=activation,
        value=(ValueKind.TANH, ValueKind.SOFTMAX)[generator.integers(2)],
        scores=((), (Score.LEAD,), (Score.MEAN, Score.STDEV, Score.LEAD))[generator.integers(3)],
        ownership=bool(generator.random() < 0.7),
        head_channels=int(generator.integers(1, 20)),
    )
    if generator.random() < 0.6:
        return spec
    layers, inner = Layers(generator, activation), 2 * int(generator.integers(1, 20))
    within = (
        layers.pool_block(inner, 2) if generator.random() < 0.5 else layers.block(inner, 2),
        *((layers.attention(inner, 2), layers.feed_forward(inner, 2)) if generator.random() < 0.5 else ()),
    )
    nested = NestedBottleneckBlock(
        norm1=layers.norm(spec.channels),
        conv1=layers.conv(spec.channels, inner, int(generator.choice([1, 3]))),
        blocks=within,
        norm2=layers.norm(inner),
        conv2=layers.conv(inner, spec.channels, 1),
        activation1=activation,
        activation2=activation,
    )
    return replace(spec, blocks=(*spec.blocks, nested))


def differences(generator: np.random.Generator) -> tuple[str, float, float, bool]:
    """Compute one random case; return its description, the largest error, its bound, and whether canaries are intact.

    The error is in parts of the largest output, at least of 1.
    """
    spec = random_network(generator)
    width, height = (int(each) for each in generator.integers(2, 26, 2))
    usable = [lanes for lanes in LANES if lanes <= lanes_here()]
    rounds = is_transformer(spec) and rounds_here() and generator.random() < 0.3
    in_bytes = multiplies_bytes() and not is_transformer(spec) and generator.random() < 0.4
    lanes = 16 if rounds or in_bytes else usable[generator.integers(len(usable))]
    able = [0] if rounds or in_bytes else [0, *(each for each in OF_INTEGERS if LANES_OF[each] == lanes)]
    integers = able[generator.integers(len(able))]
    work = width * height * sum(each.size for _, each in tensors(spec))
    count = min(int(generator.integers(1, 65)), max(1, _MOST_WORK // work))
    together = int(generator.integers(1, 6))
    by_tiles = tiles_here() and generator.random() < 0.7
    kind = {"rounded": rounds, "integers": integers, "by_tiles": by_tiles}
    planes, globals_ = random_inputs(spec, height, width, count)
    if in_bytes:
        model = build_byte_model(spec, width, height, together, measured_ranges(spec, planes, globals_))
    else:
        model = build_model(spec, width, height, lanes, together, **kind)
    area = width * height
    widths = (spec.policy.policies * (area + 1), spec.value.result.outputs, len(spec.scores), area * spec.has_ownership)
    weights, memory = Guarded.holding(model.plan.weights), Guarded(model.memory)
    memory.buffer[:] = 0.0
    inputs = Guarded.holding(planes), Guarded.holding(globals_)
    outputs = [Guarded(count * each) for each in widths]
    shaped = tuple(
        each.buffer.reshape(count, -1) if each.buffer.size else np.zeros((count, 0), np.float32) for each in outputs
    )
    data = Rows(inputs[0].buffer.reshape(count, -1), inputs[1].buffer.reshape(count, globals_.shape[1]), shaped)
    infer_rows(model.plan._replace(weights=weights.buffer), memory.buffer, data, model.positions, count)
    expected = _by_torch(spec, planes, globals_, torch.float32)
    error = _distance(shaped, expected)
    bound = _BYTES if in_bytes else _INTEGERS if integers else _EXACT
    if rounds:
        bound = max(_ROUNDED, _TIMES_TORCH * _distance(_by_torch(spec, planes, globals_, torch.bfloat16), expected))
    is_intact = all(each.is_intact() for each in (weights, memory, *inputs, *outputs))
    # As bytes: pairs of int16 may look like NaN.
    is_intact &= weights.buffer.tobytes() == model.plan.weights.tobytes()
    numbers = (TILED if by_tiles else ROUNDED) if rounds else integers or lanes
    form = "int8" if in_bytes else f"{numbers} numbers in a vector"
    what = f"{spec.name}, {len(spec.blocks)} blocks, {width}x{height}, {count} positions, {form}"
    return what, error, bound, is_intact


def _by_torch(spec: NetSpec, planes: np.ndarray, globals_: np.ndarray, kind: torch.dtype) -> list[np.ndarray]:
    """Return torch's outputs in the order of `FIELDS`, a row for each position."""
    with torch.inference_mode():
        found = TorchModel(spec).fused(kind)(torch.from_numpy(planes).to(kind), torch.from_numpy(globals_))
    return [getattr(found, field).float().numpy().reshape(len(planes), -1) for field in FIELDS]


def _distance(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> float:
    """Return the largest difference in parts of the largest number; infinity if one is not finite."""
    largest = 0.0
    for one, other in zip(found, expected, strict=True):
        off = np.abs(one - other).max(initial=0.0) / max(1.0, np.abs(other).max(initial=0.0))
        largest = max(largest, float(off) if np.isfinite(off) else np.inf)
    return largest


def wrong_cases(count: int, seed: int, progress: ProgressBar | None = None) -> Iterator[str]:
    """Yield a line for each of `count` random cases that is wrong."""
    for number in range(count):
        if progress is not None:
            progress.update("networks", number, line=f"{number} of {count} networks")
        what, error, bound, is_intact = differences(np.random.default_rng([seed, number]))
        if not is_intact or error > bound:
            yield f"case {number}: {what}: error {error:.2g}, canaries {'intact' if is_intact else 'changed'}"


def main() -> int:
    """Compute the cases that the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    wrong = 0
    with ProgressBar(sys.stderr, asked.count) as progress:
        for line in wrong_cases(asked.count, asked.seed, progress):
            print(line, flush=True)
            wrong += 1
    print(f"{asked.count} random networks: {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
