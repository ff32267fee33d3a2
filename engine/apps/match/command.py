"""The command `keima match`."""

import sys
from typing import Any

import click

from engine.settings.command import Command
from engine.settings.options import options_of


@click.command(cls=Command)
@options_of("match")
def match(**options: Any) -> None:
    """Play a match between two GTP programs, or a round robin of several.

    Every move is checked by Keima's rules and every clock is Keima's own, by wall time. With
    --concurrency 1 one program thinks at a time, unless a program ponders. A program that crashes,
    hangs or answers nonsense loses that game; one that cannot be started again ends the match. A match
    stopped at any moment goes on with the same command and --out; more --games make it longer.
    """
    from engine.apps.match.cli import cli_match
    from engine.apps.match.options import MatchOptions

    sys.exit(cli_match(MatchOptions(**options)))
