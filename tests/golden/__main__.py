"""Checks golden files: `python -m tests.golden`, for `make test-golden`.

Networks are checked by every installed backend, or by the one and in the precision that are asked for.
Rounding to 16 bits is measured rather than judged, with tolerances that only a mistake exceeds.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from engine.evaluators.network import Precision
from tests.golden.checks import CHECKS
from tests.golden.net_checks import BACKENDS, check_networks
from tests.golden.records import Report, golden_files, read_golden
from tests.shared import SHARED

OF_NETWORKS = ("nn", "lz")
_SHOWN = 10
"""Differences printed for a file."""


def options() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description="Check golden files.")
    parser.add_argument("only", nargs="*", help="names of files to check, such as nn-b6c96; all if none")
    parser.add_argument("--backend", choices=BACKENDS, help="what computes networks; all that are installed if none")
    parser.add_argument(
        "--precision", choices=["fp32", "bf16", "fp16", "int16", "int8"], default="fp32", help="of networks"
    )
    return parser.parse_args()


def reports(path: Path, backends: list[str], precision: Precision) -> Iterator[tuple[str, int, Report]]:
    """Yield each check of a file: what was checked, how many records there are, the report."""
    data = read_golden(path)
    name, kind, count = path.name.removesuffix(".json.gz"), data["kind"], len(data["records"])
    if kind in OF_NETWORKS:
        for backend in backends:
            yield f"{name} on {backend} in {precision}", count, check_networks(data, backend, precision)
    elif kind in CHECKS:
        yield name, count, CHECKS[kind](data)
    else:
        print(f"{name}: kind {kind}, {count} records, not yet covered")


def main() -> int:
    """Print records checked and the largest differences by file; return 1 if any differs or none was checked."""
    asked = options()
    backends = [asked.backend] if asked.backend else [each for each in BACKENDS if find_spec(each)]
    folder = SHARED / "golden"
    checked = wrong = 0
    for path in golden_files(folder):
        if asked.only and path.name.removesuffix(".json.gz") not in asked.only:
            continue
        start = time.perf_counter()
        for name, count, report in reports(path, backends, asked.precision):
            checked += report.checked
            wrong += len(report.wrong)
            seconds = time.perf_counter() - start
            print(
                f"{name}: {report.checked} of {count} records checked, "
                f"largest difference {report.largest:g}, {len(report.wrong)} wrong, {seconds:.1f} s",
                flush=True,
            )
            start += seconds
            for line in report.lines + report.wrong[:_SHOWN]:
                print(f"  {line}")
    if not checked:
        print(f"nothing was checked: no golden file of a known kind in {folder}", file=sys.stderr)
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
