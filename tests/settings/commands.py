"""Every command of the program, for tests that go over all of them."""

from collections.abc import Iterator

import click

import keima


def commands(group: click.Group = keima.main, words: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Yield every command that is no group, with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))
        elif command is not None:
            yield " ".join((*words, name)), command


COMMANDS = dict(commands())
