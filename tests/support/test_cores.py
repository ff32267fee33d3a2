"""The cores that a process may use: of the machine, its affinity, and the quota of its control groups."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.support.cores import cores_within

V2 = "0::/"


@pytest.fixture(autouse=True)
def _machine_of_16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)


def linux(root: Path, groups: str, **files: str) -> Path:
    """Write the files of Linux that say which groups a process is in and what their quotas are."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(groups)
    for name, text in files.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return root


@pytest.mark.parametrize(
    ("groups", "files", "cores"),
    [
        (V2, {"cpu.max": "max 100000"}, 16),
        (V2, {"cpu.max": "200000 100000"}, 2),
        (V2, {"cpu.max": "250000 100000"}, 2),
        (V2, {"cpu.max": "50000 100000"}, 1),
        (V2, {"cpu.max": "6400000 100000"}, 16),
        ("0::/bots/keima", {"bots/cpu.max": "300000 100000", "bots/keima/cpu.max": "max 100000"}, 3),
        ("0::/bots/keima", {"bots/cpu.max": "300000 100000", "bots/keima/cpu.max": "100000 50000"}, 2),
        ("0::/../other", {"cpu.max": "400000 100000"}, 4),
        (
            "4:cpu,cpuacct:/x\n3:memory:/y",
            {"cpu/cpu.cfs_quota_us": "400000", "cpu/cpu.cfs_period_us": "100000"},
            4,
        ),
        ("4:cpu,cpuacct:/x", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 16),
        ("2:cpuset:/x", {"cpu/cpu.cfs_quota_us": "100000", "cpu/cpu.cfs_period_us": "100000"}, 16),
        (V2, {"cpu.max": ""}, 16),
        (V2, {}, 16),
        ("", {}, 16),
        ("nonsense", {}, 16),
    ],
)
def test_a_quota_limits_the_cores(groups: str, files: dict[str, str], cores: int, tmp_path: Path) -> None:
    assert cores_within(linux(tmp_path, groups, **files)) == cores


def test_without_linux_s_files_the_affinity_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cores_within(tmp_path) == 16
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5})
    assert cores_within(tmp_path) == 2


def test_without_affinities_the_machine_s_cores_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    assert cores_within(tmp_path) == 12
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores_within(tmp_path) == 1


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinities")
def test_a_process_on_one_core_has_one() -> None:
    ask = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
    ask += "from engine.support.cores import usable_cores; print(usable_cores())"
    assert subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout == "1\n"
