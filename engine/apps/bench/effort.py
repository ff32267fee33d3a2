"""How often and how long each speed is measured, and the names of what is measured."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

Size = tuple[int, int]
"""Width and height."""
USUAL_SIZES: tuple[Size, ...] = ((9, 9), (19, 19))
"""Boards that are measured where none is named."""
Names = tuple[str, str]
"""Backend and precision of an evaluator."""
NO_PRECISION = "none"
"""The precision of an evaluator without a network."""


@dataclass(frozen=True)
class Effort:
    """A reported number is the median of `runs` runs; each run of a rate takes `seconds` seconds."""

    runs: int = 5
    seconds: float = 0.5

    def median(self, run: Callable[[], float]) -> float:
        """Call `run` for each run and return the median of its results."""
        return statistics.median(run() for _ in range(self.runs))


def name_of(size: Size) -> str:
    """Format a size as "19" or "13x9"."""
    width, height = size
    return str(width) if width == height else f"{width}x{height}"
