"""`keima train` beside a plain PyTorch loop: python -m tests.train_speed [--size 9] [--blocks 6] [--rounds 7] ...

The plain loop has the same network, batch size, losses on policy, value, ownership and scores, and AdamW; its inputs
wait in memory as float32, and it has no clipping, averaged weights, metrics or files. The other side is `train` with
its defaults, whose samples come from shards in a folder. Both take turns of some steps in one process, so that other
work on the machine slows both; while one computes, the other, and its thread that prepares batches, waits.
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from engine.support.openmp import limit_spinning

limit_spinning()

import torch  # noqa: E402
from torch import nn  # noqa: E402

from engine.train.data.batches import Batch, WindowSource  # noqa: E402
from engine.train.data.replay import Window  # noqa: E402
from engine.train.data.samples import write_shard  # noqa: E402
from engine.train.learning.device_batch import host_batch  # noqa: E402
from engine.train.learning.learner import Learner  # noqa: E402
from engine.train.learning.network import default_spec  # noqa: E402
from engine.train.learning.train import Progress, train  # noqa: E402
from engine.train.learning.train_config import TrainConfig  # noqa: E402
from tests.train.random_data import learnable_samples  # noqa: E402

SHARDS, SHARD_SAMPLES = 4, 1024


class Turns:
    """A source of batches that prepares none while it is held."""

    def __init__(self, source: WindowSource) -> None:
        self._source, self.held = source, threading.Lock()

    def draw(self) -> Batch:
        """Return the next batch."""
        with self.held:
            return self._source.draw()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


def plain_step(config: TrainConfig, size: int) -> Callable[[], None]:
    """Return a function that makes one step as a short script would."""
    spec = default_spec(config.blocks, config.channels, seed=1, encoder=config.encoder)
    net = Learner(spec, config, torch.device("cpu")).net
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    samples = learnable_samples(config.batch_size, 1, config.encoder, size)
    (planes, globals_), targets = host_batch(Batch(samples), spec, torch.device("cpu")).to_device()

    def step() -> None:
        outputs, reply, _ = net(planes, globals_)
        total = nn.functional.cross_entropy(outputs.policy[:, 0], targets.policy)
        total = total + nn.functional.cross_entropy(outputs.result, targets.outcome)
        total = total + nn.functional.cross_entropy(reply, targets.reply)
        owners = (1 + targets.ownership) / 2
        total = total + nn.functional.binary_cross_entropy_with_logits(outputs.ownership.flatten(1), owners)
        total = total + nn.functional.huber_loss(outputs.score[:, 0], targets.score / 20)
        optimizer.zero_grad()
        total.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def ratios(config: TrainConfig, size: int, rounds: int) -> list[tuple[float, float]]:
    """Return the seconds a step of `train` and of the plain loop in each round after the first."""
    found: list[tuple[float, float]] = []
    step, turn = plain_step(config, size), config.log_every
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "samples" / f"{size}x{size}").mkdir(parents=True)
        for number in range(SHARDS):
            samples = learnable_samples(SHARD_SAMPLES, number, config.encoder, size)
            write_shard(folder / "samples" / f"{size}x{size}" / f"shard-{number:06d}.safetensors", samples, {})
        source = Turns(WindowSource(Window(folder / "samples"), config.batch_size, 1))
        begun = time.perf_counter()

        def report(_: Progress) -> None:
            nonlocal begun
            mine = time.perf_counter() - begun
            with source.held:
                begun = time.perf_counter()
                for _step in range(turn):
                    step()
                plain = time.perf_counter() - begun
            found.append((mine / turn, plain / turn))
            begun = time.perf_counter()

        train(replace(config, steps=turn * (rounds + 1)), source, folder / "run", report=report)  # type: ignore[arg-type]
    # The first round includes what both do once.
    return found[1:]


def main() -> int:
    """Measure every size and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m tests.train_speed")
    parser.add_argument("--size", type=int, action="append", help="may be repeated; 9 and 19 by default")
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--channels", type=int, default=96)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=0, help="0 for PyTorch's default")
    parser.add_argument("--turn", type=int, default=5, help="steps of a turn")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--precision", default="fp32")
    options = parser.parse_args()
    for size in options.size or [9, 19]:
        config = TrainConfig(
            blocks=options.blocks,
            channels=options.channels,
            batch_size=options.batch,
            threads=options.threads,
            precision=options.precision,
            log_every=options.turn,
            device="cpu",
        )
        rounds = ratios(config, size, options.rounds)
        mine, plain = (options.batch / median(each[side] for each in rounds) for side in (0, 1))
        shares = sorted(theirs / ours for ours, theirs in rounds)
        print(
            f"{size}x{size}: train {mine:.0f} samples/s, plain loop {plain:.0f}, ratio {median(shares):.3f} "
            f"({np.min(shares):.3f} to {np.max(shares):.3f}, {len(shares)} turns of {options.turn} steps)"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
