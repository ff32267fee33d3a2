"""Boards that Black takes whole: the proof, and a book of its first moves.

Black begins in the center. The search (`takeover`) goes one move deeper in each round, until every answer of White is
refuted. The book has Black's move in each position, and all answers of White, up to a number of moves.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from engine.apps.book import takeover
from engine.apps.book.rows import EMPTY_BOARD, Rows, State, stones_played
from engine.apps.book.stone_sets import MOST_POINTS, NO_KO, masks_of
from engine.apps.book.takeover import (
    MOST_DEPTH,
    OPEN,
    PROVED,
    VISITS,
    begin,
    forget_lost,
    new_proof,
    prove_takeover,
)
from engine.book.file import About, write
from engine.color import BLACK, WHITE
from engine.errors import GoError
from engine.rules import Rules, Tax
from engine.vertex import PASS, points

_AT_ONCE = 500_000
"""Positions between two reports, a few seconds."""
OnStep = Callable[[int, int], bool]
"""Called with the depth of the round and the positions visited in all; returns False to stop."""


class WholeBoard:
    """A board that Black, who begins in the center, may take whole.

    size: (width, height), from 2x2 to 25 points. rules: that count area and forbid suicide, without a tax and a button.
    root: the position after Black's first move. entries: of the table, 9 bytes each; by default 2 ** (points + 6), at
    most 2 ** 28, which are 2.4 GB. Raises GoError for others.
    """

    def __init__(self, width: int, height: int, rules: Rules, entries: int | None = None) -> None:
        if width * height > MOST_POINTS or min(width, height) < 2:
            raise GoError(f"expected a board of 2x2 to {MOST_POINTS} points to solve, got {width}x{height}")
        if not rules.is_area or rules.suicide or rules.tax is not Tax.NONE or rules.button:
            raise GoError(
                "expected rules that count area and forbid suicide, without a tax and a button, to solve a board of "
                "more than 16 points"
            )
        self.size, self.rules = (width, height), rules.with_field("whiteHandicapBonus", "0")
        self._points = points(width, height)
        self._masks = masks_of(width, height, suicide=False)
        self._proof = new_proof(width, height, entries or 1 << min(28, len(self._points) + 6))
        self.root = State(0, 1 << (height // 2 * width + width // 2), NO_KO, 0, WHITE)

    @property
    def visits(self) -> int:
        """The positions that the search has visited, in all rounds."""
        return int(self._proof.control[VISITS])

    def prove(self, on_step: OnStep = lambda depth, visits: True) -> int | None:
        """Return the number of moves after the first in which Black takes the board at most, None without a proof."""
        return self._searched(self.root, MOST_DEPTH, on_step=on_step)

    def prove_from(self, state: State, most_depth: int = MOST_DEPTH) -> int | None:
        """Do the same for any position and side to move, within `most_depth` moves."""
        return self._searched(state, most_depth)

    def _searched(
        self, state: State, most_depth: int, *, bounded: bool = False, on_step: OnStep = lambda depth, visits: True
    ) -> int | None:
        is_white = state.color == WHITE
        if self.height_of(state) == 0:
            return 0
        for depth in range(1, most_depth + 1):
            begin(self._proof, *_colors(state), state.ko, is_white)
            known = OPEN
            while known == OPEN:
                known = int(prove_takeover(self._proof, depth, is_white, bounded, _AT_ONCE))
                if not on_step(depth, self.visits):
                    return None
            if known == PROVED:
                return self.height_of(state)
        return None

    def height_of(self, state: State) -> int:
        """Return how many moves the proof of a position takes at most, UNKNOWN without one."""
        return int(takeover.height_of(self._proof, *_colors(state), state.ko, state.color == WHITE))

    def moves(self, state: State) -> Iterator[tuple[int, State]]:
        """Yield the moves of a position and what they lead to; Black does not pass."""
        if state.color == WHITE:
            yield PASS, State(state.others, state.mine, NO_KO, 1, BLACK)
        yield from stones_played(state, self._points, self._masks)

    def rows(self, plies: int) -> Rows:
        """Return the book's positions within a number of moves of the empty board, once the board is proved."""
        rows, count = Rows(self.size, self.rules), len(self._points)
        rows.add(EMPTY_BOARD, count)
        rows.add_move(EMPTY_BOARD, next(v for v, after in self.moves(EMPTY_BOARD) if after == self.root), self.root)
        rows.add(self.root, count)
        waiting = [(self.root, self.height_of(self.root))]
        for _ in range(1, plies):
            following = []
            for state, height in waiting:
                for vertex, after, left in self.answers(state, height):
                    rows.add_move(state, vertex, after)
                    if rows.add(after, count) and left > 0:
                        following.append((after, left))
            waiting = following
        return rows

    def answers(self, state: State, height: int) -> list[tuple[int, State, int]]:
        """Return Black's move in a position with a proof of this height, or all of White's, with the heights left."""
        moves = list(self.moves(state))
        if state.color == WHITE:
            for _, after in moves:
                if self.height_of(after) >= height:
                    self._prove_again(after, height - 1)
            return [(vertex, after, min(self.height_of(after), height - 1)) for vertex, after in moves]
        best = min(moves, key=lambda move: self.height_of(move[1]))
        if self.height_of(best[1]) >= height:
            self._prove_again(state, height)
            best = min(moves, key=lambda move: self.height_of(move[1]))
        return [(*best, self.height_of(best[1]))]

    def _prove_again(self, state: State, height: int) -> None:
        """Prove a position with this height or less, where the table has lost that."""
        forget_lost(self._proof)
        found = self._searched(state, height, bounded=True)
        assert found is not None and found <= height  # it was proved with that height before


def _colors(state: State) -> tuple[int, int]:
    """Return the stones of Black and of White."""
    return (state.mine, state.others) if state.color == BLACK else (state.others, state.mine)


def write_whole_board(path: Path, board: WholeBoard, rules: Rules, plies: int) -> None:
    """Write the book of a board that was proved under these rules, for its first moves. Raises OSError."""
    width, height = board.size
    write(path, About(width, height, rules, 0.0, 0, made={"visits": board.visits}), board.rows(plies).entries())
