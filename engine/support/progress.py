"""Shows the progress of long work: a bar with the time left on a terminal, elsewhere a line every few seconds."""

import math
import time
from contextlib import ExitStack
from datetime import timedelta
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress

_REFRESH_SECONDS = 0.1
_LINE_SECONDS = 10.0
_SURE_SECONDS, _SURE_SHARE = 60.0, 0.01
"""The time left is not estimated before this time or share of the work: the first piece may wait for much else."""


class ProgressBar:
    """Shows progress on a stream; a context manager, which removes the bar at the end, also after an error.

    Imports rich only if the stream is a terminal.
    """

    def __init__(self, stream: IO[str] | None, total: int | None = None, *, every: float = _LINE_SECONDS) -> None:
        """stream: None shows nothing. total: number of pieces of work, if known.

        every: minimum seconds between two lines if the stream is not a terminal. The first line, and the first one of
        the last piece of work, are always written.
        """
        self._stream, self._total, self._every = stream, total, every
        self._shown_at, self._has_shown_last = -math.inf, False
        self._start: tuple[float, int] | None = None
        self._bar: Progress | None = None
        self._open = ExitStack()

    def __enter__(self) -> Self:
        if self._stream is not None and self._stream.isatty():
            self._bar = self._open.enter_context(_bar(self._stream))
            self._bar.add_task("", total=self._total, count="", left="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def update(
        self,
        text: str,
        done: int | None = None,
        total: int | None = None,
        *,
        left: float | None = None,
        line: str | None = None,
    ) -> None:
        """Show a line of text and the number of finished pieces of work.

        left: seconds to the end; by default estimated from the pieces done since the first update.
        line: text to show instead if the stream is not a terminal.
        """
        if total is not None:
            self._total = total
        now = time.monotonic()
        left = self._estimate(now, done) if left is None else left
        if self._bar is not None:
            due = now - self._shown_at >= _REFRESH_SECONDS
            self._bar.update(
                self._bar.task_ids[0],
                completed=done,
                total=self._total,
                description=text,
                count="" if done is None else f"{done}/{'?' if self._total is None else self._total}",
                left="" if left is None else str(timedelta(seconds=round(left))),
                refresh=due,
            )
        else:
            is_last = done is not None and done == self._total
            due = now - self._shown_at >= self._every or (is_last and not self._has_shown_last)
            if due:
                self._has_shown_last = is_last
                self.print((text if line is None else line) + ("" if left is None else f"; {duration(left)} left"))
        self._shown_at = now if due else self._shown_at

    def print(self, text: str) -> None:
        """Write a permanent line, above the bar if there is one."""
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False)
        elif self._stream is not None:
            self._stream.write(f"{text}\n")
            self._stream.flush()

    def _estimate(self, now: float, done: int | None) -> float | None:
        if done is None or self._total is None:
            return None
        since, before = self._start = self._start or (now, done)
        is_sure = now - since >= _SURE_SECONDS or done - before >= _SURE_SHARE * self._total
        return (now - since) / (done - before) * (self._total - done) if done > before and is_sure else None


def duration(seconds: float) -> str:
    """Format a time in one unit: 12 s, 34 min, 5.6 h."""
    if seconds < 60:
        return f"{max(seconds, 0.0):.0f} s"
    return f"{seconds // 60:.0f} min" if seconds < 2 * 3600 else f"{seconds / 3600:.1f} h"


def _bar(stream: IO[str]) -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(), TextColumn("{task.fields[count]}"), TextColumn("{task.fields[left]}"))
    # No refreshing thread, rich's default: it would take time from the work that is shown. `update` draws.
    return Progress(*columns, console=Console(file=stream), auto_refresh=False)
