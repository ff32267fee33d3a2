"""The front door: the `keima` command, and the only place that knows every room of the house.

Wires evaluators, search and players to the GTP session and the other commands. It holds no logic
of its own, and imports nothing heavy before a command needs it: a GTP controller gets its first
answers while numpy, numba and the network still load.
"""

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine import __version__
from engine.netfile.errors import one_line_errors
from engine.netfile.options import NO_NETWORK, network_named, network_options, refuse_lonely_profile, threads_option
from engine.option_types import BoardSize, RuleSet, read_settings, search_params
from engine.rules import parse_rules
from engine.solve.options import SolveSettings, solve_options
from gtp.options import controller_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.evaluators.base import Evaluator
    from engine.players import Player
    from engine.search.params import SearchParams
    from engine.solve.cli import Judge

LOG_LEVELS = ["error", "warning", "info", "debug"]


LOADED_LATE = ("analysis", "distill", "net", "selfplay", "setup", "train", "zero")
"""Commands with options of their own."""


def load_command(name: str) -> click.Command | None:
    """Return a command of LOADED_LATE, imported now, None for any other name."""
    match name:
        case "analysis":
            from gtp.json_analysis.cli import analysis

            return analysis
        case "distill":
            from engine.train.teaching.distill_cli import distill

            return distill
        case "net":
            from engine.netfile.cli import net

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
    options = {each.name for each in ctx.command.params} - {"config", "settings"}
    unknown = [key for key in content if key.replace("-", "_") not in options]
    if unknown or not isinstance(search, dict):
        known = " ".join(sorted(name.replace("_", "-") for name in options if name))
        raise click.BadParameter(f"{path}: unknown key {' '.join(unknown)!r}, expected {known} or [search]", ctx, param)
    ctx.default_map = {key.replace("-", "_"): value for key, value in content.items()}
    return {key: str(value) for key, value in search.items()}


def make_player(params: "SearchParams", options: dict[str, Any]) -> "Player":
    """Build the player that the options ask for and compile its kernels. Takes seconds.

    Raises GoError or WeightsError, one line, where the network cannot be used.
    """
    from engine.memory import return_large_blocks
    from engine.players import ReflexPlayer, SearchPlayer

    return_large_blocks()
    kind = ReflexPlayer if options["reflexes"] else SearchPlayer
    file, threads = network_named(options["net"]), options["threads"] or os.cpu_count() or 1
    if file is None:
        from engine.evaluators.rollout import RolloutEvaluator

        player = kind(RolloutEvaluator(threads), params)
    else:
        from engine.evaluators.cache import CachedEvaluator
        from engine.netfile.network import Computing, open_network

        computing = Computing(options["backend"], options["precision"], threads)
        network = open_network(file, computing, options["profile"])
        player = kind(CachedEvaluator(network.evaluator), params, network=network)
    player.warm_up()
    player.prepare(*options["size"])
    return player


def make_judge(net: str | None, options: dict[str, Any]) -> "Judge":
    """Return what judges positions for `keima solve`. Raises GoError or WeightsError, one line."""
    from engine.solve.cli import Judge

    file, threads = network_named(net), options["threads"] or os.cpu_count() or 1
    if file is None:
        from engine.evaluators.rollout import RolloutEvaluator

        return Judge("play-outs", RolloutEvaluator(threads))
    from engine.evaluators.cache import CachedEvaluator
    from engine.netfile.network import Computing, open_network

    computing = Computing(options["backend"], options["precision"], threads)
    network = open_network(file, computing, options["profile"])
    facts = network.facts
    name = " ".join([Path(facts.file).name, facts.precision, *([options["profile"]] if options["profile"] else [])])
    return Judge(name, CachedEvaluator(network.evaluator), facts.board_sizes)


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
    click.option("--time", type=click.FloatRange(min=0, min_open=True), help="Seconds a move."),
    click.option("--rules", type=RuleSet(), default="chinese-kgs", show_default=True, help="Rules at the start."),
    click.option("--komi", type=float, default=7.5, show_default=True, help="Komi at the start."),
    click.option("--size", type=BoardSize(), default="19", show_default=True, help="Board at the start: 19, or 13x9."),
    threads_option,
    click.option("--reflexes", is_flag=True, help="Move without a search: captures, rescues, else the best prior."),
    click.option("--max-memory", type=click.IntRange(min=1), metavar="MIB", help="Bound of the search tree."),
    click.option("--seed", type=int, help="Seed of all random numbers; without it every run draws others."),
    click.option("--log-level", type=click.Choice(LOG_LEVELS), default="warning", show_default=True),
]


