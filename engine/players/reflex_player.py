"""Plays without search: a reflex move if there is one, else the move with the best prior."""

from dataclasses import replace

from engine.board.reflexes import reflex_move
from engine.game import Game
from engine.players.base import Avoided, Decision, Limits, Watch
from engine.players.moves import safe_vertices
from engine.players.search_player import SearchPlayer


class ReflexPlayer(SearchPlayer):
    """Answers at once by the reflexes of `engine.board.reflexes`. No other player lets them overrule the search."""

    def genmove(
        self, game: Game, color: int, limits: Limits, watch: Watch | None = None, avoided: Avoided | None = None
    ) -> Decision:
        """Return the reflex move, else the result of one visit: a move, a pass or, by a network, a resignation."""
        vertex = int(reflex_move(game.board, color, game.legal_arrays(color)[0]))
        forbidden = avoided.get(color, {}) if avoided else {}
        if vertex in safe_vertices(game, color) and vertex not in forbidden:
            return Decision(vertex)
        visits = 1 if limits.level is None else limits.level.visits
        limits = replace(limits, visits=visits, seconds=None, most_seconds=None)
        decision = super().genmove(game, color, limits, watch, avoided)
        # Playouts alone say too little.
        return decision if self.network is not None else replace(decision, resign=False)
