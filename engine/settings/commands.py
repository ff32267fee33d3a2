"""Checks options whose value is the command line of another program."""

import shutil

import click

from engine.support.command_line import startable


def well_quoted(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the command unchanged. Raises BadParameter if a quote is not closed."""
    if value is not None:
        _words(ctx, param, value)
    return value


def of_a_program(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the command unchanged. Raises BadParameter if a quote is not closed, or if there is no such program."""
    if value is not None and not _starts_a_program(_words(ctx, param, value)):
        raise click.BadParameter(_no_program(value), ctx, param)
    return value


def require_program(option: str, command: str) -> None:
    """Raise BadParameter if there is no program that a well-quoted command of an option would start.

    For commands that can be judged only with other options.
    """
    if not _starts_a_program(startable(command)):
        raise click.BadParameter(_no_program(command), click.get_current_context(), param_hint=f"'{option}'")


def _starts_a_program(words: str | list[str]) -> bool:
    # Windows splits the command itself, when it starts the program.
    return not isinstance(words, list) or (bool(words) and shutil.which(words[0]) is not None)


def _no_program(command: str) -> str:
    return f"expected a program and its arguments, got {command!r}: no such program"


def _words(ctx: click.Context, param: click.Parameter, value: str) -> str | list[str]:
    try:
        return startable(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r}: {error}", ctx, param) from error