def with_player_options(command: Any) -> Any:
    """Decorate a command with the options that choose and limit a player."""
    for option in reversed(player_options):
        command = option(command)
    return command


@click.group(cls=FrontDoor, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="keima")
def main() -> None:
    """Keima, a Go engine. Without a command: gtp."""


def start_logging(level: str) -> None:
    """Log to stderr; stdout belongs to the command."""
    logging.basicConfig(stream=sys.stderr, level=level.upper(), format="keima: %(levelname)s: %(name)s: %(message)s")


@main.command()
@with_player_options
@controller_options
def gtp(**options: Any) -> None:
    """Speak GTP on stdin and stdout."""
    from gtp.session import SessionConfig, run

    start_logging(options["log_level"])
    refuse_lonely_profile(options["net"], options["profile"])
    params = search_params(
        options["net"],
        options["config"],
        options["settings"],
        seed=options["seed"],
        max_memory_mib=options["max_memory"],
    )
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
        ponder=options["ponder"],
        live_graphics=options["live_graphics"],
        leela_lines=options["leela_lines"],
    )
    sys.exit(run(config, lambda: make_player(params, options)))


@main.command()
@with_player_options
@click.option("--color", type=click.Choice(["black", "white"]), default="black", show_default=True, help="Yours.")
@click.option("--sgf", type=click.Path(dir_okay=False, path_type=Path), help="Where the game is saved.")
def play(**options: Any) -> None:
    """Play against the engine at the terminal."""
    from engine.play import cli_play
    from engine.players import Limits

    start_logging(options["log_level"])
    refuse_lonely_profile(options["net"], options["profile"])
    params = search_params(
        options["net"],
        options["config"],
        options["settings"],
        seed=options["seed"],
        max_memory_mib=options["max_memory"],
    )
    limits = Limits(visits=options["visits"], seconds=options["time"])
    passed_on = {name: options[name] for name in ("size", "komi", "rules", "color", "sgf")}
    with one_line_errors():
        sys.exit(cli_play(lambda: make_player(params, options), limits, **passed_on))


@main.command()
@click.option("--black", metavar="COMMAND", help="Player A, who plays Black in the first game.")
@click.option("--white", metavar="COMMAND", help="Player B.")
@click.option(
    "--engine",
    "engines",
    multiple=True,
    metavar="NAME=COMMAND",
    help="A player of a round robin, instead of --black and --white; give two or more. Colors always alternate.",
)
@click.option("--games", type=click.IntRange(min=1), default=1, show_default=True, help="Games of every two players.")
@click.option("--size", type=BoardSize(), default="19", show_default=True, help="The board: 19, or 13x9.")
@click.option("--komi", type=float, default=7.5, show_default=True, help="Points given to White.")
@click.option("--handicap", type=int, default=0, metavar="N", help="Black begins with N stones on the fixed points.")
@click.option("--rules", type=RuleSet(), default="tromp-taylor", show_default=True, help="By name, or as JSON.")
@click.option("--alternate", is_flag=True, help="Change colors after every game.")
@click.option(
    "--openings",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="Records to begin games with, each twice with colors changed: SGF, folder, or .sgfl(.bz2) of one SGF a line.",
)
@click.option(
    "--opening-moves",
    type=click.IntRange(min=1),
    help="How many moves of each record; without it all, up to half as many as points.",
)
@click.option("--seed", type=int, help="Of the order of the openings; 0 if not given.")
@click.option("--referee", metavar="COMMAND", help="A program that counts the games.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder of records and results.")
@click.option(
    "--clock",
    metavar="TEXT",
    help="Time in seconds: absolute:60, canadian:60+25/300 (25 moves in 300 s), byoyomi:60+5x10 (5 periods of 10 s), "
    "fischer:10+1, or capped:10+1/60/30 (at most 60 s in all and 30 s a move; a cap may be left out). "
    "Without a clock only --hang limits a move.",
)
@click.option("--move-time", "seconds_per_move", type=float, metavar="SECONDS", help="A clock: time for each move.")
@click.option("--time", type=float, metavar="SECONDS", help="A clock: main time, absolute or before --byo.")
@click.option("--byo", type=float, metavar="SECONDS", help="Canadian time, for --stones moves.")
@click.option("--stones", type=int, help="Moves in a period of --byo; 1 if not given.")
@click.option("--grace", type=float, default=0.5, show_default=True, metavar="SECONDS", help="Overdraft forgiven.")
@click.option("--hang", type=float, default=300.0, show_default=True, metavar="SECONDS", help="Longest wait.")
@click.option("--max-moves", type=int, default=0, help="Moves after which a game ends; 0: three a point.")
@click.option("--concurrency", type=click.IntRange(min=1), default=1, show_default=True, help="Games at a time.")
@click.option("--resume/--no-resume", default=True, help="Go on with the match found in --out.")
@click.option("--black-name", help="Shown for player A.")
@click.option("--white-name", help="Shown for player B.")
def match(**options: Any) -> None:
    """Play a match between two GTP programs, or a round robin of several.

    Every move is checked by Keima's rules and every clock is Keima's own, by wall time. With
    --concurrency 1 one program thinks at a time, unless a program ponders. A program that crashes,
    hangs or answers nonsense loses that game. A match stopped at any moment goes on with the same
    command and --out; more --games make it longer.
    """
    from engine.match import MatchOptions, cli_match

    sys.exit(cli_match(MatchOptions(**options)))


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
    from engine.solve.cli import cli_solve

    refuse_lonely_profile(net, options["profile"])
    params = search_params(net, {}, changes, seed=options["seed"])
    asked = SolveSettings(
        search=tuple(sorted(changes.items())),
        **{name: options[name] for name in ("file", "visits", "framed", "seed", "limit")},
    )
    with one_line_errors():
        sys.exit(cli_solve(asked, lambda: make_judge(net, options), params, out=out, as_json=as_json))


