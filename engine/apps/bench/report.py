"""Prints the results of `keima bench` as a table."""

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from engine.apps.bench.effort import NO_PRECISION
from engine.support.tables import print_tables

if TYPE_CHECKING:
    from rich.table import Table


def print_table(figures: Mapping[str, Any]) -> None:
    """Print the results as a table on stdout."""
    from rich.table import Table

    table = Table("what", "board", "figure", title="keima bench")
    for key in ("first_reply_s", "first_genmove_s", "cold_compile_s"):
        if figures[key] is not None:
            table.add_row(key.removesuffix("_s").replace("_", " "), figures["startup_size"], f"{figures[key]:.3f} s")
    for size, rates in figures["rollouts_per_s"].items():
        for kind, rate in rates.items():
            table.add_row(f"{kind} playouts/s, one core", size, f"{rate:,}")
    for size, evaluations in figures["evaluations_per_s"].items():
        for backend, precision, rates in _pairs(evaluations):
            what = _title(backend, precision)
            calls = figures["calls_in_flight"][backend][precision]
            for batch, rate in rates.items():
                table.add_row(f"{what}: evaluations/s", size, f"{rate:,} (batch {batch}, {calls} calls)")
            _add_search_rows(table, figures, size, backend, precision)
    if "katago" in figures:
        _add_katago_rows(table, figures["katago"])
    if figures.get("memory") is not None:
        memory = figures["memory"]
        size = memory["size"]
        table.add_row(f"memory after {memory['visits']:,} visits", size, f"{memory['resident_mib']:,.0f} MiB resident")
        table.add_row("memory limit of the tree", size, f"{memory['tree_limit_mib']:,} MiB")
    print_tables(sys.stdout, [table])
    place = figures["machine"]
    print(f"{place['cores']} cores, {place['processor']}: {' '.join(place['instruction_sets'])}")
    print(", ".join(f"{name} {version}" for name, version in figures["versions"].items()))


def _pairs(backends: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, Any]]:
    """Yield the measurements of each backend and precision."""
    for backend, precisions in backends.items():
        for precision, measured in precisions.items():
            yield backend, precision, measured


def _title(backend: str, precision: str) -> str:
    return backend if precision == NO_PRECISION else f"{backend} {precision}"


def _add_search_rows(table: "Table", figures: Mapping[str, Any], size: str, backend: str, precision: str) -> None:
    """Add the results of the searches with one evaluator."""

    def value(key: str) -> Any:
        return figures[key][size][backend][precision]

    what = _title(backend, precision)
    table.add_row(f"{what}: visits/s", size, f"{value('visits_per_s'):,}")
    ratio = value("visits_over_evaluations")
    table.add_row(f"{what}: visits/s over evaluations/s", size, f"{ratio['ratio']} (batch {ratio['batch']})")
    shares = value("search_share").items()
    table.add_row(f"{what}: time", size, ", ".join(f"{step} {share:.1%}" for step, share in shares))
    table.add_row(f"{what}: tree node", size, f"{value('bytes_per_node'):,} bytes")


def _add_katago_rows(table: "Table", katago: Mapping[str, Any]) -> None:
    """Add KataGo's speed, and the speed of each network evaluator, alone and in a search, as a multiple of it."""
    for size, rate in katago["evaluations_per_s"].items():
        table.add_row("KataGo: evaluations/s", size, f"{rate:,}")
        table.add_row("KataGo: visits/s", size, f"{katago['visits_per_s'][size]:,}")
        for backend, precision, ratios in _pairs(katago["ratio"][size]):
            if precision != NO_PRECISION:
                what = _title(backend, precision)
                times = ", ".join(f"{ratio} (batch {batch})" for batch, ratio in ratios.items())
                table.add_row(f"{what}: times KataGo, evaluations/s", size, times)
                visits = katago["visits_ratio"][size][backend][precision]
                table.add_row(f"{what}: times KataGo, visits/s", size, f"{visits}")
