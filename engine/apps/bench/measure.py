"""Takes all measurements of `keima bench` and prints them as one JSON object or a table.

Every number is the median of several runs. The command line creates what is measured and passes it in: the command of
this program, and the evaluators by name.
"""

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Protocol

from engine.apps.bench.effort import USUAL_SIZES, Effort, Names, Size, name_of
from engine.apps.bench.katago import KataGo, Speed
from engine.apps.bench.report import print_table
from engine.apps.bench.rollouts import rollouts_per_second
from engine.apps.bench.startup import resident_mib, seconds_to_reply
from engine.apps.bench.visits import MeasuredSearch
from engine.evaluation.evaluator import Evaluator
from engine.native.machine import machine, versions
from engine.search.bench_positions import searched_positions
from engine.search.evaluator_speed import Measured
from engine.search.params import SearchParams
from engine.support.json_text import json_text
from engine.support.progress import ProgressBar

EvaluatorFactories = Mapping[Names, Callable[[], Evaluator]]
"""Factories of the evaluators, by backend and precision."""
PER_EVALUATOR = (
    "evaluations_per_s",
    "visits_per_s",
    "visits_over_evaluations",
    "search_share",
    "bytes_per_node",
)
"""Keys of the results that depend on board size, backend and precision."""


class Rival(Protocol):
    """Another program on the same network and positions."""

    def speed(self, seconds: float) -> Speed:
        """Return the speed of searches of about `seconds` seconds."""


@dataclass(frozen=True)
class Memory:
    """When memory is measured: after one move with `visits` visits on a board of this size."""

    visits: int
    size: Size


@dataclass(frozen=True)
class Startup:
    """On which board start-up is measured, and whether also without a cache of kernels."""

    size: Size = (9, 9)
    is_cold: bool = False


# More than 8 parameters: they are the command's options, which click passes by name.
def cli_bench(
    program: Sequence[str],
    factories: EvaluatorFactories,
    *,
    sizes: Sequence[Size] = (),
    cold: bool = False,
    runs: int = Effort.runs,
    seconds: float = Effort.seconds,
    as_json: bool = False,
    katago: str = "",
    memory_visits: int = 0,
    playing: Sequence[str] = (),
    start: Size = (9, 9),
) -> int:
    """Measure, print the results, and return the exit status 0.

    program: the command of this program; "gtp" and its options can be appended.
    katago: the command of KataGo's benchmark with its network, see `engine.apps.bench.katago`; "" for none.
    memory_visits: visits of the move after which memory is measured, on the last of `sizes`; 0 for none.
    playing: further options of `gtp`, such as the network. start: the board on which start-up is measured.
    """
    effort, sizes = Effort(runs, seconds), sizes or USUAL_SIZES
    memory = Memory(memory_visits, sizes[-1]) if memory_visits else None
    player = [*program, "gtp", *playing]
    with ProgressBar(sys.stderr, len(sizes) * runs) as bar:
        startup = Startup(start, is_cold=cold)
        figures = measure(player, factories, effort, bar, sizes=sizes, startup=startup, katago=katago, memory=memory)
    if as_json:
        print(json_text(figures, indent=1))
    else:
        print_table(figures)
    return 0


def measure(
    player: Sequence[str],
    factories: EvaluatorFactories,
    effort: Effort,
    bar: ProgressBar,
    *,
    sizes: Sequence[Size],
    startup: Startup,
    katago: str = "",
    memory: Memory | None = None,
) -> dict[str, Any]:
    """Return all results. `cold_compile_s` is None unless the start-up is cold; that and `memory` take long.

    player: the command of this engine's `gtp`, to which options can be appended.
    """
    bar.update("start-up")
    figures = _startup(player, effort, startup)
    bar.update("playouts")
    per_size = {name_of(size): size for size in sizes}
    figures["rollouts_per_s"] = {name: {"light": rollouts_per_second(effort, *size)} for name, size in per_size.items()}
    figures |= {key: {name: {} for name in per_size} for key in PER_EVALUATOR}
    if katago:
        figures["katago"] = {"command": katago}
        figures["katago"] |= {key: {} for key in ("evaluations_per_s", "visits_per_s", "ratio", "visits_ratio")}
    evaluators = {names: make() for names, make in factories.items()}
    figures["calls_in_flight"] = {}
    for (backend, precision), each in evaluators.items():
        calls = each.attributes.threads or each.attributes.concurrent
        figures["calls_in_flight"].setdefault(backend, {})[precision] = calls
    try:
        for done, (name, size) in enumerate(per_size.items()):
            rival = KataGo(katago, searched_positions(*size)) if katago else None

            def report(run: int, board: str = name, before: int = done * effort.runs) -> None:
                bar.update(f"evaluations and visits on {board}", before + run)

            measure_board(effort, evaluators, rival, size, name, figures, report)
    finally:
        for each in evaluators.values():
            each.close()
    bar.update("memory" if memory else "done", len(sizes) * effort.runs)
    figures["memory"] = None if memory is None else _memory(player, memory)
    figures["machine"] = machine()
    figures["versions"] = versions()
    return figures


