"""The command `keima zero`: learns from zero in a run folder. Heavy modules are imported when it runs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from engine.settings.command import Command
from engine.settings.options import options_of
from engine.settings.setting import Setting, settings_by_key
from engine.support.files import write_atomically
from engine.support.json_text import json_text
from engine.support.plots import NoMatplotlib
from engine.support.progress import ProgressBar
from engine.support.run_kinds import ZERO, claimed_run, refuse_other_run
from engine.support.stopping import INTERRUPTED, stopping
from engine.support.tables import print_tables

if TYPE_CHECKING:
    from engine.train.games.selfplay_workers import SelfplayWorkers
    from engine.train.generations.ray_workers import RayWorkers
    from engine.train.generations.zero import Run, StepStatistics
    from engine.train.generations.zero_config import ZeroConfig
    from engine.train.generations.zero_state import State


def _keys() -> dict[str, Setting]:
    from engine.train.generations.zero_config import ZeroConfig

    return settings_by_key(ZeroConfig)


@click.command(cls=Command, keys=_keys)
@click.argument("run", metavar="RUN", type=click.Path(file_okay=False, path_type=Path))
@options_of("zero")
def zero(
    run: Path,
    preset: str | None,
    settings: tuple[str, ...],
    hours: float | None,
    generations: int | None,
    net: str | None,
    address: str | None,
    status: bool,
) -> None:
    """Learn from nothing, or from a network: self-play, training, a gate and ratings, generation after generation.

    RUN is the directory of the run: the networks of all generations, their games, report.md and progress.png. A run
    that was stopped at any moment, even killed, goes on with the same command and the settings of RUN/config.toml.
    """
    # Before its config.toml is read, which other commands write too.
    refuse_other_run(run, ZERO)
    if status:
        _show_status(run, sys.stdout)
        return
    from engine.train.generations.zero_config import config_of_run

    config = config_of_run(run, preset, settings, hours, generations, net)
    if address is not None and config.run.adapted:
        name = config.run.adapted[0]
        off = "none" if isinstance(getattr(config.run, name), tuple) else 0
        raise click.UsageError(
            f"--ray plays with the same settings in all generations: begin the run with --set run.{name}={off}"
        )
    with claimed_run(run, ZERO):
        sys.exit(_learn(run, config, address, sys.stderr))


def _show_status(run: Path, stdout: IO[str]) -> None:
    from engine.train.generations.zero_config import require_run
    from engine.train.generations.zero_progress import read_progress
    from engine.train.generations.zero_report import status

    require_run(run)
    print_tables(stdout, status(read_progress(run)))


def _learn(folder: Path, config: "ZeroConfig", address: str | None, stderr: IO[str]) -> int:
    """Start or resume a run and return the exit status: 0, or 130 after Ctrl-C; finished work is kept.

    The configuration is stored after the first network could be made from it. What training would refuse is found
    before any game is played.
    """
    from engine.train.generations.first_network import make_first_network
    from engine.train.generations.zero import Bounds, Run
    from engine.train.generations.zero_config import keep_config
    from engine.train.generations.zero_state import STEPS
    from engine.train.generations.zero_steps import LocalSteps

    run, bounds = Run(folder), Bounds(config.run.hours, config.run.generations)
    if not bounds.reached(run.state, run.clock.hours):
        from engine.train.generations.training import check_device, check_trainers

        check_device(config)
        check_trainers(config)
    make_first_network(folder, config)
    keep_config(folder, config)
    if bounds.reached(run.state, run.clock.hours):
        return _complete(run, stderr)
    with (
        stopping() as stop,
        _workers(config, address) as workers,
        open_ray_workers(folder, config, address) as ray_workers,
        ProgressBar(stderr) as bar,
    ):

        def report(state: "State", figures: "StepStatistics") -> None:
            bar.print(f"generation {state.generation}, {state.step}: {_figures(figures)}")
            # Drawing takes a second, which short steps would notice.
            write_reports(folder, stderr, picture=state.step == STEPS[-1])

        def note(text: str) -> None:
            bar.update(f"generation {run.state.generation}, {run.state.step}: {text}")

        steps = LocalSteps(folder, config, stop, note, lambda: run.clock.hours, workers, ray_workers)
        run.go_on(steps, bounds, stop, report)
    write_reports(folder, stderr)
    if bounds.reached(run.state, run.clock.hours):
        return _complete(run, stderr)
    stderr.write("keima zero: stopped; the same command goes on\n")
    return INTERRUPTED


def _complete(run: "Run", stderr: IO[str]) -> int:
    """Report that a run has reached its bound, and return the exit status."""
    stderr.write(f"keima zero: {run.folder} is complete: {run.clock.hours:.2f} h, next is generation ")
    stderr.write(f"{run.state.generation}; continue with larger --hours or --generations\n")
    return 0


def _workers(config: "ZeroConfig", address: str | None) -> "SelfplayWorkers":
    """Return the local self-play workers; only one if a Ray cluster plays."""
    from engine.train.games.selfplay_workers import SelfplayWorkers

    return SelfplayWorkers(config.evaluator.processes if address is None else 1, config.evaluator.threads)


@contextmanager
def open_ray_workers(folder: Path, config: "ZeroConfig", address: str | None) -> Iterator["RayWorkers | None"]:
    """Yield the workers of a Ray cluster, or None if this machine plays."""
    if address is None:
        yield None
        return
    from engine.train.generations.ray_selfplay import MakeSelfplay
    from engine.train.generations.ray_workers import RayWorkers

    evaluator = replace(config.evaluator, threads=config.evaluator.threads or 1)
    make, cluster = MakeSelfplay(config.selfplay, evaluator), config.cluster
    with RayWorkers(address, make, folder / "spool", cluster, evaluator.threads) as ray_workers:
        yield ray_workers


def write_reports(folder: Path, stderr: IO[str], *, picture: bool = True) -> None:
    """Write report.md, ratings.json and, if wanted and matplotlib is installed, progress.png."""
    from engine.train.generations.progress_plot import PICTURE, plot_progress
    from engine.train.generations.rating import summary
    from engine.train.generations.zero_progress import read_progress
    from engine.train.generations.zero_report import write_report

    progress = read_progress(folder)
    write_report(progress, f"keima zero {folder.name}")
    if any(line.games for line in progress.matches):
        found = {f"{side}x{side}": summary(matches) for side, matches in progress.matches_by_size.items()}
        write_atomically(folder / "ratings.json", json_text(found, indent=1) + "\n")
    if not picture:
        return
    try:
        write_atomically(folder / PICTURE, plot_progress(progress, folder.name))
    except NoMatplotlib as error:
        stderr.write(f"keima zero: {error}\n")


def _figures(figures: "StepStatistics") -> str:
    """Return the statistics of a step as one line."""
    known = {key: value for key, value in figures.items() if value is not None and key != "hours"}
    texts = (f"{key} {value:,.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in known.items())
    return f"{', '.join(texts)}; {figures['hours']:.2f} h"
