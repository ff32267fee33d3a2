"""The training of a generation's candidate, in each of the processes that train together.

The step counts over all generations, so that the optimizer and the schedule go on from the last one.
"""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from engine.support.cores import usable_cores
from engine.support.worker_processes import divide_threads
from engine.train.data.batches import WindowSource
from engine.train.data.limited_source import LimitedSource
from engine.train.data.replay import Window
from engine.train.data.samples import SUFFIX
from engine.train.generations.rating import player_of
from engine.train.generations.zero_config import ZeroConfig
from engine.train.learning.checkpoint import newest_checkpoint
from engine.train.learning.device_batch import TrainingError
from engine.train.learning.devices import Devices, gpus
from engine.train.learning.train import Progress, TrainResult, train
from engine.train.learning.train_config import TrainConfig
from engine.train.toml_settings import ConfigError
from weights.registry import load

_BATCHES = 1
"""Part of the seed of the batches; the other parts of a run have other numbers."""


def trainers_of(config: ZeroConfig) -> int:
    """Return the number of processes that train together."""
    return config.run.trainers or max(1, gpus())


def begun_at(run: Path) -> int:
    """Return the step with which a training run goes on."""
    checkpoint = newest_checkpoint(run)
    return 0 if checkpoint is None else checkpoint.step


def train_config(config: ZeroConfig) -> TrainConfig:
    """Return the settings of the training run."""
    return replace(config.train, seed=config.run.seed)


def check_device(config: ZeroConfig) -> None:
    """Raise TrainingError if this process has no device to train on."""
    try:
        Devices(config.train)
    except TrainingError as error:
        raise TrainingError(f"train.{error}") from None


def check_trainers(config: ZeroConfig) -> None:
    """Raise ConfigError if a run asks for more processes that train than this machine has GPUs or, without any, cores.

    Two are never refused, so that it can be tried anywhere.
    """
    most = (0 if config.train.device == "cpu" else gpus()) or max(2, usable_cores())
    if config.run.trainers > most:
        raise ConfigError(f"run.trainers: expected at most {most} on this machine, got {config.run.trainers}")


def train_until(
    folder: Path,
    config: ZeroConfig,
    target: int,
    world: int,
    report: Callable[[Progress], None] = lambda _: None,
    stop: threading.Event | None = None,
) -> TrainResult:
    """Train until a step, as one of `world` processes, each with batches of its own.

    folder: of the run of `keima zero`.
    """
    settings, run, rank = train_config(config), folder / "train", int(os.environ.get("RANK", "0"))
    if world > 1 and not settings.threads:
        settings = replace(settings, threads=divide_threads(0, world)[1])
    window = config.window
    samples = Window(
        folder / "samples",
        scale=window.scale,
        alpha=window.alpha,
        beta=window.beta,
        prioritize=window.prioritize,
        correct=window.correct,
    )
    # The first process draws what a single one would.
    seed = [settings.seed, _BATCHES, *([rank] if rank else [])]
    limited = LimitedSource(WindowSource(samples, settings.batch_size, seed), target - begun_at(run))
    settings = replace(settings, steps=max(settings.steps, target))
    start = load(folder / "nets" / (player_of(0) + SUFFIX))
    return train(settings, limited, run, start=start, report=report, stop=stop)
