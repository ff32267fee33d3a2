"""Matches of the search as it is against itself with one thing changed: what each parameter is worth.

python -m tests.ablation --net FILE [--games N] [--visits N] [--size N] [--only NAME ...] [--set K=V[,K=V] ...]
                         [--out FILE.jsonl] [--processes N]

Plays chunks of games by turns, so that all parts have about as many games at any moment, in a process for each core,
and adds a line a chunk to the file: a run that was stopped goes on. Prints the share of points that the changed search
made. --set changes other parameters than those of the parts.
"""

import argparse
import json
import multiprocessing
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from engine.errors import GoError
from engine.evaluation.evaluator import Evaluator
from engine.evaluators.factory import Computing, open_network
from engine.search.params import SearchParams, with_settings
from engine.support.elo import elo_from_score, wilson_interval
from engine.support.files import append_line, whole_lines
from engine.support.worker_processes import become_worker, divide_threads
from engine.train.games.arena import ArenaPlayer, ArenaSettings, arena

CHUNK = 40
"""Games of one part in a row; even, because every opening is played with both colors."""
PARTS: dict[str, dict[str, Any]] = {
    "no growth of exploration with visits": {"c_puct_log": 0.0},
    "no scaling of exploration by variance": {"stdev_scale": 0.0},
    "no reduction for unvisited moves": {"fpu_reduction": 0.0, "root_fpu_reduction": 0.0},
    "unvisited moves judged by the parent's mean alone": {"fpu_policy_power": 0.0},
    "no confidence bounds in the choice": {"lcb_stdevs": 0.0},
    "no utility of points": {"static_score_factor": 0.0, "dynamic_score_factor": 0.0},
    "no bias correction": {"subtree_value_bias_factor": 0.0},
    "no pruning of noise": {"noise_prune_scale": 0.0},
    "children weighed by visits alone": {"value_weight_exponent": 0.0},
    "no shared nodes": {"shares_nodes": False},
    "lines that go on where every point is pass-alive": {"ends_settled": False},
    "no random symmetries": {"random_symmetries": False},
    "eight symmetries of the root averaged": {"root_symmetries": 8},
    "flatter priors at the root": {"root_policy_temperature": 1.1},
}


def chunk_seed(number: int) -> int:
    """Return the seed of a part's chunk: the same openings for all parts."""
    return 1 + number


def play_chunk(
    evaluator: Evaluator, changes: Mapping[str, Any], number: int, *, size: int, visits: int, games: int = CHUNK
) -> tuple[int, int, int]:
    """Return wins, draws and losses of the changed search against the search as it is."""
    base = SearchParams()
    changed = ArenaPlayer(evaluator, visits, replace(base, **changes), "changed")
    settings = ArenaSettings(size=size, seed=chunk_seed(number), games_at_once=games)
    points = [result.points for result in arena(settings, changed, ArenaPlayer(evaluator, visits, base, "base"), games)]
    return points.count(1.0), points.count(0.5), points.count(0.0)


_evaluator: Evaluator | None = None
"""Of a process that plays."""


def _start(net: Path, threads: int) -> None:
    global _evaluator
    become_worker()
    _evaluator = open_network(net, Computing(threads=threads)).evaluator


def changes_of(name: str) -> Mapping[str, Any]:
    """Return the parameters of a part, or of settings such as c_puct=1.2,lcb_stdevs=4. Raises GoError."""
    if name in PARTS:
        return PARTS[name]
    base, given = SearchParams(), dict(text.partition("=")[::2] for text in name.split(","))
    changed = with_settings(base, given)
    return {field: getattr(changed, field) for field in given}


def _play(name: str, number: int, size: int, visits: int) -> dict[str, Any]:
    """Return the line of a chunk."""
    assert _evaluator is not None
    wins, draws, losses = play_chunk(_evaluator, changes_of(name), number, size=size, visits=visits)
    return {"part": name, "chunk": number, "wins": wins, "draws": draws, "losses": losses}


def chunks(lines: list[str], names: list[str], games: int) -> Iterator[tuple[str, int]]:
    """Yield the chunks (part, number) that are still to be played, the parts by turns."""
    played = [json.loads(line) for line in lines]
    for number in range(-(-games // CHUNK)):
        done = {each["part"] for each in played if each["chunk"] == number}
        yield from ((name, number) for name in names if name not in done)


def table(lines: list[str]) -> Table:
    """Return a row a part: its games and the share of points it made."""
    shown = Table("changed", "games", "wins", "draws", "losses", "share", "Wilson 95 %", "Elo")
    played = [json.loads(line) for line in lines]
    for name in dict.fromkeys(each["part"] for each in played):
        wins, draws, losses = (
            sum(each[count] for each in played if each["part"] == name) for count in ("wins", "draws", "losses")
        )
        games = wins + draws + losses
        share, low, high = wilson_interval(wins + draws / 2, games)
        elo = elo_from_score(wins, losses, draws).value
        counts = map(str, (games, wins, draws, losses))
        shown.add_row(name, *counts, f"{share:.1%}", f"{low:.1%} to {high:.1%}", f"{elo:+.0f}")
    return shown


def main() -> int:
    """Play what is missing, then print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.ablation")
    parser.add_argument("--net", required=True, type=Path)
    parser.add_argument("--games", type=int, default=200, help="of each part, in chunks of 40")
    parser.add_argument("--visits", type=int, default=100)
    parser.add_argument("--size", type=int, default=9)
    parser.add_argument("--only", nargs="*", metavar="NAME", help=f"parts: {', '.join(PARTS)}")
    parser.add_argument("--set", nargs="*", metavar="K=V[,K=V]", default=[], help="parameters to play with")
    parser.add_argument("--out", type=Path, default=Path("ablation.jsonl"))
    parser.add_argument("--processes", type=int, default=0, help="that play; one a core if not given")
    options = parser.parse_args()
    names = [*(options.only or ([] if options.set else PARTS)), *options.set]
    unknown = set(options.only or ()) - set(PARTS)
    if unknown:
        parser.error(f"unknown part {min(unknown)!r}, expected one of {', '.join(PARTS)}")
    try:
        for name in names:
            changes_of(name)
    except GoError as error:
        parser.error(f"--set: {error}")
    how = {"net": options.net.name, "visits": options.visits, "size": options.size}
    lines = whole_lines(options.out)
    if any({key: json.loads(line)[key] for key in how} != how for line in lines):
        parser.error(f"{options.out} holds matches of another network, board or number of visits")
    processes, threads = divide_threads(0, options.processes)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, _start, (options.net, threads)) as pool:
        waiting = [
            pool.submit(_play, name, number, options.size, options.visits)
            for name, number in chunks(lines, names, options.games)
        ]
        try:
            for future in as_completed(waiting):
                line = future.result()
                append_line(options.out, json.dumps(line | how))
                counts = f"{line['wins']} won, {line['draws']} drawn, {line['losses']} lost"
                print(f"{line['part']}, chunk {line['chunk'] + 1}: {counts}", file=sys.stderr, flush=True)
        finally:
            pool.shutdown(cancel_futures=True)  # or all chunks would be played after Ctrl-C
    Console().print(table(whole_lines(options.out)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
