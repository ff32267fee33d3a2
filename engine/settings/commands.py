"""Checks options whose value is the command line of another program."""

import shutil

import click

from engine.support.command_line import startable


def well_quoted(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the command unchanged. Raises BadParameter if a quote is not closed."""
    _words(ctx, param, value)
    return value


def of_a_program(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the command unchanged. Raises BadParameter if a quote is not closed, or if there is no such program."""
    words = _words(ctx, param, value)
    # Windows splits the command itself, when it starts the program.
    if isinstance(words, list) and (not words or shutil.which(words[0]) is None):
        raise click.BadParameter(f"expected a program and its arguments, got {value!r}: no such program", ctx, param)
    return value


def _words(ctx: click.Context, param: click.Parameter, value: str | None) -> str | list[str] | None:
    try:
        return None if value is None else startable(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r}: {error}", ctx, param) from error
