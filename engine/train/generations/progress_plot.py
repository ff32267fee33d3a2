"""Draws the picture of a run of `keima zero`: strength, losses, speed and games over its hours."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from engine.support.plots import new_figure, png
from engine.train.generations.rating import MatchLine, curve, generation_of, origin, player_of, ratings
from engine.train.generations.zero_progress import Progress, hours_left, learned, on_board
from engine.train.run_status import until

if TYPE_CHECKING:
    from engine.support.plots import Axes

PICTURE = "progress.png"
"""The name of the picture in a run folder."""
# Below these hours the picture shows minutes.
_LONG_HOURS = 2.0
Curve = tuple[str, Sequence[tuple[float, float]]]
"""A label, and points of hours and values."""


def plot_progress(progress: Progress, title: str) -> bytes:
    """Return a PNG of a run, with a panel for each kind of number that it has. Raises NoMatplotlib."""
    unit, scale = ("hours", 1.0) if progress.hours >= _LONG_HOURS else ("minutes", 60.0)
    panels: list[Callable[[Axes], None]] = []
    boards = progress.matches_by_size
    for side, matches in boards.items():
        if any(line.games for line in matches):
            panels.append(partial(_draw_ratings, matches=matches, where=on_board(side, boards), scale=scale))
    for name, curves, is_log in _panels(progress):
        known = [each for each in curves if each[1]]
        if known:
            panels.append(partial(_draw, title=name, curves=known, is_log=is_log, scale=scale))
    rows = max(1, -(-len(panels) // 2))
    figure = new_figure(11.0, 3.3 * rows)
    text = f"{title}: {progress.state.step} of generation {progress.state.generation}, {progress.hours:.2f} h"
    left = hours_left(progress)
    text += ", complete" if progress.complete else f", left: {until(3600 * left)}" if left else ""
    figure.suptitle(text, parse_math=False)
    places = figure.subplots(rows, 2, squeeze=False).ravel()
    for axes, draw in zip(places, panels, strict=False):
        draw(axes)
        axes.set_xlabel(unit)
        axes.set_xlim(0.0, scale * max(progress.hours, 1e-6))
        axes.grid(alpha=0.3)
    for axes in places[len(panels) :]:
        axes.set_visible(False)
    return png(figure, dpi=120)


def _panels(progress: Progress) -> list[tuple[str, list[Curve], bool]]:
    """Return title, curves and whether the scale is logarithmic, of each panel beside the ratings."""
    training = learned(progress)

    def metric(label: str, name: str) -> Curve:
        return label, [(line.hours, line.figures[name]) for line in training if name in line.figures]

    def figure(label: str, name: str, factor: float = 1.0) -> Curve:
        lines = [line for line in progress.lines("selfplay") if line.get(name) is not None]
        return label, [(line["hours"], factor * line[name]) for line in lines]

    def speed(label: str, step: str, name: str) -> Curve:
        lines = [line for line in progress.lines(step) if line.get(name) and line["sitting_seconds"]]
        return label, [(line["hours"], line[name] / line["sitting_seconds"]) for line in lines]

    return [
        ("loss", [metric("loss", "loss"), metric("policy", "policy"), metric("value", "value")], False),
        (
            "samples/s and evaluations/s",
            [
                speed("samples of self-play", "selfplay", "sitting_samples"),
                speed("samples of training", "train", "sitting_samples"),
                speed("evaluations of self-play", "selfplay", "sitting_evaluations"),
            ],
            True,
        ),
        ("game length, moves", [figure("game length", "mean_length")], False),
        (
            "games, %",
            [
                figure("won by Black", "black_win_rate", 100.0),
                figure("resigned", "decided_share", 100.0),
                figure("resignations that were wrong", "sitting_false_resign_rate", 100.0),
            ],
            False,
        ),
        ("entropy of the policy, nats", [metric("entropy", "entropy")], False),
    ]


def _draw(axes: "Axes", title: str, curves: Sequence[Curve], is_log: bool, scale: float) -> None:
    """Draw curves over the hours times `scale`."""
    for label, points in curves:
        times, values = [scale * hours for hours, _ in points], [value for _, value in points]
        axes.plot(times, values, marker="o" if len(points) < 50 else "", markersize=3, label=label)
    axes.set_title(title, fontsize="medium")
    if is_log:
        axes.set_yscale("log")
    if len(curves) > 1:
        axes.legend(fontsize="x-small")


def _draw_ratings(axes: "Axes", matches: Sequence[MatchLine], where: str, scale: float) -> None:
    """Draw the ratings on a board with their intervals, and the fixed opponents as lines."""
    points, fitted = curve(matches), ratings(matches)
    hours, elo = [scale * point.hours for point in points], [point.rating.elo for point in points]
    below = [point.rating.elo - point.rating.low for point in points]
    above = [point.rating.high - point.rating.elo for point in points]
    axes.errorbar(hours, elo, yerr=[below, above], marker="o", markersize=3, capsize=2, label="Keima")
    opponents = {player: each.elo for player, each in fitted.items() if generation_of(player) is None}
    for number, (player, level) in enumerate(sorted(opponents.items(), key=lambda each: each[1])):
        axes.axhline(level, color=f"C{number % 9 + 1}", linewidth=1, linestyle="--", label=player)
    weakest = origin(matches)
    above_whom = "the first network" if weakest == player_of(0) else weakest
    axes.set_title(f"Elo above {above_whom}{where}", fontsize="medium")
    axes.legend(fontsize="x-small")
