"""A line of moves and the position of it that is shown."""

from engine.apps.web.facts import Estimate, Way
from engine.errors import IllegalMove
from engine.game import Game, Move


class Line:
    """One way that a game went: its moves, of which those up to the position shown have been played on `game`.

    estimates, notes, reviewed: by the number of moves before a position. notes: what a record says of it.
    began: how many moves it took over from another way.
    """

    def __init__(self, game: Game, began: int = 0, moves: list[Move] | None = None) -> None:
        """moves: those of the whole line, of which `game` has played some; None for those that it has played."""
        self.game = game
        self.moves = list(game.moves if moves is None else moves)
        self.result: str | None = None
        self.estimates: dict[int, Estimate] = {}
        self.notes: dict[int, str] = {}
        self.reviewed: set[int] = set()
        self.began = began

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

    def after(self, vertex: int) -> "Line":
        """Play a move for the side to move at the position shown and return the line that has it: this one or another.

        A move that is not at the end begins another line. Raises IllegalMove.
        """
        if self.game.is_over:
            raise IllegalMove("the game is over: take moves back, or begin a new one")
        known = self.game.move_number
        line = self if known == len(self.moves) else self._other()
        line.game.play(line.game.to_play, vertex)
        line._shorten(known)
        return line

    def take_back(self) -> Move:
        """Take back the last move and show the position before it. Raises IllegalMove where there is none."""
        self.go_to(len(self.moves))
        undone = self.game.undo()
        self._shorten(self.game.move_number)
        self.began = min(self.began, self.game.move_number)
        return undone

    def _other(self) -> "Line":
        other = Line(self.game.copy(), self.game.move_number)
        other.estimates, other.notes, other.reviewed = dict(self.estimates), dict(self.notes), set(self.reviewed)
        return other

    def _shorten(self, known: int) -> None:
        """Make the position shown the last one; what is known is of this line up to a number of moves."""
        self.moves = list(self.game.moves)
        self.result = None
        self.estimates = {number: each for number, each in self.estimates.items() if number <= known}
        self.notes = {number: each for number, each in self.notes.items() if number <= known}
        self.reviewed = {number for number in self.reviewed if number <= known}


def _walk(game: Game, moves: list[Move], number: int) -> None:
    """Bring a game to the position after so many moves of a line, of which it has some."""
    while game.move_number > number:
        game.undo()
    for color, vertex in moves[game.move_number : number]:
        game.play(color, vertex, lenient=True)
