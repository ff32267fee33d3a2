"""What each option of `keima zero` is worth: short runs from nothing with and without it, at equal processor time.

python -m tests.train_ablation OUT [--preset tiny] [--minutes N] [--seeds N] [--only NAME ...] [--set KEY=VALUE ...]
                               [--games N] [--visits N] [--opponent N] [--points N]

Trains a run for each option and seed until it has used its minutes of processor time, whatever else the machine does,
and plays the networks that it had at several moments against the playout player. A run that was stopped goes on. OUT
receives results.jsonl, and after each result ablation.md, a table, and ablation.png, the curves.
"""

import argparse
import json
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

from engine.evaluators.factory import Computing, make_evaluator
from engine.evaluators.rollout import RolloutEvaluator
from engine.search.params import SearchParams
from engine.support.elo import elo_difference, wilson_interval
from engine.support.files import append_line, whole_lines, write_atomically
from engine.support.plots import new_figure, png
from engine.support.run_folder import keep_settings
from engine.train.games.arena import ArenaPlayer, ArenaSettings, arena
from engine.train.games.selfplay_workers import SelfplayWorkers
from engine.train.generations.first_network import make_first_network
from engine.train.generations.zero import Bounds, Run, StepStatistics
from engine.train.generations.zero_config import ZeroConfig, keep_config, read_config
from engine.train.generations.zero_state import State
from engine.train.generations.zero_steps import LocalSteps, network_file
from weights.registry import load

BASE = "as it is"
PARTS: dict[str, list[str]] = {
    BASE: [],
    "soft policy": ["train.soft_policy_weight=8"],
    "score distribution": ["train.score_distribution_weight=0.02"],
    "near future": [
        "selfplay.records_later=true",
        "train.short_value_weight=0.72",
        "train.short_score_weight=0.0004",
    ],
    "policy surprise": ["selfplay.surprise_share=0.5"],
    "value surprise": ["selfplay.value_surprise_share=0.25"],
    "forks": ["run.fork_share=0.1"],
    "handicap": ["selfplay.handicap_share=0.1"],
    "unequal visits": ["selfplay.asymmetric_share=0.1"],
    "territory rules too": ['selfplay.rules=["tromp-taylor", "japanese"]'],
    "resignation": ["selfplay.resign_threshold=0.05", "run.resign_false_rate=0.05"],
    "fair komi": ["run.fair_komi_rate=0.5"],
    "sequential halving": ["selfplay.gumbel_moves=8"],
}
"""The settings of each option, with KataGo's numbers where a short run would show them."""
SHARED = [
    "gate.games=0",
    "rating.every=0",
    "evaluator.threads=1",
    "evaluator.processes=1",
    "train.threads=1",
    "selfplay.batches=1",
]
CPU, RESULTS = "cpu.jsonl", "results.jsonl"


class Trained(NamedTuple):
    """A generation that a run has finished training, and the run's processor seconds until then."""

    generation: int
    seconds: float


def train_run(folder: Path, config: ZeroConfig, seconds: float, stop: threading.Event) -> list[Trained]:
    """Train until the run has used `seconds` of processor time, and return its generations. Resumes.

    The step in which the time ends is finished, so that a run does not depend on how often it was stopped.
    """
    folder.mkdir(parents=True, exist_ok=True)
    run = Run(folder)
    make_first_network(folder, config)
    keep_config(folder, config)
    ended, begun = threading.Event(), time.process_time()
    if trained(folder, seconds)[1]:
        ended.set()

    def report(state: State, figures: StepStatistics) -> None:
        nonlocal begun
        now = time.process_time()
        line = {"generation": state.generation, "step": state.step, "seconds": round(now - begun, 3)}
        append_line(folder / CPU, json.dumps(line))
        begun = now
        if stop.is_set() or trained(folder, seconds)[1]:
            ended.set()

    with SelfplayWorkers(1, 1) as workers:
        steps = LocalSteps(folder, config, ended, lambda text: None, lambda: run.clock.hours, workers)
        run.go_on(steps, Bounds(), ended, report)
    return trained(folder, seconds)[0]


def trained(folder: Path, seconds: float) -> tuple[list[Trained], bool]:
    """Return the trained generations within `seconds` of processor time, and whether that time is used up."""
    lines = {(each["generation"], each["step"]): each for each in map(json.loads, whole_lines(folder / CPU))}
    found, used = [Trained(0, 0.0)], 0.0
    for (generation, step), line in lines.items():
        used += line["seconds"]
        if step == "train" and used <= seconds:
            found.append(Trained(generation, used))
    return found, used >= seconds


def newest_at(found: Sequence[Trained], seconds: float) -> Trained:
    """Return the last generation that was trained by then."""
    return [each for each in found if each.seconds <= seconds][-1]


def play(network: Path, config: ZeroConfig, games: int, visits: int, opponent: int) -> tuple[int, int, int]:
    """Return wins, draws and losses of a network against the playout player with `opponent` visits."""
    settings = ArenaSettings(config.selfplay.sizes[0], komi=config.selfplay.komi, games_at_once=games, opening_moves=3)
    computing = Computing(config.evaluator.backend, config.evaluator.precision, 1)
    with closing(make_evaluator(load(network), computing)) as own, closing(RolloutEvaluator(1)) as playouts:
        players = ArenaPlayer(own, visits, SearchParams(), "network"), ArenaPlayer(playouts, opponent, name="playouts")
        points = [result.points for result in arena(settings, *players, games)]
    return points.count(1.0), points.count(0.5), points.count(0.0)


def elo(lines: Sequence[Mapping[str, Any]]) -> float:
    """Return the Elo of the pooled results, at most half a game from 0 and 100 %."""
    wins, draws, losses = (sum(each[name] for each in lines) for name in ("wins", "draws", "losses"))
    games = wins + draws + losses
    return elo_difference(min(max((wins + draws / 2) / games, 0.5 / games), 1 - 0.5 / games))


