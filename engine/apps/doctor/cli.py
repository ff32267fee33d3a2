"""The command `keima doctor`."""

import sys

import click

from engine.settings.command import Command
from engine.settings.options import options_of


@click.command(cls=Command)
@options_of("doctor")
def doctor(net: str | None, as_json: bool) -> None:
    """Show what Keima found on this machine, and measure the network here.

    The exit status is 1 if there are problems.
    """
    from engine.apps.doctor.findings import find_out
    from engine.apps.doctor.report import page
    from engine.support.json_text import json_text

    found = find_out(net)
    sys.stdout.write(json_text(found, indent=1) + "\n" if as_json else page(found))
    sys.exit(1 if found["problems"] else 0)
