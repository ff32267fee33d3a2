"""Recognizes problems: stones of both colors in a corner or on a side, and nothing else on the board."""

from itertools import pairwise

from engine.apps.solve.frame import frame, local_box, stones_of
from engine.color import BLACK, WHITE
from engine.game import Game

_LEAST_STONES = 5
_LEAST_OF_A_COLOR = 2


def looks_like_a_problem(game: Game) -> bool:
    """True if the stones on the board look like a problem, for which there is room for a frame.

    A game that two players began on an empty board is none, wherever its moves are. (In 6 of 400 games of
    professionals, some of the first 40 positions had all their stones on one side.)
    """
    alternates = all(one.color != other.color for one, other in pairwise(game.moves))
    if alternates and not game.setup_black and not game.setup_white:
        return False
    stones = stones_of(game)
    counts = [int((stones == color).sum()) for color in (BLACK, WHITE)]
    if sum(counts) < _LEAST_STONES or min(counts) < _LEAST_OF_A_COLOR:
        return False
    return frame(stones, local_box(stones), game.komi) is not None
