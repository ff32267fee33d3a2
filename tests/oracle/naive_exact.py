"""Scores of every position of a tiny board with best play, by plain Python: the yardstick for `engine.apps.book.exact`.

Every state has a number and a list of its moves, which the board of the engine plays; in each round both bounds of all
states are computed anew, for Black.
"""

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import is_legal, place
from engine.board.layout import COLOR, HEADER, KO_POINT, TO_PLAY, Board
from engine.color import BLACK, EMPTY, WHITE, opponent
from engine.errors import IllegalMove
from engine.game import Game
from engine.rules import Rules
from engine.scoring import final_score
from engine.vertex import NO_POINT, PASS, points

OVER = -1

State = tuple[bytes, int, int, int]
"""Stones in policy order, ko point, side to move, passes."""


class Move(NamedTuple):
    """A move of a state. after: number of the state after it, OVER if it ends the game."""

    vertex: int
    after: int


class NaiveExact:
    """All positions of a board.

    size: (width, height). rules: without a bonus for handicap. states: by their numbers. moves: of each state. lower,
    upper: bounds of Black's score, without komi.
    """

    def __init__(self, width: int, height: int, rules: Rules) -> None:
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
        self.lower, self.upper = self._bound(-1), self._bound(1)

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

    def _bound(self, sign: int) -> NDArray[np.int64]:
        """Return the scores if endless play is worth the whole board to White (-1) or Black (1)."""
        count = len(self.states)
        scores = np.full(count + 1, sign * len(self._points), np.int64)
        is_black = np.array([state[2] == BLACK for state in self.states])
        after = np.array([move.after for moves in self.moves for move in moves])
        first = np.cumsum([0, *(len(moves) for moves in self.moves)])[:-1]
        ends = np.array([self._scores[state[0]] for state in self.states])
        owner = np.repeat(np.arange(count), [len(moves) for moves in self.moves])
        while True:
            reached = np.where(after == OVER, ends[owner], scores[after])
            better = np.where(is_black, np.maximum.reduceat(reached, first), np.minimum.reduceat(reached, first))
            if (better == scores[:-1]).all():
                return scores[:-1]
            scores[:-1] = better
