"""Logs training metrics, as means over several steps, to a file of JSON lines and to TensorBoard."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.errors import GoError
from engine.support.files import append_line, whole_lines, write_atomically
from engine.support.json_text import json_text
from engine.support.run_folder import parsed_lines

METRICS_FILE = "metrics.jsonl"
TENSORBOARD = "tensorboard"


class MetricsLog:
    """Writes the metrics of a run. A run resumed at a step deletes the lines after that step."""

    def __init__(self, run: Path, step: int) -> None:
        # The steps since the last checkpoint are trained again and would have two lines.
        self._path = run / METRICS_FILE
        lines = zip(whole_lines(self._path), read_metrics(run), strict=True)
        kept = [line for line, figures in lines if figures["step"] <= step]
        if self._path.exists():
            write_atomically(self._path, "".join(line + "\n" for line in kept))
        self._board = _tensorboard(run / TENSORBOARD, step)

    def write(self, step: int, figures: Mapping[str, float]) -> None:
        """Append a line for a step, without metrics that are NaN, which JSON cannot represent."""
        known = {name: float(f"{value:.6g}") for name, value in figures.items() if math.isfinite(value)}
        append_line(self._path, json_text({"step": step, **known}))
        if self._board is not None:
            for name, value in known.items():
                self._board.add_scalar(name, value, step)
            self._board.flush()

    def close(self) -> None:
        """Close the TensorBoard writer."""
        if self._board is not None:
            self._board.close()


def read_metrics(run: Path) -> list[dict[str, float]]:
    """Return the lines of a run's metrics file, an empty list if there is no file.

    Raises GoError on a damaged line, and on one without a step: other kinds of runs write such lines.
    """
    path = run / METRICS_FILE
    found: list[dict[str, float]] = parsed_lines(path, dict, "metrics")
    for number, figures in enumerate(found, start=1):
        if "step" not in figures:
            raise GoError(f"{path}:{number}: expected metrics of keima train run, with a step, got {sorted(figures)}")
    return found


def _tensorboard(folder: Path, step: int) -> Any:
    """Return a TensorBoard writer, None if TensorBoard is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder), purge_step=step + 1)
