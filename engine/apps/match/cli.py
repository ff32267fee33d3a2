"""`keima match`: settings to a match, progress on stderr, tables on stdout, an exit status."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from engine.apps.match.options import MatchOptions
from engine.match.clock import clock_text
from engine.match.errors import MatchError
from engine.match.report import game_text, progress_text, summary
from engine.match.settings import MatchSettings
from engine.match.store import GameRecord
from engine.match.table import tables
from engine.match.tournament import run_match
from engine.support.files import claimed, write_atomically
from engine.support.stopping import interrupting

INTERRUPTED = 130
"""Exit status after Ctrl-C, SIGTERM or SIGHUP, as shells have it for the first."""


def cli_match(options: MatchOptions, *, stdout: IO[str] | None = None, stderr: IO[str] | None = None) -> int:
    """Run a match and return the exit status: 0, 130 after an interruption, 2 when it cannot be run or gone on with.

    Raises OSError, and GoError for results that are no text.
    """
    screen, progress = stdout or sys.stdout, stderr or sys.stderr
    try:
        settings = options.settings()
        with claimed(options.out, MatchError):
            with interrupting(), _progress(progress, settings) as on_game:
                result = run_match(settings, options.out, resume=options.resume, on_game=on_game)
            if options.out is not None:
                text = json.dumps(summary(result.records, settings), indent=1)
                write_atomically(options.out / "summary.json", text + "\n")
    except MatchError as error:
        progress.write(f"keima match: {error}\n")
        return 2
    _show(screen, settings, result.records)
    return INTERRUPTED if result.interrupted else 0


def _show(screen: IO[str], settings: MatchSettings, records: list[GameRecord]) -> None:
    from rich.console import Console

    games = f"{len(records)} of {len(settings.fixtures())} games"
    handicap = f"handicap {settings.handicap}, " if settings.handicap else ""
    board = f"{settings.width}x{settings.height}, {handicap}komi {settings.komi:g}, {settings.rules}"
    clock = "" if settings.time is None else f", {clock_text(settings.time)}"
    console = Console(file=screen, width=None if screen.isatty() else 120, markup=False, emoji=False)
    for table in tables(records, settings, f"{games}, {board}{clock}"):
        console.print(table)


@contextmanager
def _progress(stream: IO[str], settings: MatchSettings) -> Iterator[Callable[[list[GameRecord]], None]]:
    """Yield the `on_game` callback: a bar on a terminal, else a line for every game."""
    if not stream.isatty():
        yield _line_writer(stream, settings)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=stream)) as bar:
        task = bar.add_task("", total=len(settings.fixtures()))

        def update(records: list[GameRecord]) -> None:
            bar.update(task, completed=len(records), description=progress_text(records, settings))

        yield update


def _line_writer(stream: IO[str], settings: MatchSettings) -> Callable[[list[GameRecord]], None]:
    seen: set[int] = set()

    def write(records: list[GameRecord]) -> None:
        new = [record for record in records if record.number not in seen]
        if len(new) == 1:
            stream.write(f"{game_text(new[0])}; ")
        stream.write(progress_text(records, settings) + "\n")
        stream.flush()
        seen.update(record.number for record in new)

    return write
