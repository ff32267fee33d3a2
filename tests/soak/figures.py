"""What a process uses while it runs, as samples over time: a CSV file, curves of text, and a verdict."""

import csv
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path

WINDOWS = 6
"""A run is compared by sixths: of one hour, ten minutes each. The first is warming up."""
_BARS = "▁▂▃▄▅▆▇█"
_COLUMNS = 60
_PAGE_UNITS = 1024
# Allowances between the second and the last window: allocators keep freed memory, and other work slows replies.
_MORE_MEMORY, _MORE_MEBIBYTES = 1.05, 16.0
_MORE_TIME, _MORE_SECONDS = 2.0, 0.005
QUICK = ("play", "undo", "time_left", "komi", "kgs-rules", "kgs-time_settings")
"""Commands that neither think nor wait for the player: their times are compared."""


@dataclass(frozen=True)
class Sample:
    """The state of a process at one time. memory: resident, in MiB. handles: open file descriptors.

    reply: median seconds of the quick commands since the sample before.
    """

    seconds: float
    games: int
    memory: float
    threads: int
    handles: int
    reply: float


def usage(pid: int) -> tuple[float, int, int]:
    """Return the resident memory in MiB, the threads and the open files of a process. Raises OSError without /proc."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    found = {name: value for name, _, value in (line.partition(":") for line in lines)}
    memory = int(found["VmRSS"].split()[0]) / _PAGE_UNITS
    return memory, int(found["Threads"]), sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def write_csv(samples: Iterable[Sample], path: Path) -> None:
    """Write one row for each sample."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [each.name for each in fields(Sample)])
        writer.writeheader()
        for sample in samples:
            writer.writerow({name: round(value, 5) for name, value in asdict(sample).items()})


def windows(samples: Sequence[Sample]) -> list[list[Sample]]:
    """Return the samples of each sixth of a run."""
    length = samples[-1].seconds / WINDOWS
    parts: list[list[Sample]] = [[] for _ in range(WINDOWS)]
    for sample in samples:
        parts[min(WINDOWS - 1, int(sample.seconds / length))].append(sample)
    return parts


def growth(samples: Sequence[Sample]) -> list[str]:
    """Return what has grown from the second sixth of a run to the last, a line each; nothing if all is flat."""
    parts = windows(samples)
    before, after = parts[1], parts[-1]
    if not before or not after:
        return ["there are too few samples for a verdict"]

    def median(part: list[Sample], of: Callable[[Sample], float]) -> float:
        return statistics.median(map(of, part))

    found = []
    first, last = (median(part, lambda each: each.memory) for part in (before, after))
    if last > first * _MORE_MEMORY + _MORE_MEBIBYTES:
        found.append(f"memory grows: {first:.0f} MiB, {last:.0f} MiB at the end")
    for name in ("threads", "handles"):
        first, last = (max(getattr(each, name) for each in part) for part in (before, after))
        if last > first:
            found.append(f"{name} grow: {first}, {last} at the end")
    first, last = (median(part, lambda each: each.reply) for part in (before, after))
    if last > first * _MORE_TIME + _MORE_SECONDS:
        found.append(f"replies slow down: {1000 * first:.1f} ms, {1000 * last:.1f} ms at the end")
    return found


def curve(values: Sequence[float]) -> str:
    """Return a row of bars from 0 to the largest value, each the median of a stretch of the values."""
    count = min(_COLUMNS, len(values))
    edges = [index * len(values) // count for index in range(count + 1)]
    medians = [statistics.median(values[begin:end]) for begin, end in pairwise(edges)]
    most = max(medians) or 1.0
    return "".join(_BARS[round(value / most * (len(_BARS) - 1))] for value in medians)


def quantiles(times: Iterable[tuple[float, str, float]]) -> list[str]:
    """Return the times of replies by command, a line each: how many, median, 90 %, 99 % and the longest, in ms."""
    kinds: dict[str, list[float]] = {}
    for _, command, seconds in times:
        kinds.setdefault(command, []).append(1000 * seconds)
    lines = []
    for command, found in sorted(kinds.items(), key=lambda each: -len(each[1])):
        found.sort()
        at = [found[min(len(found) - 1, int(share * len(found)))] for share in (0.5, 0.9, 0.99)]
        row = " ".join(f"{value:9.1f}" for value in (*at, found[-1]))
        lines.append(f"{command:22} {len(found):6} {row}")
    return lines


def summary(samples: Sequence[Sample], times: Sequence[tuple[float, str, float]]) -> str:
    """Return curves, figures at the start, after a sixth and at the end, and the times of replies."""
    sixth = windows(samples)[1][0] if windows(samples)[1] else samples[0]
    at = (samples[0], sixth, samples[-1])
    lines = [f"{'':8} {'start':>9} {f'{sixth.seconds / 60:.0f} min':>9} {f'{samples[-1].seconds / 60:.0f} min':>9}"]
    for name in ("memory", "threads", "handles"):
        values = [float(getattr(each, name)) for each in samples]
        row = " ".join(f"{getattr(each, name):9.0f}" for each in at)
        lines.append(f"{name:8} {row}  {curve(values)}")
    lines.append(f"{'reply ms':8} {' '.join(f'{1000 * each.reply:9.1f}' for each in at)}")
    head = " ".join(f"{name:>9}" for name in ("median", "90 %", "99 %", "longest"))
    return "\n".join([*lines, "", f"{'replies, ms':22} {'':6} {head}", *quantiles(times)])
