"""`keima web`: a page to play on, served until Ctrl-C."""

import errno
import threading
import webbrowser
from pathlib import Path
from typing import Any

import click

from engine.color import BLACK, WHITE
from engine.settings.command import Command, require_options_of
from engine.settings.one_line_errors import one_line_errors
from engine.settings.options import options_of
from engine.support.command_line import joined
from engine.support.installation import installed_program
from engine.support.logs import start_logging
from engine.support.stopping import stopping

DEFAULT_PORT = 8361
_LOOK_SECONDS = 0.5
"""How often Ctrl-C is looked for; Windows interrupts no longer wait."""
_PEOPLE = {"black": (BLACK,), "white": (WHITE,), "both": (BLACK, WHITE), "none": ()}


@click.command(cls=Command, context_settings={"ignore_unknown_options": True})
@options_of("web")
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def web(ctx: click.Context, /, engine: str | None, options: tuple[str, ...], **asked: Any) -> None:
    """Play on a page in the browser, and see the engine's analysis there.

    OPTIONS are those of the engine: keima web --net FILE --visits 400. Every game is saved as SGF after each move.
    Ctrl-C ends the page and the engine.
    """
    if engine is None:
        require_options_of(ctx, "gtp", options)
        engine = joined([*installed_program(), "gtp", *options])
    elif options:
        raise click.UsageError(f"{options[0]}: options of another program belong into --engine", ctx)
    start_logging("warning")
    with one_line_errors():
        _serve(engine, **asked)


def _serve(
    engine: str,
    size: tuple[int, int],
    komi: float,
    rules: str,
    handicap: int,
    color: str,
    seconds: float | None,
    level: int,
    out: Path,
    host: str,
    port: int | None,
    browser: bool,
) -> None:
    from engine.apps.web.server import PageServer
    from engine.apps.web.settings import GameSettings, Sitting
    from engine.apps.web.table import Table
    from engine.apps.web.thinker import Thinker

    sittings = {each: Sitting.PERSON if each in _PEOPLE[color] else Sitting.ENGINE for each in (BLACK, WHITE)}
    table = Table(GameSettings(*size, komi, rules, handicap, sittings, seconds, level), out)
    try:
        server = PageServer(table, host, DEFAULT_PORT if port is None else port)
    except OSError as error:
        if port is not None or error.errno != errno.EADDRINUSE:
            place = host if port is None else f"port {port} of {host}"
            raise click.ClickException(f"{place} cannot be had: {error.strerror}") from error
        server = PageServer(table, host, 0)
    thinker = Thinker(table, engine)
    with stopping() as stop:
        thinker.start()
        threading.Thread(target=server.serve_forever, name="pages", daemon=True).start()
        click.echo(f"{server.url} is the page; Ctrl-C ends it.")
        if browser:
            webbrowser.open(server.url)
        while not stop.wait(_LOOK_SECONDS):
            pass
    server.shutdown()
    table.close()
    thinker.close()
    server.server_close()
