"""How many cores this process may use, which is fewer than the machine has in a container or under `taskset`."""

import os
from pathlib import Path

_CGROUPS = "proc/self/cgroup"
"""The groups of this process, one a line: number, controllers, path."""
_SECOND, _FIRST = "sys/fs/cgroup", "sys/fs/cgroup/cpu"
"""Where the groups of the second and of the first version are mounted."""


def usable_cores() -> int:
    """Return the number of cores whose time this process may use: of the machine, its affinity and its quota."""
    return cores_within(Path("/"))


def cores_within(root: Path) -> int:
    """Return the number of cores. root: the folder in which Linux's `proc` and `sys` are.

    A quota of 2.5 cores are two: with three threads all would stop together for a part of each period.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, int(_quota(root))))


def _quota(root: Path) -> float:
    """Return the least quota of this process's groups in cores, which is far above any machine's if there is none."""
    least = 1e9
    try:
        lines = (root / _CGROUPS).read_text(encoding="utf-8").splitlines()
    except OSError:
        return least
    for _, controllers, path in (line.split(":", 2) for line in lines if line.count(":") >= 2):
        if controllers and "cpu" not in controllers.split(","):
            continue
        # A container sees its own group as the root, whatever its path outside is called.
        folder = root / (_FIRST if controllers else _SECOND)
        for group in (folder, *(folder / part for part in _prefixes(path))):
            quota, period = _second(group) if not controllers else _first(group)
            if quota > 0 and period > 0:
                least = min(least, quota / period)
    return least


def _prefixes(path: str) -> list[str]:
    """Return the groups from the outermost to this one, as paths below the root: ["a", "a/b"] for "/a/b"."""
    parts = [part for part in path.split("/") if part not in ("", "..")]
    return ["/".join(parts[: end + 1]) for end in range(len(parts))]


def _second(group: Path) -> tuple[float, float]:
    """Return the quota and the period of a group of the second version; 0 if it has none."""
    quota, _, period = _text(group / "cpu.max").partition(" ")
    return _number(quota), _number(period)


def _first(group: Path) -> tuple[float, float]:
    """Return the same for a group of the first version."""
    return _number(_text(group / "cpu.cfs_quota_us")), _number(_text(group / "cpu.cfs_period_us"))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _number(text: str) -> float:
    """Return the number; 0 for the word "max" and for what is not there."""
    return float(text) if text.lstrip("-").isdigit() else 0.0
