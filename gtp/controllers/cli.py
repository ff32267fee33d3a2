"""`keima setup`: prints the configuration of a controller, with the path of this installation."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from engine.settings.command import Command, require_options_of
from engine.support.installation import installed_program
from gtp.controllers.texts import CONTROLLERS, OTHER_NAMES, configuration
from gtp.stderr import write_lines

_NETWORKS = ("--net", "--model", "-model")
_FILE_OPTIONS = (*_NETWORKS, "--config", "-config")


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
    _require_networks(options)
    text = configuration(chosen, installed_program(), _with_full_paths(options))
    click.echo(text, nl=False)
    write_lines([chosen.advice_on(sys.platform)])


def _require_networks(options: tuple[str, ...]) -> None:
    """Raise WeightsError or OSError if a network in the options cannot be loaded: a GUI would hide the message."""
    for option, _, value in _words(options):
        if option in _NETWORKS:
            from engine.evaluators.finding import find_network
            from weights.registry import load
            from weights.shipped import network_named

            path = network_named(value)
            if path is not None:
                load(find_network(path))


def _with_full_paths(options: tuple[str, ...]) -> list[str]:
    """Replace relative paths of existing files in the options by absolute ones."""
    return [start + (_full_path(value) if option else value) for option, start, value in _words(options)]


def _words(options: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Yield each word as (option, start, value); start + value is the word.

    option: the option of a file whose value it is, as `--net FILE` or `--net=FILE`; "" for every other word.
    """
    for before, word in zip(("", *options), options, strict=False):
        name, equals, value = word.partition("=")
        if before in _FILE_OPTIONS:
            yield before, "", word
        elif equals and name in _FILE_OPTIONS:
            yield name, name + equals, value
        else:
            yield "", "", word


def _full_path(word: str) -> str:
    return str(Path(word).absolute()) if Path(word).exists() else word
