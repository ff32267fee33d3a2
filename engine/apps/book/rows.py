"""The rows of a book of exact scores: its positions as sets of stones, and the moves between them."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.apps.book.stone_sets import ILLEGAL, NO_KO, after_move, split
from engine.book.file import Entries
from engine.book.positions import Place, place_of
from engine.color import BLACK, opponent
from engine.game import Game
from engine.rules import Rules
from engine.vertex import NO_POINT, PASS, points, policy_index


class State(NamedTuple):
    """A position. mine, others: sets of points (`stone_sets`) of the side to move and of the other. ko: a point in
    policy order or NO_KO. passes: 1 after a pass. color: to move."""

    mine: int
    others: int
    ko: int
    passes: int
    color: int


EMPTY_BOARD = State(0, 0, NO_KO, 0, BLACK)
_REMEMBERED = 1 << 17
"""Places of positions that are kept."""


def stones_played(state: State, vertices: Sequence[int], masks: NDArray[np.int64]) -> Iterator[tuple[int, State]]:
    """Yield the moves of a position, passes left out, and what they lead to. vertices: the points in policy order."""
    mine, others, ko, _, color = state
    for row, vertex in enumerate(vertices):
        if not (mine | others) >> row & 1 and row != ko:
            after = int(after_move(mine, others, row, masks))
            if after != ILLEGAL:
                own, other, next_ko = split(after)
                yield vertex, State(other, own, next_ko, 0, opponent(color))


class Rows:
    """The positions of a book for one board, each set of images once.

    size: (width, height). rules: without a bonus for handicap, because stones are set up here.
    """

    def __init__(self, size: tuple[int, int], rules: Rules) -> None:
        self._size, self._rules, self._points = size, rules, points(*size)
        self._leads = dict[int, float]()
        self._moves = dict[int, dict[int, int]]()
        # A position is asked for when it is added, when its moves are, and when it follows others.
        self._place = lru_cache(_REMEMBERED)(self._find_place)

    def __len__(self) -> int:
        return len(self._leads)

    def key_of(self, state: State) -> int:
        """Return the key of a position's images in the book."""
        return self._place(state).key

    def add(self, state: State, lead: float) -> bool:
        """Add a position with Black's points, and return True, if the book does not have it."""
        key = self.key_of(state)
        if key in self._leads:
            return False
        self._leads[key], self._moves[key] = lead, {}
        return True

    def add_move(self, state: State, vertex: int, after: State | None) -> None:
        """Add a move to those of a position that the book has, which come best first, unless it has an image of it.

        after: what it leads to, which the book must have in the end; None for the pass that ends the game.
        """
        place = self._place(state)
        if after is None:
            # There is no position after it: its score is that of the position before it.
            self._moves[place.key].setdefault(policy_index(PASS, *self._size), place.key)
        else:
            self._moves[place.key].setdefault(place.on_book(vertex, self._size), self.key_of(after))

    def entries(self) -> Entries:
        """Return the arrays of the book."""
        order = sorted(self._leads)
        index = {key: row for row, key in enumerate(order)}
        moves, first = list[tuple[int, int]](), [0]
        for key in order:
            moves += ((move, index[child]) for move, child in self._moves[key].items())
            first.append(len(moves))
        return Entries(
            key=np.array(order, np.uint64),
            ply=np.zeros(len(order), np.uint16),
            value=np.zeros(len(order), np.int16),
            lead=np.array([self._leads[key] for key in order], np.float32),
            visits=np.zeros(len(order), np.uint32),
            first=np.array(first, np.uint32),
            move=np.array([move for move, _ in moves], np.uint16),
            child=np.array([child for _, child in moves], np.int32),
        )

    def _find_place(self, state: State) -> Place:
        mine, others, ko, passes, color = state
        game = Game(*self._size, rules=self._rules, komi=0.0)
        own, other = ([v for row, v in enumerate(self._points) if stones >> row & 1] for stones in (mine, others))
        black, white = (own, other) if color == BLACK else (other, own)
        game.setup(black, white, opponent(color) if passes else color)
        if passes:
            game.play(opponent(color), PASS)
        found = place_of(game, NO_POINT if ko == NO_KO else self._points[ko])
        assert found is not None  # no state is over
        return found
