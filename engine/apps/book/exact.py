"""Solves whole boards of a few points: the score of every position with best play, as a book.

Every position is a state: stones, the point of a simple ko, the side to move, and whether the last move was a pass. Two
bounds of its score are computed by going over all states until nothing changes: as if play that goes on for ever were
the worst for Black, and as if it were the worst for White. Where both are equal, each side has moves that reach the
score and come to an end whatever the other does, so a ban on repetition gains nothing for anybody; other positions are
left out. Moves are ordered by their score, and then by how soon they reach it.
"""

import itertools
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import is_legal, place
from engine.board.layout import COLOR, HEADER, KO_POINT, TO_PLAY, Board
from engine.book.file import About, Entries, write
from engine.book.positions import Place, place_of
from engine.color import BLACK, EMPTY, WHITE, opponent
from engine.errors import GoError, IllegalMove
from engine.game import Game
from engine.rules import Rules, Tax
from engine.scoring import final_score
from engine.symmetry import compose, map_vertex
from engine.vertex import NO_POINT, PASS, points, policy_index

MOST_POINTS = 9
"""Points of the largest board: each further one takes three times the memory and time."""
OVER = -1

State = tuple[bytes, int, int, int]
"""Stones in policy order, ko point, side to move, passes."""


class Move(NamedTuple):
    """A move of a state. after: number of the state after it, OVER if it ends the game."""

    vertex: int
    after: int


