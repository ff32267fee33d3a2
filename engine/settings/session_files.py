"""Checks the files that a session opens late, when its player is built: a GUI shows nothing of stderr by then."""

from pathlib import Path

import click

from engine.errors import GoError


def of_a_book(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the name or path unchanged. Raises BadParameter if there is no such book, or if the file is none."""
    from engine.book.finding import require_book

    if value is not None:
        try:
            require_book(value)
        except (GoError, OSError) as error:
            raise click.BadParameter(_text(error), ctx, param) from error
    return value


def of_remembered_positions(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    """Return the path unchanged. Raises BadParameter for another file, and for one in a folder that is not there."""
    from engine.search.memory_header import require_usable_file

    if value is not None:
        try:
            require_usable_file(value)
        except (GoError, OSError) as error:
            raise click.BadParameter(_text(error), ctx, param) from error
    return value


def refuse_forgetting(eval_cache: Path | None, settings: dict[str, str]) -> None:
    """Raise UsageError for a file of remembered positions of searches that --set tells to remember none."""
    from engine.search.params import SearchParams, with_settings

    given = {key: text for key, text in settings.items() if key == "remembers"}
    if eval_cache is not None and given and not with_settings(SearchParams(), given).remembers:
        raise click.UsageError("--eval-cache keeps what searches remember: not with --set remembers=false")


def _text(error: GoError | OSError) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror or error}"
    return str(error)