def gains(lines: Sequence[Mapping[str, Any]], name: str, point: int) -> list[float]:
    """Return the Elo of an option above the run as it is, for each seed that has both."""

    def of(part: str, seed: int) -> list[Mapping[str, Any]]:
        return [each for each in lines if (each["part"], each["seed"], each["point"]) == (part, seed, point)]

    seeds = sorted({each["seed"] for each in lines})
    return [elo(of(name, seed)) - elo(of(BASE, seed)) for seed in seeds if of(name, seed) and of(BASE, seed)]


def table(lines: Sequence[Mapping[str, Any]], point: int) -> str:
    """Return a Markdown table with a row for each option at one moment of the runs."""
    rows = ["| option | seeds | generations | games | share of points | Elo | above the run as it is, by seed | mean |"]
    rows.append("|---|---|---|---|---|---|---|---|")
    for name in PARTS:
        own = [each for each in lines if each["part"] == name and each["point"] == point]
        if not own:
            continue
        wins, draws, losses = (sum(each[count] for each in own) for count in ("wins", "draws", "losses"))
        share = wilson_interval(wins + draws / 2, wins + draws + losses)
        generations = ", ".join(str(each["generation"]) for each in own)
        above = [] if name == BASE else gains(lines, name, point)
        spread = f" ± {2 * stdev(above) / len(above) ** 0.5:.0f}" if len(above) > 1 else ""
        by_seed = ", ".join(f"{each:+.0f}" for each in above)
        rows.append(
            f"| {name} | {len(own)} | {generations} | {wins + draws + losses} "
            f"| {share.value:.1%} ({share.low:.1%} to {share.high:.1%}) | {elo(own):+.0f} "
            f"| {by_seed} | {f'{mean(above):+.0f}' if above else ''}{spread} |"
        )
    return "\n".join(rows) + "\n"


def picture(lines: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the curves as PNG: Elo against the playout player over processor time, pooled over the seeds."""
    figure = new_figure(9.0, 5.0)
    axes = figure.subplots()
    for number, name in enumerate(PARTS):
        own = [each for each in lines if each["part"] == name]
        points = sorted({each["point"] for each in own})
        strengths = [elo([each for each in own if each["point"] == point]) for point in points]
        if points:
            minutes = [mean(each["minutes"] for each in own if each["point"] == point) for point in points]
            style = {"color": "black", "linewidth": 2.5} if name == BASE else {"linestyle": "-" if number < 7 else "--"}
            axes.plot(minutes, strengths, marker="o", markersize=3, label=name, **style)  # type: ignore[arg-type]
    axes.set_xlabel("minutes of processor time")
    axes.set_ylabel("Elo against the playout player")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="x-small")
    return png(figure)


def main() -> int:
    """Do what is missing, and write the table and the curves after each result."""
    parser = argparse.ArgumentParser(prog="python -m tests.train_ablation")
    parser.add_argument("out", type=Path)
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--minutes", type=float, default=10.0, help="of processor time, for each run")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", metavar="NAME", help=f"options: {', '.join(PARTS)}")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of all runs", dest="settings")
    parser.add_argument("--games", type=int, default=100, help="at each moment")
    parser.add_argument("--visits", type=int, default=24, help="of the networks")
    parser.add_argument("--opponent", type=int, default=400, help="visits of the playout player")
    parser.add_argument("--points", type=int, default=2, help="moments of a run at which its network plays")
    options = parser.parse_args()
    names = [BASE, *(name for name in options.only or list(PARTS) if name != BASE)]
    if unknown := set(names) - set(PARTS):
        parser.error(f"unknown option {min(unknown)!r}, expected one of {', '.join(PARTS)}")
    options.out.mkdir(parents=True, exist_ok=True)
    kept = {name: value for name, value in vars(options).items() if name not in ("out", "seeds", "only")}
    keep_settings(options.out / "settings.json", kept)
    for seed in range(1, options.seeds + 1):
        for name in names:
            _train_and_play(options, name, seed)
    return 0


def _train_and_play(options: argparse.Namespace, name: str, seed: int) -> None:
    results, seconds = options.out / RESULTS, 60 * options.minutes
    lines = [json.loads(line) for line in whole_lines(results)]
    done = {each["point"] for each in lines if (each["part"], each["seed"]) == (name, seed)}
    if len(done) == options.points:
        return
    settings = [*SHARED, *options.settings, f"run.seed={seed}", *PARTS[name]]
    # Imported before processor time is counted: it would be the first run's alone.
    import engine.train.learning.train  # noqa: F401

    config, folder = read_config(options.preset, settings), options.out / f"{name.replace(' ', '-')}-{seed}"
    found = train_run(folder, config, seconds, threading.Event())
    for point in range(1, options.points + 1):
        if point in done:
            continue
        moment = newest_at(found, seconds * point / options.points)
        file = network_file(folder, moment.generation)
        wins, draws, losses = play(file, config, options.games, options.visits, options.opponent)
        line = {"part": name, "seed": seed, "point": point, "generation": moment.generation}
        line |= {"minutes": round(seconds * point / options.points / 60, 3)}
        line |= {"wins": wins, "draws": draws, "losses": losses}
        append_line(results, json.dumps(line))
        lines.append(line)
        sys.stderr.write(f"{name}, seed {seed}, generation {moment.generation}: {wins} {draws} {losses}\n")
    write_atomically(options.out / "ablation.md", table(lines, options.points))
    write_atomically(options.out / "ablation.png", picture(lines))


if __name__ == "__main__":
    raise SystemExit(main())
