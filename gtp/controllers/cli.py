"""`keima setup`: prints the configuration of a controller, with the path of this installation."""

import sys
from pathlib import Path

import click

from engine.settings.command import Command, require_options_of
from engine.support.installation import installed_program
from gtp.controllers.texts import CONTROLLERS, OTHER_NAMES, configuration
from gtp.stderr import write_lines


@click.command(cls=Command, context_settings={"ignore_unknown_options": True})
@click.argument("controller", type=click.Choice([*CONTROLLERS, *OTHER_NAMES]))
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def setup(ctx: click.Context, controller: str, options: tuple[str, ...]) -> None:
    """Print the configuration of a controller, ready to use.

    OPTIONS are added to the engine's own: keima setup kgs --net FILE --ponder. Paths of files become absolute, because
    controllers start engines in other folders. The configuration goes to stdout, instructions go to stderr.
    """
    chosen = CONTROLLERS[OTHER_NAMES.get(controller, controller)]
    # A misspelled option would otherwise show up only when the controller starts the engine.
    require_options_of(ctx, chosen.verb, options)
    from engine.evaluators.option_files import require_networks

    require_networks(options)
    text = configuration(chosen, installed_program(), _with_full_paths(options))
    click.echo(text, nl=False)
    write_lines([chosen.advice_on(sys.platform)])


def _with_full_paths(options: tuple[str, ...]) -> list[str]:
    """Replace relative paths of files in the options by absolute ones."""
    from engine.evaluators.option_files import words_with_options

    words = words_with_options(options)
    return [start + (_full_path(option, value) if option else value) for option, start, value in words]


def _full_path(option: str, word: str) -> str:
    from engine.evaluators.option_files import CREATED_OPTION

    # The memory of evaluations is a file that a session makes; other words may be names of networks and books.
    return str(Path(word).absolute()) if Path(word).exists() or option == CREATED_OPTION else word
