"""A line of moves and the position of it that is shown; and the file that keeps it."""

from collections.abc import Mapping
from datetime import datetime
from itertools import chain, count
from pathlib import Path

from engine.color import BLACK, WHITE
from engine.errors import IllegalMove
from engine.files import write_atomically
from engine.game import Game, Move
from engine.sgf import write_game
from engine.web.facts import Opinion, Way


class Line:
    """One way that a game went: its moves, of which those up to the position shown have been played on `game`.

    opinions, reviewed: by the number of moves before a position. began: how many moves it took over from another way.
    """

    def __init__(self, game: Game, file: "GameFile") -> None:
        self.game = game
        self.moves = list(game.moves)
        self.file = file
        self.result: str | None = None
        self.opinions: dict[int, Opinion] = {}
        self.reviewed: set[int] = set()
        self.began = 0

    @property
    def is_review(self) -> bool:
        """True if the position shown is not the last one, or the game has its result."""
        return self.game.move_number < len(self.moves) or self.result is not None

    @property
    def way(self) -> Way:
        """What tells this way from others."""
        return Way(self.began, self.moves[self.began] if len(self.moves) > self.began else None)

    @property
    def unreviewed(self) -> set[int]:
        """The positions that no review has looked at."""
        return set(range(len(self.moves) + 1)) - self.reviewed

    def begins_with(self, moves: list[Move]) -> bool:
        """Return whether these are the first moves."""
        return self.moves[: len(moves)] == moves

    def go_to(self, number: int) -> None:
        """Show the position after so many moves, or the nearest that there is."""
        _walk(self.game, self.moves, min(max(number, 0), len(self.moves)))

    def at(self, number: int) -> Game:
        """Return the game after so many moves."""
        game = self.game.copy()
        _walk(game, self.moves, number)
        return game

    def after(self, vertex: int, folder: Path | None) -> "Line":
        """Play a move for the side to move at the position shown and return the line that has it: this one or another.

        A move that is not at the end begins another line, with a file of its own. Raises IllegalMove.
        """
        if self.game.is_over:
            raise IllegalMove("the game is over: take moves back, or begin a new one")
        known = self.game.move_number
        line = self if known == len(self.moves) else self._other(folder)
        line.game.play(line.game.to_play, vertex)
        line._shorten(known)
        return line

    def take_back(self) -> Move:
        """Take back the last move and show the position before it. Raises IllegalMove where there is none."""
        self.go_to(len(self.moves))
        undone = self.game.undo()
        self._shorten(self.game.move_number)
        return undone

    def _other(self, folder: Path | None) -> "Line":
        other = Line(self.game.copy(), GameFile(folder))
        other.opinions, other.reviewed = dict(self.opinions), set(self.reviewed)
        other.began = self.game.move_number
        return other

    def _shorten(self, known: int) -> None:
        """Make the position shown the last one; opinions are of this line up to a number of moves."""
        self.moves = list(self.game.moves)
        self.result = None
        self.opinions = {number: each for number, each in self.opinions.items() if number <= known}
        self.reviewed = {number for number in self.reviewed if number <= known}

    def sgf(self, names: Mapping[int, str]) -> str:
        """Return the whole game with opinions as comments. names: of the players, by color."""
        comments = {
            number: f"Black {opinion.winrate:.1%}" + ("" if opinion.lead is None else f", {opinion.lead:+.1f}")
            for number, opinion in self.opinions.items()
        }
        return write_game(
            self.at(len(self.moves)),
            result=self.result,
            black=names[BLACK],
            white=names[WHITE],
            date=f"{self.file.began:%Y-%m-%d}",
            move_comments=comments,
        )


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
