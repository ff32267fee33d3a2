"""`keima train`: the commands around learning from samples. Parses the command line; imports nothing heavy."""

import sys
from pathlib import Path
from typing import Any

import click

from engine.settings.network_options import threads_option
from engine.settings.one_line_errors import one_line_errors
from engine.train.data.accuracy_cli import accuracy_command, samples_command
from engine.train.generations.gate_cli import gate_command

_DEVICES = ("auto", "cpu", "cuda")
_PRECISIONS = ("fp32", "bf16")


@click.group()
def train() -> None:
    """Train a network; plot how it went, measure how fast it goes and how much it has learned."""


train.add_command(accuracy_command)
train.add_command(samples_command)
train.add_command(gate_command)


@train.command()
@click.argument("run", metavar="RUN", type=click.Path(file_okay=False, path_type=Path))
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting, as games=4000 or size=5.")
@click.option("--every", type=click.IntRange(min=1), default=250, show_default=True, help="Games between two tests.")
@click.option("--test-games", type=click.IntRange(min=2), default=100, show_default=True, help="Games of each test.")
def dqn(**options: Any) -> None:
    """Learn small boards by double deep Q-learning: for study, no way to a strong network.

    RUN becomes a folder with dqn.safetensors and metrics.jsonl, whose lines have the share of points against random
    moves. A run cannot be resumed.
    """
    with one_line_errors():
        from engine.train.study.dqn_run import cli_dqn

        sys.exit(cli_dqn(options, sys.stdout))


@train.command()
@click.argument("run", metavar="RUN", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--records",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="Game records: SGF, folder, archive, or .sgfl(.bz2) of one SGF a line. Held-out games are passed over.",
)
@click.option(
    "--samples",
    multiple=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder of samples, as self-play and distillation write.",
)
@click.option(
    "--prioritize",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="Draw --samples by this power of their loss; 0 draws all alike.",
)
@click.option("--net", metavar="FILE", help="The network to begin with, of any format; random weights if not given.")
@click.option("--freeze", type=click.Choice(["trunk"]), help="Train the heads alone.")
@click.option("--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A TOML file of settings.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting, as blocks=10 or schedule=step.")
@click.option("--steps", type=click.IntRange(min=1), help="Where the run ends; with more of them it goes on.")
@click.option("--hours", type=click.FloatRange(min=0, min_open=True), help="Where it ends at the latest, in all.")
@click.option("--device", type=click.Choice(_DEVICES), help="A GPU where there is one, if not given.")
@threads_option
def run(**options: Any) -> None:
    """Train a network on game records or samples.

    RUN becomes a folder with net.safetensors, the network to play with, metrics.jsonl and checkpoints. A run stopped at
    any moment goes on with the same command. On several GPUs: torchrun --nproc-per-node N -m keima train run ...
    """
    with one_line_errors():
        from engine.train.learning.running import cli_run

        sys.exit(cli_run(options, sys.stdout, sys.stderr))


@train.command()
@click.argument("run", metavar="RUN", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The PNG; RUN/metrics.png if not given.")
@click.option(
    "--window", type=click.IntRange(min=1), default=20, show_default=True, help="Most lines of a moving average."
)
def plot(run: Path, out: Path | None, window: int) -> None:
    """Draw a run's metrics as PNG: loss and its parts, accuracy, learning rate, each with its moving average."""
    with one_line_errors():
        from engine.support.files import write_atomically
        from engine.train.learning.plot import plot_run

        path = out or run / "metrics.png"
        write_atomically(path, plot_run(run, window))
        click.echo(path)


@train.command()
@click.option("--net", metavar="FILE", help="The network; Keima's default architecture if not given.")
@click.option("--size", "sizes", type=click.IntRange(2, 25), multiple=True, help="Boards; 9 and 19 by default.")
@click.option("--batch", "batches", type=click.IntRange(min=1), multiple=True, help="Samples a step; 64 by default.")
@click.option("--precision", "precisions", type=click.Choice(_PRECISIONS), multiple=True, help="Both by default.")
@click.option("--runs", type=click.IntRange(min=1), default=3, show_default=True, help="A figure is their median.")
@click.option("--seconds", type=float, default=1.0, show_default=True, help="Length of a measurement, at least a step.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of training, as compile=true.")
@click.option("--device", type=click.Choice(_DEVICES), help="A GPU where there is one, if not given.")
@threads_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def bench(**options: Any) -> None:
    """Measure samples a second of training, beside what the machine's matrix products would allow."""
    with one_line_errors():
        from engine.train.learning.running import cli_bench

        sys.exit(cli_bench(options, sys.stdout))
