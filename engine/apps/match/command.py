"""The command `keima match`."""

import sys
from pathlib import Path
from typing import Any

import click

from engine.settings.one_line_errors import one_line_errors
from engine.settings.option_types import KOMI, BoardSize, RuleSet


@click.command()
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
@click.option("--komi", type=KOMI, default=7.5, show_default=True, help="Points given to White.")
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
    hangs or answers nonsense loses that game; one that cannot be started again ends the match. A match
    stopped at any moment goes on with the same command and --out; more --games make it longer.
    """
    from engine.apps.match.cli import cli_match
    from engine.apps.match.options import MatchOptions

    with one_line_errors():
        sys.exit(cli_match(MatchOptions(**options)))
