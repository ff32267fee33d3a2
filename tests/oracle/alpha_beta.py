"""A reference opponent: plain alpha-beta over the area that the stones hold, a few plies deep.

D. E. Knuth, R. W. Moore, "An Analysis of Alpha-Beta Pruning", Artificial Intelligence 6 (1975), 293-326. For tests
on small boards only; it reads, and knows nothing.
"""

import math

from engine.color import for_color
from engine.game import Game
from engine.players import safe_vertices
from engine.players.base import Decision, Limits
from engine.players.moves import fills_eye
from engine.scoring import final_score
from engine.vertex import PASS


class AlphaBetaPlayer:
    """Looks `depth` plies ahead; among equals it plays the first."""

    def __init__(self, depth: int = 2) -> None:
        self.depth, self.positions = depth, 0

    def genmove(self, game: Game, color: int, limits: Limits) -> Decision:
        """Return the move of the best value; a pass only where every other move is worse."""
        assert color == game.to_play
        best, alpha = PASS, -math.inf
        for vertex in moves(game):
            value = -self.value_after(game, vertex, self.depth - 1, -math.inf, -alpha)
            if value > alpha:
                best, alpha = vertex, value
        return Decision(best)

    def value(self, game: Game, depth: int, alpha: float, beta: float) -> float:
        """Return the margin in points for the side to move, exact between alpha and beta."""
        self.positions += 1
        if depth == 0 or game.is_over:
            return for_color(final_score(game), game.to_play)
        for vertex in moves(game):
            alpha = max(alpha, -self.value_after(game, vertex, depth - 1, -beta, -alpha))
            if alpha >= beta:
                break
        return alpha

    def value_after(self, game: Game, vertex: int, depth: int, alpha: float, beta: float) -> float:
        """Return the value of the position after a move, which is taken back."""
        game.play(game.to_play, vertex)
        value = self.value(game, depth, alpha, beta)
        game.undo()
        return value


def moves(game: Game) -> list[int]:
    """Return what a search looks at: moves that fill no eye, then the pass."""
    color = game.to_play
    return [*(vertex for vertex in safe_vertices(game, color) if not fills_eye(game, color, vertex)), PASS]


def plain_value(game: Game, depth: int) -> float:
    """Return the value without any pruning."""
    if depth == 0 or game.is_over:
        return for_color(final_score(game), game.to_play)
    values = []
    for vertex in moves(game):
        game.play(game.to_play, vertex)
        values.append(-plain_value(game, depth - 1))
        game.undo()
    return max(values)
