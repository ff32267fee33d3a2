"""`keima net`: the commands about network files. Parses the command line; each command's work lies beside this."""

from collections.abc import Iterator
from contextlib import contextmanager

import click


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn what a file can be blamed for into the command's own error, without a traceback."""
    from engine.errors import GoError
    from engine.nets.spec import WeightsError

    try:
        yield
    except (GoError, WeightsError) as error:
        raise click.ClickException(" ".join(str(error).split())) from error
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from error


@click.group()
def net() -> None:
    """Explain, check and convert network files."""


@net.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--inputs", is_flag=True, help="Also name every input plane and global.")
@click.option("--tensors", is_flag=True, help="Also list every array.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--svg", "drawing", type=click.Path(dir_okay=False), metavar="FILE", help="Write a drawing as SVG.")
def info(file: str, inputs: bool, tensors: bool, as_json: bool, drawing: str | None) -> None:
    """Say what a network file is: architecture, sizes, encoder, outputs, where it comes from."""
    with one_line_errors():
        from engine.netfile.info import cli_info

        cli_info(file, inputs=inputs, tensors=tensors, as_json=as_json, drawing=drawing)
