"""`keima bench`: how fast this machine plays, as one JSON object or a table.

Measures; knows no budget. Every figure is the median of several runs. What is measured is built by
the front door, which hands in the program's own command line and the evaluators by name.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import engine.search.search as search_module
from engine import __version__
from engine.bench_katago import KataGo
from engine.evaluators.base import Evaluation, Evaluator, PositionBatch, write_position
from engine.evaluators.playout_kernels import run_light_rollouts
from engine.game import Game
from engine.jit import instruction_sets
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.search.stoppers import TimeStopper

if TYPE_CHECKING:
    from rich.table import Table

EvaluatorFactories = Mapping[tuple[str, str], Callable[[], Evaluator]]
"""What makes each evaluator, by backend and precision."""

VERSIONS_OF = ("numpy", "numba", "llvmlite", "openvino", "torch")
NO_PRECISION = "none"
"""Of an evaluator that has no network."""
BATCHES = (1, 8, 16, 32)
"""Positions a call at which evaluators are measured, besides the batch that each prefers."""
Size = tuple[int, int]


@dataclass(frozen=True)
class Effort:
    """How long is measured: a figure is the median of `runs`; a run that counts per second takes `seconds`."""

    runs: int = 5
    seconds: float = 0.5

    def median(self, run: Callable[[], float]) -> float:
        """Return the median of what `run` returns."""
        return statistics.median(run() for _ in range(self.runs))


def cli_bench(
    program: Sequence[str],
    factories: EvaluatorFactories,
    *,
    sizes: Sequence[Size] = (),
    cold: bool = False,
    runs: int = Effort.runs,
    seconds: float = Effort.seconds,
    as_json: bool = False,
    katago: Sequence[str] = (),
) -> int:
    """Measure, print, and return the exit status 0.

    program: the command that starts this engine with `gtp` as its next argument.
    katago: the command of KataGo's benchmark with its network, see `engine.bench_katago`; empty for none.
    """
    effort, sizes = Effort(runs, seconds), sizes or ((9, 9), (19, 19))
    figures = measure(program, factories, effort, sizes=sizes, cold=cold, katago=katago)
    if as_json:
        print(json.dumps(figures, indent=1))
    else:
        print_table(figures)
    return 0


def measure(
    program: Sequence[str],
    factories: EvaluatorFactories,
    effort: Effort,
    *,
    sizes: Sequence[Size],
    cold: bool,
    katago: Sequence[str] = (),
) -> dict[str, Any]:
    """Return all figures; `cold_compile_s` is None unless `cold`, which takes long."""
    figures: dict[str, Any] = {
        "first_reply_s": round(effort.median(lambda: seconds_to_reply(program, "name")), 3),
        "first_genmove_s": None,
        "cold_compile_s": None,
    }
    if cold:
        with tempfile.TemporaryDirectory() as empty:
            figures["cold_compile_s"] = round(seconds_to_reply(program, "genmove b", KEIMA_CACHE=empty), 3)
    seconds_to_reply(program, "genmove b")  # fills the cache and the disk's cache
    figures["first_genmove_s"] = round(effort.median(lambda: seconds_to_reply(program, "genmove b")), 3)
    per_size = {f"{width}x{height}" if width != height else str(width): (width, height) for width, height in sizes}
    figures["rollouts_per_s"] = {name: {"light": rollouts_per_second(effort, *size)} for name, size in per_size.items()}
    for key in ("evaluations_per_s", "visits_per_s", "search_share"):
        figures[key] = {name: {} for name in per_size}
    if katago:
        figures["katago"] = {"command": " ".join(katago), "evaluations_per_s": {}, "ratio": {}}
    evaluators = {names: make() for names, make in factories.items()}
    try:
        for name, size in per_size.items():
            rival = KataGo(katago, *size) if katago else None
            measure_evaluations(effort, evaluators, rival, size, name, figures)
            for (backend, precision), evaluator in evaluators.items():
                visits, shares = visits_per_second(effort, evaluator, *size)
                figures["visits_per_s"][name].setdefault(backend, {})[precision] = visits
                figures["search_share"][name].setdefault(backend, {})[precision] = shares
    finally:
        for evaluator in evaluators.values():
            evaluator.close()
    figures["machine"] = machine()
    figures["versions"] = versions()
    return figures


def seconds_to_reply(program: Sequence[str], command: str, **environment: str) -> float:
    """Return the seconds from starting the engine to its first answer on a 9x9 board, one visit a move."""
    arguments = [*program, "gtp", "--size", "9", "--visits", "1"]
    start = time.perf_counter()
    with subprocess.Popen(
        arguments,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **environment},
        text=True,
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write(f"{command}\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        elapsed = time.perf_counter() - start
        process.stdin.write("quit\n")
        process.stdin.close()
        process.stdout.read()
    if not answer.startswith("="):
        raise RuntimeError(f"{command} was answered {answer!r} by {' '.join(arguments)}")
    return elapsed


def rollouts_per_second(effort: Effort, width: int, height: int) -> int:
    """Return uniformly random games a second from the empty board, on one core."""
    board = Game(width, height).board
    work = board.copy()
    run_light_rollouts(board, 1, 10, 1, work)
    count, seed = 1000, 2

    def run() -> float:
        nonlocal seed
        seed += 1
        start = time.perf_counter()
        run_light_rollouts(board, 1, count, seed, work)
        return time.perf_counter() - start

    count = max(100, int(count * effort.seconds / run()))
    return round(count / effort.median(run))


def middle_game(width: int, height: int, moves: int, generator: np.random.Generator) -> Game:
    """Return a game after random legal moves."""
    game = Game(width, height)
    for _ in range(moves):
        game.play(game.to_play, int(generator.choice(game.legal_vertices())))
    return game


def measure_evaluations(
    effort: Effort,
    evaluators: Mapping[tuple[str, str], Evaluator],
    rival: KataGo | None,
    size: Size,
    name: str,
    figures: dict[str, Any],
) -> None:
    """Write the evaluations a second of every evaluator and batch on one board size, and of KataGo.

    All take turns in every run, so that whatever else the machine does slows all alike.
    """
    batches = {names: _batches(each) for names, each in evaluators.items()}
    positions = positions_to_evaluate(max(max(each) for each in batches.values()), *size)
    out = Evaluation(positions.capacity, *size)
    for names, each in evaluators.items():
        for batch in batches[names]:
            each.evaluate(positions, batch, out)  # compiles
    rates: dict[tuple[str, str, int], list[float]] = {}
    rivals: list[float] = []
    for _ in range(effort.runs):
        if rival is not None:
            rivals.append(rival.evaluations_per_second())
        for names, each in evaluators.items():
            for batch in batches[names]:
                rate = evaluations_per_second(effort.seconds, each, positions, batch, out)
                rates.setdefault((*names, batch), []).append(rate)
    for (backend, precision, batch), measured in rates.items():
        found = figures["evaluations_per_s"][name].setdefault(backend, {}).setdefault(precision, {})
        found[str(batch)] = round(statistics.median(measured))
        if rivals:
            ratios = figures["katago"]["ratio"].setdefault(name, {}).setdefault(backend, {}).setdefault(precision, {})
            ratios[str(batch)] = round(statistics.median(a / b for a, b in zip(measured, rivals, strict=True)), 2)
    if rivals:
        figures["katago"]["evaluations_per_s"][name] = round(statistics.median(rivals))


def _batches(evaluator: Evaluator) -> list[int]:
    """Return the batches to measure an evaluator at."""
    preferred, largest = evaluator.attributes.preferred_batch, evaluator.attributes.max_batch
    return [batch for batch in sorted({*BATCHES, preferred}) if batch <= largest]


def positions_to_evaluate(count: int, width: int, height: int) -> PositionBatch:
    """Return positions from the first half of random games."""
    positions = PositionBatch(count, width, height)
    generator = np.random.default_rng(1)
    for row in range(count):
        game = middle_game(width, height, row % max(1, width * height // 2), generator)
        write_position(game, game.to_play, positions, row)
    positions.seeds[:] = np.arange(1, count + 1)
    return positions


def evaluations_per_second(
    seconds: float, evaluator: Evaluator, positions: PositionBatch, batch: int, out: Evaluation
) -> float:
    """Return the raw speed of an evaluator, without any search, encoding included."""
    calls, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        evaluator.evaluate(positions, batch, out)
        calls += 1
    return calls * batch / (time.perf_counter() - start)


class _Watched:
    """An evaluator whose time is added up."""

    def __init__(self, inner: Evaluator) -> None:
        self.attributes = inner.attributes
        self._inner = inner
        self.seconds = 0.0

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        start = time.perf_counter()
        self._inner.evaluate(positions, count, out)
        self.seconds += time.perf_counter() - start

    def close(self) -> None:
        self._inner.close()


@contextmanager
def _watched_steps(names: Sequence[str]) -> Iterator[dict[str, float]]:
    """Add up the seconds spent in the search loop's kernels of these names."""
    spent = dict.fromkeys(names, 0.0)
    originals = {name: getattr(search_module, name) for name in names}

    def watch(name: str) -> Callable[..., Any]:
        def step(*arguments: Any) -> Any:
            start = time.perf_counter()
            result = originals[name](*arguments)
            spent[name] += time.perf_counter() - start
            return result

        return step

    try:
        for name in names:
            setattr(search_module, name, watch(name))
        yield spent
    finally:
        for name, original in originals.items():
            setattr(search_module, name, original)


