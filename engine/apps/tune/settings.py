"""The settings of a run of `keima tune`. Imports nothing heavy."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.apps.tune.ranges import Range

WINRATE, POINTS = "winrate", "points"
"""What is minimized: the mean loss in one of these."""


@dataclass(frozen=True)
class TuneSettings:
    """What is tuned.

    network: identifies the network: name and digest. ranges: of the parameters to tune. fixed: texts of other
    parameters that differ from the defaults, on both sides. visits: of the searches, ascending. positions, held: number
    of those to tune on, and of others for the comparison at the end. objective: WINRATE or POINTS. confirm: most games
    at each of `visits` between the best set and the default, 0 for none. gain: the share of points above a half that
    these games test for. jobs: processes that search side by side.
    """

    network: str
    ranges: tuple[Range, ...]
    out: Path
    fixed: dict[str, str] = field(default_factory=dict)
    size: tuple[int, int] = (9, 9)
    visits: tuple[int, ...] = (100, 400)
    positions: int = 200
    held: int = 200
    trials: int = 100
    objective: str = WINRATE
    reference_visits: int = 10_000
    records: tuple[Path, ...] = ()
    seed: int = 1
    confirm: int = 0
    gain: float = 0.05
    jobs: int = 1

    @property
    def fixed_by_run(self) -> dict[str, Any]:
        """What must not change when a run continues; the number of trials, games and processes may."""
        return {
            "format": "keima-tune",
            "version": 1,
            "network": self.network,
            "ranges": {each.name: str(each) for each in self.ranges},
            "fixed": self.fixed,
            "size": list(self.size),
            "visits": list(self.visits),
            "positions": self.positions,
            "held": self.held,
            "objective": self.objective,
            "reference_visits": self.reference_visits,
            "seed": self.seed,
        }
