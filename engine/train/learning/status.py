"""What a run of `keima train run` shows of itself: how far it is, how fast, and how its losses move.

Reads the files of the run folder and changes nothing. Does not import torch.
"""

import math
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from engine.errors import GoError
from engine.train.learning.metrics import METRICS_FILE, read_metrics
from engine.train.learning.train_config import CONFIG_FILE, read_run_config
from engine.train.run_status import Sheet, headline, moved, newest_and_before, until

if TYPE_CHECKING:
    from rich.table import Table

_LOSSES = (
    ("loss", "loss"),
    ("policy loss", "policy"),
    ("value loss", "value"),
    ("policy entropy", "entropy"),
    ("top-1 accuracy", "accuracy"),
)
# Share of the time in which training may wait for batches.
_WAITING = 0.1
# Rise of the loss over a tenth of the run that is no noise.
_RISE = 0.05


def status(run: Path) -> list["str | Table"]:
    """Return a headline, a table and warnings. Raises GoError for a folder without a run."""
    if not (run / CONFIG_FILE).exists():
        raise GoError(f"{run} contains no run of keima train run")
    config, lines = read_run_config(run), read_metrics(run)
    step = int(lines[-1]["step"]) if lines else 0
    seconds = lines[-1]["seconds"] if lines else 0.0
    limit = 3600 * config.hours or math.inf
    complete = step >= config.steps or seconds >= limit
    shown = headline(run, f"keima train run {run} ...", complete=complete, heartbeat=run / METRICS_FILE)
    rows = [("step", f"{step:,} of {config.steps:,}"), ("hours", f"{seconds / 3600:.2f}")]
    left = seconds_left(lines, config.steps, limit)
    if left is not None and not complete:
        rows.append(("left", until(left)))
    if lines:
        rows.append(("samples", f"{lines[-1]['samples']:,.0f}"))
        rows.append(("samples/s", moved([line["samples_per_s"] for line in lines], 1)))
    for label, name in _LOSSES:
        values = [line[name] for line in lines if name in line]
        if values:
            rows.append((label, moved(values)))
    if lines:
        rows.append(("learning rate", f"{lines[-1]['learning_rate']:.3g}"))
    table = Sheet("Run", ("what", "how much"), tuple(rows)).table()
    return [shown, table, *(f"Warning: {text}." for text in _warnings(lines))]


def seconds_left(lines: list[dict[str, float]], steps: int, limit: float = math.inf) -> float | None:
    """Return the seconds until a run ends, at the speed of its newest lines; None before there is one.

    steps: last step of the run. limit: seconds of the run at which it ends before.
    """
    if not lines:
        return None
    last = lines[-1]
    samples_a_step = last["samples"] / last["step"]
    speed = mean(newest_and_before([line["samples_per_s"] for line in lines])[0])
    return max(0.0, min((steps - last["step"]) * samples_a_step / speed, limit - last["seconds"]))


def _warnings(lines: list[dict[str, float]]) -> list[str]:
    """Return what a person should look at."""
    found, losses = [], [line["loss"] for line in lines if "loss" in line]
    now, before = newest_and_before(losses)
    if before and mean(now) > (1 + _RISE) * mean(before):
        found.append(f"the loss rose from {mean(before):.3f} to {mean(now):.3f}; try a lower learning rate")
    waits, _ = newest_and_before([line["data_wait"] for line in lines if "data_wait" in line])
    if waits and mean(waits) > _WAITING:
        found.append(f"training waits for batches {mean(waits):.0%} of the time")
    if lines and "loss" not in lines[-1]:
        found.append(f"the loss is not finite at step {lines[-1]['step']:,.0f}")
    return found
