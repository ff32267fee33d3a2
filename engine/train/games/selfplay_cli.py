"""The command `keima selfplay`: plays a network against itself. Heavy modules are imported when it runs."""

import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from engine.settings.command import Command, refuse_given
from engine.settings.options import options_of
from engine.settings.setting import Setting, settings_by_key
from engine.support.json_text import json_text
from engine.support.progress import ProgressBar
from engine.support.run_kinds import SELFPLAY, claimed_run
from engine.support.stopping import INTERRUPTED, stopping
from weights.shipped import NO_NETWORK, network_named

if TYPE_CHECKING:
    from engine.evaluation.evaluator import Evaluator
    from engine.nets.spec import NetSpec
    from engine.train.games.selfplay_settings import SelfplaySettings
    from engine.train.games.selfplay_stats import SelfplayStats

_RAW_SECONDS = 5.0


def _keys() -> dict[str, Setting]:
    from engine.train.games.selfplay_settings import SelfplaySettings

    return settings_by_key(SelfplaySettings)


@click.command(cls=Command, keys=_keys)
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@options_of("selfplay")
def selfplay(**options: Any) -> None:
    """Play games of a network against itself, many at once, and write training samples of them.

    OUT is the directory of the games (games.sgfl, one SGF a line) and of the samples, by board size. A run that was
    stopped at any moment, even killed, goes on with the same command; it loses at most the games in progress.
    """
    sys.exit(cli_selfplay(options, sys.stdout, sys.stderr))


def cli_selfplay(options: dict[str, Any], stdout: IO[str], stderr: IO[str]) -> int:
    """Run the command and return its exit status. Raises GoError or WeightsError with one line."""
    from engine.train.games.selfplay_workers import SelfplayWorkers

    settings = _settings(options)
    if options["teacher"] and not settings.exploration.start:
        raise click.UsageError("--teacher needs exploration: give --set exploration.start=0.99")
    if network_named(options["net"]) is not None:
        refuse_given({"blocks", "channels"}, f"is only for --net {NO_NETWORK}: the network has its own")
    network, threads = network_of(options, settings.encoder), options["threads"] or 0
    rates: list[float] = []
    with (
        claimed_run(options["out"], SELFPLAY),
        stopping() as stop,
        ProgressBar(stderr) as bar,
        SelfplayWorkers(options["processes"] or 0, threads) as workers,
    ):
        if options["measures"]:
            # Measured before and after, because the machine's speed drifts during a run.
            rates.append(raw_rate(network, threads, settings))
        stats = workers.play(
            settings,
            network.evaluator,
            options["out"],
            options["games"],
            options["seed"],
            stop=stop,
            report=lambda stats: bar.update(stats.progress(), stats.done, stats.to_play),
            teacher=options["teacher"],
            provenance={"network": network.name},
            players={"network": network.identity, "teacher": options["teacher"]},
        )
        if options["measures"]:
            rates.append(raw_rate(network, threads, settings))
    raw = sum(rates) / len(rates) if rates else None
    text = json_text(_figures(stats, raw)) if options["as_json"] else summary(stats, options["out"], raw)
    stdout.write(text + "\n")
    return INTERRUPTED if stop.is_set() else 0


def _settings(options: dict[str, Any]) -> "SelfplaySettings":
    from engine.train.games.selfplay_settings import SelfplaySettings
    from engine.train.toml_settings import from_table, overridden

    sizes = {"sizes": list(options["size"])} if options["size"] else {}
    return from_table(SelfplaySettings, overridden(SelfplaySettings, sizes, options["settings"]), "--set")


@dataclass(frozen=True)
class PlayingNetwork:
    """A network that every process loads for itself.

    identity: distinguishes it from other networks of the same name. file: None for a random one.
    backend, precision: of the evaluator.
    """

    name: str
    identity: str
    file: Path | None
    read: Callable[[], "NetSpec"]
    backend: str
    precision: str
    profile: str | None

    def evaluator(self, threads: int) -> "Evaluator":
        """Open an evaluator with 0 threads for all cores. Raises GoError if backend or precision are not available."""
        from engine.evaluators.factory import Computing, profiled_evaluator

        computing = Computing(self.backend, self.precision, threads or None)
        return profiled_evaluator(self.read(), computing, self.profile, self.file)


