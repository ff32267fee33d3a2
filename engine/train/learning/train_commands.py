"""Implements `keima train run` and `keima train bench`: turns options into a configuration and data, and runs them."""

import logging
import math
import os
from collections.abc import Mapping, Sequence
from typing import IO, Any

import click

from engine.evaluators.finding import find_network
from engine.nets.spec import NetSpec
from engine.support.json_text import json_text
from engine.support.progress import ProgressBar
from engine.support.run_kinds import TRAIN, claimed_run
from engine.support.stopping import INTERRUPTED, stopping
from engine.support.tables import print_tables
from engine.train.data.batches import Source, WindowSource, WindowUnion
from engine.train.learning.bench import Case, bench
from engine.train.learning.checkpoint import newest_checkpoint
from engine.train.learning.run_folder import NET_FILE, START_FILE, has_begun, new_spec, with_players
from engine.train.learning.step_metrics import format_metrics, without_targets
from engine.train.learning.train import Progress, train
from engine.train.learning.train_config import CONFIG_FILE, SHAPE, TrainConfig
from engine.train.toml_settings import ConfigError, from_table, overridden, read_toml_file
from weights import native
from weights.registry import load
from weights.sized import folder_of, read_sized, text_of

_LOG = logging.getLogger(__name__)
_SHOWN_METRICS = ("loss", "accuracy", "value", "samples_per_s")
_BENCH_BATCH = 64


def cli_run(options: Mapping[str, Any], stdout: IO[str], stderr: IO[str]) -> int:
    """Train and return the exit status: 0, or 130 if the run was interrupted; its last step is saved.

    Raises GoError or WeightsError with one line.
    """
    from engine.train.data.record_source import RecordSource

    if bool(options["records"]) == bool(options["samples"]):
        raise click.UsageError("nothing to learn from: give either --records or --samples")
    if options["records"] and options["prioritize"]:
        raise click.UsageError("--prioritize draws from --samples: games have no losses")
    config = training_config(options)
    path = options["run"]
    if config.freeze != "none" and options["net"] is None and not has_begun(path):
        raise click.UsageError(f"--freeze {config.freeze} needs --net: a random trunk would stay random")
    start = None if options["net"] is None else with_players(load(find_network(options["net"])), config)
    # A run that is resumed reads the samples of the network that it began with, whatever --net is now.
    begun = native.read(path / START_FILE) if has_begun(path) else start or new_spec(config)
    data = make_source(options, config, begun)
    first, has_metrics = int(os.environ.get("RANK", "0")) == 0, False
    with claimed_run(path if first else None, TRAIN), stopping() as stop, ProgressBar(stderr if first else None) as bar:

        def report(progress: Progress) -> None:
            nonlocal has_metrics
            if progress.figures and not has_metrics:
                has_metrics = True
                for warning in without_targets(progress.figures, config):
                    _LOG.warning("%s", warning)
            text = format_metrics(progress.figures, *_SHOWN_METRICS)
            line = f"step {progress.step}/{progress.steps}{': ' if text else ''}{text}"
            bar.update(text, progress.step, progress.steps, left=progress.seconds_left, line=line)

        bar.update("compiling and reading")
        result = train(config, data, path, start=start, report=report, stop=stop)
        if isinstance(data, RecordSource):
            data.close()
    if first:
        text = format_metrics(result.figures, "loss", "accuracy")
        stdout.write(f"{path / NET_FILE}: step {result.step}{', ' + text if text else ''}\n")
        for size in read_sized(path / NET_FILE, result.net.name):
            stdout.write(f"{folder_of(path / NET_FILE)}: statistics of {text_of(size)}\n")
    return INTERRUPTED if stop.is_set() else 0


def training_config(options: Mapping[str, Any]) -> TrainConfig:
    """Combine the run's recorded configuration, the file, --set and the other options; later ones override.

    Raises ConfigError on an unknown key or invalid value, UsageError on a setting that --net determines.
    """
    if options["net"] is not None:
        _refuse(options["settings"], dict.fromkeys(SHAPE, "the network of --net has its own"))
    tables: dict[str, Any] = {}
    run = options.get("run")
    recorded = run / CONFIG_FILE if run is not None and has_begun(run) else None
    place = "the command line"
    for path in (recorded, options.get("config")):
        if path is not None and path.exists():
            table = read_toml_file(path)
            from_table(TrainConfig, table, str(path))  # so that errors name the file
            tables |= table
    tables = overridden(TrainConfig, tables, options["settings"])
    given = {name: options.get(name) for name in ("steps", "hours", "device", "threads")}
    given["freeze"] = options.get("freeze")
    return from_table(TrainConfig, tables | {key: value for key, value in given.items() if value is not None}, place)


def _refuse(settings: Sequence[str], reasons: Mapping[str, str]) -> None:
    """Raise UsageError on a setting that would be ignored."""
    for setting in settings:
        key = setting.partition("=")[0].strip()
        if key in reasons:
            raise click.UsageError(f"--set {key}: {reasons[key]}")


def make_source(options: Mapping[str, Any], config: TrainConfig, spec: NetSpec) -> Source:
    """Return the source of batches that the options select. Every process gets its own seed.

    Raises GoError if there is no data.
    """
    from engine.train.data.record_source import POSITIONS_A_GAME, RecordSource
    from engine.train.data.records import RecordOptions
    from engine.train.data.replay import Window

    newest = newest_checkpoint(options["run"])
    seed = [config.seed, int(os.environ.get("RANK", "0"))]
    if options["samples"]:
        if config.record_shares:
            raise ConfigError("record_shares: only for --records")
        windows = [Window(folder, scale=math.inf, prioritize=options["prioritize"]) for folder in options["samples"]]
        seed.append(newest.step if newest else 0)
        return WindowSource(windows[0] if len(windows) == 1 else WindowUnion(windows), config.batch_size, seed)
    records = RecordOptions(spec.encoder, POSITIONS_A_GAME, players=spec.metadata > 0)
    if config.record_shares and len(config.record_shares) != len(options["records"]):
        raise ConfigError(f"record_shares: expected one for each of {len(options['records'])} --records")
    return RecordSource(options["records"], config.batch_size, seed, records, shares=config.record_shares)


def cli_bench(options: Mapping[str, Any], stdout: IO[str]) -> int:
    """Measure, print, and return the exit status 0. Raises GoError or WeightsError with one line."""
    _refuse(options["settings"], {"precision": "say --precision", "batch_size": "say --batch"})
    config = training_config(options)
    spec = new_spec(config) if options["net"] is None else load(find_network(options["net"]))
    batches: Sequence[int] = options["batches"] or (_BENCH_BATCH,)
    cases = [
        Case((size, size), batch, precision)
        for size in options["sizes"] or (9, 19)
        for batch in batches
        for precision in options["precisions"] or ("fp32", "bf16")
    ]
    figures = bench(spec, cases, config, options["runs"], options["seconds"])
    if options["as_json"]:
        stdout.write(json_text(figures, indent=1) + "\n")
        return 0
    from rich.table import Table

    title = f"training {figures['network']} on {figures['device']}, {figures['threads']} threads"
    table = Table("board", "batch", "precision", "samples/s", "limit", "share", title=title)
    for row in figures["figures"]:
        limit, share = f"{row['limit_samples_per_s']:.4g}", f"{row['share']:.0%}"
        table.add_row(row["size"], str(row["batch"]), row["precision"], f"{row['samples_per_s']:.4g}", limit, share)
    print_tables(stdout, [table])
    return 0
