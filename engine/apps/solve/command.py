"""The command line of `keima solve`."""

import sys
from pathlib import Path
from typing import Any

import click

from engine.apps.solve.settings import SolveSettings
from engine.settings.command import Command, search_keys
from engine.settings.options import options_of
from engine.settings.searching import read_settings, refuse_unused, search_params


@click.command(cls=Command, keys=search_keys)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@options_of("solve", settings=read_settings)
def solve(settings: dict[str, str], out: Path | None, as_json: bool, **options: Any) -> None:
    """Solve problems with known answers, and print the share solved, by kind and by rank.

    FILE has a JSON object on each line (.jsonl or .jsonl.gz): size, to_play ("B" or "W"), the stones B and W and
    the correct first moves as lists of SGF points, and optionally id, rank and type. Each problem is searched once,
    near its stones; the best move is recorded at each number of --visits. To continue a stopped run, repeat the
    command with the same --out; a larger --limit adds problems.
    """
    from engine.apps.solve.cli import cli_solve
    from engine.evaluators.named import open_named_evaluator
    from engine.support.stopping import interrupting

    refuse_unused(options)
    params = search_params(options["net"], {}, settings, seed=options["seed"])
    asked = SolveSettings(
        search=tuple(sorted(settings.items())),
        **{name: options[name] for name in ("file", "visits", "framed", "seed", "limit", "prove")},
    )
    with interrupting():
        sys.exit(cli_solve(asked, lambda: open_named_evaluator(options, out), params, out=out, as_json=as_json))
