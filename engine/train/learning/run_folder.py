"""The folder of a training run: how a run starts and resumes, and its files other than checkpoints."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from engine import __version__
from engine.nets.spec import ORIGIN, PEOPLE, NetSpec, WeightsError, tensors
from engine.support.files import write_atomically
from engine.support.run_kinds import TRAIN, refuse_other_run
from engine.train.data.batches import Priorities
from engine.train.learning.auxiliary import extra_heads
from engine.train.learning.checkpoint import newest_checkpoint, priority_tensors, save_checkpoint
from engine.train.learning.device_batch import TrainingError
from engine.train.learning.learner import Learner
from engine.train.learning.metrics import read_metrics
from engine.train.learning.network import agz_spec, default_spec, human_spec
from engine.train.learning.train_config import CONFIG_FILE, FIXED, TrainConfig, read_run_config
from engine.train.toml_settings import ConfigError, differences, to_toml
from weights import native
from weights.sized import Size, text_of, write_sized

START_FILE, NET_FILE = "start.safetensors", "net.safetensors"


def new_spec(config: TrainConfig) -> NetSpec:
    """Return the configured network with random weights. Raises ConfigError, WeightsError."""
    return with_players(_random_spec(config), config)


def with_players(spec: NetSpec, config: TrainConfig) -> NetSpec:
    """Return a network with inputs about the players if the configuration asks for them. Raises WeightsError."""
    return human_spec(spec, config.seed) if config.human else spec


def _random_spec(config: TrainConfig) -> NetSpec:
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
        raise ConfigError(f"board_sizes: agz supports only one board size, got {list(config.board_sizes)}")
    return agz_spec(config.blocks, config.channels, config.seed, config.encoder, largest)


def has_begun(run: Path) -> bool:
    """Return whether a run has a checkpoint; without one its folder may be left from a command that found no data."""
    return (run / START_FILE).exists() and newest_checkpoint(run) is not None


def open_run(run: Path, config: TrainConfig, start: NetSpec | None, *, write: bool = True) -> NetSpec:
    """Return the network with which a run starts or started; creates the folder of a new run.

    start: the initial network, None for random weights. write: whether to store it in the folder of a new run.
    Raises TrainingError if the run started with another network or with settings that must not change, and GoError if
    the folder holds a run of another command, or metrics of another program.
    """
    path = run / START_FILE
    if path.exists() and (not write or has_begun(run)):
        return _begun(run, config, start, native.read(path))
    refuse_other_run(run, TRAIN)
    # Called only for its error: the folder may have metrics of another program.
    read_metrics(run)
    spec = start or new_spec(config)
    if write:
        run.mkdir(parents=True, exist_ok=True)
        native.write(spec, path)
        write_run_config(run, config)
    return spec


def write_run_config(run: Path, config: TrainConfig) -> None:
    """Write the configuration of a run."""
    write_atomically(run / CONFIG_FILE, to_toml(config))


def _begun(run: Path, config: TrainConfig, start: NetSpec | None, begun: NetSpec) -> NetSpec:
    """Return the network with which the run started, after checking it against the command's."""
    if (run / CONFIG_FILE).exists():
        changed = _refused_changes(read_run_config(run), config)
        if changed:
            name, before, now = changed[0]
            raise TrainingError(f"{run}: {name}: expected {before}, with which the run started, got {now}")
    if start is not None:
        before, now = dict(tensors(begun)), dict(tensors(start))
        if before.keys() != now.keys() or any(not np.array_equal(before[name], now[name]) for name in now):
            raise TrainingError(f"{run}: the run started with the network {begun.name}; {start.name} is another one")
    return begun


def _refused_changes(before: TrainConfig, now: TrainConfig) -> list[tuple[str, Any, Any]]:
    """Return the changes with which a run cannot go on: setting, value before, value now."""
    changes = differences(before, now)
    refused = [each for each in changes if _is_fixed(now.optimizer, *each)]
    if not refused and extra_heads(before) != extra_heads(now):
        # Of each setting beside the defaults, under which no head exists.
        heads = [[extra_heads(replace(TrainConfig(), **{name: value})) for value in both] for name, *both in changes]
        return [change for change, (old, new) in zip(changes, heads, strict=True) if old != new]
    return refused


def _is_fixed(optimizer: str, name: str, before: Any, now: Any) -> bool:
    """Return whether a change is refused. SGD without momentum has no tensors to resume with momentum."""
    return name in FIXED or (name == "momentum" and optimizer == "sgd" and 0.0 in (before, now))


def save_run(
    run: Path, config: TrainConfig, learner: Learner, state: Mapping[str, Any], priorities: Sequence[Priorities]
) -> NetSpec:
    """Write the averaged weights as a network, which is returned, and a checkpoint.

    If the run has seen boards of several sizes, there is also a network with the statistics of each. Networks are
    written first, so that no checkpoint is newer than them. state: JSON values with "step" and "samples". priorities:
    the sampling weights of each process.
    Raises TrainingError, and writes nothing, if a weight is not finite.
    """
    step, began = int(state["step"]), learner.net.spec.name
    provenance = {"made by": f"keima {__version__} train", "steps": str(step), "samples": str(state["samples"])}
    provenance["started from"] = began
    of_start = learner.net.spec.provenance
    provenance |= {entry: of_start[entry] for entry in (*PEOPLE, ORIGIN) if entry in of_start}
    try:
        # Raises too: the weights can be infinite while their average is still finite.
        learner.net.to_spec()
        spec = learner.inputs.without_constant(learner.average.net.to_spec(f"{began}-s{step}", provenance))
    except WeightsError as error:
        raise TrainingError(f"{run}: step {step}: {error}; the last checkpoint is kept") from error
    native.write(spec, run / NET_FILE)
    sized: dict[Size, NetSpec] = {}
    for size in learner.sizes.sizes():
        with learner.sizes.used(learner.average.net, size):
            own = learner.average.net.to_spec(provenance=provenance | {"statistics of": text_of(size)})
            sized[size] = learner.inputs.without_constant(own)
    write_sized(run / NET_FILE, spec.name, sized)
    kept = {**state, "rate_factor": learner.schedule.factor, "config": to_toml(config)}
    save_checkpoint(run, step, learner.tensors() | priority_tensors(priorities), kept, config.keep)
    return spec
