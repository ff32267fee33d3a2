"""The options of `keima gtp` that only some controllers need; off unless given. Imports nothing heavy."""

from typing import Any

import click

_OPTIONS = [
    click.option("--ponder", is_flag=True, help="Think in the opponent's time, too."),
    click.option(
        "--compat-name",
        metavar="NAME",
        help="Answer `name` so, for controllers that look for one: Lizzie and LizzieYzy show all to KataGo only.",
    ),
    click.option("--compat-version", metavar="X.Y", help="Answer `version` so."),
    click.option("--live-graphics", is_flag=True, help="Draw searches in GoGui as they go, by lines on stderr."),
    click.option(
        "--leela-lines",
        is_flag=True,
        help="Sum up each search on stderr as Leela Zero does; gtp2ogs shows that in the chat of a game on OGS.",
    ),
]


def controller_options(command: Any) -> Any:
    """Decorate a command with these options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
