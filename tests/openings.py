"""Writes openings for matches: games of some moves, each drawn from a network's policy at temperature 1.

python -m tests.openings OUT.sgfl [--net keima-t7c96] [--size 7] [--komi 9] [--moves 4] [--games 200]

Openings with the same moves are written once, so there may be fewer.
"""

import argparse
from contextlib import closing
from pathlib import Path

from engine.evaluators.factory import Computing, make_evaluator
from engine.evaluators.finding import find_network
from engine.records.sgf_writer import write_game
from engine.train.games.arena import ArenaSettings, draw_openings
from weights.registry import load


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.openings", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--net", default="keima-t7c96")
    parser.add_argument("--size", type=int, default=7)
    parser.add_argument("--komi", type=float, default=9.0)
    parser.add_argument("--rules", default="chinese-kgs")
    parser.add_argument("--moves", type=int, default=4)
    parser.add_argument("--games", type=int, default=200)
    asked = parser.parse_args()
    settings = ArenaSettings(asked.size, asked.rules, asked.komi, opening_moves=asked.moves)
    with closing(make_evaluator(load(find_network(asked.net)), Computing())) as evaluator:
        games = draw_openings(settings, [evaluator], asked.games)
    lines = dict.fromkeys(write_game(game).replace("\n", "") for game in games)
    asked.out.write_text("".join(f"{line}\n" for line in lines))
    print(f"{asked.out}: {len(lines)} different openings of {asked.games}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
