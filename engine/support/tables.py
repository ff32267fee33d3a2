"""Prints tables of rich on a terminal or into a pipe. Imports nothing heavy before there is one."""

from collections.abc import Iterable
from contextlib import nullcontext
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

_PLAIN_WIDTH = 1000
"""Wide enough for every table: lines that are not wrapped can be searched."""


def print_tables(screen: IO[str], tables: "Iterable[RenderableType]") -> None:
    """Print tables as wide as the terminal; into a pipe as plain lines that are not wrapped."""
    from rich.console import Console

    is_terminal = screen.isatty()
    # Without markup: the names of players and networks may have brackets.
    console = Console(file=screen, width=None if is_terminal else _PLAIN_WIDTH, markup=False, emoji=False)
    with nullcontext() if is_terminal else console.capture() as captured:
        for table in tables:
            console.print(table)
    if captured is not None:
        screen.writelines(line.rstrip() + "\n" for line in captured.get().splitlines())