def visits_per_second(effort: Effort, evaluator: Evaluator, width: int, height: int) -> tuple[int, dict[str, float]]:
    """Return visits a second from the empty board, and each step's share of the wall time.

    Selecting and backing up go on while the evaluator works, so that the shares may exceed 1 together.
    """
    watched = _Watched(evaluator)
    search = Search(watched, SearchParams())
    game = Game(width, height)
    rates = []
    wall = 0.0
    try:
        with _watched_steps(("collect", "back_up")) as spent:
            for number in range(effort.runs + 1):
                if number == 1:  # the first run loads the kernels
                    watched.seconds, wall = 0.0, 0.0
                    spent.update(dict.fromkeys(spent, 0.0))
                search.forget()
                search.begin(game, game.to_play, game.legal_vertices())
                start = time.perf_counter()
                stats = search.run([TimeStopper(effort.seconds)])
                elapsed = time.perf_counter() - start
                wall += elapsed
                rates.append(stats.playouts / elapsed)
    finally:
        search.close()
    seconds = {"select": spent["collect"], "evaluate": watched.seconds, "backup": spent["back_up"]}
    return round(statistics.median(rates[1:])), {step: round(value / wall, 3) for step, value in seconds.items()}


def machine() -> dict[str, Any]:
    """Return what the figures were measured on."""
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "instruction_sets": instruction_sets(),
    }


