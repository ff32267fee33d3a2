"""Checks the files that a session opens late, when its player is built: nobody may see that message."""

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
    """Return the path unchanged. Raises BadParameter for another file."""
    from engine.search.memory_header import require_place

    if value is not None:
        try:
            require_place(value)
        except (GoError, OSError) as error:
            raise click.BadParameter(_text(error), ctx, param) from error
    return value


def _text(error: GoError | OSError) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror or error}"
    return str(error)
