"""`keima net`: the commands about network files. Parses the command line; each command has a file beside this one."""

import sys
from pathlib import Path
from typing import Any

import click

from engine.settings.command import Group, refuse_given
from engine.settings.options import options_of


@click.group(cls=Group)
def net() -> None:
    """Explain, check, convert and average network files."""


@net.command()
@click.argument("file", type=click.Path(dir_okay=False))
@options_of("net info")
def info(file: str, **options: Any) -> None:
    """Describe a network file: architecture, sizes, encoder, outputs, origin."""
    from engine.apps.net.info import cli_info

    cli_info(file, **options)


@net.command()
@click.argument("file", type=click.Path())
@options_of("net check")
def check(
    file: str, golden: tuple[Path, ...], profile: str | None, positions: bool, size: tuple[int, ...], **options: Any
) -> None:
    """Check what a network computes here: known positions, golden records, the reference backend.

    The exit status is 1 if anything is wrong. A network fails the positions of boards on which it was not trained.
    """
    if not positions:
        refuse_given({"size"}, "is for the positions, which --no-positions leaves out")
    from engine.apps.net.check import cli_check
    from engine.evaluators.factory import Computing

    records = [str(path) for path in golden]
    computing = Computing.of(options)
    sys.exit(cli_check(file, golden=records, computing=computing, profile=profile, positions=positions, sides=size))


@net.command()
@click.argument("source", metavar="IN", type=click.Path(dir_okay=False))
@click.argument("target", metavar="OUT", type=click.Path(dir_okay=False))
@options_of("net convert")
def convert(source: str, target: str, **options: Any) -> None:
    """Write a network in another format: .safetensors is Keima's, .bin.gz KataGo's, .onnx ONNX.

    OUT is read back and compared before it takes its place. ONNX needs PyTorch and is for one board.
    """
    from engine.apps.net.convert import cli_convert
    from engine.nets.spec import PEOPLE

    ranks = {entry: options.pop(entry.replace(" ", "_")) for entry in PEOPLE}
    cli_convert(source, target, people={entry: rank for entry, rank in ranks.items() if rank}, **options)


@net.command()
@click.argument("target", metavar="OUT", type=click.Path(dir_okay=False))
@click.argument("sources", metavar="FILE...", nargs=-1, required=True, type=click.Path(dir_okay=False))
@options_of("net average")
def average(target: str, sources: tuple[str, ...], shares: tuple[float, ...], name: str | None, force: bool) -> None:
    """Write the average of networks of one training, or of one and what it was tuned to, as OUT.

    All must have the same architecture. Shares are taken in proportion.
    """
    from engine.apps.net.average import cli_average

    cli_average(target, sources, shares, name=name, force=force)
