"""The front door: the `keima` command, the names of the Python library (docs/api.md), and the only place that knows
every room of the house.

Wires evaluators, search and players to the GTP session and the other commands. It holds no logic
of its own, and imports nothing heavy before a command needs it: a GTP controller gets its first
answers while numpy, numba and the network still load.
"""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine import __version__
from engine.apps.solve.options import SolveSettings, solve_options
from engine.rules import parse_rules
from engine.settings.levels import FULL_LEVEL
from engine.settings.network_options import network_options, refuse_unused, threads_option
from engine.settings.one_line_errors import one_line_errors
from engine.settings.option_types import (
    KOMI,
    SECONDS,
    BoardSize,
    RuleSet,
    log_level_option,
    open_evaluator,
    read_settings,
    search_params,
    seed_option,
)
from engine.support.logs import start_logging
from gtp.options import controller_options

if TYPE_CHECKING:
    from engine import players
    from engine.api import *  # noqa: F403 - the library, see `__getattr__`
    from engine.apps.solve.cli import Judge
    from engine.search.params import SearchParams
else:

    def __getattr__(name: str) -> object:
        """Return a name of `engine.api`, which is loaded when the first is used: GTP controllers do not wait for it."""
        if not name.startswith("_"):
            from engine import api

            if name in api.__all__:
                return getattr(api, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


LOADED_LATE = ("analysis", "bench", "distill", "draw", "match", "net", "selfplay", "setup", "train", "web", "zero")
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
        case "distill":
            from engine.train.teaching.distill_cli import distill

            return distill
        case "draw":
            from engine.apps.picture.cli import draw

            return draw
        case "match":
            from engine.apps.match.command import match

            return match
        case "net":
            from engine.apps.net.cli import net

            return net
        case "selfplay":
            from engine.train.games.selfplay_cli import selfplay

            return selfplay
        case "setup":
            from gtp.controllers.cli import setup

            return setup
        case "train":
            from engine.train.cli import train

            return train
        case "web":
            from engine.apps.web.cli import web

            return web
        case "zero":
            from engine.train.generations.zero_cli import zero

            return zero
    return None


class FrontDoor(click.Group):
    """A group that means its command `gtp` when the command line names none, and loads others when they are meant."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `gtp` before options that are not the group's own."""
        if not args or (args[0].startswith("-") and args[0] not in {"--help", "-h", "--version"}):
            args = ["gtp", *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted([*super().list_commands(ctx), *LOADED_LATE])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name."""
        return load_command(cmd_name) or super().get_command(ctx, cmd_name)


def read_config(ctx: click.Context, param: click.Parameter, path: Path | None) -> dict[str, str]:
    """Return the [search] table of a TOML file; its other keys become the options' defaults."""
    if path is None:
        return {}
    import tomllib

    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise click.BadParameter(f"{path}: {error}", ctx, param) from error
    search = content.pop("search", {})
    names = {word.removeprefix("--"): each.name or "" for each in ctx.command.params for word in each.opts}
    options = {word: name for word, name in names.items() if name not in ("config", "settings")}
    given = {key.replace("_", "-"): value for key, value in content.items()}
    unknown = [key for key in given if key not in options]
    if unknown or not isinstance(search, dict):
        known = " ".join(sorted(options))
        raise click.BadParameter(f"{path}: unknown key {' '.join(unknown)!r}, expected {known} or [search]", ctx, param)
    # As texts, which click checks: it would take the number 7.5 as 7 visits, and stumble over a list.
    ctx.default_map = {options[key]: str(value) for key, value in given.items()}
    return {key: str(value) for key, value in search.items()}


def make_player(params: "SearchParams", options: dict[str, Any], width: int, height: int) -> "players.Player":
    """Build the player that the options ask for and compile its kernels, and its network for a board. Takes seconds.

    Raises GoError or WeightsError, one line, where the network cannot be used.
    """
    from engine.players import ReflexPlayer, SearchPlayer
    from engine.support.memory import return_large_blocks

    return_large_blocks()
    kind = ReflexPlayer if options["reflexes"] else SearchPlayer
    evaluator, network = open_evaluator(options["net"], options)
    player = kind(evaluator, params, network=network)
    player.warm_up(width, height)
    return player


def make_judge(net: str | None, options: dict[str, Any]) -> "Judge":
    """Return what judges positions for `keima solve`. Raises GoError or WeightsError, one line."""
    from engine.apps.solve.cli import Judge

    evaluator, network = open_evaluator(net, options)
    if network is None:
        return Judge("play-outs", evaluator)
    facts = network.facts
    name = " ".join([Path(facts.file).name, facts.precision, *([options["profile"]] if options["profile"] else [])])
    return Judge(name, evaluator, facts.board_sizes)


player_options = [
    network_options,
    click.option(
        "--config",
        type=click.Path(dir_okay=False, path_type=Path),
        callback=read_config,
        is_eager=True,
        help="A TOML file with these options' names as keys, and search parameters in [search].",
    ),
    click.option(
        "--set", "settings", multiple=True, metavar="KEY=VALUE", callback=read_settings, help="A search parameter."
    ),
    click.option("--visits", type=click.IntRange(min=1), help="Visits a move."),
    click.option("--time", type=SECONDS, help="Seconds a move."),
    click.option(
        "--level",
        type=click.IntRange(1, FULL_LEVEL),
        default=FULL_LEVEL,
        show_default=True,
        help="How well it plays; below the full strength it does not think, and overlooks moves.",
    ),
    click.option("--rules", type=RuleSet(), default="chinese-kgs", show_default=True, help="Rules at the start."),
    click.option("--komi", type=KOMI, default=7.5, show_default=True, help="Komi at the start."),
    click.option("--size", type=BoardSize(), default="19", show_default=True, help="Board at the start: 19, or 13x9."),
    threads_option,
    click.option("--reflexes", is_flag=True, help="Move without a search: captures, rescues, else the best prior."),
    click.option("--max-memory", type=click.IntRange(min=1), metavar="MIB", help="Bound of the search tree."),
    seed_option,
    log_level_option,
]


def with_player_options(command: Any) -> Any:
    """Decorate a command with the options that choose and limit a player."""
    for option in reversed(player_options):
        command = option(command)
    return command


def player_params(options: dict[str, Any]) -> "SearchParams":
    """Return the search parameters that a player's options ask for."""
    refuse_unused(*(options[name] for name in ("net", "backend", "precision", "profile")))
    return search_params(
        options["net"],
        options["config"],
        options["settings"],
        seed=options["seed"],
        max_memory_mib=options["max_memory"],
    )


@click.group(
    cls=FrontDoor,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="keima")
def main() -> None:
    """Keima, a Go engine. Without a command: gtp."""


@main.command("gtp")
@with_player_options
@controller_options
def speak_gtp(**options: Any) -> None:  # in the wheel, `keima.gtp` is a package
    """Speak GTP on stdin and stdout."""
    from gtp.session import SessionConfig, run

    start_logging(options["log_level"])
    params = player_params(options)
    width, height = options["size"]
    config = SessionConfig(
        name=options["compat_name"] or SessionConfig.name,
        version=options["compat_version"] or __version__,
        width=width,
        height=height,
        komi=options["komi"],
        rules=parse_rules(options["rules"]),
        visits=options["visits"],
        seconds=options["time"],
        level=options["level"],
        ponder=options["ponder"],
        live_graphics=options["live_graphics"],
        leela_lines=options["leela_lines"],
    )
    sys.exit(run(config, partial(make_player, params, options)))


@main.command()
@with_player_options
@click.option("--color", type=click.Choice(["black", "white"]), default="black", show_default=True, help="Yours.")
@click.option("--sgf", type=click.Path(dir_okay=False, path_type=Path), help="Where the game is saved.")
def play(**options: Any) -> None:
    """Play against the engine at the terminal."""
    from engine.apps.play import cli_play
    from engine.players import Limits

    start_logging(options["log_level"])
    params = player_params(options)
    limits = Limits(visits=options["visits"], seconds=options["time"])
    passed_on = {name: options[name] for name in ("size", "komi", "rules", "color", "level", "sgf")}
    with one_line_errors():
        sys.exit(cli_play(partial(make_player, params, options), limits, **passed_on))


@main.command()
@solve_options
@network_options
@click.option(
    "--set", "changes", multiple=True, metavar="KEY=VALUE", callback=read_settings, help="A search parameter."
)
@threads_option
def solve(net: str | None, changes: dict[str, str], out: Path | None, as_json: bool, **options: Any) -> None:
    """Solve problems with known answers; tell how many, by kind and by rank.

    FILE has a JSON object on each line (.jsonl or .jsonl.gz): size, to_play ("B" or "W"), the stones B and W and
    the correct first moves as lists of SGF points, and, if known, id, rank and type. Each problem is searched near
    its stones, once, and asked for its move at each count of visits. A run stopped at any moment goes on with the
    same command and --out; a larger --limit adds problems.
    """
    from engine.apps.solve.cli import cli_solve

    refuse_unused(net, *(options[name] for name in ("backend", "precision", "profile")))
    params = search_params(net, {}, changes, seed=options["seed"])
    asked = SolveSettings(
        search=tuple(sorted(changes.items())),
        **{name: options[name] for name in ("file", "visits", "framed", "seed", "limit")},
    )
    with one_line_errors():
        sys.exit(cli_solve(asked, lambda: make_judge(net, options), params, out=out, as_json=as_json))


if __name__ == "__main__":
    if getattr(sys, "frozen", False):
        from multiprocessing import freeze_support

        freeze_support()  # the frozen program is started again for each process that plays, and stays in here
    main(prog_name="keima")
