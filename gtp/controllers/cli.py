"""`keima setup`: prints the configuration of a controller, with the path of this installation."""

from pathlib import Path

import click

from engine.settings.command import Command, require_options_of
from engine.settings.one_line_errors import one_line_errors
from engine.support.installation import installed_program
from gtp.controllers.texts import CONTROLLERS, configuration
from gtp.stderr import write_lines

_FILE_OPTIONS = ("--net", "--model", "-model", "--config", "-config")


@click.command(cls=Command, context_settings={"ignore_unknown_options": True})
@click.argument("controller", type=click.Choice(list(CONTROLLERS)))
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def setup(ctx: click.Context, controller: str, options: tuple[str, ...]) -> None:
    """Print the configuration of a controller, ready to use.

    OPTIONS are added to the engine's own: keima setup kgs --net FILE --ponder. Paths of files become absolute, because
    controllers start engines in other folders. The configuration goes to stdout, instructions go to stderr.
    """
    chosen = CONTROLLERS[controller]
    # A misspelled option would otherwise show up only when the controller starts the engine.
    require_options_of(ctx, chosen.verb, options)
    with one_line_errors():
        text = configuration(chosen, installed_program(), _with_full_paths(options))
    click.echo(text, nl=False)
    write_lines([chosen.advice])


def _with_full_paths(options: tuple[str, ...]) -> list[str]:
    """Replace relative paths of existing files in the options by absolute ones."""
    found = []
    for before, word in zip(("", *options), options, strict=False):
        name, equals, value = word.partition("=")
        if before in _FILE_OPTIONS:
            found.append(_full_path(word))
        elif equals and name in _FILE_OPTIONS:
            found.append(f"{name}={_full_path(value)}")
        else:
            found.append(word)
    return found


def _full_path(word: str) -> str:
    return str(Path(word).absolute()) if Path(word).exists() else word
