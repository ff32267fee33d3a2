"""From an exception to one line on the command line. Imports nothing heavy before there is an error."""

from collections.abc import Iterator
from contextlib import contextmanager

import click


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn what a file can be blamed for into the command's own error, without a traceback."""
    try:
        yield
    except ValueError as error:
        from engine.errors import GoError
        from engine.nets.spec import WeightsError

        if not isinstance(error, GoError | WeightsError):
            raise
        raise click.ClickException(" ".join(str(error).split())) from error
    except OSError as error:
        place = "" if error.filename is None else f"{error.filename}: "
        raise click.ClickException(f"{place}{error.strerror or error}") from error
