"""Checks the files that a session opens late, when its player is built: a GUI shows nothing of stderr by then."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from engine.errors import GoError


def _checked(require: Callable[[Any], None]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Return a callback that passes a name or path on unchanged, or raises BadParameter with what `require` raises."""

    def callback(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        if value is not None:
            try:
                require(value)
            except (GoError, OSError) as error:
                raise click.BadParameter(_text(error), ctx, param) from error
        return value

    return callback


def _require_book(value: str) -> None:
    from engine.book.finding import require_book

    require_book(value)


def _require_eval_cache(value: Path) -> None:
    from engine.search.memory_header import require_usable_file

    require_usable_file(value)


existing_book = _checked(_require_book)
"""Refuses a book that does not exist, and a file that is none."""
eval_cache_file = _checked(_require_eval_cache)
"""Refuses a file of another kind, and a folder that does not exist."""


def refuse_unused_eval_cache(eval_cache: Path | None, settings: dict[str, str]) -> None:
    """Raise UsageError for a file of remembered positions of searches that --set tells to remember none."""
    from engine.search.params import SearchParams, with_settings

    given = {key: text for key, text in settings.items() if key == "remembers"}
    if eval_cache is not None and given and not with_settings(SearchParams(), given).remembers:
        raise click.UsageError("--eval-cache keeps what searches remember: not with --set remembers=false")


def _text(error: GoError | OSError) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror or error}"
    return str(error)
