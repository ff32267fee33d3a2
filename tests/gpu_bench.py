"""The speed of networks on a GPU: evaluations/s by batch, the share of the card's peak, and visits/s of a search.

    python -m tests.gpu_bench [--out FILE.json] [--shape b18c384nbt ...] [--precision fp16 ...] [--batch 1 ...]

The networks have the shapes that people use and random weights. The peak is that of a product of two square matrices
of 8,192 in the same precision, in the same run. Evaluations are those of the backend alone: planes in, outputs out,
transfers included, with as many calls at a time as it takes. A search is that of one tree from positions of a game,
with the batches that it chooses itself and with batches of a given size; and that of a number of trees at the same
time, which `keima selfplay` has for its games. Results are printed as they come and kept in FILE.json.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch

from engine.apps.bench.visits import MeasuredSearch
from engine.encoders import ENCODERS
from engine.evaluators.backend_speed import positions_per_second
from engine.evaluators.joined import JoinedEvaluator
from engine.evaluators.network import NetworkEvaluator
from engine.evaluators.torch_backend import TorchBackend
from engine.nets.shapes import SHAPES, shaped_spec
from engine.nets.spec import NetSpec
from engine.nets.summary import gflop
from engine.search.batched_search import BatchedDriver, BatchedSearch, Group
from engine.search.bench_positions import searched_positions
from engine.search.params import SearchParams
from engine.search.tree import ROOT
from engine.support.files import write_atomically
from engine.support.json_text import json_text

_SIDE = 8192
_PRODUCTS = 10
_NUMBERS = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
_DEFAULT_SHAPES = ("b18c384nbt", "b10c384h6nbttflrs", "b28c512nbt")
_NODES = 1024
"""Nodes of such a tree, more than it gets visits."""
_WARM_UP_SECONDS = 1.0


def peak_tflops(precision: str, device: torch.device) -> float:
    """Return the TFLOP/s of products of two large matrices."""
    one, other = (torch.randn(_SIDE, _SIDE, device=device, dtype=_NUMBERS[precision]) for _ in range(2))
    rates = []
    for _ in range(_PRODUCTS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        begin.record()
        one @ other
        end.record()
        end.synchronize()
        rates.append(2 * _SIDE**3 / begin.elapsed_time(end) / 1e9)
    return median(rates)


def first_calls(backend: TorchBackend, side: int, batches: Sequence[int]) -> dict[int, float]:
    """Return the seconds of the first call of each batch size with a slot, in which its graph is recorded."""
    found = {}
    for batch in batches:
        for slot in backend.slots(side, side):
            begun = time.perf_counter()
            backend.infer(slot, batch)
            found.setdefault(batch, time.perf_counter() - begun)
    return found


def evaluations(
    backend: TorchBackend, spec: NetSpec, side: int, batches: Sequence[int], seconds: float, peak: float | None
) -> Iterator[dict[str, Any]]:
    """Yield evaluations/s for each batch size."""
    firsts = first_calls(backend, side, batches)
    for batch in batches:
        rate = positions_per_second(backend, side, side, seconds, batch)
        share = None if peak is None else round(rate * gflop(spec, side, side) / 1000 / peak, 3)
        figures = {"batch": batch, "evaluations_per_s": round(rate), "share_of_peak": share}
        yield {**figures, "first_call_s": round(firsts[batch], 2)}


def one_tree(evaluator: NetworkEvaluator, side: int, batch: int, seconds: float) -> dict[str, Any]:
    """Return visits/s of a search of one tree; batch: of each call, 0 for those that it chooses."""
    measured = MeasuredSearch(evaluator, searched_positions(side, side), SearchParams(batch_size=batch))
    try:
        measured.warm_up()
        rate = measured.per_second(seconds)
        name = "chosen by itself" if batch == 0 else str(batch)
        return {"search": "one tree", "batch": name, "visits_per_s": round(rate), "mean_batch": measured.batch()}
    finally:
        measured.close()


def many_trees(evaluator: NetworkEvaluator, side: int, workers: int, trees: int, seconds: float) -> dict[str, Any]:
    """Return visits/s of `workers` workers, each with `trees` trees of its own, which begin anew when they are full."""
    games = [each.game for each in searched_positions(side, side)]
    joined, count = JoinedEvaluator(evaluator), workers * trees
    search = BatchedSearch(joined, games[0], count, _NODES, most_moves=2 * side * side)
    ended = [0]

    def start(tree: int) -> None:
        game = games[tree % len(games)]
        search.forget(tree)
        search.begin(tree, game, game.to_play, game.legal_vertices())
        search.start(tree, SearchParams(), _NODES // 2, seed=tree)

    def restart(tree: int) -> None:
        ended[0] += _NODES // 2
        start(tree)

    def visits() -> int:
        return ended[0] + sum(int(each.nodes[ROOT]["visits"]) for each in search.trees)

    def run(duration: float) -> float:
        """Return the visits/s of some seconds."""
        before, begun = visits(), time.perf_counter()
        BatchedDriver(groups).run(lambda: time.perf_counter() > begun + duration)
        return (visits() - before) / (time.perf_counter() - begun)

    for tree in range(count):
        start(tree)
    groups = [Group(search, range(first, first + trees), restart) for first in range(0, count, trees)]
    run(_WARM_UP_SECONDS)
    rate = run(seconds)
    batch = round(joined.rows / max(1, joined.calls))
    return {"search": f"{count} trees", "workers": workers, "visits_per_s": round(rate), "mean_batch": batch}


def _results(asked: argparse.Namespace, device: torch.device) -> Iterator[dict[str, Any]]:
    """Yield each result, with what it is of."""
    peaks = {each: peak_tflops(each, device) for each in asked.precision} if device.type == "cuda" else {}
    for precision, peak in peaks.items():
        yield {"precision": precision, "peak_tflops": round(peak)}
    for shape in asked.shape:
        spec = shaped_spec(shape, ENCODERS["katago-v7"])
        for precision in asked.precision:
            of = {"shape": shape, "precision": precision, "size": asked.size}
            backend = TorchBackend(spec, precision, device.type)
            for found in evaluations(backend, spec, asked.size, asked.batch, asked.seconds, peaks.get(precision)):
                yield of | found
            if precision == asked.precision[0] and asked.search_seconds > 0:
                # Every batch of a search is recorded by now.
                first_calls(backend, asked.size, range(1, max(backend.preferred_batch, asked.search_batch) + 1))
                with_search = NetworkEvaluator(spec, backend)
                for measure in (
                    partial(one_tree, batch=0),
                    partial(one_tree, batch=asked.search_batch),
                    *(partial(many_trees, workers=asked.workers, trees=each) for each in asked.trees),
                ):
                    yield of | measure(with_search, asked.size, seconds=asked.search_seconds)
                with_search.close()
            else:
                backend.close()


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpu_bench", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/gpu.json"))
    parser.add_argument("--shape", nargs="+", choices=tuple(SHAPES), default=_DEFAULT_SHAPES)
    parser.add_argument("--precision", nargs="+", choices=tuple(_NUMBERS), default=("fp16", "bf16"))
    parser.add_argument("--batch", nargs="+", type=int, default=tuple(2**power for power in range(10)))
    parser.add_argument("--size", type=int, default=19)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement of evaluations")
    parser.add_argument("--search-seconds", type=float, default=5.0, help="of each search; 0 for none")
    parser.add_argument("--search-batch", type=int, default=256, help="of one tree")
    parser.add_argument("--workers", type=int, default=16, help="of many trees")
    parser.add_argument("--trees", nargs="+", type=int, default=(64,), help="of each worker, a leaf of each in a batch")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: to try this program")
    asked = parser.parse_args()
    if asked.device == "cuda" and not torch.cuda.is_available():
        parser.error("PyTorch finds no GPU here")
    device = torch.device(asked.device)
    machine = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for row in _results(asked, device):
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()
        rows.append(row)
        write_atomically(asked.out, json_text({"device": machine, "torch": torch.__version__, "rows": rows}, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
