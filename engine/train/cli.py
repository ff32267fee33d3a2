"""`keima train`: the commands around learning from samples. Parses the command line; imports nothing heavy."""

import sys
from pathlib import Path
from typing import Any

import click

from engine.settings.command import Group
from engine.settings.options import options_of
from engine.settings.setting import Setting, settings_by_key
from engine.train.data.accuracy_cli import accuracy_command, samples_command
from engine.train.data.convert_cli import convert_command
from engine.train.generations.gate_cli import gate_command


@click.group(cls=Group)
def train() -> None:
    """Train a network; plot how it went, measure how fast it goes and how much it has learned."""


train.add_command(accuracy_command)
train.add_command(samples_command)
train.add_command(convert_command)
train.add_command(gate_command)


def _training_keys() -> dict[str, Setting]:
    from engine.train.learning.train_config import TrainConfig

    return settings_by_key(TrainConfig)


def _dqn_keys() -> dict[str, Setting]:
    from engine.train.study.dqn_settings import DqnSettings

    return settings_by_key(DqnSettings)


@train.command(keys=_dqn_keys)
@click.argument("run", metavar="RUN", type=click.Path(file_okay=False, path_type=Path))
@options_of("train dqn")
def dqn(**options: Any) -> None:
    """Learn small boards by double deep Q-learning; for study, not for a strong network.

    RUN is the directory of the run: dqn.safetensors, and metrics.jsonl with the share of points against random moves.
    A run cannot be resumed.
    """
    from engine.train.study.dqn_run import cli_dqn

    sys.exit(cli_dqn(options, sys.stdout))


@train.command(keys=_training_keys)
@click.argument("run", metavar="RUN", type=click.Path(file_okay=False, path_type=Path))
@options_of("train run")
def run(status: bool, **options: Any) -> None:
    """Train a network on game records or samples.

    RUN is the directory of the run: net.safetensors, the network to play with, metrics.jsonl and checkpoints. A run
    stopped at any moment goes on with the same command.

    On several GPUs: torchrun --nproc-per-node N -m keima train run ...
    """
    if status:
        from engine.support.tables import print_tables
        from engine.train.learning.status import status as status_of

        print_tables(sys.stdout, status_of(options["run"]))
        return
    from engine.train.learning.train_commands import cli_run

    sys.exit(cli_run(options, sys.stdout, sys.stderr))


@train.command()
@click.argument("run", metavar="RUN", type=click.Path(exists=True, file_okay=False, path_type=Path))
@options_of("train plot")
def plot(run: Path, out: Path | None, window: int) -> None:
    """Draw a run's metrics as PNG: loss and its parts, accuracy, learning rate, each with its moving average.

    For a run of `keima zero`: strength, losses, speed, length of the games, resignations and entropy over its hours.
    """
    from engine.support.files import write_atomically
    from engine.support.run_kinds import ZERO

    if ZERO.is_in(run):
        from engine.train.generations.progress_plot import PICTURE, plot_progress
        from engine.train.generations.zero_progress import read_progress

        path, picture = out or run / PICTURE, plot_progress(read_progress(run), run.resolve().name)
    else:
        from engine.train.learning.plot import plot_run

        path, picture = out or run / "metrics.png", plot_run(run, window)
    write_atomically(path, picture)
    click.echo(path)


@train.command(keys=_training_keys)
@options_of("train bench")
def bench(**options: Any) -> None:
    """Measure the samples per second of training, next to what the machine's matrix products would allow."""
    from engine.train.learning.train_commands import cli_bench

    sys.exit(cli_bench(options, sys.stdout))
