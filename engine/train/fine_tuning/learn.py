"""Fine-tunes a network on a person's games: tests it, makes samples, trains, and tests it again.

RUN receives settings.json, samples/, train/ (the training run, see `engine.train.learning.train`), before.json and
after.json (the accuracies), net.safetensors, report.md and report.png. Each step that is done is skipped when the run
goes on.
"""

import math
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from engine.errors import GoError
from engine.evaluators.factory import Computing, open_unprofiled
from engine.evaluators.finding import find_network
from engine.nets.spec import NetSpec, Norm
from engine.support.cores import usable_cores
from engine.support.files import read_object, write_atomically
from engine.support.json_text import json_text
from engine.support.progress import ProgressBar
from engine.support.run_folder import SETTINGS_FILE, keep_settings
from engine.train.data.accuracy import Accuracy, Means, Predictor, accuracy_of
from engine.train.data.batches import WindowSource
from engine.train.data.record_shards import Shards
from engine.train.data.records import RecordOptions, Source, Tally, read_samples
from engine.train.data.replay import Window
from engine.train.fine_tuning.games import DividedGames, divided_games
from engine.train.learning.train import Progress, train
from engine.train.learning.train_config import TrainConfig
from weights.registry import load
from weights.sized import read_sized, write_sized

BEFORE_FILE, AFTER_FILE, NET_FILE = "before.json", "after.json", "net.safetensors"
WHOLE_FROM_GAMES = 2000
"""Games from which on the whole network is trained; with fewer only the heads are, so the trunk keeps what it knows."""
_SAMPLES, _TRAIN = "samples", "train"
_PASSES = 3
"""How often each position is seen on average, each time under a random symmetry."""
_BATCH = 64
_RATES = {"trunk": 3e-4, "none": 1e-4}
"""Learning rates of the heads alone and of the whole network: small, because both begin trained."""
_LEAST_STEPS, _MOST_STEPS = 20, 50_000
_SHARD = 4096
_SEED = 1


@dataclass(frozen=True)
class LearnOptions:
    """What to learn. freeze: "trunk" or "none", None by the number of games. hours: None for no limit."""

    out: Path
    net: str
    freeze: str | None = None
    hours: float | None = None
    threads: int | None = None


@dataclass(frozen=True)
class Learned:
    """The result: the network's accuracy on the test games before and after, and how it was trained.

    played: games whose positions it learned. imitates: whether it imitates the people whom a profile names.
    """

    before: Accuracy
    after: Accuracy
    games: DividedGames
    positions: int
    played: int
    freeze: str
    steps: int
    network: Path
    finished: bool
    imitates: bool


class _Stopped(Exception):
    """Ends what would take long after a request to stop."""


def learn(sources: Sequence[Path], options: LearnOptions, bar: ProgressBar, stop: threading.Event) -> Learned | None:
    """Fine-tune the network and return what it learned; None if it was stopped before that was tested.

    sources: files, folders and archives of records; a network that imitates people learns from those with the players'
    ranks. bar: shows the step and the time left. Raises GoError or WeightsError, one line.
    """
    try:
        return _learn(sources, options, bar, stop)
    except _Stopped:
        return None


def _learn(sources: Sequence[Path], options: LearnOptions, bar: ProgressBar, stop: threading.Event) -> Learned | None:
    def show(text: str, done: int | None = None, total: int | None = None) -> None:
        if stop.is_set():
            raise _Stopped
        bar.update(text, done, total)

    spec = load(find_network(options.net))
    show("reading games")
    games = divided_games(
        sources, ranked=spec.metadata > 0, report=lambda count: show(f"reading games, {count} different ones")
    )
    freeze = options.freeze or ("none" if len(games.training) >= WHOLE_FROM_GAMES else "trunk")
    options.out.mkdir(parents=True, exist_ok=True)
    keep_settings(
        options.out / SETTINGS_FILE,
        {"network": spec.name, "games": games.fingerprint, "freeze": freeze, "encoder": spec.encoder},
    )
    before = _accuracy(options.out / BEFORE_FILE, options.net, games.testing, options, show)
    positions, played = _make_samples(options.out / _SAMPLES, spec, games.training, show)
    config = _config(positions, freeze, options)
    source = WindowSource(Window(options.out / _SAMPLES, scale=math.inf), config.batch_size, _SEED)

    def report(progress: Progress) -> None:
        bar.update(progress.text, progress.step, progress.steps, left=progress.seconds_left)

    bar.update("training")
    run = options.out / _TRAIN
    result = train(config, source, run, start=spec, report=report, stop=stop)
    if stop.is_set() and not result.finished:
        return None
    shutil.copyfile(run / NET_FILE, options.out / NET_FILE)
    network = options.out / NET_FILE
    # The norms are fixed, so those of single board sizes stay what they were.
    sizes = read_sized(find_network(options.net), spec.name)
    write_sized(network, result.net.name, {size: _with_norms(result.net, each) for size, each in sizes.items()})
    after = _accuracy(options.out / AFTER_FILE, str(network), games.testing, options, show, result.step)
    imitates = spec.metadata > 0
    return Learned(before, after, games, positions, played, freeze, result.step, network, result.finished, imitates)


