"""How long is measured, and what for."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

Size = tuple[int, int]
"""Width and height."""
Names = tuple[str, str]
"""Of an evaluator: backend and precision."""
NO_PRECISION = "none"
"""Of an evaluator that has no network."""


@dataclass(frozen=True)
class Effort:
    """How long is measured: a figure is the median of `runs`; a run that counts per second takes `seconds`."""

    runs: int = 5
    seconds: float = 0.5

    def median(self, run: Callable[[], float]) -> float:
        """Return the median of what `run` returns."""
        return statistics.median(run() for _ in range(self.runs))


def name_of(size: Size) -> str:
    """Return "19" or "13x9"."""
    width, height = size
    return str(width) if width == height else f"{width}x{height}"
