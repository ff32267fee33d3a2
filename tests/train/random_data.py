"""Tiny networks and random samples for tests of training. Imports no torch."""

from pathlib import Path
from typing import Any

import numpy as np

from engine.nets.spec import NetSpec
from engine.train.data.batches import Batch, Priorities, State
from engine.train.data.samples import Samples, empty_samples

SIZE, AREA = 5, 25
ENCODER = "liberties"


def learnable_samples(count: int, seed: int, encoder: str = ENCODER, size: int = SIZE) -> Samples:
    """Return random positions whose targets can be learned: the move is where the first plane is densest."""
    generator = np.random.default_rng(seed)
    empty = empty_samples(encoder, size, size, count)
    area = size * size
    planes = generator.integers(0, 256, empty.planes.shape, dtype=np.uint8)
    points = np.unpackbits(planes[:, 0], axis=-1, count=area)
    moves = points.argmax(1)
    policy = np.zeros((count, area + 1), np.float16)
    policy[np.arange(count), moves] = 1.0
    won = points[:, area // 2].astype(np.float32)
    return empty.with_arrays(
        {
            "planes": planes,
            "globals": generator.normal(0, 0.3, empty.globals.shape).astype(np.float32),
            "policy": policy,
            "reply": np.roll(policy, 1, axis=1),
            "outcome": np.stack([won, 1 - won, np.zeros_like(won)], axis=1),
            "score": (won * 10 - 5 + generator.integers(-2, 3, count)).astype(np.float32),
            "ownership": (points.astype(np.int8) * 2 - 1) * np.int8(127),
            "weights": (generator.random((count, 5)) < 0.8).astype(np.float32),
        }
    )


class MadeUpSource:
    """Random batches of one set of samples; records the losses that it receives."""

    def __init__(self, batch_size: int = 8, seed: int = 0, samples: Samples | None = None) -> None:
        self.samples = learnable_samples(64, 1) if samples is None else samples
        self._batch_size, self._generator = batch_size, np.random.default_rng(seed)
        self.losses: list[tuple[np.ndarray, np.ndarray]] = []
        self.progress: list[float] = []

    def draw(self) -> Batch:
        """Return a batch with indices."""
        indices = self._generator.integers(len(self.samples), size=self._batch_size)
        return Batch(self.samples[indices], indices)

    def update(self, indices: np.ndarray, losses: np.ndarray) -> None:
        """Remember losses."""
        self.losses.append((indices, losses))

    def state(self) -> State | None:
        """Return the generator's state."""
        return self._generator.bit_generator.state

    def restore(self, state: State) -> None:
        """Set the generator's state."""
        self._generator.bit_generator.state = state

    def anneal(self, progress: float) -> None:
        """Remember the progress."""
        self.progress.append(progress)

    def priorities(self) -> Priorities:
        """Return nothing."""
        return {}

    def restore_priorities(self, stored: Priorities) -> None:
        """Do nothing."""


def tiny_config(**changes: Any) -> Any:
    """Return a configuration for a network of two small blocks on one thread."""
    from engine.train.learning.train_config import TrainConfig

    values = {"encoder": ENCODER, "blocks": 2, "channels": 8, "batch_size": 8, "steps": 20, "warmup": 2}
    values |= {"log_every": 1, "checkpoint_every": 10, "device": "cpu", "precision": "fp32", "threads": 1}
    return TrainConfig(**(values | changes))


def figures_of(run: Path, name: str) -> list[float]:
    """Return one figure of every line of a run's metrics."""
    from engine.train.learning.metrics import read_metrics

    return [line[name] for line in read_metrics(run)]


def differing(first: NetSpec, second: NetSpec) -> set[str]:
    """Return the paths of the arrays in which two networks of one architecture are not bitwise equal."""
    from engine.nets.spec import tensors

    mine, theirs = dict(tensors(first)), dict(tensors(second))
    assert mine.keys() == theirs.keys()
    return {path for path, array in mine.items() if array.tobytes() != theirs[path].tobytes()}
