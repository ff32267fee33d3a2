"""The command line of `keima review`."""

import sys
from pathlib import Path
from typing import Any

import click

from engine.settings.command import Command, search_keys
from engine.settings.options import options_of
from engine.settings.searching import read_settings, refuse_unused, search_params
from engine.support.files import read_object
from engine.support.run_folder import SETTINGS_FILE

DEFAULT_VISITS = 100


@click.command(cls=Command, keys=search_keys)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@options_of("review", settings=read_settings)
def review(paths: tuple[Path, ...], settings: dict[str, str], **options: Any) -> None:
    """Review games: find the mistakes, and write annotated records, HTML reports and JSON.

    PATH is an SGF file, an archive (.zip, .tar.*), a file with one SGF a line (.sgfl), or a directory with such files.
    To continue a stopped review, repeat the command; other values of --only-player and --rank write the reports again
    without a new analysis.
    """
    from engine.apps.review.analyzer import Effort
    from engine.apps.review.cli import ReviewOptions, cli_review
    from engine.apps.review.judgement import checked_rank
    from engine.apps.review.rank import ESTIMATE, VISITS
    from engine.evaluators.named import open_named_evaluator
    from engine.support.memory import return_large_blocks

    refuse_unused(options)
    params = search_params(options["net"], {}, settings)
    rank = options["rank"]
    is_estimate = rank == ESTIMATE
    if is_estimate:
        rank = None
    elif rank is not None:
        checked_rank(rank)
    # Estimates compare with games that were reviewed so.
    visits, seconds = _limits(options, VISITS if is_estimate else DEFAULT_VISITS)
    return_large_blocks()
    asked = ReviewOptions(
        paths,
        options["out"],
        Effort(visits, seconds),
        options["player"],
        rank,
        is_estimate,
        settings,
    )
    sys.exit(cli_review(asked, lambda: open_named_evaluator(options, options["out"]), params))


def _limits(options: dict[str, Any], default: int) -> tuple[int | None, float | None]:
    """Return visits a position and seconds a game: those asked for, else those of a review that goes on."""
    if options["visits"] is not None or options["seconds"] is not None:
        return options["visits"], options["seconds"]
    file = options["out"] / SETTINGS_FILE
    if not file.exists():
        return default, None
    begun = read_object(file)
    return begun.get("visits"), begun.get("seconds_per_game")
