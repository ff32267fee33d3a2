"""The command line of `keima explain`."""

import sys
from pathlib import Path
from typing import Any

import click

from engine.settings.command import Command, search_keys
from engine.settings.options import options_of
from engine.settings.searching import read_settings, refuse_unused, search_params


@click.command(cls=Command, keys=search_keys)
@click.argument("record", metavar="RECORD", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@options_of("explain", settings=read_settings)
def explain(record: Path, settings: dict[str, str], **options: Any) -> None:
    """Explain a move and the position after it by measured facts.

    RECORD is an SGF file, an archive (.zip, .tar.*), or a file with one SGF a line (.sgfl); its first game is taken.
    Without --move, its last move is explained. The facts are what the board shows (captures, atari, ladders, shapes)
    and what searches find (points, win rate, safety of groups, points by region, threats).
    """
    from engine.apps.explain.cli import cli_explain, position_of
    from engine.errors import GoError
    from engine.evaluators.named import open_named_evaluator
    from engine.evaluators.raw import check_board
    from engine.support.memory import return_large_blocks

    refuse_unused(options)
    params = search_params(options["net"], {}, settings)
    position = position_of(record, options["move"], options["play"])
    return_large_blocks()
    opened = open_named_evaluator(options)
    # Here, or each search would log the same failure.
    try:
        check_board(opened.name, opened.board_sizes, position[0].width, position[0].height)
    except GoError:
        opened.evaluator.close()
        raise
    limits = {name: options[name] for name in ("visits", "seconds")}
    sys.exit(cli_explain(position, opened.evaluator, params, as_json=options["as_json"], **limits))
