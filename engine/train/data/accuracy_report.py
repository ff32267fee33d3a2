"""Formats a network's accuracy as a table and as a plot."""

from math import isnan
from typing import TYPE_CHECKING

from engine.support.plots import new_figure, png

if TYPE_CHECKING:
    from rich.table import Table

    from engine.train.data.accuracy import Accuracy, Means


def accuracy_table(accuracy: "Accuracy") -> "Table":
    """Return a rich table: all positions, then by board size and by rank if there are several, then by move number."""
    # Imported late: the command's --help must not wait for rich.
    from rich.table import Table

    title = f"{accuracy.network}: {accuracy.total.positions} positions of {accuracy.games} games, one evaluation each"
    table = Table(title=title)
    table.add_column("moves")
    for name in ("positions", "top 1 %", "top 5 %", "policy loss", "value error", "value loss", "winner %"):
        table.add_column(name, justify="right")
    for name in ("owners known", "owner error", "owner %", "score error"):
        table.add_column(name, justify="right")
    if accuracy.against:
        table.add_column(f"top 1 % above {accuracy.against} (95 %)", justify="right")
    several = [each for each in (accuracy.by_size, accuracy.by_rank) if len(each) > 1]
    for section in ((accuracy.total,), *several, accuracy.by_ply):
        for figures in section:
            table.add_row(*_cells(figures), *([_gain(figures)] if accuracy.against else []))
        table.add_section()
    return table


def _cells(figures: "Means") -> list[str]:
    return [
        figures.label,
        str(figures.positions),
        _percent(figures.top_1),
        _percent(figures.top_5),
        _number(figures.policy_loss, 3),
        _number(figures.value_error, 3),
        _number(figures.value_loss, 3),
        _percent(figures.value_right),
        str(figures.owned),
        _number(figures.ownership_error, 3),
        _percent(figures.ownership_right),
        _number(figures.score_error, 1),
    ]


def _gain(figures: "Means") -> str:
    return f"{100 * figures.gain:+.1f} ({100 * figures.gain_low:+.1f} to {100 * figures.gain_high:+.1f})"


def _percent(share: float) -> str:
    return "" if isnan(share) else f"{100 * share:.1f}"


def _number(value: float, digits: int) -> str:
    return "" if isnan(value) else f"{value:.{digits}f}"


def plot_accuracy(accuracy: "Accuracy") -> bytes:
    """Return a PNG of value error and policy accuracy by move number. Raises NoMatplotlib."""
    labels = [figures.label for figures in accuracy.by_ply]
    figure = new_figure(7.0, 4.0)
    axes = figure.subplots()
    axes.plot(labels, [figures.value_error for figures in accuracy.by_ply], marker="o", color="tab:blue")
    axes.set_xlabel("move")
    axes.set_ylabel("value: mean square error", color="tab:blue")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    shares = axes.twinx()
    shares.plot(labels, [100 * figures.top_1 for figures in accuracy.by_ply], marker="s", color="tab:orange")
    shares.set_ylabel("most likely move was played, %", color="tab:orange")
    shares.set_ylim(0, 100)
    axes.set_title(f"{accuracy.network}, {accuracy.games} games", fontsize="medium")
    axes.tick_params(axis="x", rotation=45)
    return png(figure)
