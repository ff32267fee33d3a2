"""Decides when a game between programs is over, and scores it under area rules."""

import numpy as np
from numpy.typing import NDArray

from engine.board.area import pass_alive_owners
from engine.color import BLACK, EMPTY, WHITE
from engine.game import Game
from engine.scoring import final_score, ownership_map
from engine.train.data.targets import FinalResult
from engine.vertex import points


class Referee:
    """Watches one game and determines its end.

    most_moves: after which the game is counted as it stands. ends_settled: whether it is over as soon as every point
    is pass-alive territory, which no move can change. unfinished: whether it was counted with points still open.
    """

    def __init__(self, game: Game, most_moves: int, *, ends_settled: bool) -> None:
        self._game, self._most_moves, self._ends_settled = game, most_moves, ends_settled
        self._inside = np.array(points(game.width, game.height))
        self.is_over = self.unfinished = False
        self.watch()

    def watch(self) -> None:
        """Update the state after a move."""
        game = self._game
        # Benson's algorithm: it proves life without search, so a settled game needs no further moves.
        self._alive = pass_alive_owners(game.board, game.rules.suicide)
        settled = self._ends_settled and bool((self._alive[self._inside] != EMPTY).all())
        self.unfinished = game.move_number >= self._most_moves and not (game.is_over or settled)
        self.is_over = game.is_over or settled or self.unfinished

    def pointless(self, color: int) -> NDArray[np.int16] | None:
        """Return the moves in pass-alive territory, in the form that `Search.begin` avoids, or None if there are none.

        Such a move never gains anything under area rules.
        """
        if not self._alive.any():
            return None
        avoid = np.zeros((3, len(self._alive)), dtype=np.int16)
        avoid[color] = self._alive != EMPTY
        return avoid

    def result(self) -> FinalResult:
        """Return the result of the position as it stands; without a winner if the rules make the game void."""
        game = self._game
        if game.no_result:
            return FinalResult(None)
        score = final_score(game)
        winner = EMPTY if score == 0 else BLACK if score > 0 else WHITE
        owner = ownership_map(game, game.board)[0][self._inside]
        return FinalResult(winner, score, (owner == BLACK).astype(np.int8) - (owner == WHITE))
