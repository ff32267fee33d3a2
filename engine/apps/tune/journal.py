"""The folder of a run: its settings, and a line for each finished trial."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from engine.apps.tune.optimizer import Finished
from engine.apps.tune.ranges import Set
from engine.apps.tune.settings import TuneSettings
from engine.support.run_folder import RunFolder

TRIALS_FILE = "trials.jsonl"
_DIGITS = 8


class Trial(NamedTuple):
    """A finished trial.

    number: from 1. values: the set. loss: what was minimized. winrate, points: by visits, what its moves lose beside
    the default's, in the mean over the positions; negative where they lose less.
    """

    number: int
    values: Set
    loss: float
    winrate: Mapping[int, float]
    points: Mapping[int, float]


class Journal:
    """The trials of a run. Raises GoError for a folder of another run, or a damaged file."""

    def __init__(self, folder: Path, settings: TuneSettings, positions: str) -> None:
        """positions: identifies the positions."""
        self._folder = RunFolder(folder, settings.fixed_by_run | {"positions_digest": positions}, TRIALS_FILE)
        self.trials = self._folder.read(_parsed, "trial")

    @property
    def finished(self) -> list[Finished]:
        """The trials for the optimizer, in order."""
        return [Finished(each.values, each.loss) for each in self.trials]

    def add(self, trial: Trial) -> Trial:
        """Store a trial, and return it as it is read again."""
        line = {
            "trial": trial.number,
            "set": trial.values,
            "loss": round(trial.loss, _DIGITS),
            "winrate": {str(visits): round(value, _DIGITS) for visits, value in trial.winrate.items()},
            "points": {str(visits): round(value, _DIGITS) for visits, value in trial.points.items()},
        }
        self._folder.add(line)
        self.trials.append(_parsed(line))
        return self.trials[-1]


def _parsed(line: Any) -> Trial:
    """Return the trial of a stored line. Raises ValueError or TypeError."""
    try:
        winrate, points = ({int(visits): float(value) for visits, value in line[name].items()} for name in _NAMES)
        return Trial(int(line["trial"]), dict(line["set"]), float(line["loss"]), winrate, points)
    except (KeyError, AttributeError) as error:
        raise ValueError(f"expected trial, set, loss, winrate and points: {error!r}") from None


_NAMES = ("winrate", "points")
