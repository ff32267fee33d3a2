"""Games and batches of positions that many tests need."""

import random
from collections.abc import Sequence

from engine.color import BLACK, opponent
from engine.encoders.game_positions import write_position
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.rules import TROMP_TAYLOR, Rules
from engine.symmetry import map_vertex
from engine.vertex import PASS, parse_vertex, point_at

DEAD_STONE = """
. . X X O . O
. O X X O O .
. . X X O . O
X X X X O O O
. X . X O . O
X X X X O O .
. X . X O . O
"""
"""A finished board but for the white stone B6, which is dead: columns A to D are Black's."""


def game_of(
    text: str, width: int, height: int | None = None, *, rules: Rules = TROMP_TAYLOR, komi: float = 7.5
) -> Game:
    """Return the game of alternating moves, Black first, such as "C3 D4 pass"."""
    game = Game(width, height, rules=rules, komi=komi)
    color = BLACK
    for name in text.split():
        game.play(color, parse_vertex(name, width, height or width))
        color = opponent(color)
    return game


def game_from_diagram(diagram: str, *, rules: Rules = TROMP_TAYLOR, komi: float = 7.5) -> Game:
    """Return a game set up as a diagram of X (Black), O (White) and dots shows, Black to play."""
    rows = [line.split() for line in diagram.strip().splitlines()]
    height, width = len(rows), len(rows[0])
    game = Game(width, height, rules=rules, komi=komi)
    stones: dict[str, list[int]] = {"X": [], "O": [], ".": []}
    for row, line in enumerate(rows):
        for column, mark in enumerate(line):
            stones[mark].append(point_at(row, column, width))
    game.setup(stones["X"], stones["O"])
    return game


def random_game(
    seed: int, width: int, height: int | None = None, *, moves: int = 60, rules: Rules = TROMP_TAYLOR
) -> Game:
    """Return a game of random legal moves, about one in twenty a pass."""
    chance = random.Random(seed)
    game = Game(width, height, rules=rules)
    for _ in range(moves):
        if game.is_over:
            break
        legal = game.legal_vertices()
        vertex = PASS if not legal or chance.random() < 0.05 else chance.choice(legal)
        game.play(game.to_play, vertex)
    return game


def turned(game: Game, symmetry: int) -> Game:
    """Return the game as played on the board seen through a symmetry."""
    result = Game(game.width, game.height, rules=game.rules, komi=game.komi)
    for move in game.moves:
        result.play(move.color, map_vertex(move.vertex, symmetry, game.width, game.height))
    return result


def batch_of(games: Sequence[Game], colors: Sequence[int] = ()) -> PositionBatch:
    """Return the present positions of games of one size, the sides to move those of the games unless given."""
    positions = PositionBatch(len(games), games[0].width, games[0].height)
    for row, game in enumerate(games):
        write_position(game, colors[row] if colors else game.to_play, positions, row)
    return positions


def inverse(symmetry: int) -> int:
    """Return the symmetry that undoes this one."""
    # All are their own inverse but the two quarter turns, which undo each other.
    return {5: 6, 6: 5}.get(symmetry, symmetry)


def evaluated(evaluator: Evaluator, positions: PositionBatch) -> Evaluation:
    """Return the evaluation of all rows."""
    out = Evaluation(positions.capacity, positions.width, positions.height)
    evaluator.evaluate(positions, positions.capacity, out)
    return out
