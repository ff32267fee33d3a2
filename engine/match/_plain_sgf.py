"""Write a bare game record; a stand-in that goes once `engine.sgf` is there."""

from engine.color import color_letter
from engine.game import Game
from engine.vertex import format_sgf


def write_game(game: Game, *, result: str = "?", black: str = "", white: str = "", comment: str = "") -> str:
    """Return the game as SGF."""
    text = {"PB": black, "PW": white, "RE": result, "C": comment, "KM": f"{game.komi:g}"}
    head = "".join(f"{key}[{value}]".replace("\\]", "") for key, value in text.items())
    moves = "".join(f";{color_letter(color)}[{format_sgf(vertex, game.width)}]" for color, vertex in game.moves)
    return f"(;GM[1]FF[4]SZ[{game.width}]{head}{moves})\n"
