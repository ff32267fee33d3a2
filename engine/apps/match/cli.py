"""`keima match`: settings to a match, progress on stderr, tables on stdout, an exit status."""

import sys
from functools import partial
from typing import IO

from engine.apps.match.options import MatchOptions
from engine.match.clock import clock_text
from engine.match.errors import MatchError
from engine.match.report import game_text, progress_text, summary
from engine.match.settings import MatchSettings
from engine.match.store import GameRecord
from engine.match.table import tables
from engine.match.tournament import run_match
from engine.support.files import write_atomically
from engine.support.json_text import json_text
from engine.support.progress import ProgressBar
from engine.support.run_kinds import MATCH, claimed_run
from engine.support.stopping import INTERRUPTED, interrupting
from engine.support.tables import print_tables


def cli_match(options: MatchOptions, *, stdout: IO[str] | None = None, stderr: IO[str] | None = None) -> int:
    """Run a match and return the exit status: 0, 130 after an interruption, 2 when it cannot be run or gone on with.

    Raises OSError, and GoError for results that are no text.
    """
    screen, errors = stdout or sys.stdout, stderr or sys.stderr
    try:
        settings = options.settings()
        with claimed_run(options.out, MATCH, MatchError):
            with interrupting(), ProgressBar(errors, len(settings.fixtures()), every=0.0) as bar:
                on_game = partial(_show_progress, bar, settings, set())
                result = run_match(settings, options.out, resume=options.resume, on_game=on_game)
            if options.out is not None:
                text = json_text(summary(result.records, settings), indent=1)
                write_atomically(options.out / "summary.json", text + "\n")
    except MatchError as error:
        errors.write(f"keima match: {error}\n")
        return 2
    _show(screen, settings, result.records)
    return INTERRUPTED if result.interrupted else 0


def _show(screen: IO[str], settings: MatchSettings, records: list[GameRecord]) -> None:
    games = f"{len(records)} of {len(settings.fixtures())} games"
    handicap = f"handicap {settings.handicap}, " if settings.handicap else ""
    board = f"{settings.width}x{settings.height}, {handicap}komi {settings.komi:g}, {settings.rules}"
    clock = "" if settings.time is None else f", {clock_text(settings.time)}"
    print_tables(screen, tables(records, settings, f"{games}, {board}{clock}"))


def _show_progress(bar: ProgressBar, settings: MatchSettings, seen: set[int], records: list[GameRecord]) -> None:
    """Show the score, with the newest game where lines are written. seen: numbers of the games shown before."""
    new = [record for record in records if record.number not in seen]
    seen.update(record.number for record in new)
    text = progress_text(records, settings)
    bar.update(text, len(records), line=f"{game_text(new[0])}; {text}" if len(new) == 1 else text)
