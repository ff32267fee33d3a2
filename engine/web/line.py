"""A line of moves and the position of it that is shown; and the file that keeps it."""

from datetime import datetime
from itertools import chain, count
from pathlib import Path

from engine.errors import IllegalMove
from engine.files import write_atomically
from engine.game import Game, Move


class Line:
    """All moves of a game, of which those up to the position shown have been played on `game`."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.moves = list(game.moves)

    @property
    def is_at_end(self) -> bool:
        """True if the position after the last move is shown."""
        return self.game.move_number == len(self.moves)

    def go_to(self, number: int) -> None:
        """Show the position after so many moves, or the nearest that there is."""
        _walk(self.game, self.moves, min(max(number, 0), len(self.moves)))

    def at(self, number: int) -> Game:
        """Return the game after so many moves."""
        game = self.game.copy()
        _walk(game, self.moves, number)
        return game

    def play(self, vertex: int) -> bool:
        """Play a move for the side to move at the position shown; return whether moves after it are gone for it.

        Raises IllegalMove.
        """
        if self.game.is_over:
            raise IllegalMove("the game is over: take moves back, or begin a new one")
        is_other_way = not self.is_at_end
        self.game.play(self.game.to_play, vertex)
        self.moves = list(self.game.moves)
        return is_other_way

    def take_back(self) -> Move:
        """Take back the last move and show the position before it. Raises IllegalMove where there is none."""
        self.go_to(len(self.moves))
        undone = self.game.undo()
        self.moves = list(self.game.moves)
        return undone


def _walk(game: Game, moves: list[Move], number: int) -> None:
    """Bring a game to the position after so many moves of a line, of which it has some."""
    while game.move_number > number:
        game.undo()
    for color, vertex in moves[game.move_number : number]:
        game.play(color, vertex, lenient=True)


class GameFile:
    """Where one game is saved: a file with a name of its own, made when there is something to save."""

    def __init__(self, folder: Path | None) -> None:
        """folder: None to save nothing."""
        self.began = datetime.now()
        self._folder = folder
        self._path: Path | None = None

    @property
    def name(self) -> str:
        """The name that the file has, if no other one has it."""
        return f"keima-{self.began:%Y%m%d-%H%M%S}.sgf"

    def save(self, text: str) -> None:
        """Write the game as it is now. Raises OSError."""
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        if self._path is None:
            stem = self.name.removesuffix(".sgf")
            names = chain([self.name], (f"{stem}-{number}.sgf" for number in count(2)))
            self._path = next(path for path in map(self._folder.joinpath, names) if not path.exists())
        write_atomically(self._path, text)
