"""`keima net`: the commands about network files. Parses the command line; each command's work lies beside this."""

import io
import sys

import click

from engine.settings.network_options import computing_options, threads_option
from engine.settings.one_line_errors import one_line_errors


@click.group()
def net() -> None:
    """Explain, check, convert and average network files."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Names of files and networks may have characters that a terminal or a pipe cannot show.
        sys.stdout.reconfigure(errors="backslashreplace")


@net.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--inputs", is_flag=True, help="Also name every input plane and global.")
@click.option("--tensors", is_flag=True, help="Also list every array.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--svg", "drawing", type=click.Path(dir_okay=False), metavar="FILE", help="Write a drawing as SVG.")
def info(file: str, inputs: bool, tensors: bool, as_json: bool, drawing: str | None) -> None:
    """Say what a network file is: architecture, sizes, encoder, outputs, where it comes from."""
    with one_line_errors():
        from engine.apps.net.info import cli_info

        cli_info(file, inputs=inputs, tensors=tensors, as_json=as_json, drawing=drawing)


@net.command()
@click.argument("file", type=click.Path())
@click.option("--golden", multiple=True, type=click.Path(dir_okay=False), metavar="FILE", help="Golden records of it.")
@computing_options
@threads_option
@click.option(
    "--positions/--no-positions", default=True, help="Ask what every trained network knows; compare backends."
)
def check(
    file: str,
    golden: tuple[str, ...],
    backend: str,
    precision: str,
    threads: int | None,
    profile: str | None,
    positions: bool,
) -> None:
    """Check what a network computes here: known positions, golden records, the reference backend.

    The exit status is 1 if anything is wrong. An untrained network fails the positions.
    """
    with one_line_errors():
        from engine.apps.net.check import cli_check
        from engine.evaluators.factory import Computing

        computing = Computing(backend, precision, threads)
        sys.exit(cli_check(file, golden=golden, computing=computing, profile=profile, positions=positions))


@net.command()
@click.argument("source", metavar="IN", type=click.Path(dir_okay=False))
@click.argument("target", metavar="OUT", type=click.Path(dir_okay=False))
@click.option("--to", type=click.Choice(["keima", "katago"]), help="The format; by OUT's suffix if not given.")
@click.option("--name", help="The network's name in OUT; the one it has if not given.")
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
def convert(source: str, target: str, to: str | None, name: str | None, force: bool) -> None:
    """Write a network in another format: .safetensors is Keima's, .bin.gz KataGo's.

    OUT is read back and compared before it takes its place.
    """
    with one_line_errors():
        from engine.apps.net.convert import cli_convert

        cli_convert(source, target, to=to, name=name, force=force)


@net.command()
@click.argument("target", metavar="OUT", type=click.Path(dir_okay=False))
@click.argument("sources", metavar="FILE...", nargs=-1, required=True, type=click.Path(dir_okay=False))
@click.option("--share", "shares", type=float, multiple=True, help="Of each file in turn; equal ones if not given.")
@click.option("--name", help="The network's name in OUT; the file's if not given.")
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
def average(target: str, sources: tuple[str, ...], shares: tuple[float, ...], name: str | None, force: bool) -> None:
    """Write the average of networks of one training, or of one and what it was tuned to, as OUT.

    All must have the same architecture. Shares are taken in proportion.
    """
    with one_line_errors():
        from engine.apps.net.average import cli_average

        cli_average(target, sources, shares, name=name, force=force)
