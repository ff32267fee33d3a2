"""Several processes that train one network, as torchrun starts them."""

import os
import socket
from pathlib import Path

import numpy as np
import pytest

from engine.nets.spec import tensors
from tests.train.random_data import MadeUpSource, figures_of, learnable_samples, tiny_config

torch = pytest.importorskip("torch", reason="torch is not installed")

from engine.train.learning.train import train  # noqa: E402
from weights import native  # noqa: E402

STEPS, WORLD = 4, 2


class Share:
    """Every process's share of the same batches."""

    def __init__(self, rank: int, world: int) -> None:
        samples = learnable_samples(8 * STEPS, 1)
        samples = samples.with_arrays({"weights": np.ones_like(samples.weights)})
        self.batches = iter([(samples[step * 8 : step * 8 + 8][rank::world], None, None) for step in range(STEPS)])


def config(world: int) -> object:
    return tiny_config(
        steps=STEPS, batch_size=8 // world, norms="fixed", reply_weight=0.0, optimizer="sgd", checkpoint_every=100
    )


def work(rank: int, world: int, port: int, run: str) -> None:
    """Train as one of the processes, then write what this one has come to."""
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in place.items()})
    result = train(config(world), Share(rank, world).batches, Path(run))  # type: ignore[arg-type]
    native.write(result.net, Path(run) / f"rank-{rank}.safetensors")


def test_two_processes_with_half_a_batch_each_learn_what_one_does_with_all_of_it(tmp_path: Path) -> None:
    whole = train(config(1), Share(0, 1).batches, tmp_path / "one")  # type: ignore[arg-type]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    run = tmp_path / "two"
    torch.multiprocessing.spawn(work, (WORLD, port, str(run)), nprocs=WORLD)
    both = [dict(tensors(native.read(run / f"rank-{rank}.safetensors"))) for rank in range(WORLD)]
    for path, array in tensors(whole.net):
        np.testing.assert_allclose(both[0][path], array, atol=1e-6, err_msg=path)
        np.testing.assert_array_equal(both[0][path], both[1][path], err_msg=path)
    assert figures_of(run, "step") == list(range(1, STEPS + 1))
    assert figures_of(run, "samples")[-1] == 8 * STEPS


def test_one_process_needs_no_environment(tmp_path: Path) -> None:
    assert train(tiny_config(steps=1), MadeUpSource(), tmp_path).step == 1
