"""Plays finished positions on until every dead stone is off the board: `python -m tests.scores.cleanup`.

As KGS does where players disagree: the passes are taken back, and `kgs-genmove_cleanup` plays for one color, its
opponent passing, until it passes itself, then for the other color. No dead stone may be left by then, and all that is
left, counted as alive, must give the score of the reference. Positions with points between the colors are left out:
an opponent that always passes gives these away.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from engine.color import color_name, opponent
from engine.game import Game
from engine.support.files import append_line, whole_lines
from engine.vertex import PASS, format_vertex, parse_vertex
from tests.conformity.driver import Controller
from tests.scores.count import literal_score, neutral_points
from tests.scores.games import FinishedGame, by_area, golden_games, names, recorded_games
from tests.scores.opinions import opinion, reply_to, set_up
from tests.shared import SHARED

_MOST_MOVES_PER_POINT = 2


@dataclass(frozen=True)
class CleanUp:
    """What became of one position: dead stones at first and at the end, moves played, the count and the reference."""

    name: str
    dead: str
    left: str
    moves: str
    score: float
    reference: float
    ended: bool

    @property
    def is_right(self) -> bool:
        """True if it ended with all dead stones taken off and nothing lost."""
        return self.ended and not self.left and self.score == self.reference


def positions(engine: Controller, left_out: Counter[str]) -> Iterator[tuple[FinishedGame, frozenset[int]]]:
    """Yield finished games with dead stones on the board, and which they are.

    Golden records name them. A record does not: they are the engine's, where the count without them is the record's.
    """
    files = ("strong9", "kgs6d")
    for finished in golden_games(SHARED / "golden", "area"):
        yield from _usable(finished, finished.dead or frozenset(), left_out)
    for name in files:
        for finished in recorded_games(SHARED / "games" / f"{name}.sgfl.bz2", by_area, Counter()):
            if literal_score(finished.game, (), ()) == finished.score:
                left_out["no dead stone"] += 1
                continue
            set_up(engine, finished)
            found = opinion(engine, finished)
            if found.literal != finished.score:
                left_out["dead stones unknown"] += 1
                continue
            yield from _usable(finished, found.dead, left_out)


def _usable(
    finished: FinishedGame, dead: frozenset[int], left_out: Counter[str]
) -> Iterator[tuple[FinishedGame, frozenset[int]]]:
    if not dead:
        left_out["no dead stone"] += 1
    elif neutral_points(finished.game, dead):
        left_out["points between the colors"] += 1
    else:
        yield finished, dead


def clean_up(engine: Controller, finished: FinishedGame, dead: frozenset[int]) -> CleanUp:
    """Let the engine clean up for both colors, first for the one that is to move."""
    set_up(engine, finished)
    reply_to(engine, "final_status_list dead")
    game = finished.game.copy()
    while game.moves and game.moves[-1].vertex == PASS:
        reply_to(engine, "undo")
        game.undo()
    start, ended = game.move_number, True
    for color in (game.to_play, opponent(game.to_play)):
        ended &= _until_it_passes(engine, game, color)
    left = [vertex for vertex in dead if game.color_at(vertex) == finished.game.color_at(vertex)]
    return CleanUp(
        finished.name,
        names(game, dead),
        names(game, left),
        " ".join(format_vertex(move.vertex, game.width, game.height) for move in game.moves[start:]),
        literal_score(game, (), ()),
        finished.score,
        ended,
    )


def _until_it_passes(engine: Controller, game: Game, color: int) -> bool:
    """Let the engine clean up for a color, and return False if it does not come to an end."""
    for _ in range(_MOST_MOVES_PER_POINT * game.width * game.height):
        if game.to_play != color:
            reply_to(engine, f"play {color_name(game.to_play)} pass")
            game.play(game.to_play, PASS)
        answer = reply_to(engine, f"kgs-genmove_cleanup {color_name(color)}")
        game.play(color, parse_vertex(answer, game.width, game.height))
        if game.moves[-1].vertex == PASS:
            return True
    return False


def main() -> int:
    """Print what went wrong and a summary; return 1 unless all positions were cleaned up."""
    parser = argparse.ArgumentParser(prog="python -m tests.scores.cleanup", description="Clean up finished games.")
    parser.add_argument("--positions", type=int, default=50, help="how many")
    parser.add_argument("--out", type=Path, help="file of results, which goes on where it ends")
    parser.add_argument("engine", nargs="+", help="the command of the engine")
    asked = parser.parse_args()
    lines = whole_lines(asked.out) if asked.out and asked.out.exists() else []
    kept = {line["name"]: CleanUp(**line) for line in map(json.loads, lines)}
    left_out: Counter[str] = Counter()
    results: list[CleanUp] = []
    with Controller(asked.engine) as engine:
        for number, (finished, dead) in enumerate(islice(positions(engine, left_out), asked.positions), 1):
            result = kept.get(finished.name) or clean_up(engine, finished, dead)
            results.append(result)
            if asked.out and finished.name not in kept:
                append_line(asked.out, json.dumps(asdict(result)))
            words = "right" if result.is_right else f"WRONG: {result}"
            print(f"{number}: {finished.name}: {len(result.moves.split())} moves, {words}", flush=True)
        engine.ask("quit")
    right = sum(result.is_right for result in results)
    stones = sum(len(result.dead.split()) for result in results)
    print(f"{right} of {len(results)} positions with {stones} dead stones cleaned up; left out: {dict(left_out)}")
    return 0 if right == len(results) == asked.positions else 1


if __name__ == "__main__":
    sys.exit(main())