def _with_norms(node: Any, other: Any) -> Any:
    """Return a network with the statistics of the norms of another one of the same shape."""
    if isinstance(node, Norm):
        return replace(node, mean=other.mean, variance=other.variance)
    if isinstance(node, tuple):
        return tuple(_with_norms(*pair) for pair in zip(node, other, strict=True))
    if not is_dataclass(node) or isinstance(node, type):
        return node
    names = [field.name for field in fields(node)]
    return replace(node, **{name: _with_norms(getattr(node, name), getattr(other, name)) for name in names})


def _config(positions: int, freeze: str, options: LearnOptions) -> TrainConfig:
    steps = min(max(math.ceil(_PASSES * positions / _BATCH), _LEAST_STEPS), _MOST_STEPS)
    given: dict[str, Any] = {"freeze": freeze, "hours": options.hours or 0.0, "threads": options.threads or 0}
    return TrainConfig(
        batch_size=_BATCH,
        steps=steps,
        learning_rate=_RATES[freeze],
        warmup=min(200, steps // 10),
        # The average is over about the last tenth of the steps.
        ema_decay=1 - 1 / max(10, steps / 20),
        norms="fixed",  # few games of a board size would give noisy statistics
        log_every=max(1, min(50, steps // 20)),
        checkpoint_every=max(20, min(500, steps // 10)),
        keep=1,
        seed=_SEED,
        **given,
    )


def _make_samples(folder: Path, spec: NetSpec, games: Sequence[Source], show: Callable[..., None]) -> tuple[int, int]:
    """Write the samples of the games, unless that has been done; return their number, and that of the games."""
    done = folder / "done.json"
    if done.exists():
        stored = read_object(done, GoError)
        return int(stored["positions"]), int(stored["games"])
    shutil.rmtree(folder, ignore_errors=True)
    tally = Tally()
    shards = Shards(folder, _SHARD, {"made by": "keima learn"})
    options = RecordOptions(spec.encoder, held_out=None, players=spec.metadata > 0)
    processes = usable_cores() if len(games) > 200 else 0
    for samples in read_samples(iter(games), options, processes=processes, tally=tally):
        shards.add(samples)
        show(f"reading games, {tally.positions} positions", tally.games, len(games))
    shards.finish()
    if tally.positions == 0:
        raise GoError(f"no position in {len(games)} games: {', '.join(tally.skipped) or 'they have no moves'}")
    write_atomically(done, json_text({"positions": tally.positions, "games": tally.games}) + "\n")
    return tally.positions, tally.games


def _accuracy(
    path: Path, net: str, games: Sequence[Source], options: LearnOptions, show: Callable[..., None], step: int = 0
) -> Accuracy:
    """Return the accuracy of a network on the test games, from the file of an earlier session where it has it."""
    if path.exists():
        stored = read_object(path, GoError)
        if stored.get("step") == step:
            return _read_accuracy(stored["accuracy"])
    network = open_unprofiled(net, Computing(threads=options.threads))
    with closing(network.evaluator):
        accuracy = accuracy_of(
            Predictor(network.facts.name, network.evaluator, network.facts.board_sizes),
            games,
            report=lambda done, positions: show(f"testing, {positions} positions", done, len(games)),
        )
    write_atomically(path, json_text({"step": step, "accuracy": asdict(accuracy)}) + "\n")
    return accuracy


def _read_accuracy(stored: Mapping[str, Any]) -> Accuracy:
    def figures(row: Mapping[str, Any]) -> Means:
        values: dict[str, Any] = {key: math.nan if value is None else value for key, value in row.items()}
        return Means(**values)

    rows = {name: tuple(figures(row) for row in stored[name]) for name in ("by_ply", "by_size", "by_rank")}
    return Accuracy(**{**stored, "total": figures(stored["total"]), **rows})
