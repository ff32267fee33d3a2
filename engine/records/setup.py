"""Stones that a record sets up: added to a position or removed from it, before the first move or between moves."""

from dataclasses import dataclass

from engine.color import BLACK, WHITE
from engine.game import Game, Move
from engine.vertex import points


@dataclass(frozen=True)
class Setup:
    """Stones added or removed at one place of a record.

    after: number of moves before it.
    stones: (vertex, color) in the order of the record, EMPTY where a stone is removed.
    to_play: the side to move after it, None where the record does not say.
    """

    after: int
    stones: tuple[tuple[int, int], ...]
    to_play: int | None


Step = Move | Setup
"""What leads from one position of a record to the next."""


def set_up(game: Game, setup: Setup, next_color: int | None = None) -> Game:
    """Return the game after a setup: a new one, which starts from the changed position and keeps the prisoners.

    next_color: of the record's next move, if it has one; that side is to move where the setup does not say.
    A setup after a move that changes nothing returns the same game, so that its moves are not lost.
    Raises IllegalMove, without having changed the game, when a chain would have no liberty.
    """
    before = {vertex: game.color_at(vertex) for vertex in points(game.width, game.height)}
    after = before | dict(setup.stones)
    if setup.after > 0 and after == before and setup.to_play in (None, game.to_play):
        return game
    black, white = ([vertex for vertex, color in after.items() if color == who] for who in (BLACK, WHITE))
    is_start = setup.after == 0 and not (game.setup_black or game.setup_white)
    if setup.to_play is not None:
        to_play = setup.to_play
    elif next_color is not None:
        to_play = next_color
    elif is_start:
        to_play = WHITE if black and not white else BLACK
    else:
        to_play = game.to_play
    # A game cannot add stones after moves, so a new one starts from the changed board.
    fresh = Game(game.width, game.height, rules=game.rules, komi=game.komi)
    fresh.setup(black, white, to_play, (game.captured(BLACK), game.captured(WHITE)))
    return fresh
