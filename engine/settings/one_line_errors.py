"""Reports the user's errors in one line instead of a traceback. Imports nothing heavy before there is an error."""

from collections.abc import Iterator
from contextlib import contextmanager

import click


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn GoError, WeightsError and OSError into a ClickException of one line; other errors pass through."""
    try:
        yield
    except ValueError as error:
        # Late: only a command that failed pays for these imports.
        from engine.errors import GoError
        from engine.nets.spec import WeightsError

        if not isinstance(error, GoError | WeightsError):
            raise
        raise click.ClickException(" ".join(str(error).split())) from error
    except OSError as error:
        place = "" if error.filename is None else f"{error.filename}: "
        raise click.ClickException(f"{place}{error.strerror or error}") from error