class Exact:
    """All positions of a board. Raises GoError for boards of more than MOST_POINTS and rules that do not count area.

    size: (width, height). rules: without a bonus for handicap. states: by their numbers. moves: of each state. lower,
    upper: bounds of Black's score, without komi.
    """

    def __init__(self, width: int, height: int, rules: Rules) -> None:
        if width * height > MOST_POINTS:
            raise GoError(f"expected a board of at most {MOST_POINTS} points to solve, got {width}x{height}")
        if not rules.is_area or rules.tax is not Tax.NONE or rules.button:
            raise GoError("expected rules that count area, without a tax and a button, to solve a board")
        # Positions are set up here, and stones that are set up would count as handicap.
        self.size, self.rules = (width, height), rules.with_field("whiteHandicapBonus", "0")
        self._points = points(width, height)
        self._numbers: dict[State, int] = {}
        self.states: list[State] = []
        self.moves: list[list[Move]] = []
        self._scores: dict[bytes, int] = {}
        self._boards: dict[bytes, Board] = {}
        for colors in itertools.product((EMPTY, BLACK, WHITE), repeat=width * height):
            self._set_up(bytes(colors))
        for stones in self._boards:
            for color, passes in itertools.product((BLACK, WHITE), (0, 1)):
                self._number((stones, NO_POINT, color, passes))
        while len(self.moves) < len(self.states):
            self.moves.append(self._moves(self.states[len(self.moves)]))
        self.lower, self._lower_steps = self._bound(-1)
        self.upper, self._upper_steps = self._bound(1)

    def _set_up(self, stones: bytes) -> None:
        game = Game(*self.size, rules=self.rules, komi=0.0)
        where = {
            color: [v for v, s in zip(self._points, stones, strict=True) if s == color] for color in (BLACK, WHITE)
        }
        try:
            game.setup(where[BLACK], where[WHITE])
        except IllegalMove:
            return  # a chain without liberties
        self._boards[stones] = game.board
        self._scores[stones] = round(final_score(game))

    def _number(self, state: State) -> int:
        number = self._numbers.setdefault(state, len(self.states))
        if number == len(self.states):
            self.states.append(state)
        return number

    def _moves(self, state: State) -> list[Move]:
        stones, ko, color, passes = state
        after = OVER if passes else self._number((stones, NO_POINT, opponent(color), 1))
        found, board = [Move(PASS, after)], self._boards[stones].copy()
        board[HEADER, KO_POINT], board[HEADER, TO_PLAY] = ko, color
        for vertex in self._points:
            if is_legal(board, vertex, color, self.rules.suicide):
                played = board.copy()
                place(played, vertex, color)
                next_stones = bytes(played[COLOR, self._points].astype(np.uint8).tolist())
                next_ko = int(played[HEADER, KO_POINT])
                found.append(Move(vertex, self._number((next_stones, next_ko, opponent(color), 0))))
        return found

    def _bound(self, sign: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the scores if endless play is worth the whole board to White (-1) or Black (1), and the number of
        rounds after which each was found."""
        count = len(self.states)
        scores = np.full(count + 1, sign * len(self._points), np.int64)
        is_black = np.array([state[2] == BLACK for state in self.states])
        steps = np.zeros(count, np.int64)
        after = np.array([move.after for moves in self.moves for move in moves])
        first = np.cumsum([0, *(len(moves) for moves in self.moves)])[:-1]
        ends = np.array([self._scores[state[0]] for state in self.states])
        owner = np.repeat(np.arange(count), [len(moves) for moves in self.moves])
        for step in itertools.count(1):
            reached = np.where(after == OVER, ends[owner], scores[after])
            better = np.where(is_black, np.maximum.reduceat(reached, first), np.minimum.reduceat(reached, first))
            changed = better != scores[:-1]
            if not changed.any():
                break
            scores[:-1], steps[changed] = better, step
        return scores[:-1], steps

    def score(self, game: Game) -> int | None:
        """Return Black's score of the current position with best play, without komi; None where repetition decides."""
        number = self._number_of(game)
        return int(self.lower[number]) if self.lower[number] == self.upper[number] else None

    def best(self, game: Game) -> int:
        """Return the best move of the current position, a pass included: one that keeps its score and ends soonest."""
        return self._ordered(self._number_of(game))[0].vertex

    def _number_of(self, game: Game) -> int:
        stones, ko = bytes(game.color_at(v) for v in self._points), int(game.board[HEADER, KO_POINT])
        return self._numbers[stones, ko, game.to_play, game.consecutive_passes]

    def _ordered(self, number: int) -> list[Move]:
        """Return the moves of a state whose scores are certain, best first."""
        is_black = self.states[number][2] == BLACK
        sign, steps = (1, self._lower_steps) if is_black else (-1, self._upper_steps)

        def worth(move: Move) -> tuple[int, int, int]:
            if move.after == OVER:
                return -sign * self._scores[self.states[number][0]], 0, move.vertex
            return -sign * int(self.lower[move.after]), int(steps[move.after]), move.vertex

        sure = [m for m in self.moves[number] if m.after == OVER or self.lower[m.after] == self.upper[m.after]]
        return sorted(sure, key=worth)

    def entries(self) -> Entries:
        """Return the arrays of the book, one position for each set of images."""
        sure = np.flatnonzero(self.lower == self.upper)
        places = {int(number): self._place(self.states[number]) for number in sure}
        keys: dict[int, int] = {}
        for number, found in places.items():
            keys.setdefault(found.key, number)
        order = sorted(keys)
        index = {key: row for row, key in enumerate(order)}
        moves, first = list[tuple[int, int]](), [0]
        for key in order:
            number = keys[key]
            seen: dict[int, int] = {}
            for move in self._ordered(number):
                if move.after != OVER:
                    seen.setdefault(self._on_book(move.vertex, places[number]), index[places[move.after].key])
            moves += seen.items()
            first.append(len(moves))
        scores = self.lower[[keys[key] for key in order]]
        return Entries(
            key=np.array(order, np.uint64),
            ply=np.zeros(len(order), np.uint16),
            value=np.zeros(len(order), np.int16),
            lead=scores.astype(np.float32),
            visits=np.zeros(len(order), np.uint32),
            first=np.array(first, np.uint32),
            move=np.array([move for move, _ in moves], np.uint16),
            child=np.array([child for _, child in moves], np.int32),
        )

    def _place(self, state: State) -> Place:
        stones, ko, color, passes = state
        game = Game(*self.size, rules=self.rules, komi=0.0)
        where = {each: [v for v, s in zip(self._points, stones, strict=True) if s == each] for each in (BLACK, WHITE)}
        game.setup(where[BLACK], where[WHITE], opponent(color) if passes else color)
        if passes:
            game.play(opponent(color), PASS)
        found = place_of(game, ko)
        assert found is not None  # no state is over
        return found

    def _on_book(self, vertex: int, found: Place) -> int:
        turns = [compose(found.symmetry, each) for each in found.stabilizer]
        return min(policy_index(map_vertex(vertex, turn, *self.size), *self.size) for turn in turns)


def write_exact(path: Path, exact: Exact, rules: Rules) -> None:
    """Write the book of a board that was solved under these rules. Raises OSError."""
    width, height = exact.size
    write(path, About(width, height, rules, 0.0, 0, made={"states": len(exact.states)}), exact.entries())
