"""`keima setup`: prints the configuration of a controller with the path of this installation."""

import click

from engine.installation import installed_program
from engine.option_types import require_options_of
from gtp.controllers.texts import CONTROLLERS, configuration


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("controller", type=click.Choice(list(CONTROLLERS)))
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def setup(ctx: click.Context, controller: str, options: tuple[str, ...]) -> None:
    """Print the configuration of a controller, ready to use.

    OPTIONS are added to the engine's own: keima setup kgs --net FILE --ponder. The configuration goes to stdout,
    what to do with it to stderr.
    """
    chosen = CONTROLLERS[controller]
    require_options_of(ctx, chosen.verb, options)
    program = installed_program()
    if chosen.splits_at_spaces and any(" " in word for word in (*program, *options)):
        click.echo(f"This controller cannot start a program at a path with spaces: {' '.join(program)}", err=True)
    click.echo(configuration(chosen, program, options), nl=False)
    click.echo(chosen.advice, err=True)
