"""Batch norms have statistics of each board size beside those of all; a run writes a network for each size."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.evaluators.finding import find_network
from engine.train.data.samples import Samples
from tests.train.random_data import ENCODER, MadeUpSource, differing, learnable_samples, tiny_config

torch = pytest.importorskip("torch", reason="torch is not installed")

from engine.nets.spec import NetSpec  # noqa: E402
from engine.train.data.batches import Batch  # noqa: E402
from engine.train.learning.checkpoint import CheckpointError  # noqa: E402
from engine.train.learning.device_batch import host_batch  # noqa: E402
from engine.train.learning.network import TrainableNet, default_spec  # noqa: E402
from engine.train.learning.run_folder import NET_FILE  # noqa: E402
from engine.train.learning.size_statistics import SizeStatistics  # noqa: E402
from engine.train.learning.train import train  # noqa: E402
from weights import native  # noqa: E402
from weights.sized import read_sized  # noqa: E402


def _inputs(spec: NetSpec, samples: Samples) -> Any:
    return host_batch(Batch(samples), spec, torch.device("cpu")).to_device()[0]


def _statistics(spec: NetSpec) -> dict[str, np.ndarray]:
    return {
        f"{index}.{name}": getattr(norm, name)
        for index, block in enumerate(spec.blocks)
        for norm in (block.norm1, block.norm2)  # type: ignore[union-attr]
        for name in ("mean", "variance")
    }


def test_the_statistics_of_a_size_are_those_of_its_batches_alone() -> None:
    spec = default_spec(2, 8, encoder=ENCODER)
    net = TrainableNet(spec, norms="batch").train()
    statistics = SizeStatistics(net, decay=0.0)
    batches = [learnable_samples(16, seed, size=size) for seed, size in enumerate((5, 7, 7, 5, 9))]
    for batch in batches:
        with torch.no_grad(), statistics.noting(batch.width, batch.height):
            net(*_inputs(spec, batch))
    # Without a decay only the last batch of each size counts: as for a norm that takes the batch's statistics.
    for size, batch in ((5, batches[3]), (7, batches[2]), (9, batches[4])):
        other = TrainableNet(spec, norms="batch").train()
        for module in other.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.momentum = 1.0
        with torch.no_grad():
            other(*_inputs(spec, batch))
        with statistics.used(net, (size, size)):
            found = _statistics(net.to_spec())
        for name, expected in _statistics(other.to_spec()).items():
            np.testing.assert_allclose(found[name], expected, rtol=1e-4, atol=1e-5, err_msg=f"{size} {name}")


def sized(run: Path) -> dict[tuple[int, int], NetSpec]:
    """Return the networks for one size each that belong to a run's."""
    return read_sized(run / NET_FILE, native.read(run / NET_FILE).name)


class _Sizes(MadeUpSource):
    """Batches of boards of several sizes in turn."""

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self._sizes, self._drawn = sizes, 0

    def draw(self) -> Batch:
        self._drawn += 1
        return Batch(learnable_samples(8, self._drawn, size=self._sizes[self._drawn % len(self._sizes)]))

    def state(self) -> Any:
        return self._drawn

    def restore(self, state: Any) -> None:
        self._drawn = state


def test_a_run_with_several_sizes_writes_a_network_for_each(tmp_path: Path) -> None:
    result = train(tiny_config(steps=6), _Sizes(5, 7, 7), tmp_path)
    assert find_network(tmp_path) == tmp_path / NET_FILE, "the run's network is still that of all sizes"
    networks = sized(tmp_path)
    assert list(networks) == [(5, 5), (7, 7)]
    for (side, _), spec in networks.items():
        assert spec.board_sizes == (side, side)
        assert spec.provenance["statistics of"] == f"{side}x{side}"
        changed = differing(spec, result.net)
        assert changed
        assert all(path.rpartition(".")[2] in ("mean", "variance") for path in changed)


def test_a_run_with_one_size_writes_one_network(tmp_path: Path) -> None:
    train(tiny_config(steps=2), _Sizes(5), tmp_path)
    assert sized(tmp_path) == {}
    assert (tmp_path / NET_FILE).exists()


def test_a_size_of_less_than_a_hundredth_of_the_steps_has_no_network_of_its_own(tmp_path: Path) -> None:
    config = tiny_config(steps=102, checkpoint_every=200, log_every=50, batch_size=8)
    train(config, _Sizes(7, *([5] * 101)), tmp_path)
    assert list(sized(tmp_path)) == [(5, 5)]


def test_norms_that_keep_their_statistics_have_none_for_each_size(tmp_path: Path) -> None:
    train(tiny_config(steps=4, norms="fixed"), _Sizes(5, 7), tmp_path)
    assert sized(tmp_path) == {}


def test_a_resumed_run_has_the_statistics_of_one_that_never_stopped(tmp_path: Path) -> None:
    train(tiny_config(steps=12), _Sizes(5, 7, 7), tmp_path / "whole")
    stop = threading.Event()
    part = train(tiny_config(steps=12), _Sizes(5, 7, 7), tmp_path / "resumed", report=lambda _: stop.set(), stop=stop)
    assert 1 <= part.step < 12
    train(tiny_config(steps=12), _Sizes(5, 7, 7), tmp_path / "resumed")
    whole, resumed = sized(tmp_path / "whole"), sized(tmp_path / "resumed")
    assert list(whole) == list(resumed) == [(5, 5), (7, 7)]
    for size, network in whole.items():
        assert differing(network, resumed[size]) == set()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda stored: stored.pop("5x5/steps"), "5x5/steps: missing tensor"),
        (lambda stored: stored.update({"5x5/more": torch.zeros(1)}), "5x5/more: unknown tensor"),
        (lambda stored: stored.update({"large/steps": torch.zeros(1)}), "expected statistics of board sizes, got"),
        (
            lambda stored: stored.update({"5x5/model.tip.norm.mean": torch.zeros(3)}),
            r"5x5/model.tip.norm.mean: expected .* \[8\], got .* \[3\]",
        ),
    ],
)
def test_a_damaged_checkpoint_is_refused_with_file_and_tensor(change: Any, message: str) -> None:
    net = TrainableNet(default_spec(2, 8, encoder=ENCODER), norms="batch").train()
    statistics = SizeStatistics(net, decay=0.9)
    with torch.no_grad(), statistics.noting(5, 5):
        net(*_inputs(net.spec, learnable_samples(8, 1)))
    stored = dict(statistics.tensors())
    change(stored)
    with pytest.raises(CheckpointError, match=f"sizes.safetensors: {message}"):
        SizeStatistics(net, decay=0.9).restore(stored, "sizes.safetensors")
