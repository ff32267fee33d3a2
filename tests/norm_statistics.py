"""Whether batch norms should have statistics for each board size: the same network with those of one size.

    python -m tests.norm_statistics NET OUT.safetensors --records GAMES.sgfl.bz2 [--size 9] [--batches 200]
    keima train test OUT.safetensors --records GAMES.sgfl.bz2 --against NET --per-game 8

Writes the network with the means and variances that its norms' inputs have on training positions of one size, or of
all sizes. The second command compares both on held-out games.
"""

import argparse
import sys
from pathlib import Path

from engine.support.openmp import limit_spinning

limit_spinning()

import torch  # noqa: E402
from torch import nn  # noqa: E402

from engine.nets.spec import NetSpec  # noqa: E402
from engine.train.data.record_source import RecordSource  # noqa: E402
from engine.train.learning.device_batch import host_batch  # noqa: E402
from engine.train.learning.network import TrainableNet  # noqa: E402
from weights import native  # noqa: E402
from weights.registry import load  # noqa: E402

_BATCH = 64


def with_statistics_of(spec: NetSpec, source: RecordSource, size: int | None, batches: int) -> NetSpec:
    """Return a network with the statistics of `batches` batches of boards of one size, or of all."""
    net = TrainableNet(spec, norms="batch")
    norms = [module for module in net.modules() if isinstance(module, nn.BatchNorm2d)]
    if not norms:
        raise SystemExit(f"{spec.name} has no batch norm")
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the mean of all batches
    net.train()
    while batches > 0:
        batch = source.draw()
        if size is None or batch.samples.width == batch.samples.height == size:
            (planes, globals_), _ = host_batch(batch, spec, torch.device("cpu")).to_device()
            with torch.no_grad():
                net(planes, globals_)
            batches -= 1
    return net.to_spec(spec.name if size is None else f"{spec.name}-{size}x{size}")


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.norm_statistics", description=__doc__)
    parser.add_argument("net", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--records", type=Path, action="append", required=True)
    parser.add_argument("--size", type=int, help="of square boards; all without it")
    parser.add_argument("--batches", type=int, default=200, help=f"of {_BATCH} positions")
    asked = parser.parse_args()
    source = RecordSource(asked.records, _BATCH, [1])
    native.write(with_statistics_of(load(asked.net), source, asked.size, asked.batches), asked.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
