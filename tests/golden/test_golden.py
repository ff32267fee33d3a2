"""The golden files that there are checks for, all records of each."""

from pathlib import Path

import pytest

from tests.golden.checks import CHECKS
from tests.golden.records import Report, golden_files, read_golden
from tests.shared import SHARED, require_shared

FILES = golden_files(SHARED / "golden")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".json.gz"))
def test_every_record_agrees(path: Path) -> None:
    data = read_golden(path)
    if data["kind"] not in CHECKS:
        pytest.skip(f"no check for kind {data['kind']} yet")
    report = CHECKS[data["kind"]](data)
    assert report.wrong == []
    assert report.checked == len(data["records"]) > 0


def test_golden_files_are_there() -> None:
    require_shared("golden")
    assert {read_golden(path)["kind"] for path in FILES} >= {"legal", "areas", "final", "scores"}


def test_a_report_notices_differences() -> None:
    report = Report()
    report.number("a", 1.0, 1.0)
    report.same("b", [1], [1])
    assert (report.wrong, report.largest) == ([], 0.0)
    report.number("a", 1.0, 1.5)
    report.number("n", float("nan"), 1.5, tolerance=1.0)
    report.same("b", [1], [2])
    assert len(report.wrong) == 3
    assert report.largest >= 0.5
