"""Boards that Black takes whole: the proof, and a book of its first moves.

Black begins in the center. The search (`takeover`) refutes every answer of White. The book has Black's move in each
position, and all answers of White, up to a number of moves.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from engine.apps.book import proof_table
from engine.apps.book.analogy import new_frames
from engine.apps.book.proof_table import (
    COUNT,
    OPEN,
    PROOF,
    PROOFS,
    PROVED,
    REPEATS,
    VISITS,
    forget_lost,
    new_proof,
)
from engine.apps.book.rows import EMPTY_BOARD, Rows, State, stones_played
from engine.apps.book.stone_sets import MOST_POINTS, NO_KO, masks_of
from engine.apps.book.takeover import FULL, begin, prove_takeover
from engine.book.file import About, write
from engine.color import BLACK, WHITE
from engine.errors import GoError
from engine.rules import Rules, Tax
from engine.vertex import PASS, points

_AT_ONCE = 100_000
"""Positions between two reports, about a second."""


class Progress(NamedTuple):
    """answers: of White to the position searched; refuted: how many of them. visits: positions searched."""

    answers: int
    refuted: int
    visits: int


OnStep = Callable[[Progress], bool]
"""Returns False to stop."""


class WholeBoard:
    """A board that Black, who begins in the center, may take whole.

    size: (width, height), from 2x2 to 25 points. rules: that count area and forbid suicide, without a tax and a button.
    root: the position after Black's first move. entries: of the table, ENTRY_BYTES each; by default 2 ** (points + 7),
    at most 2 ** 27, which are 2.6 GB. Raises GoError for others.
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
        self._frames = new_frames()
        self._proof = new_proof(width, height, entries or 1 << min(27, len(self._points) + 7))
        self.root = State(0, 1 << (height // 2 * width + width // 2), NO_KO, 0, WHITE)

    @property
    def visits(self) -> int:
        """The positions that the search has visited."""
        return int(self._proof.control[VISITS])

    def prove(self, on_step: OnStep = lambda progress: True) -> int | None:
        """Return the number of moves after the first in which Black takes the board at most, None without a proof.

        Raises GoError if the table is too small.
        """
        return self.prove_from(self.root, on_step)

    def prove_from(self, state: State, on_step: OnStep = lambda progress: True) -> int | None:
        """Do the same for any position and side to move."""
        if self.height_of(state) == 0:
            return 0
        control = self._proof.control
        while True:
            control[REPEATS], proofs = 0, control[PROOFS]
            known = self._searched(state, on_step)
            if known == PROVED:
                return self.height_of(state)
            # What is lost only by a repetition may be proved with the help of the new proofs.
            if known == OPEN or not control[REPEATS] or control[PROOFS] == proofs:
                return None
            forget_lost(self._proof)

    def _searched(self, state: State, on_step: OnStep) -> int:
        is_white = state.color == WHITE
        begin(self._proof, *_colors(state), state.ko, is_white)
        while True:
            known = int(prove_takeover(self._proof, self._frames, is_white, _AT_ONCE))
            if known == FULL:
                board, entries = f"{self.size[0]}x{self.size[1]}", len(self._proof.keys)
                raise GoError(f"{board}: the table of {entries:,} positions is full: more memory may prove it")
            efforts = self._proof.moves[0, : self._proof.plies[0, COUNT], PROOF]
            refuted = len(efforts) if known == PROVED else int((efforts == 0).sum())
            if not on_step(Progress(len(efforts), refuted, self.visits)) and known == OPEN:
                return OPEN
            if known != OPEN:
                return known

    def height_of(self, state: State) -> int:
        """Return how many moves the proof of a position takes at most, UNKNOWN without one."""
        return int(proof_table.height_of(self._proof, *_colors(state), state.ko, state.color == WHITE))

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
        found = [(vertex, after, self.height_of(after)) for vertex, after in self.moves(state)]
        if state.color == BLACK:
            found = [min(found, key=lambda answer: answer[2])]
        else:
            # All lose the board: those that take longest first, and a pass, which loses it at once, last.
            found.sort(key=lambda answer: (answer[0] == PASS, -answer[2]))
        assert all(left < height for _, _, left in found)  # proofs stay in the table
        return found


def _colors(state: State) -> tuple[int, int]:
    """Return the stones of Black and of White."""
    return (state.mine, state.others) if state.color == BLACK else (state.others, state.mine)


def write_whole_board(path: Path, board: WholeBoard, rules: Rules, plies: int) -> None:
    """Write the book of a board that was proved under these rules, for its first moves. Raises OSError."""
    width, height = board.size
    write(path, About(width, height, rules, 0.0, 0, made={"visits": board.visits}), board.rows(plies).entries())
