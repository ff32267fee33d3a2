"""Checks every golden file: `python -m tests.golden`, for `make test-golden`."""

import sys
import time

from tests.golden.checks import CHECKS
from tests.golden.records import golden_files, read_golden
from tests.shared import SHARED

_SHOWN = 10
"""Differences printed for a file."""


def main() -> int:
    """Print records checked and the largest difference by file; return 1 if any differs or none was checked."""
    folder = SHARED / "golden"
    checked = wrong = 0
    for path in golden_files(folder):
        data = read_golden(path)
        name = path.name.removesuffix(".json.gz")
        check = CHECKS.get(data["kind"])
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
        for line in report.wrong[:_SHOWN]:
            print(f"  {line}")
    if not checked:
        print(f"nothing was checked: no golden file of a known kind in {folder}", file=sys.stderr)
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