def _startup(player: Sequence[str], effort: Effort, asked: Startup) -> dict[str, Any]:
    """Measure the time to the first answers, in seconds."""
    size = name_of(asked.size)
    first_reply = round(effort.median(lambda: seconds_to_reply(player, "name", size)), 3)
    cold_compile = None
    if asked.is_cold:
        with tempfile.TemporaryDirectory() as empty:
            cold_compile = round(seconds_to_reply(player, "genmove b", size, KEIMA_CACHE=empty), 3)
    seconds_to_reply(player, "genmove b", size)  # not counted: it compiles kernels and fills the system's file cache
    first_move = round(effort.median(lambda: seconds_to_reply(player, "genmove b", size)), 3)
    seconds = {"first_reply_s": first_reply, "first_genmove_s": first_move, "cold_compile_s": cold_compile}
    return {"startup_size": size, **seconds}


def _memory(player: Sequence[str], memory: Memory) -> dict[str, Any] | None:
    """Measure the engine's memory; return None if the system does not report it."""
    size = name_of(memory.size)
    found = resident_mib([*player, "--size", size, "--visits", str(memory.visits)])
    if found is None:
        return None
    return {"visits": memory.visits, "size": size, "tree_limit_mib": SearchParams().max_memory_mib, **found}


@dataclass
class _Samples:
    """Rates of one evaluator in each run, per second.

    evaluations: by batch size. visits: of the search. at_search_batch: evaluations in batches of the search's mean
    size, which the visits are compared with.
    """

    evaluations: dict[int, list[float]] = field(default_factory=dict)
    visits: list[float] = field(default_factory=list)
    at_search_batch: list[float] = field(default_factory=list)


def measure_board(
    effort: Effort,
    evaluators: Mapping[Names, Evaluator],
    rival: Rival | None,
    size: Size,
    name: str,
    figures: dict[str, Any],
    report: Callable[[int], None] = lambda _: None,
) -> None:
    """Measure each evaluator, a search with each, and KataGo on one board size; write the results into `figures`.

    All take turns in every run, so that other load on the machine slows all of them equally. report: called with the
    number of finished runs.
    """
    raw = {names: Measured(each, *size) for names, each in evaluators.items()}
    searches = {names: MeasuredSearch(each, searched_positions(*size)) for names, each in evaluators.items()}
    samples = {names: _Samples({batch: [] for batch in each.batches}) for names, each in raw.items()}
    rivals: list[Speed] = []
    try:
        for search in searches.values():
            search.warm_up()
        for run in range(effort.runs):
            report(run)
            if rival is not None:
                rivals.append(rival.speed(effort.seconds))
            for names, sample in samples.items():
                for batch, rates in sample.evaluations.items():
                    rates.append(raw[names].per_second(effort.seconds, batch))
                sample.visits.append(searches[names].per_second(effort.seconds))
                batch = raw[names].nearest(searches[names].batch())
                sample.at_search_batch.append(raw[names].per_second(effort.seconds, batch))
    finally:
        for search in searches.values():
            search.close()
    for (backend, precision), sample in samples.items():
        search = searches[backend, precision]
        batch = raw[backend, precision].nearest(search.batch())
        measured = {
            "evaluations_per_s": {str(each): round(median(rates)) for each, rates in sample.evaluations.items()},
            "visits_per_s": round(median(sample.visits)),
            "visits_over_evaluations": {"batch": batch, "ratio": _ratio(sample.visits, sample.at_search_batch)},
            "search_share": search.shares(),
            "bytes_per_node": search.bytes_per_node,
        }
        for key, value in measured.items():
            figures[key][name].setdefault(backend, {})[precision] = value
    if rivals:
        _compare(figures["katago"], name, rivals, samples)


def _compare(katago: dict[str, Any], name: str, rivals: Sequence[Speed], samples: Mapping[Names, _Samples]) -> None:
    """Write KataGo's speed, and the speed of every evaluator as a multiple of it."""
    evaluations, visits = [each.evaluations for each in rivals], [each.visits for each in rivals]
    katago["evaluations_per_s"][name] = round(median(evaluations))
    katago["visits_per_s"][name] = round(median(visits))
    for (backend, precision), sample in samples.items():
        ratios = {str(batch): _ratio(rates, evaluations) for batch, rates in sample.evaluations.items()}
        katago["ratio"].setdefault(name, {}).setdefault(backend, {})[precision] = ratios
        of_visits = katago["visits_ratio"].setdefault(name, {}).setdefault(backend, {})
        of_visits[precision] = _ratio(sample.visits, visits)


def _ratio(measured: Sequence[float], others: Sequence[float]) -> float:
    """Return the median over the runs of `measured` / `others`, rounded to three digits."""
    # The ratio within each run, not of the medians: the two were measured close together, under the same load.
    return float(f"{median(a / b for a, b in zip(measured, others, strict=True)):.3g}")
