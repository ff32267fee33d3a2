"""The folder of a training run: how it begins, how it is found again, what it holds besides checkpoints."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from engine import __version__
from engine.nets.spec import NetSpec, WeightsError, tensors
from engine.support.files import write_atomically
from engine.train.learning.checkpoint import save_checkpoint
from engine.train.learning.device_batch import TrainingError
from engine.train.learning.learner import Learner
from engine.train.learning.metrics import read_metrics
from engine.train.learning.network import agz_spec, default_spec
from engine.train.learning.train_config import FIXED, TrainConfig
from engine.train.toml_settings import ConfigError, differences, from_table, read_toml, to_toml
from weights import native

CONFIG_FILE, START_FILE, NET_FILE = "config.toml", "start.safetensors", "net.safetensors"


def new_spec(config: TrainConfig) -> NetSpec:
    """Return the network of random weights that a configuration describes. Raises ConfigError, WeightsError."""
    if config.architecture != "agz":
        return default_spec(
            config.blocks,
            config.channels,
            config.seed,
            config.encoder,
            board_sizes=config.board_sizes,
            transformer=config.architecture == "transformer",
        )
    smallest, largest = config.board_sizes
    if smallest != largest:
        raise ConfigError(f"board_sizes: agz is for boards of one size, got {list(config.board_sizes)}")
    return agz_spec(config.blocks, config.channels, config.seed, config.encoder, largest)


def open_run(run: Path, config: TrainConfig, start: NetSpec | None, *, write: bool = True) -> NetSpec:
    """Return the network that a run begins, or began, with; make the folder where there is none.

    start: the network to begin with, None for one of random weights. write: store it where the run begins.
    Raises TrainingError where the run began with another network or another configuration that cannot change, and
    GoError where the folder has metrics of something else.
    """
    path = run / START_FILE
    if path.exists():
        return _begun(run, config, start, native.read(path))
    read_metrics(run)
    spec = start or new_spec(config)
    if write:
        run.mkdir(parents=True, exist_ok=True)
        native.write(spec, path)
    return spec


def write_run_config(run: Path, config: TrainConfig) -> None:
    """Record the configuration that a run goes on with."""
    write_atomically(run / CONFIG_FILE, to_toml(config))


def read_run_config(run: Path) -> TrainConfig:
    """Return the configuration that a run recorded. Raises ConfigError."""
    path = run / CONFIG_FILE
    return from_table(TrainConfig, read_toml(path.read_text(encoding="utf-8"), str(path)), str(path))


def _begun(run: Path, config: TrainConfig, start: NetSpec | None, begun: NetSpec) -> NetSpec:
    """Return the network that the run began with if it is the one that is asked for."""
    if (run / CONFIG_FILE).exists():
        changed = [each for each in differences(read_run_config(run), config) if _is_fixed(config.optimizer, *each)]
        if changed:
            name, before, now = changed[0]
            raise TrainingError(f"{run}: the run began with {name} {before}, expected that, got {now}")
    if start is not None:
        before, now = dict(tensors(begun)), dict(tensors(start))
        if before.keys() != now.keys() or any(not np.array_equal(before[name], now[name]) for name in now):
            raise TrainingError(f"{run}: the run began with the network {begun.name}, and {start.name} is another")
    return begun


def _is_fixed(optimizer: str, name: str, before: Any, now: Any) -> bool:
    """Return whether a change is refused; without momentum SGD keeps no tensors that a run could go on with."""
    return name in FIXED or (name == "momentum" and optimizer == "sgd" and 0.0 in (before, now))


def save_run(run: Path, config: TrainConfig, learner: Learner, state: Mapping[str, Any]) -> NetSpec:
    """Write the average of the weights as a network, which is returned, and a checkpoint.

    The network goes first, so that no checkpoint is ever newer than it. state: JSON values with "step" and "samples".
    Raises TrainingError where a weight is not finite; nothing is written then.
    """
    step, began = int(state["step"]), learner.net.spec.name
    provenance = {"made by": f"keima {__version__} train", "steps": str(step), "samples": str(state["samples"])}
    provenance["started from"] = began
    try:
        learner.net.to_spec()
        spec = learner.average.net.to_spec(f"{began}-s{step}", provenance)
    except WeightsError as error:
        raise TrainingError(f"{run}: step {step}: {error}; the last checkpoint stays") from error
    native.write(spec, run / NET_FILE)
    kept = {**state, "rate_factor": learner.schedule.factor, "config": to_toml(config)}
    save_checkpoint(run, step, learner.tensors(), kept, config.keep)
    return spec
