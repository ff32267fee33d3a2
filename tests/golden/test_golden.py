"""The golden files that there are checks for: all records, and of networks, which take long, some of each."""

from pathlib import Path

import pytest

from engine.nets.kernels.operands import lanes_here
from tests.golden.checks import CHECKS
from tests.golden.net_checks import BACKENDS, check_networks
from tests.golden.records import Report, golden_files, read_golden
from tests.shared import SHARED, require_shared

FILES = golden_files(SHARED / "golden")
OF_NETWORKS = [path for path in FILES if path.name.startswith(("nn-", "lz"))]
EVERY = 30


def name_of(path: Path) -> str:
    return path.name.removesuffix(".json.gz")


@pytest.mark.parametrize("path", OF_NETWORKS, ids=name_of)
@pytest.mark.parametrize("backend", BACKENDS)
def test_networks_agree_on_some_records(path: Path, backend: str) -> None:
    pytest.importorskip(backend, reason=f"{backend} is not installed")
    if backend == "numba" and not lanes_here():
        pytest.skip("kernels are not compiled here, or the CPU has no AVX2")
    report = check_networks(read_golden(path), backend, every=EVERY)
    assert report.wrong == []
    assert report.checked > 0


@pytest.mark.parametrize("path", [path for path in FILES if path not in OF_NETWORKS], ids=name_of)
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
