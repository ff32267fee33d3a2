"""Plots a run: percent solved against visits, by kind and by rank."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.apps.solve.report import Grouping, Row, groupings, rank_bands, total
from engine.apps.solve.solver import Answer
from engine.support.plots import new_figure, png

if TYPE_CHECKING:
    from engine.support.plots import Axes

_LEAST_PROBLEMS = 10
"""Groups with fewer problems are not drawn: their lines would show chance."""
_INCHES = (5.5, 4.8)


def plot(answers: Sequence[Answer], title: str) -> bytes:
    """Return a PNG with one panel for each grouping; groups of fewer than ten problems are left out.

    Raises NoMatplotlib.
    """
    panels = [rank_bands(answers) if each.title == "rank" else each for each in groupings(answers)]
    width, height = _INCHES
    figure = new_figure(width * len(panels), height)
    figure.suptitle(title)
    for axes, grouping in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        _draw(axes, answers[0].visits, grouping, total(answers))
    return png(figure)


def _draw(axes: "Axes", visits: Sequence[int], grouping: Grouping, everything: Row) -> None:
    """Draw a line for each group, and all problems in black with their interval."""
    for row in grouping.rows:
        if row.problems >= _LEAST_PROBLEMS:
            axes.plot(visits, _percents(row), marker="o", markersize=3, label=f"{row.label} ({row.problems})")
    axes.plot(visits, _percents(everything), color="black", linewidth=2, label=f"all ({everything.problems})")
    low, high = ([100 * end for end in ends] for ends in zip(*(each[1:] for each in everything.solved), strict=True))
    axes.fill_between(visits, low, high, color="black", alpha=0.1, linewidth=0)
    axes.set_xscale("log")
    axes.set_xticks(visits, [str(count) for count in visits])
    axes.minorticks_off()
    axes.set_ylim(0, 100)
    axes.set_xlabel("visits")
    axes.set_ylabel("solved, %")
    axes.set_title(f"by {grouping.title}", fontsize="medium")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.15), frameon=False)


def _percents(row: Row) -> list[float]:
    return [100 * each.value for each in row.solved]
