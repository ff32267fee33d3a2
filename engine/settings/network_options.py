"""The options by which every command chooses a network and how it is computed. Imports nothing heavy."""

import os
from collections.abc import Callable
from typing import Any

import click

from weights.shipped import DEFAULT_NETWORK

NO_NETWORK = "none"
AUTO = "auto"
BACKENDS = (AUTO, "numba", "openvino", "torch")
PRECISIONS = (AUTO, "fp32", "bf16", "fp16", "int8")

threads_option = click.option(
    "--threads", type=click.IntRange(min=1), help="Threads that evaluate; all cores if not given."
)
_COMPUTING = (
    click.option("--backend", type=click.Choice(BACKENDS), default=AUTO, show_default=True, help="What computes it."),
    click.option("--precision", type=click.Choice(PRECISIONS), default=AUTO, show_default=True, help="In which type."),
    click.option("--human-profile", "profile", metavar="PROFILE", help="Whom a human network imitates, as rank_5k."),
)
_NETWORK = click.option(
    "--net",
    metavar="FILE|FOLDER|none",
    help="A network file, a folder whose newest one is taken, or the name of one that comes with Keima, such as zero9; "
    "keima-t7c96 if not given; none plays by rollouts.",
)


def computing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a command on a network file with how it is computed."""
    for option in reversed(_COMPUTING):
        command = option(command)
    return command


def network_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a command with the choice of a network and how it is computed."""
    return _NETWORK(computing_options(command))


def network_named(net: str | None) -> str | None:
    """Return the file or folder that --net names, the default network's if it names none, None for no network."""
    if net is None:
        return os.fspath(DEFAULT_NETWORK)
    return None if net == NO_NETWORK else net


def refuse_unused(net: str | None, backend: str, precision: str, profile: str | None) -> None:
    """Raise the command line's error for options of a network where there is none, or none that they are for."""
    if profile is not None and net in (None, NO_NETWORK):
        raise click.UsageError("--human-profile is for human networks: say which with --net")
    if net == NO_NETWORK and (backend, precision) != (AUTO, AUTO):
        raise click.UsageError("--backend and --precision are for networks: --net none plays without one")
