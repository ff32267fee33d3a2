"""A game between two players in one process, without GTP."""

from dataclasses import dataclass
from typing import Protocol

from engine.api.game import Color, Game
from engine.api.player import Player
from engine.scoring import VOID, format_score

MOST_MOVES = 3
"""Moves per point of the board after which a game is stopped and scored, as in `keima match`."""


class MoveChooser(Protocol):
    """What `play_game` needs of a player: a `Player`, or an object of your own."""

    name: str

    def genmove(self, game: Game) -> str:
        """Return a legal move of the side to move: a point, "pass" or "resign". Does not change the game."""


@dataclass(frozen=True, eq=False)
class GameRecord:
    """A finished game. result: such as "B+3.5", "W+R", "0" or "Void". winner: None for a draw or a void game."""

    game: Game
    result: str
    winner: Color | None
    sgf: str


def play_game(black: MoveChooser, white: MoveChooser, game: Game | None = None) -> GameRecord:
    """Play a game to its end and return its record.

    game: the starting position, not changed; by default an empty 19x19 board.
    A game that is not resigned is scored by the first of the two players that is a `Player`, without dead stones; if
    neither is, all stones count as alive. Raises IllegalMove or BadVertex for a move that cannot be played.
    """
    game = Game() if game is None else game.copy()
    players: dict[Color, MoveChooser] = {"black": black, "white": white}
    for player in (black, white):
        if isinstance(player, Player):
            player.new_game()
    result = ""
    while not (result or game.is_over or len(game.moves) >= MOST_MOVES * game.width * game.height):
        # A copy, so that a player that changes its game cannot change the record.
        move = players[game.to_play].genmove(game.copy())
        if move.lower() == "resign":
            result = "W+R" if game.to_play == "black" else "B+R"
        else:
            game.play(move)
    result = result or _counted(game, black, white)
    winners: dict[str, Color] = {"B": "black", "W": "white"}
    sgf = game.sgf(black=black.name, white=white.name, result=result)
    return GameRecord(game, result, winners.get(result[0]), sgf)


def _counted(game: Game, black: MoveChooser, white: MoveChooser) -> str:
    """Return the result of a game without resignation."""
    if game.inner.no_result:
        return VOID
    referee = next((player for player in (black, white) if isinstance(player, Player)), None)
    return format_score(game.score() if referee is None else referee.score(game))
