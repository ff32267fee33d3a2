"""Plots a run: the regret of each trial in order, and against each parameter."""

from typing import TYPE_CHECKING

import numpy as np

from engine.apps.tune.ranges import Range, Value
from engine.apps.tune.results import Tuned
from engine.support.plots import new_figure, png

if TYPE_CHECKING:
    from engine.support.plots import Axes

_INCHES = (4.2, 3.4)
_IN_A_ROW = 3


def plot(tuned: Tuned) -> bytes:
    """Return a PNG with a panel for the trials in order and one for each parameter. Raises NoMatplotlib.

    The regret of a trial is that of the default plus the paired difference, both on the positions that were tuned on.
    """
    ranges = tuned.settings.ranges
    count = 1 + len(ranges)
    columns = min(count, _IN_A_ROW)
    rows = -(-count // columns)
    figure = new_figure(_INCHES[0] * columns, _INCHES[1] * rows)
    panels = list(figure.subplots(rows, columns, squeeze=False).ravel())
    _draw(panels[0], tuned, [float(each.number) for each in tuned.trials], "trial")
    panels[0].legend(fontsize="small")
    for axes, each in zip(panels[1:], ranges, strict=False):
        _draw(axes, tuned, [_place(each, trial.values[each.name]) for trial in tuned.trials], each.name)
        if each.choices:
            axes.set_xticks(range(len(each.choices)), [str(choice).lower() for choice in each.choices])
        elif each.log:
            axes.set_xscale("log")
    for axes in panels[count:]:
        axes.set_visible(False)
    return png(figure)


def _place(each: Range, value: Value) -> float:
    return float(each.choices.index(value)) if each.choices else float(value)


def _draw(axes: "Axes", tuned: Tuned, places: list[float], label: str) -> None:
    """Draw the trials at their places, the default as a line and the best trial as a star."""
    unit, best = tuned.settings.objective, tuned.best
    factor = 100.0 if unit == "winrate" else 1.0
    for number, (visits, regret) in enumerate(tuned.default.items()):
        default = float(np.mean(getattr(regret, unit)))
        lost = [factor * (default + getattr(each, unit)[visits]) for each in tuned.trials]
        color = f"C{number}"
        axes.plot(places, lost, "o", color=color, markersize=3, label=f"{visits:,} visits")
        axes.axhline(factor * default, color=color, linewidth=1, linestyle="--", label=f"default, {visits:,} visits")
        if best is not None:
            axes.plot(places[best.number - 1], lost[best.number - 1], "*", color=color, markersize=12)
    axes.set_xlabel(label)
    axes.set_ylabel("regret, % winrate" if unit == "winrate" else "regret, points")
    axes.grid(alpha=0.3)
