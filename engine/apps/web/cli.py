"""`keima web`: serves the page until Ctrl-C."""

import errno
import threading
import webbrowser
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from engine.color import BLACK, WHITE
from engine.settings.command import Command, require_options_of
from engine.settings.commands import of_a_program
from engine.settings.options import options_of
from engine.support.command_line import joined
from engine.support.installation import installed_program
from engine.support.logs import start_logging
from engine.support.stopping import WAIT_SECONDS, stopping

DEFAULT_PORT = 8361
_PEOPLE = {"black": (BLACK,), "white": (WHITE,), "both": (BLACK, WHITE), "none": ()}


@click.command(cls=Command, context_settings={"ignore_unknown_options": True})
@options_of("web", engine=of_a_program)
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def web(ctx: click.Context, /, engine: str | None, options: tuple[str, ...], **asked: Any) -> None:
    """Play on a page in the browser, and see the engine's analysis there.

    OPTIONS are those of the engine: keima web --net FILE --visits 400. Every game is saved as SGF after each move.
    Ctrl-C ends the page and the engine.
    """
    if engine is None:
        from engine.evaluators.option_files import require_networks

        require_options_of(ctx, "gtp", options)
        require_networks(options)
        own = () if asked["book"] is None else ("--book", asked["book"])
        engine = joined([*installed_program(), "gtp", *options, *own])
    elif options:
        raise click.UsageError(f"{options[0]}: options of another program belong in --engine", ctx)
    if ctx.get_parameter_source("out") is not ParameterSource.DEFAULT:
        from engine.support.files import require_writable

        # Without a named folder, as after a double click, the page opens all the same and says what it cannot save.
        require_writable(asked["out"] / "game.sgf")
    start_logging("warning")
    # The default is that of new games: a record without komi has the usual one, which is less with handicap.
    has_komi = ctx.get_parameter_source("komi") is not ParameterSource.DEFAULT
    _serve(engine, default_komi=asked["komi"] if has_komi else None, **asked)


# One parameter for each option of the command: click passes them on by name.
def _serve(
    engine: str,
    default_komi: float | None,
    size: tuple[int, int],
    komi: float,
    rules: str,
    handicap: int,
    color: str,
    seconds: float | None,
    clock: str | None,
    rank: str,
    out: Path,
    host: str,
    port: int | None,
    browser: bool,
    book: str | None,
) -> None:
    from engine.apps.web.engine_worker import EngineWorker
    from engine.apps.web.game_session import GameSession
    from engine.apps.web.server import PageServer
    from engine.apps.web.settings import GameSettings, PlayerKind, read_clock
    from engine.book.book import Book

    players = {each: PlayerKind.PERSON if each in _PEOPLE[color] else PlayerKind.ENGINE for each in (BLACK, WHITE)}
    settings = GameSettings(
        *size,
        komi,
        rules,
        handicap,
        players,
        seconds,
        rank=rank,
        clock=None if clock is None else read_clock(clock),
    )
    session = GameSession(settings, out, None if book is None else Book.open(book), default_komi)
    try:
        server = PageServer(session, host, DEFAULT_PORT if port is None else port)
    except OSError as error:
        if port is not None or error.errno != errno.EADDRINUSE:
            place = host if port is None else f"port {port} of {host}"
            raise click.ClickException(f"{place} cannot be had: {error.strerror}") from error
        server = PageServer(session, host, 0)
    worker = EngineWorker(session, engine)
    with stopping() as stop:
        worker.start()
        threading.Thread(target=server.serve_forever, name="pages", daemon=True).start()
        click.echo(f"{server.url} is the page; Ctrl-C ends it.")
        if server.url_elsewhere is not None:
            click.echo(f"On other devices of the network it is {server.url_elsewhere}")
        if browser:
            webbrowser.open(server.url)
        while not stop.wait(WAIT_SECONDS):
            pass
    server.shutdown()
    session.close()
    worker.close()
    server.server_close()
