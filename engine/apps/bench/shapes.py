"""Measures networks of the shapes that people use, with random weights: `keima bench --shapes`."""

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from engine.apps.bench.effort import Effort, Size, name_of
from engine.apps.bench.startup import resident_mib
from engine.encoders import ENCODERS
from engine.evaluators.backend_speed import positions_per_second
from engine.evaluators.backends import make_backend, to_compare
from engine.native.machine import machine, versions
from engine.nets.kernels.operands import ROUNDED, TILED, lanes_here, rounds_here
from engine.nets.kernels.peak import peak_gflops
from engine.nets.kernels.tiles import tiles_here
from engine.nets.shapes import shaped_spec
from engine.nets.spec import NetSpec, tensors
from engine.nets.summary import gflop
from engine.records.human_profiles import MEASURED_PROFILE
from engine.support.json_text import json_text
from engine.support.progress import ProgressBar
from engine.support.tables import print_tables
from weights import native

_ENCODER = "katago-v7"
_BATCH = 8
_VISITS = 16
"""Visits of the move after which memory is measured: more than all threads and batches have in flight."""
_BYTES: Mapping[str, int] = {"fp32": 4, "bf16": 2, "fp16": 2, "int16": 2, "int8": 1}
_PEAK_OF: Mapping[str, str] = {"fp32": "fp32", "bf16": "bf16"}
"""The measured peak by precision. int8 and int16 are compared with none: a part of the layers is computed in them."""


@dataclass(frozen=True)
class ShapesWanted:
    """What to measure: names of shapes, board sizes, backend, precision and CPU threads as on the command line."""

    shapes: Sequence[str]
    sizes: Sequence[Size]
    backend: str
    precision: str
    threads: int


def cli_shapes(program: Sequence[str], asked: ShapesWanted, effort: Effort, *, as_json: bool = False) -> int:
    """Measure, print the results as one JSON object or a table, and return the exit status 0.

    program: the command of this program, for measuring the memory of an engine.
    """
    specs = {name: shaped_spec(name, ENCODERS[_ENCODER]) for name in asked.shapes}
    pairs = {name: to_compare(spec, asked.backend, asked.precision) for name, spec in specs.items()}
    total = sum(len(each) for each in pairs.values()) * len(asked.sizes)
    rows: list[dict[str, Any]] = []
    with ProgressBar(sys.stderr, total) as bar:
        bar.update("arithmetic peak")
        peaks = measured_peaks(asked.threads, effort)
        for name, spec in specs.items():
            for row in _measured(program, name, spec, pairs[name], asked, effort, peaks):
                rows.append(row)
                bar.update(f"{name} on {row['size']}", len(rows))
    figures = {"peak_gflops": peaks, "shapes": rows, "threads": asked.threads}
    figures |= {"machine": machine(), "versions": versions()}
    if as_json:
        print(json_text(figures, indent=1))
    else:
        _print_table(figures)
    return 0


def measured_peaks(threads: int, effort: Effort) -> dict[str, float]:
    """Return the GFLOP/s of products in registers by precision; empty where Keima's kernels are not compiled."""
    lanes = lanes_here()
    kinds = {"fp32": lanes} if lanes else {}
    if rounds_here():
        kinds["bf16"] = TILED if tiles_here() else ROUNDED
    return {
        name: round(effort.median(lambda numbers=numbers: peak_gflops(numbers, threads, effort.seconds)), 1)  # type: ignore[misc]
        for name, numbers in kinds.items()
    }


def _measured(
    program: Sequence[str],
    name: str,
    spec: NetSpec,
    pairs: Sequence[tuple[str, str]],
    asked: ShapesWanted,
    effort: Effort,
    peaks: Mapping[str, float],
) -> Iterator[dict[str, Any]]:
    """Yield the results of one shape for each board size, backend and precision."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.safetensors"
        native.write(spec, file)
        for size in asked.sizes:
            operations = gflop(spec, *size)
            for backend, precision in pairs:
                rate = _rate(spec, backend, precision, size, asked.threads, effort)
                peak = peaks.get(_PEAK_OF.get(precision, ""))
                words = ["--net", str(file), "--backend", backend, "--precision", precision]
                words += ["--threads", str(asked.threads), "--size", name_of(size), "--visits", str(_VISITS)]
                words += ["--human-profile", MEASURED_PROFILE] if spec.metadata else []
                yield {
                    "shape": name,
                    "size": name_of(size),
                    "backend": backend,
                    "precision": precision,
                    "evaluations_per_s": float(f"{rate:.4g}"),
                    "gflop": round(operations, 3),
                    "share_of_peak": None if peak is None else round(rate * operations / peak, 3),
                    "bytes_per_evaluation": bytes_per_evaluation(spec, *size, _BYTES[precision]),
                    "memory": resident_mib([*program, "gtp", *words]),
                }


def _rate(spec: NetSpec, backend: str, precision: str, size: Size, threads: int, effort: Effort) -> float:
    computing = make_backend(spec, backend, precision, threads)
    try:
        return median(positions_per_second(computing, *size, effort.seconds, _BATCH) for _ in range(effort.runs))
    finally:
        computing.close()


def bytes_per_evaluation(spec: NetSpec, width: int, height: int, number_bytes: int) -> int:
    """Return the least number of bytes that an evaluation reads and writes, in batches of `_BATCH`.

    Every convolution, and every matrix at the points, reads its input and writes its output once; the weights are read
    once for a batch. number_bytes: of a weight or an activation.
    """
    area, weights, activations = width * height, 0, 0
    for path, array in tensors(spec):
        weights += array.size
        if array.ndim == 4:
            activations += area * (array.shape[0] + array.shape[1])
        elif array.ndim == 2 and path.startswith("blocks.") and "pool_bias" not in path:
            activations += area * sum(array.shape)
    return number_bytes * (activations + weights // _BATCH)


def _print_table(figures: Mapping[str, Any]) -> None:
    """Print the results as a table on stdout."""
    from rich.table import Table

    heads = (
        "shape",
        "board",
        "backend",
        "evaluations/s",
        "GFLOP",
        "of the peak",
        "MB/evaluation",
        "memory (peak), MiB",
    )
    table = Table(*heads, title="keima bench --shapes")
    for row in figures["shapes"]:
        memory, share = row["memory"], row["share_of_peak"]
        table.add_row(
            row["shape"],
            row["size"],
            f"{row['backend']} {row['precision']}",
            f"{row['evaluations_per_s']:,.4g}",
            f"{row['gflop']:.3g}",
            "" if share is None else f"{share:.0%}",
            f"{row['bytes_per_evaluation'] / 1e6:,.1f}",
            "" if memory is None else f"{memory['resident_mib']:,.0f} ({memory['peak_mib']:,.0f})",
        )
    print_tables(sys.stdout, [table])
    peaks = ", ".join(f"{name} {rate:,} GFLOP/s" for name, rate in figures["peak_gflops"].items())
    print(f"arithmetic peak of {figures['threads']} threads, in registers: {peaks or 'not measured here'}")
    place = figures["machine"]
    print(f"{place['cores']} cores, {place['processor']}: {' '.join(place['instruction_sets'])}")