def versions() -> dict[str, str]:
    """Return the versions of Keima, of Python and of the libraries that speed depends on, those that are there."""
    found = {"keima": __version__, "python": platform.python_version()}
    for name in VERSIONS_OF:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def print_table(figures: Mapping[str, Any]) -> None:
    """Print the figures for a person."""
    from rich.console import Console
    from rich.table import Table

    table = Table("what", "board", "figure", title="keima bench")
    for key in ("first_reply_s", "first_genmove_s", "cold_compile_s"):
        if figures[key] is not None:
            table.add_row(key.removesuffix("_s").replace("_", " "), "9", f"{figures[key]:.3f} s")
    for size, rates in figures["rollouts_per_s"].items():
        for kind, rate in rates.items():
            table.add_row(f"{kind} rollouts/s, one core", size, f"{rate:,}")
    for size, backends in figures["evaluations_per_s"].items():
        for backend, precision, rates in [(b, p, rates) for b in backends for p, rates in backends[b].items()]:
            shares = figures["search_share"][size][backend][precision]
            what = backend if precision == NO_PRECISION else f"{backend} {precision}"
            for batch, rate in rates.items():
                table.add_row(f"{what}: evaluations/s", size, f"{rate:,} (batch {batch})")
            table.add_row(f"{what}: visits/s", size, f"{figures['visits_per_s'][size][backend][precision]:,}")
            table.add_row(f"{what}: time", size, ", ".join(f"{step} {share:.0%}" for step, share in shares.items()))
    if "katago" in figures:
        add_katago_rows(table, figures["katago"])
    Console(file=sys.stdout, width=None if sys.stdout.isatty() else 100).print(table)
    place = figures["machine"]
    print(f"{place['cores']} cores, {place['processor']}: {' '.join(place['instruction_sets'])}")
    print(", ".join(f"{name} {version}" for name, version in figures["versions"].items()))


def add_katago_rows(table: "Table", katago: Mapping[str, Any]) -> None:
    """Add KataGo's evaluations a second, and how many times as many each network evaluator makes."""
    for size, rate in katago["evaluations_per_s"].items():
        table.add_row("KataGo: evaluations/s", size, f"{rate:,}")
        for backend, precisions in katago["ratio"][size].items():
            for precision, ratios in precisions.items():
                if precision != NO_PRECISION:
                    times = ", ".join(f"{ratio} (batch {batch})" for batch, ratio in ratios.items())
                    table.add_row(f"{backend} {precision}: times KataGo", size, times)


def own_program(front_door: Path) -> list[str]:
    """Return the command that starts this very program again."""
    return [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, str(front_door)]
