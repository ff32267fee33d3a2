"""Measures how often pass-alive areas decide a position, and if the network knows: what proofs in a tree could win.

    python -m tests.decided --net keima-t7c96 --games 300

Reads game records that are not held out, on 9x9, 13x13 and 19x19 under rules that count area. A position is decided if
one side's pass-alive area, which nothing can take, is more than the other side can still get; it is settled if every
point is pass-alive, so that its score is known. Prints, for parts of a game, the share of the points that are
pass-alive, the shares of such positions, and the network's value for the side that has won, by one evaluation.
"""

import argparse
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from engine.apps.quality.positions import default_records
from engine.board.area import pass_alive_owners
from engine.color import BLACK, EMPTY, WHITE, for_color
from engine.encoders.game_positions import write_position
from engine.errors import BadSgf, GoError
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch
from engine.evaluators.factory import Computing, open_network
from engine.game import Game
from engine.records.sgf import load_sgf
from engine.records.sgf_source import iterate_records
from engine.train.data.held_out import is_held_out

SIZES = (9, 13, 19)
PARTS = ((0.5, 0.7), (0.7, 0.9), (0.9, 0.99), (0.99, 1.0))
"""Ranges of the share of a game's moves that have been played; the last position is in the last one."""
_SHORTEST = 20
_UNSURE = 0.5


class Verdict(NamedTuple):
    """What pass-alive areas say of a position.

    winner: its color, or EMPTY if they do not decide the game. alive: share of the points that are pass-alive.
    """

    winner: int
    alive: float


def verdict(game: Game) -> Verdict:
    """Return what is certain of a game under rules that count area, whatever both sides play."""
    owner = pass_alive_owners(game.board, game.rules.suicide)
    area = game.width * game.height
    black, white = int(np.count_nonzero(owner == BLACK)), int(np.count_nonzero(owner == WHITE))
    least, most = 2 * black - area - game.white_bonus, area - 2 * white - game.white_bonus
    return Verdict(BLACK if least > 0 else WHITE if most < 0 else EMPTY, (black + white) / area)


def games(path: Path, size: int) -> Iterator[Game]:
    """Yield the finished games of a file on a square board, under rules that count area."""
    for _, data in iterate_records([path]):
        if is_held_out(data):
            continue
        try:
            game = load_sgf(data).game()
        except (BadSgf, GoError):
            continue
        if (game.width, game.height) == (size, size) and game.rules.is_area and len(game.moves) >= _SHORTEST:
            yield game


def measure(evaluator: Evaluator, played: Sequence[Game], size: int) -> list[tuple[float, Verdict, float]]:
    """Return for each position of the second half of the games how much was played, the verdict and the winner's value.

    The value is 0 if the verdict names no winner.
    """
    found, batch, out = [], PositionBatch(1, size, size), Evaluation(1, size, size)
    for game in played:
        length = len(game.moves)
        while len(game.moves) > PARTS[0][0] * length:
            share, value, certain = len(game.moves) / length, 0.0, verdict(game)
            if certain.winner != EMPTY:
                write_position(game, game.to_play, batch, 0)
                evaluator.evaluate(batch, 1, out)
                value = for_color(float(out.value[0]), game.to_play) * for_color(1.0, certain.winner)
            found.append((share, certain, value))
            game.undo()
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.decided")
    parser.add_argument("--net", required=True)
    parser.add_argument("--games", type=int, default=300, help="of each board size")
    options = parser.parse_args()
    evaluator = open_network(options.net, Computing()).evaluator
    table = Table("board", "played", "positions", "alive", "decided", "settled", "value below 0.5", "median")
    for size, path in zip(SIZES, default_records(), strict=True):
        found = measure(evaluator, list(islice(games(path, size), options.games)), size)
        for low, high in PARTS:
            part = [each for each in found if low < each[0] <= high]
            values = [value for _, certain, value in part if certain.winner != EMPTY]
            alive = [certain.alive for _, certain, _ in part]
            shares = fmean(alive), len(values) / len(part), alive.count(1.0) / len(part)
            unsure = sum(value < _UNSURE for value in values)
            known = (f"{unsure / len(values):.1%}", f"{median(values):.3f}") if values else ("", "")
            row = f"{size}x{size}", f"to {high:.0%}", str(len(part)), *(f"{share:.2%}" for share in shares)
            table.add_row(*row, *known)
    evaluator.close()
    Console().print(table)


if __name__ == "__main__":
    main()
