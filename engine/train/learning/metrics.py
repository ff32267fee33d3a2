"""What training reports: means over some steps, to a file of JSON lines and to TensorBoard."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.errors import GoError
from engine.support.files import append_line, whole_lines, write_atomically
from engine.support.json_text import json_text

METRICS_FILE = "metrics.jsonl"
TENSORBOARD = "tensorboard"


class MetricsLog:
    """Writes the figures of a run. One that goes on from a step forgets what was written after it."""

    def __init__(self, run: Path, step: int) -> None:
        self._path = run / METRICS_FILE
        kept = [line for line in whole_lines(self._path) if json.loads(line)["step"] <= step]
        if self._path.exists():
            write_atomically(self._path, "".join(line + "\n" for line in kept))
        self._board = _tensorboard(run / TENSORBOARD, step)

    def write(self, step: int, figures: Mapping[str, float]) -> None:
        """Add a line for a step; what is NaN is left out, since JSON has none."""
        known = {name: float(f"{value:.6g}") for name, value in figures.items() if math.isfinite(value)}
        append_line(self._path, json_text({"step": step, **known}))
        if self._board is not None:
            for name, value in known.items():
                self._board.add_scalar(name, value, step)
            self._board.flush()

    def close(self) -> None:
        """Close what is open."""
        if self._board is not None:
            self._board.close()


def read_metrics(run: Path) -> list[dict[str, float]]:
    """Return the lines of a run's file of metrics, none if there is no such file.

    Raises GoError on a line without a step, as another kind of run writes.
    """
    path = run / METRICS_FILE
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    found: list[dict[str, float]] = [json.loads(line) for line in lines if line.endswith("}")]
    for number, figures in enumerate(found, start=1):
        if "step" not in figures:
            raise GoError(f"{path}:{number}: expected metrics of keima train run, with a step, got {sorted(figures)}")
    return found


def _tensorboard(folder: Path, step: int) -> Any:
    """Return a writer, None where TensorBoard is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder), purge_step=step + 1)
