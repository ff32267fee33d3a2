"""The literal Tromp-Taylor score in plain Python: the yardstick for `engine.scoring` where nothing is dead."""

from engine.color import BLACK, EMPTY, WHITE
from engine.game import Game
from tests.oracle.naive_area import around, connected, of_color
from tests.oracle.naive_board import NaiveBoard


def tromp_taylor_score(game: Game) -> float:
    """Return Black's lead with komi if every stone on the board is alive."""
    board = NaiveBoard(game.width, game.height)
    for point in board.points:
        board.colors[point] = game.color_at(point)
    lead = len(of_color(board, BLACK)) - len(of_color(board, WHITE))
    for region in connected(board, of_color(board, EMPTY)):
        touched = {board.colors[point] for point in around(board, region)} - {EMPTY}
        if len(touched) == 1:
            lead += len(region) if touched == {BLACK} else -len(region)
    return lead - game.white_bonus
