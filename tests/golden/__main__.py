"""Checks golden files: `python -m tests.golden`, for `make test-golden`.

Networks are checked by the backend and in the precision that are asked for; rounding to 16 bits is
measured rather than judged, with tolerances that only a mistake exceeds.
"""

import argparse
import sys
import time
from functools import partial

from tests.golden.checks import CHECKS
from tests.golden.net_checks import BACKENDS, check_networks
from tests.golden.records import golden_files, read_golden
from tests.shared import SHARED

_SHOWN = 10
"""Differences printed for a file."""


def options() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description="Check golden files.")
    parser.add_argument("only", nargs="*", help="names of files to check, such as nn-b6c96; all if none")
    parser.add_argument("--backend", choices=BACKENDS, default="torch", help="what computes networks")
    parser.add_argument("--precision", choices=["fp32", "bf16", "fp16"], default="fp32")
    return parser.parse_args()


def main() -> int:
    """Print records checked and the largest differences by file; return 1 if any differs or none was checked."""
    asked = options()
    checks = CHECKS | dict.fromkeys(
        ("nn", "lz"), partial(check_networks, backend=asked.backend, precision=asked.precision)
    )
    folder = SHARED / "golden"
    checked = wrong = 0
    for path in golden_files(folder):
        name = path.name.removesuffix(".json.gz")
        if asked.only and name not in asked.only:
            continue
        data = read_golden(path)
        check = checks.get(data["kind"])
        if check is None:
            print(f"{name}: kind {data['kind']}, {len(data['records'])} records, not yet covered")
            continue
        start = time.perf_counter()
        report = check(data)
        checked += report.checked
        wrong += len(report.wrong)
        print(
            f"{name}: {report.checked} of {len(data['records'])} records checked, "
            f"largest difference {report.largest:g}, {len(report.wrong)} wrong, {time.perf_counter() - start:.1f} s",
            flush=True,
        )
        for line in report.lines + report.wrong[:_SHOWN]:
            print(f"  {line}")
    if not checked:
        print(f"nothing was checked: no golden file of a known kind in {folder}", file=sys.stderr)
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