@main.command()
@click.option("--size", "sizes", type=BoardSize(), multiple=True, help="Boards to measure; 9 and 19 by default.")
@network_options
@threads_option
@click.option("--cold", is_flag=True, help="Also measure compiling every kernel.")
@click.option("--runs", type=click.IntRange(min=1), default=5, show_default=True, help="A figure is their median.")
@click.option("--seconds", type=float, default=0.5, show_default=True, help="Length of a run that counts per second.")
@click.option(
    "--katago",
    metavar="COMMAND",
    default="",
    help="Let KataGo's benchmark take turns on the same --net: 'katago benchmark -config gtp.cfg'. Positions, threads "
    "and length are added; it runs with one thread a core or two, whichever is faster.",
)
@click.option(
    "--memory-visits",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Also measure the engine's memory after a move of N visits on the last --size. Takes long.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def bench(
    net: str | None,
    backend: str,
    precision: str,
    profile: str | None,
    threads: int | None,
    katago: str,
    **options: Any,
) -> None:
    """Measure start-up, rollouts, evaluations and visits.

    The network's in all backends and precisions that are fast here, or in those of --backend and --precision.
    """
    import shlex
    from functools import partial

    from engine.bench.effort import NO_PRECISION
    from engine.bench.measure import cli_bench
    from engine.bench.startup import own_program
    from engine.evaluators.rollout import RolloutEvaluator
    from engine.evaluators.uniform import UniformEvaluator

    refuse_lonely_profile(net, profile)
    if katago and net in (None, NO_NETWORK):
        raise click.UsageError("--katago needs the --net that both evaluate")
    file, count = network_named(net), threads or os.cpu_count() or 1
    factories: dict[tuple[str, str], Callable[[], Evaluator]] = {
        ("uniform", NO_PRECISION): UniformEvaluator,
        ("rollout", NO_PRECISION): partial(RolloutEvaluator, count),
    }
    rival: list[str] = []
    playing = ["--threads", str(count), "--net", file or NO_NETWORK]
    with one_line_errors():
        if file is not None:
            from engine.evaluators.backends import to_compare
            from engine.netfile.network import Computing, find_network, open_network

            def network(computing: Computing) -> "Evaluator":
                return open_network(file, computing, profile).evaluator

            for pair in to_compare(backend, precision):
                factories[pair] = partial(network, Computing(*pair, threads=count))
            playing += [
                "--backend",
                backend,
                "--precision",
                precision,
                *(["--human-profile", profile] if profile else []),
            ]
            rival = [*shlex.split(katago), "-model", str(find_network(file))] if katago else []
        program = own_program(Path(__file__))
        sys.exit(cli_bench(program, factories, katago=rival, playing=playing, **options))


if __name__ == "__main__":
    main(prog_name="keima")
