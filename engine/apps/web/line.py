"""A line of play and the position shown in it."""

from engine.apps.web.snapshot import Estimate, Variation
from engine.errors import IllegalMove
from engine.game import Game, Move


class Line:
    """One line of play. `game` is at the position shown; `moves` are those of the whole line.

    estimates, notes, reviewed: by the number of moves before a position. notes: the record's comments.
    branch_point: number of moves shared with the line from which this one branches off.
    """

    def __init__(self, game: Game, branch_point: int = 0, moves: list[Move] | None = None) -> None:
        """moves: those of the whole line, starting with those of `game`; None for exactly those of `game`."""
        self.game = game
        self.moves = list(game.moves if moves is None else moves)
        self.result: str | None = None
        self.estimates: dict[int, Estimate] = {}
        self.notes: dict[int, str] = {}
        self.reviewed: set[int] = set()
        self.branch_point = branch_point

    @property
    def is_review(self) -> bool:
        """True if the position shown is not the last one, or the game has its result."""
        return self.game.move_number < len(self.moves) or self.result is not None

    @property
    def variation(self) -> Variation:
        """The branch point of this line and its first own move."""
        return Variation(
            self.branch_point, self.moves[self.branch_point] if len(self.moves) > self.branch_point else None
        )

    @property
    def unreviewed(self) -> set[int]:
        """The positions that have not been reviewed, by the number of moves before them."""
        return set(range(len(self.moves) + 1)) - self.reviewed

    def begins_with(self, moves: list[Move]) -> bool:
        """Return whether the line begins with `moves`."""
        return self.moves[: len(moves)] == moves

    def go_to(self, number: int) -> None:
        """Show the position after `number` moves, limited to the moves of the line."""
        _walk(self.game, self.moves, min(max(number, 0), len(self.moves)))

    def at(self, number: int) -> Game:
        """Return a copy of the game after `number` moves."""
        game = self.game.copy()
        _walk(game, self.moves, number)
        return game

    def after(self, vertex: int) -> "Line":
        """Play a move for the side to move at the position shown and return the line that contains it.

        At the end of the line that is the line itself; before the end it is a new line. Raises IllegalMove.
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
        self.branch_point = min(self.branch_point, self.game.move_number)
        return undone

    def _other(self) -> "Line":
        other = Line(self.game.copy(), self.game.move_number)
        other.estimates, other.notes, other.reviewed = dict(self.estimates), dict(self.notes), set(self.reviewed)
        return other

    def _shorten(self, known: int) -> None:
        """Cut the line at the position shown; drop estimates, notes and reviews of positions after `known` moves."""
        self.moves = list(self.game.moves)
        self.result = None
        self.estimates = {number: each for number, each in self.estimates.items() if number <= known}
        self.notes = {number: each for number, each in self.notes.items() if number <= known}
        self.reviewed = {number for number in self.reviewed if number <= known}


def _walk(game: Game, moves: list[Move], number: int) -> None:
    """Undo or play moves of a line until the game has `number` of them."""
    while game.move_number > number:
        game.undo()
    for color, vertex in moves[game.move_number : number]:
        game.play(color, vertex, lenient=True)
