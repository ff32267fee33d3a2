"""Plots the rating curve: Elo over hours and over generations, with the fixed opponents as lines."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.support.plots import new_figure, png
from engine.train.generations.rating import MatchLine, Point, curve, generation_of, ratings

if TYPE_CHECKING:
    from engine.support.plots import Axes


def plot_ratings(lines: Sequence[MatchLine], title: str) -> bytes:
    """Return a PNG with two panels. Raises NoMatplotlib."""
    figure = new_figure(11.0, 4.5)
    figure.suptitle(title, parse_math=False)
    points = curve(lines)
    opponents = {player: each.elo for player, each in ratings(lines).items() if generation_of(player) is None}
    by_hours, by_generation = figure.subplots(1, 2, sharey=True)
    _draw(by_hours, points, [point.hours for point in points], opponents, "hours")
    _draw(by_generation, points, [point.generation for point in points], opponents, "generation")
    by_hours.set_ylabel("Elo above the random network")
    return png(figure, dpi=150)


def _draw(
    axes: "Axes", points: Sequence[Point], places: Sequence[float], opponents: dict[str, float], label: str
) -> None:
    elo = [point.rating.elo for point in points]
    below = [point.rating.elo - point.rating.low for point in points]
    above = [point.rating.high - point.rating.elo for point in points]
    axes.errorbar(places, elo, yerr=[below, above], marker="o", markersize=3, capsize=2, label="Keima")
    for number, (player, level) in enumerate(sorted(opponents.items(), key=lambda each: each[1])):
        axes.axhline(level, color=f"C{number % 9 + 1}", linewidth=1, linestyle="--", label=player)
    axes.set_xlabel(label)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="x-small")
