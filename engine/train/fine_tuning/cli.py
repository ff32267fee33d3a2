"""The command `keima learn`. Heavy modules are imported when it runs."""

import os
import sys
from pathlib import Path
from typing import IO, Any

import click

from engine.settings.command import Command
from engine.settings.options import options_of


@click.command(cls=Command)
@click.argument("games", metavar="GAMES...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@options_of("learn")
def learn(games: tuple[Path, ...], **options: Any) -> None:
    """Fine-tune a network on games, such as your own, and report what it learned.

    GAMES are SGF files, directories or archives. One game of ten is kept for testing; the report compares the network
    before and after on those. The directory of --out receives net.safetensors, report.md and report.png. A run stopped
    at any moment goes on with the same command.
    """
    sys.exit(cli_learn(games, options, sys.stdout, sys.stderr))


def cli_learn(games: tuple[Path, ...], options: dict[str, Any], stdout: IO[str], stderr: IO[str]) -> int:
    """Learn, write the report and return the exit status: 0, or 130 after Ctrl-C. Raises GoError or WeightsError."""
    from engine.support.files import write_atomically
    from engine.support.plots import new_figure
    from engine.support.progress import ProgressBar
    from engine.support.run_kinds import LEARN, claimed_run
    from engine.support.stopping import INTERRUPTED, stopping
    from engine.train.fine_tuning.learn import LearnOptions, learn
    from engine.train.fine_tuning.report import report_picture, report_text, verdict
    from weights.shipped import DEFAULT_NETWORK

    new_figure(1.0, 1.0)  # matplotlib must not be missed after the training
    first = games[0].resolve()
    name = first.name
    # A point in the name of a folder begins no suffix: `games.2025` and `games.2026` are learned from apart.
    out = options["out"] or Path(f"{name if first.is_dir() else first.stem}-net")
    asked = LearnOptions(
        out, options["net"] or os.fspath(DEFAULT_NETWORK), options["freeze"], options["hours"], options["threads"]
    )
    with claimed_run(out, LEARN), stopping() as stop, ProgressBar(stderr) as bar:
        learned = learn(games, asked, bar, stop)
        if learned is None:
            stderr.write("keima learn: stopped; the same command goes on\n")
            return INTERRUPTED
        write_atomically(out / "report.md", report_text(learned, name))
        write_atomically(out / "report.png", report_picture(learned, out / "train"))
    stdout.write(f"{verdict(learned)}\n{out / 'report.md'}\n")
    return 0
