"""The results of `keima tune` as tables, as JSON and as files."""

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from engine.apps.quality.report import percent_text, points_text
from engine.apps.quality.statistics import estimates, rounded
from engine.apps.tune.plot import plot
from engine.apps.tune.results import Tuned, verdict
from engine.support.files import write_atomically
from engine.support.json_text import json_text
from engine.support.plots import NoMatplotlib

if TYPE_CHECKING:
    from rich.table import Table

REPORT_FILE, PLOT_FILE = "report.json", "tune.png"
_SHOWN = 8
"""Trials in the table."""
_DIGITS = 6


def tables(tuned: Tuned) -> "Iterator[Table | str]":
    """Yield the best trials, the comparison on the held positions, the games, and the verdict."""
    yield _trials_table(tuned)
    if tuned.held:
        yield _held_table(tuned)
    if tuned.confirmed:
        yield _games_table(tuned)
    yield verdict(tuned)


def _trials_table(tuned: Tuned) -> "Table":
    from rich.table import Table

    settings, count = tuned.settings, len(tuned.trials)
    title = f"{count} of {settings.trials} trials on {settings.positions} positions, loss beside the default"
    table = Table("trial", *(each.name for each in settings.ranges), title=title)
    for visits in settings.visits:
        table.add_column(f"{visits:,} visits, winrate")
        table.add_column("points")
    for each in sorted(tuned.trials, key=lambda trial: trial.loss)[:_SHOWN]:
        values = [str(each.values[known.name]) for known in settings.ranges]
        cells = ((f"{100 * each.winrate[visits]:+.2f} %", f"{each.points[visits]:+.3f}") for visits in settings.visits)
        table.add_row(str(each.number), *values, *(cell for pair in cells for cell in pair))
    return table


def _held_table(tuned: Tuned) -> "Table":
    from rich.table import Table

    title = f"{tuned.settings.held} other positions"
    table = Table("visits", "set", "regret, winrate", "regret, points", "equal", title=title)
    table.add_column("difference, winrate")
    table.add_column("difference, points")
    default, best = tuned.held
    for visits in tuned.settings.visits:
        for name, regret in (("default", default[visits]), ("best", best[visits])):
            means = estimates(regret)
            row = [f"{visits:,}", name, percent_text(means["winrate"]), points_text(means["points"])]
            row.append(f"{means['equal'].mean:.1%}")
            if name == "best":
                different = estimates(regret, default[visits])
                row += [percent_text(different["winrate"], "+"), points_text(different["points"], "+")]
            table.add_row(*row)
    return table


def _games_table(tuned: Tuned) -> "Table":
    from rich.table import Table

    table = Table("visits", "games", "won", "drawn", "lost", "share", "95 %", "Elo", "llr", "the best set is")
    for each in tuned.confirmed:
        share = each.share
        counts = map(str, (len(each.points), *each.counts))
        interval = f"{share.low:.1%} to {share.high:.1%}"
        numbers = f"{share.value:.1%}", interval, f"{each.elo:+.0f}", f"{each.llr:+.2f}"
        table.add_row(f"{each.visits:,}", *counts, *numbers, each.verdict)
    return table


def json_of(tuned: Tuned) -> dict[str, Any]:
    """Return everything as JSON values. Estimates are [mean, low, high]."""
    best = tuned.best
    return {
        "settings": tuned.settings.fixed_by_run,
        "trials": len(tuned.trials),
        "default": {str(visits): rounded(estimates(each), _DIGITS) for visits, each in tuned.default.items()},
        "best": None if best is None else {**best._asdict(), "values": best.values},
        "held": [
            {
                "visits": visits,
                "default": rounded(estimates(before), _DIGITS),
                "best": rounded(estimates(tuned.held[1][visits]), _DIGITS),
                "difference": rounded(estimates(tuned.held[1][visits], before), _DIGITS),
            }
            for visits, before in (tuned.held[0].items() if tuned.held else ())
        ],
        "games": [
            {
                "visits": each.visits,
                "counts": list(each.counts),
                "share": list(each.share),
                "llr": round(each.llr, _DIGITS),
                "verdict": each.verdict,
            }
            for each in tuned.confirmed
        ],
        "verdict": verdict(tuned),
    }


def write_report(tuned: Tuned, errors: IO[str]) -> None:
    """Write report.json and, where matplotlib is installed, tune.png into the folder of the run."""
    out = tuned.settings.out
    write_atomically(out / REPORT_FILE, json_text(json_of(tuned), indent=1) + "\n")
    if not tuned.trials or not tuned.default:
        return
    try:
        picture = plot(tuned)
    except NoMatplotlib as error:
        errors.write(f"keima tune: {error}\n")
    else:
        write_atomically(out / PLOT_FILE, picture)
