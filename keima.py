"""The front door: the `keima` command, the names of the Python library (docs/api.md), and the only module that knows
every part of the program.

Wires evaluators, search and players to the GTP session and the other commands. It holds no logic
of its own, and imports nothing heavy before a command needs it: a GTP controller gets its first
answers while numpy, numba and the network still load.
"""

import atexit
import gc
import io
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from engine import __version__
from engine.rules import parse_rules
from engine.settings.command import Group, refuse_given, search_keys
from engine.settings.levels import FULL
from engine.settings.options import options_of
from engine.settings.searching import (
    KATAGO_FILES,
    read_config,
    read_configs,
    read_settings,
    refuse_unused,
    refuse_without_human,
    search_params,
)
from engine.settings.session_files import eval_cache_file, existing_book, refuse_unused_eval_cache
from engine.support.logs import start_logging
from engine.support.openmp import limit_spinning
from engine.support.stopping import INTERRUPTED

if TYPE_CHECKING:
    from engine import players
    from engine.api import *  # noqa: F403 - the library, see `__getattr__`
    from engine.search.params import SearchParams
    from gtp.katago_config import Changes
else:

    def __getattr__(name: str) -> object:
        """Return a name of `engine.api`, which is loaded when the first is used: GTP controllers do not wait for it."""
        if not name.startswith("_"):
            from engine import api

            if name in api.__all__:
                return getattr(api, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_GAME_OPTIONS = ("size", "komi", "rules", "color", "handicap", "rank", "record", "sgf")
LOADED_LATE = (
    "analysis",
    "bench",
    "book",
    "distill",
    "doctor",
    "draw",
    "explain",
    "learn",
    "levels",
    "match",
    "net",
    "review",
    "selfplay",
    "setup",
    "solve",
    "train",
    "tune",
    "web",
    "zero",
)
"""Commands with options of their own."""


def load_command(name: str) -> click.Command | None:
    """Return a command of LOADED_LATE, imported now, None for any other name."""
    match name:
        case "analysis":
            from gtp.json_analysis.cli import analysis

            return analysis
        case "bench":
            from engine.apps.bench.cli import bench

            return bench
        case "book":
            from engine.apps.book.cli import book

            return book
        case "doctor":
            from engine.apps.doctor.cli import doctor

            return doctor
        case "draw":
            from engine.apps.picture.cli import draw

            return draw
        case "explain":
            from engine.apps.explain.command import explain

            return explain
        case "levels":
            from engine.apps.levels.command import levels

            return levels
        case "match":
            from engine.apps.match.command import match

            return match
        case "net":
            from engine.apps.net.cli import net

            return net
        case "review":
            from engine.apps.review.command import review

            return review
        case "setup":
            from gtp.controllers.cli import setup

            return setup
        case "solve":
            from engine.apps.solve.command import solve

            return solve
        case "tune":
            from engine.apps.tune.command import tune

            return tune
        case "web":
            from engine.apps.web.cli import web

            return web
    return load_training_command(name)


def load_training_command(name: str) -> click.Command | None:
    """Return a command that trains networks, imported now, None for any other name."""
    match name:
        case "distill":
            from engine.train.teaching.distill_cli import distill

            return distill
        case "learn":
            from engine.train.fine_tuning.cli import learn

            return learn
        case "selfplay":
            from engine.train.games.selfplay_cli import selfplay

            return selfplay
        case "train":
            from engine.train.cli import train

            return train
        case "zero":
            from engine.train.generations.zero_cli import zero

            return zero
    return None


class FrontDoor(Group):
    """A group that runs `gtp` where no command is named, and imports other commands when they are."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `gtp` before options that are not the group's own."""
        if isinstance(sys.stdout, io.TextIOWrapper):
            # Names of files, players, networks and authors may have characters that a console or a pipe cannot show.
            sys.stdout.reconfigure(errors="backslashreplace")
        if not args or (args[0].startswith("-") and args[0] not in {"--help", "-h", "--version", "--licenses"}):
            args = ["gtp", *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; say in one line where memory does not suffice."""
        # Any command may load torch, in this process or in workers, which inherit the environment.
        limit_spinning()
        # Python's last collection would walk all objects of numba: 0.3 to 0.4 s between `quit` and the end.
        atexit.register(gc.freeze)
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            # click would end with status 1, which some commands answer with.
            click.echo("Aborted!", err=True)
            raise SystemExit(INTERRUPTED) from None
        except MemoryError as error:
            raise click.ClickException(f"not enough memory{f': {error}' if str(error) else ''}") from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted([*super().list_commands(ctx), *LOADED_LATE])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name."""
        return load_command(cmd_name) or super().get_command(ctx, cmd_name)


def make_player(params: "SearchParams", options: dict[str, Any], width: int, height: int) -> "players.SearchPlayer":
    """Build the player that the options ask for and compile its kernels, and its network for a board. Takes seconds.

    Raises GoError or WeightsError, one line, where the network cannot be used.
    """
    from engine.evaluators.factory import open_networks
    from engine.players import ReflexPlayer, SearchPlayer
    from engine.search.memory_file import open_memory
    from engine.support.memory import return_large_blocks

    return_large_blocks()
    kind: type[SearchPlayer] = ReflexPlayer if options["reflexes"] else SearchPlayer
    if options.get("book") is not None:
        from engine.book.book import Book
        from engine.book.player import playing_from

        kind = playing_from(Book.open(options["book"]))
    opened = open_networks(options, params.human_profile)
    if opened.tree_mib is not None:
        params = replace(params, max_memory_mib=opened.tree_mib)
    if options.get("eval_cache") is not None:
        params = replace(params, remembers=True)
    if options.get("rank", FULL) == FULL:
        opened.warn_of_idle_human(params.human_profile, "at ranks (--rank)")
    network = None if opened.network is None else opened.network.facts.file
    memory = open_memory(options.get("eval_cache"), network)
    player = kind(opened.evaluator, params, network=opened.network, human=opened.human)
    player.search.memory = memory
    player.warm_up(width, height)
    return player


def player_params(options: dict[str, Any]) -> "SearchParams":
    """Return the search parameters that a player's options ask for."""
    refuse_unused(options)
    if options["reflexes"] and options["book"] is not None:
        raise click.UsageError("--reflexes plays without a search and without --book")
    refuse_unused_eval_cache(options["eval_cache"], options["settings"])
    params = search_params(
        options["net"],
        options["config"],
        options["settings"],
        seed=options["seed"],
        max_memory_mib=options["max_memory"],
        human_profile=options["profile"],
    )
    refuse_without_human(params, options)
    return params


def idle_command(options: dict[str, Any]) -> Callable[[int, int], list[str]] | None:
    """Return what a session runs while it waits: a measurement for `auto`, where nothing else decides."""
    from engine.support.installation import MEASURES, this_program

    if os.environ.get(MEASURES) == "0":
        return None
    asked = (options["backend"], options["precision"], options["max_memory"], options["human_model"])
    if asked != ("auto", "auto", None, None) or options["device"] not in ("auto", "cpu") or options["listen"]:
        return None
    from weights.shipped import network_named

    net = network_named(options["net"])
    threads = [] if options["threads"] is None else ["--threads", str(options["threads"])]
    words = [*this_program(), "bench", "--choose", "--once", "--net", str(net), *threads]
    return None if net is None else lambda width, height: [*words, "--size", f"{width}x{height}"]


def print_licenses(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Print the licenses of Keima and of what it needs, and exit, if asked to."""
    if value and not ctx.resilient_parsing:
        from engine.support.licenses import licenses

        click.echo("".join(licenses()), nl=False)
        ctx.exit()


@click.group(
    cls=FrontDoor,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="keima")
@click.option(
    "--licenses",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_licenses,
    help="Print the licenses of Keima and of the packages that it needs, and exit.",
)
def main() -> None:
    """Keima, a Go engine. Without a command: gtp."""


def session_changes_and_params(ctx: click.Context) -> "tuple[Changes, list[str], SearchParams]":
    """Return what KataGo's configuration changes, its lines without effect, and the search parameters of a session."""
    from gtp.katago_config import assignments, session_changes

    options = ctx.params
    changes, unused = session_changes(assignments(ctx.meta[KATAGO_FILES], options["override_config"]))
    searching = options["config"] | {name: str(value) for name, value in changes.search.items()}
    return changes, unused, player_params(options | {"config": searching})


def check_session(ctx: click.Context) -> None:
    """Raise what a GTP session would answer its first command that needs the player with, if the options cause it."""
    from engine.evaluators.factory import check_networks

    check_networks(ctx.params, session_changes_and_params(ctx)[2].human_profile)


@main.command("gtp", keys=search_keys, check=check_session)
@options_of("gtp", config=read_configs, settings=read_settings, book=existing_book, eval_cache=eval_cache_file)
@click.pass_context
def speak_gtp(ctx: click.Context, /, **options: Any) -> None:  # in the wheel, `keima.gtp` is a package
    """Speak GTP on stdin and stdout, or to clients on the network."""
    from gtp.session import SessionConfig, run
    from gtp.stderr import write_lines

    start_logging(options["log_level"])
    changes, unused, params = session_changes_and_params(ctx)
    write_lines(unused)
    width, height = options["size"]
    config = SessionConfig(
        name=options["compat_name"] or SessionConfig.name,
        version=options["compat_version"] or __version__,
        width=width,
        height=height,
        komi=options["komi"],
        rules=parse_rules(options["rules"]),
        visits=options["visits"],
        seconds=options["seconds"],
        rank=options["rank"],
        ponder=options["ponder"],
        idle_command=idle_command(options),
        live_graphics=options["live_graphics"],
        leela_lines=options["leela_lines"],
    )
    # Options on the command line count more than KataGo's configuration.
    given = {name for name in options if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    if "size" in given:
        given |= {"width", "height"}
    changed = {name: value for name, value in changes.session.items() if name not in given}
    config, factory = replace(config, **changed), partial(make_player, params, options)
    if options["listen"] is None:
        refuse_given({"token_file", "connections"}, "is only for --listen")
        sys.exit(run(config, factory))
    from gtp.remote.gtp_sessions import listen

    listen(config, factory, options)


@main.command(keys=search_keys)
@options_of("play", config=read_config, settings=read_settings, book=existing_book, eval_cache=eval_cache_file)
def play(**options: Any) -> None:
    """Play against the engine at the terminal."""
    from engine.apps.play import cli_play
    from engine.clock import DEFAULT_MOVE_SECONDS
    from engine.players import Limits

    start_logging(options["log_level"])
    params = player_params(options)
    visits, seconds = options["visits"], options["seconds"]
    limits = Limits(visits, DEFAULT_MOVE_SECONDS if visits is None and seconds is None else seconds)
    passed_on = {name: options[name] for name in _GAME_OPTIONS}

    def player_of(width: int, height: int) -> "players.SearchPlayer":
        # Not in make_player: a GTP session has other boards later, so there a network need not know the first.
        player = make_player(params, options, width, height)
        if player.network is not None and not player.network.knows(width, height):
            player.close()
            player.network.check_board(width, height)
        return player

    sys.exit(cli_play(player_of, limits, **passed_on))


if __name__ == "__main__":
    if getattr(sys, "frozen", False):
        from multiprocessing import freeze_support

        freeze_support()  # the frozen program is started again for each process that plays, and stays in here
    main(prog_name="keima")
