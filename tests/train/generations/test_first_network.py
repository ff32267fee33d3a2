"""The network with which a run begins: a random one, or one that is given."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.encoders import ENCODERS
from engine.errors import GoError
from engine.nets.random import random_agz_spec, random_spec
from engine.nets.spec import DenseValueHead, NetSpec, WeightsError, tensors
from engine.train.generations.first_network import make_first_network
from engine.train.generations.zero_config import ZeroConfig, config_of_run, keep_config, read_config
from engine.train.generations.zero_steps import network_file
from engine.train.learning.train_config import TrainConfig
from engine.train.toml_settings import ConfigError
from weights import native
from weights.registry import load
from weights.shipped import SHIPPED_NETWORKS
from weights.sized import read_sized, write_sized

NINE = ("selfplay.sizes=[9]",)


def first_network(folder: Path, net: str | Path, *settings: str) -> NetSpec:
    make_first_network(folder, config_of_run(folder, "tiny", [*NINE, *settings], net=str(net)))
    return native.read(network_file(folder, 0))


def shipped(name: str) -> NetSpec:
    return load(SHIPPED_NETWORKS / f"{name}.safetensors")


def test_a_run_begins_with_the_weights_of_the_network_that_is_given(tmp_path: Path) -> None:
    first, given = first_network(tmp_path, "zero9"), shipped("zero9")
    assert (first.name, first.provenance["origin"]) == ("gen-0000", "zero9")
    found, expected = dict(tensors(first)), dict(tensors(given))
    assert found.keys() == expected.keys()
    assert all(np.array_equal(found[name], expected[name]) for name in expected)


def test_a_random_network_stays_one_that_has_learned_nothing(tmp_path: Path) -> None:
    file = tmp_path / "random.safetensors"
    native.write(random_spec(1, 4, ENCODERS["katago-v7"], 7), file)
    assert first_network(tmp_path / "run", file).provenance["seed"] == "7", "by which training knows it"
    assert "seed" not in first_network(tmp_path / "other", "zero9").provenance


def test_the_statistics_of_its_board_sizes_come_along(tmp_path: Path) -> None:
    file, spec = tmp_path / "net.safetensors", replace(shipped("zero9"), name="mine")
    native.write(spec, file)
    write_sized(file, "mine", {(9, 9): spec})
    first_network(tmp_path / "run", file)
    assert list(read_sized(network_file(tmp_path / "run", 0), "gen-0000")) == [(9, 9)]


@pytest.mark.parametrize(
    ("net", "settings", "message"),
    [
        ("zero9", ["selfplay.sizes=[5]"], "run.net: expected a network for boards of 5x5"),
        ("keima-human9", [], "run.net: expected inputs katago-v7, .* got keima-human9 with katago-v7 and those of"),
        ("zero9", ["selfplay.encoder=liberties", "train.encoder=liberties"], "run.net: expected inputs liberties"),
        ("zero9", ["train.blocks=6"], "--set train.blocks: the network of run.net has its own"),
        ("no such network", [], "no such network"),
        ("", [], "--net: a network's name must not be empty"),
    ],
)
def test_a_network_that_does_not_fit_the_run_is_refused(
    tmp_path: Path, net: str, settings: list[str], message: str
) -> None:
    with pytest.raises((GoError, WeightsError), match=message):
        first_network(tmp_path, net, *settings)
    assert not network_file(tmp_path, 0).exists()


def test_a_run_goes_on_without_naming_its_network_and_refuses_another(tmp_path: Path) -> None:
    config = config_of_run(tmp_path, "tiny", NINE, net="zero9")
    keep_config(tmp_path, config)
    assert config_of_run(tmp_path) == config
    with pytest.raises(ConfigError, match=r"run\.net is 'zero9' in this run but 'keima-b6c96' in the command"):
        config_of_run(tmp_path, net="keima-b6c96")


def test_board_sizes_are_those_of_the_network_and_not_of_the_preset(tmp_path: Path) -> None:
    assert config_of_run(tmp_path, "tiny", ["selfplay.sizes=[19]"], net="zero9").selfplay.sizes == (19,)
    with pytest.raises(ConfigError, match="expected 5 to 9, got"):
        config_of_run(tmp_path, "tiny", ["selfplay.sizes=[19]"])


def test_a_network_with_the_value_of_black_is_refused_before_any_game(tmp_path: Path) -> None:
    spec = random_agz_spec(1, 4, ENCODERS["agz"], 1, 5)
    assert isinstance(spec.value, DenseValueHead)
    native.write(replace(spec, value=replace(spec.value, black_view=True)), tmp_path / "black.safetensors")
    settings = ("selfplay.sizes=[5]", "selfplay.encoder=agz", "train.encoder=agz")
    with pytest.raises(ConfigError, match=r"expected the value of the side to move, got .* with Black's"):
        make_first_network(tmp_path, config_of_run(tmp_path, "tiny", settings, net=str(tmp_path / "black.safetensors")))


def test_what_is_trained_names_the_network_that_was_given(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from engine.train.learning.learner import Learner
    from engine.train.learning.run_folder import save_run

    config, net = TrainConfig(), first_network(tmp_path, "zero9")
    learner = Learner(net, config, torch.device("cpu"))
    saved = save_run(tmp_path, config, learner, {"step": 1, "samples": 1}, [])
    assert (saved.provenance["started from"], saved.provenance["origin"]) == ("gen-0000", "zero9")


def test_without_a_network_the_run_begins_with_random_weights(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    config: ZeroConfig = read_config("tiny", ["train.blocks=1", "train.channels=4"])
    make_first_network(tmp_path, config)
    assert "origin" not in native.read(network_file(tmp_path, 0)).provenance
