"""Prints tables of rich on a terminal or into a pipe. Imports nothing heavy before there is one."""

import io
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

_PLAIN_WIDTH = 1000
"""Wide enough for every table: lines that are not wrapped can be searched."""


def print_tables(screen: IO[str], tables: "Iterable[RenderableType]") -> None:
    """Print tables as wide as the terminal; into a pipe as plain lines that are not wrapped."""
    from rich.console import Console

    is_terminal = screen.isatty()
    target = screen if is_terminal else io.StringIO()
    # Without markup: the names of players and networks may have brackets.
    console = Console(file=target, width=None if is_terminal else _PLAIN_WIDTH, markup=False, emoji=False)
    for table in tables:
        console.print(table)
    if isinstance(target, io.StringIO):
        screen.writelines(line.rstrip() + "\n" for line in target.getvalue().splitlines())
