"""`keima match`: options to settings, progress on stderr, the table on stdout, an exit status.

Parsing the command line is the front door's.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from engine.match.clock import TimeLimit
from engine.match.report import game_text, progress_text, summary, table
from engine.match.settings import MatchError, MatchSettings
from engine.match.store import GameRecord, write_atomically
from engine.match.tournament import run_match

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


def cli_match(
    *,
    black: str,
    white: str,
    games: int = 1,
    size: int | tuple[int, int] = 19,
    komi: float = 7.5,
    rules: str = "tromp-taylor",
    alternate: bool = False,
    referee: str | None = None,
    out: str | Path | None = None,
    seconds_per_move: float | None = None,
    time: float | None = None,
    byo: float | None = None,
    stones: int | None = None,
    grace: float = 0.5,
    hang: float = 300.0,
    max_moves: int = 0,
    concurrency: int = 1,
    resume: bool = True,
    black_name: str | None = None,
    white_name: str | None = None,
    stdout: IO[str] | None = None,
    stderr: IO[str] | None = None,
) -> int:
    """Run a match and return the exit status: 0, 130 after Ctrl-C, 2 when it cannot be run.

    time, byo, stones: main time, byo-yomi in seconds for so many stones; or seconds_per_move.
    Without any of them there is no clock, only `hang`, the longest wait for one answer.
    out: the match's directory; an earlier match with the same settings in it goes on.
    """
    screen, progress = stdout or sys.stdout, stderr or sys.stderr
    try:
        width, height = (size, size) if isinstance(size, int) else size
        settings = MatchSettings(
            black=black,
            white=white,
            games=games,
            width=width,
            height=height,
            komi=komi,
            rules=rules,
            alternate=alternate,
            referee=referee,
            time=time_limit(seconds_per_move, time, byo, stones),
            grace=grace,
            hang=hang,
            max_moves=max_moves,
            black_name=black_name,
            white_name=white_name,
            concurrency=concurrency,
        )
        directory = None if out is None else Path(out)
        with _progress(progress, settings.games) as on_game:
            result = run_match(settings, directory, resume=resume, on_game=on_game)
    except MatchError as error:
        progress.write(f"keima match: {error}\n")
        return 2
    return _finish(screen, settings, directory, result.records, result.interrupted)


def time_limit(
    seconds_per_move: float | None, main: float | None, byo: float | None, stones: int | None
) -> TimeLimit | None:
    """Return the clock that the options mean, None for none. Raises MatchError on contradictions."""
    try:
        if seconds_per_move is not None:
            if (main, byo, stones) != (None, None, None):
                raise MatchError("seconds a move and time settings exclude each other")
            return TimeLimit(0.0, seconds_per_move, 1)
        if (main, byo, stones) == (None, None, None):
            return None
        return TimeLimit(main or 0.0, byo or 0.0, (stones or 1) if byo else (stones or 0))
    except ValueError as error:
        raise MatchError(str(error)) from error


def _finish(
    screen: IO[str], settings: MatchSettings, directory: Path | None, records: list[GameRecord], interrupted: bool
) -> int:
    from rich.console import Console

    title = f"{len(records)} of {settings.games} games, {settings.width}x{settings.height}, komi {settings.komi:g}"
    if directory is not None:
        write_atomically(directory / "summary.json", json.dumps(summary(records), indent=1) + "\n")
    console = Console(file=screen, width=None if screen.isatty() else 120)
    console.print(table(records, f"{title}, {settings.rules}"))
    return INTERRUPTED if interrupted else 0


@contextmanager
def _progress(stream: IO[str], games: int) -> Iterator[Callable[[list[GameRecord]], None]]:
    """Yield the `on_game` callback: a bar on a terminal, else a line for every game."""
    if not stream.isatty():
        yield _line_writer(stream, games)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=stream)) as bar:
        task = bar.add_task("", total=games)

        def update(records: list[GameRecord]) -> None:
            bar.update(task, completed=len(records), description=progress_text(records, games))

        yield update


def _line_writer(stream: IO[str], games: int) -> Callable[[list[GameRecord]], None]:
    seen: set[int] = set()

    def write(records: list[GameRecord]) -> None:
        new = [record for record in records if record.number not in seen]
        if len(new) == 1:
            stream.write(f"{game_text(new[0])}; ")
        stream.write(progress_text(records, games) + "\n")
        stream.flush()
        seen.update(record.number for record in new)

    return write
