"""Decides when to resign: the position was hopeless for several own turns, late enough, and behind in points."""

from itertools import pairwise

from engine.color import BLACK, WHITE
from engine.game import Game
from engine.players.base import Decision
from engine.players.judge import Judgement
from engine.players.moves import moves_made
from engine.players.passing import wins_by_counting
from engine.search.params import SearchParams

# Nobody resigns before a fifth of the board's points is played (1 / 5), twice that in handicap games.
_EARLIEST_SHARE = 5
# Points that a handicap stone is worth: about twice a fair komi.
_POINTS_PER_STONE = 14.0
# White in a handicap game is expected to be behind: by the handicap times the share of the game that is left (the game
# has 0.6 moves a point), plus 15 % of the handicap, plus 5 points. Within that deficit it plays on.
_LENGTH_SHARE = 0.6
_HANDICAP_BUFFER = 5.0
_HANDICAP_SHARE = 0.15


class Resigner:
    """Remembers each color's hopeless turns of one game, by move number."""

    def __init__(self) -> None:
        self.new_game()

    def new_game(self) -> None:
        """Forget the turns."""
        self._turns: dict[int, set[int]] = {BLACK: set(), WHITE: set()}

    def gives_up(
        self, game: Game, color: int, decision: Decision, params: SearchParams, judgement: Judgement | None = None
    ) -> bool:
        """Record this turn of a color and return True if it is time to resign, and counting would not win.

        Repeated searches of one turn count once, and undone turns do not count.
        """
        turn = game.move_number
        earlier = [each for each in self._turns[color] if each < turn]
        self._turns[color] = {*earlier, turn} if is_hopeless(game, color, decision, params) else set()
        if not params.allow_resignation or self._in_a_row(game, color) < params.resign_turns:
            return False
        return judgement is None or not wins_by_counting(game, color, judgement)

    def _in_a_row(self, game: Game, color: int) -> int:
        """Return how many hopeless turns a color had in a row: moves of it that were played by hand break the row."""
        turns = sorted(self._turns[color], reverse=True)
        for count, (later, turn) in enumerate(pairwise(turns), 1):
            if sum(move.color == color for move in game.moves[turn:later]) > 1:
                return count
        return len(turns)


def is_hopeless(game: Game, color: int, decision: Decision, params: SearchParams) -> bool:
    """True if this turn alone is a reason to resign."""
    earliest = game.width * game.height // _EARLIEST_SHARE * (2 if game.handicap else 1)
    if decision.winrate is None or decision.winrate >= params.resign_threshold or moves_made(game) < earliest:
        return False
    if decision.score_lead is None:
        return True
    behind = -decision.score_lead
    return behind > 0 and behind >= params.resign_min_lead and behind >= _expected_deficit(game, color)


def _expected_deficit(game: Game, color: int) -> float:
    """Return the number of points by which a color is expected to be behind: only White, in a handicap game."""
    if color != WHITE or not game.handicap:
        return 0.0
    advantage = _POINTS_PER_STONE * game.handicap
    length = _LENGTH_SHARE * game.width * game.height
    return advantage * (max(0.0, 1.0 - game.move_number / length) + _HANDICAP_SHARE) + _HANDICAP_BUFFER
