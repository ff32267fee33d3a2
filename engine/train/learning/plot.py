"""Plots a training run as PNG: the parts of the loss, accuracy and learning rate by step."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import GoError
from engine.support.plots import new_figure, png
from engine.train.learning.metrics import METRICS_FILE, read_metrics
from engine.train.learning.status import seconds_left
from engine.train.learning.train_config import CONFIG_FILE, read_run_config
from engine.train.run_status import until

if TYPE_CHECKING:
    from engine.support.plots import Axes

_EXACT = ("learning_rate",)
# Of outputs about the near future, which some networks have, and of heads that only training has.
_NEAR = ("optimistic_policy", "value_error", "score_error")
_OTHERS = (*_NEAR, "soft_policy", "soft_reply", "score_distribution", "short_value", "short_score")
_PANELS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("loss", ("loss",)),
    ("policy, nats", ("policy", "reply", "kl", "entropy")),
    ("policy: top-1 accuracy", ("accuracy",)),
    ("value and ownership, nats", ("value", "ownership")),
    ("value: explained variance", ("explained_variance",)),
    ("score: Huber loss", ("score_mean", "lead")),
    ("score: minus log-likelihood", ("score_stdev",)),
    ("gradient norm", ("gradient_norm",)),
    ("learning rate", _EXACT),
    ("samples per second", ("samples_per_s",)),
    ("other losses", _OTHERS),
)
_COLUMNS = 2
_INCHES = (6.0, 2.8)
_RAW_ALPHA = 0.25


def plot_run(run: Path, window: int = 20) -> bytes:
    """Return a PNG of a run's metrics: each metric in pale color, and its moving average over a tenth of the lines.

    window: maximum lines of the moving average. The learning rate is not averaged.

    Raises GoError if there are no metrics, and NoMatplotlib.
    """
    lines = read_metrics(run)
    if not lines:
        reason = (
            "no metrics yet" if (run / CONFIG_FILE).exists() else "no metrics: is this the folder of a training run?"
        )
        raise GoError(f"{run / METRICS_FILE}: {reason}")
    panels = [(title, names) for title, names in _PANELS if any(name in line for name in names for line in lines)]
    rows = -(-len(panels) // _COLUMNS)
    width, height = _INCHES
    figure = new_figure(width * _COLUMNS, height * rows)
    figure.suptitle(_title(run, lines), parse_math=False)
    places = figure.subplots(rows, _COLUMNS, squeeze=False).ravel()
    usual = max(1, min(window, len(lines) // 10))
    for axes, (title, names) in zip(places, panels, strict=False):
        _draw(axes, title, lines, names, 1 if names == _EXACT else usual)
    for axes in places[len(panels) :]:
        axes.set_visible(False)
    return png(figure)


def _title(run: Path, lines: list[dict[str, float]]) -> str:
    """Return how far the run is and the time left, if its folder has its configuration."""
    title = f"{run.resolve().name}, step {lines[-1]['step']:,.0f}"
    if not (run / CONFIG_FILE).exists() or "samples_per_s" not in lines[-1]:
        return title
    config = read_run_config(run)
    left = seconds_left(lines, config.steps, 3600 * config.hours or math.inf)
    return f"{title} of {config.steps:,}" + (f", left: {until(left)}" if left else "")


def moving_average(values: Sequence[float], window: int) -> list[float]:
    """Return the mean of each value and the (up to) `window` - 1 values before it."""
    total, averages = 0.0, []
    for index, value in enumerate(values):
        total += value - (values[index - window] if index >= window else 0.0)
        averages.append(total / min(index + 1, window))
    return averages


def _draw(axes: "Axes", title: str, lines: Sequence[dict[str, float]], names: Sequence[str], window: int) -> None:
    """Draw the named metrics against the step."""
    for name in names:
        known = [(line["step"], line[name]) for line in lines if name in line]
        if not known:
            continue
        steps, values = zip(*known, strict=True)
        drawn = axes.plot(steps, values, alpha=_RAW_ALPHA, linewidth=0.8)  # pale, behind the average
        label = name.replace("_", " ")
        axes.plot(steps, moving_average(values, window), color=drawn[0].get_color(), label=label)
    if names == _OTHERS:
        # Nats beside squared points.
        axes.set_yscale("log")
    axes.set_title(title, fontsize="medium")
    axes.set_xlabel("step")
    axes.grid(alpha=0.3)
    if len(names) > 1:
        axes.legend(fontsize="small")
