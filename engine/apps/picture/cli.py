"""The command line of `keima draw`."""

from pathlib import Path

import click

from engine.settings.command import Command
from engine.settings.options import options_of


@click.command(cls=Command)
@click.argument("record", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("out", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path), required=False)
@options_of("draw")
def draw(record: Path, out: Path | None, move: int | None, numbers: int | None) -> None:
    """Draw a position of the first game in RECORD, as SVG, to the file OUT or to stdout (-).

    RECORD is an SGF file, an archive (.zip, .tar.*), or a file with one SGF a line (.sgfl, .sgfl.bz2).
    Numbered moves whose stone was captured or whose point was played again are listed below the board.
    """
    _draw(record, out, move, numbers)


def _draw(record: Path, out: Path | None, move: int | None, numbers: int | None) -> None:
    from engine.apps.picture.svg import picture
    from engine.errors import GoError
    from engine.records.sgf import load_sgf
    from engine.support.files import require_writable, write_atomically

    if out is not None and out != Path("-") and out.suffix.lower() not in ("", ".svg"):
        raise GoError(f"{out}: expected a name that ends with .svg, for the picture is SVG")
    loaded = load_sgf(record)
    for warning in loaded.warnings:
        click.echo(f"{record}: {warning}", err=True)
    played = len(loaded.moves) if move is None else move
    if played > len(loaded.moves):
        raise GoError(f"{record}: expected a move from 0 to {len(loaded.moves)}, got {move}")
    game = loaded.game(played + 1)
    # Setup stones in the middle of a record start a new game, so the numbers of its moves are shifted.
    earlier = played - len(game.moves)
    if numbers is not None and numbers <= earlier:
        click.echo(f"{record}: stones are set up after move {earlier}: moves are numbered from {earlier + 1}", err=True)
    drawn = picture(game, numbered_from=numbers, earlier=earlier)
    if out is None or out == Path("-"):
        click.echo(drawn, nl=False)
    else:
        require_writable(out)
        write_atomically(out, drawn)