def network_of(options: dict[str, Any], encoder: str) -> PlayingNetwork:
    """Return the network that the options select. Raises GoError or WeightsError.

    encoder: of the samples, and of a random network.
    """
    from engine.encoders import ENCODERS
    from engine.errors import GoError
    from engine.evaluators.factory import check_profile
    from engine.evaluators.finding import find_network
    from engine.evaluators.named import network_identity
    from weights.registry import load

    if encoder not in ENCODERS:
        raise GoError(f"encoder: expected one of {' '.join(ENCODERS)}, got {encoder!r}")
    named, file = network_named(options["net"]), None
    if named is not None:
        file = find_network(named)
        name, read = file.name, partial(load, file)
        check_profile(read(), options["profile"])
        identity = network_identity(file, options["profile"])
    else:
        read = partial(_random_network, options["blocks"], options["channels"], encoder, options["seed"])
        name = identity = read().name
    return PlayingNetwork(name, identity, file, read, options["backend"], options["precision"], options["profile"])


def _random_network(blocks: int, channels: int, encoder: str, seed: int) -> "NetSpec":
    from engine.encoders import ENCODERS
    from engine.nets.random import random_spec
    from engine.nets.spec import Score, ValueKind

    scores = (Score.MEAN, Score.STDEV, Score.LEAD)
    return random_spec(blocks, channels, ENCODERS[encoder], seed, value=ValueKind.SOFTMAX, scores=scores)


def raw_rate(network: PlayingNetwork, threads: int, settings: "SelfplaySettings") -> float:
    """Measure evaluations/s of a network alone, with the batch size of self-play, up to 32."""
    from engine.search.evaluator_speed import BATCHES, Measured

    with closing(network.evaluator(threads)) as evaluator:
        side, attributes = settings.sizes[0], evaluator.attributes
        batch = settings.leaves * -(-settings.games_at_once // (settings.batches or attributes.concurrent))
        measured = Measured(evaluator, side, side)
        return measured.per_second(_RAW_SECONDS, min(batch, max(BATCHES), attributes.max_batch))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _figures(stats: "SelfplayStats", raw: float | None) -> dict[str, Any]:
    """Return all statistics. raw: evaluations/s of the evaluator alone, None if not measured."""
    figures = stats.to_json()
    if raw is not None:
        rate = figures["evaluations_per_s"] or 0.0
        figures |= {"raw_evaluations_per_s": round(raw, 1), "share_of_raw": round(rate / raw, 3)}
    return figures


def summary(stats: "SelfplayStats", out: Path, raw: float | None = None) -> str:
    """Return the statistics as a few lines of text. raw: see `_figures`."""
    if raw is None and stats.to_play is not None and stats.done >= stats.to_play and stats.games == 0:
        return f"{out} has {stats.done} games already; play more with a larger --games than {stats.done}"
    figures = _figures(stats, raw)
    lines = [
        f"{stats.progress()}; {figures['samples_per_s'] or 0:.1f} samples/s; in {out}",
        f"{stats.games} games of {figures['mean_length'] or 0:.1f} moves, {stats.samples} samples: "
        f"Black won {_percent(figures['black_win_rate'])}, {stats.draws} draws, {stats.no_results} without a result, "
        f"{stats.unfinished} counted as they stood",
        f"{stats.decided} decided early; of {stats.would_resign} played in full although a side would have resigned, "
        f"it did not lose {stats.false_resigns} ({_percent(figures['false_resign_rate'])})",
    ]
    if raw is not None:
        lines.append(f"the evaluator alone: {raw:.0f} evaluations/s; share of it {_percent(figures['share_of_raw'])}")
    return "\n".join(lines)
