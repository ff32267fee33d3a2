"""Solves whole boards of a few points: the score of every position with best play, as a book.

A state is a position: stones, the point of a simple ko, the side to move, and whether the last move was a pass. Two
bounds of its score are computed by going over all states until nothing changes: as if play that goes on for ever were
the worst for the side to move, and as if it were the best. Where both are equal, each side has moves that reach the
score and come to an end whatever the other does, so a ban on repetition gains nothing for anybody; other states are
left out. Moves are ordered by their score, and then by how soon they reach it.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engine.apps.book.rows import EMPTY_BOARD, Rows, State, stones_played
from engine.apps.book.small_board import (
    MOST_POINTS,
    Bounds,
    Ruler,
    SmallBoard,
    Steps,
    count_positions,
    find_kos,
    find_positions,
    improve,
    improve_kos,
)
from engine.apps.book.stone_sets import NO_KO, masks_of, split
from engine.board.area import new_scratch
from engine.board.layout import HEADER, KO_POINT, new_board
from engine.book.file import About, Entries, write
from engine.color import BLACK, WHITE, for_color, opponent
from engine.errors import GoError
from engine.game import Game
from engine.rules import Rules, Tax
from engine.support.cores import usable_cores
from engine.vertex import NO_POINT, PASS, points

_WHOLE = 9
"""Points of the largest board of which a book has all positions; 4x3 has 658,754 states for each side."""
_PARTS = 64
"""Parts of the positions that are worked on side by side."""
_MOST_ROUNDS = np.iinfo(np.uint16).max
"""Far more than any board needs: 4x4 takes 62."""
OnRound = Callable[[int, int], None]
"""Called after each round with its number and how many bounds it changed."""


class _Move(NamedTuple):
    """A move whose score is certain. score: for the side that moves. after: None where it ends the game."""

    score: int
    step: int
    vertex: int
    after: State | None


class Exact:
    """All positions of a board. Raises GoError for boards of more than MOST_POINTS and rules that do not count area.

    size: (width, height). rules: without a bonus for handicap. states: how many there are for each side. A board of 16
    points takes 0.9 GB and a minute or two.
    """

    def __init__(self, width: int, height: int, rules: Rules, on_round: OnRound = lambda number, changed: None) -> None:
        count = width * height
        if count > MOST_POINTS:
            raise GoError(f"expected a board of at most {MOST_POINTS} points to solve, got {width}x{height}")
        if not rules.is_area or rules.tax is not Tax.NONE or rules.button:
            raise GoError("expected rules that count area, without a tax and a button, to solve a board")
        # Positions are set up here, and stones that are set up would count as handicap.
        self.size, self.rules = (width, height), rules.with_field("whiteHandicapBonus", "0")
        self._points = points(width, height)
        self._board = _all_positions(width, height, rules.suicide)
        shapes = ((2, 3**count),) * 2 + ((len(self._board.kos),),) * 2
        low, high, ko_low, ko_high = (
            np.full(shape, sign * count, np.int8) for shape, sign in zip(shapes, (-1, 1, -1, 1), strict=True)
        )
        self._bounds = Bounds(low, high, ko_low, ko_high)
        self._steps = Steps(np.zeros(high.shape, np.uint16), np.zeros(ko_high.shape, np.uint16))
        self.states = 2 * len(self._board.positions) + len(self._board.kos)
        self._solve(on_round)

    def _solve(self, on_round: OnRound) -> None:
        board, better = self._board, Bounds(*(each.copy() for each in self._bounds))
        rows = [(improve, first, last) for first, last in _parts(len(board.positions))]
        rows += [(improve_kos, first, last) for first, last in _parts(len(board.kos))]
        with ThreadPoolExecutor(usable_cores()) as threads:
            for _ in threads.map(self._count, *zip(*_parts(len(board.positions)), strict=True)):
                pass
            for step in range(1, _MOST_ROUNDS):

                def work(part: tuple[Any, int, int], step: int = step) -> int:
                    kernel, first, last = part
                    return int(kernel(board, self._bounds, better, self._steps, step, first, last))

                changed = sum(threads.map(work, rows))
                for old, new in zip(self._bounds, better, strict=True):
                    old[...] = new
                on_round(step, changed)
                if not changed:
                    return
        raise AssertionError("the bounds still change")

    def _count(self, first: int, last: int) -> None:
        like = new_board(*self.size)
        colors = np.zeros(like.shape[1], np.int8)
        ruler = Ruler(like.copy(), new_scratch(like), colors, colors.copy(), np.array(self._points, np.int16))
        count_positions(self._board, ruler, like, first, last)

    def score(self, game: Game) -> int | None:
        """Return Black's score of the current position with best play, without komi; None where repetition decides."""
        score = self._score_of(self.state_of(game))
        return None if score is None else for_color(score, game.to_play)

    def best(self, game: Game) -> int:
        """Return the best move of the current position, a pass included: one that keeps its score and ends soonest."""
        return self._ordered(self.state_of(game))[0].vertex

    def state_of(self, game: Game) -> State:
        """Return the state of the current position of a game on this board."""
        sets = {
            color: sum(1 << row for row, vertex in enumerate(self._points) if game.color_at(vertex) == color)
            for color in (BLACK, WHITE)
        }
        vertex, color = int(game.board[HEADER, KO_POINT]), game.to_play
        ko = NO_KO if vertex == NO_POINT else self._points.index(vertex)
        return State(sets[color], sets[opponent(color)], ko, game.consecutive_passes, color)

    def bounds_of(self, state: State) -> tuple[int, int]:
        """Return the score for the side to move with endless play as its worst result and as its best."""
        return self._values(state)[:2]

    def _score_of(self, state: State) -> int | None:
        low, high = self.bounds_of(state)
        return low if low == high else None

    def _values(self, state: State) -> tuple[int, int, int]:
        """Return the bounds of a state, and the round in which the upper one was found."""
        number = self._number(state)
        if state.ko == NO_KO:
            place: tuple[int, ...] = (state.passes, number)
            arrays = self._bounds.low, self._bounds.high, self._steps.high
        else:
            place = (int(np.searchsorted(self._board.kos, number * MOST_POINTS + state.ko)),)
            arrays = self._bounds.ko_low, self._bounds.ko_high, self._steps.ko_high
        low, high, step = (int(array[place]) for array in arrays)
        return low, high, step

    def _number(self, state: State) -> int:
        return int(self._board.ternary[state.mine]) + 2 * int(self._board.ternary[state.others])

    def moves(self, state: State) -> Iterator[tuple[int, State | None]]:
        """Yield the moves of a state and what they lead to: None where a second pass ends the game."""
        yield PASS, None if state.passes else State(state.others, state.mine, NO_KO, 1, opponent(state.color))
        yield from stones_played(state, self._points, self._board.masks)

    def _ordered(self, state: State) -> list[_Move]:
        """Return the moves of a state whose scores are certain, best first."""
        found = []
        for vertex, after in self.moves(state):
            if after is None:
                found.append(_Move(int(self._board.area[self._number(state)]), 0, vertex, None))
            else:
                low, high, step = self._values(after)
                if low == high:
                    found.append(_Move(-low, step, vertex, after))
        return sorted(found, key=lambda move: (-move.score, move.step, move.vertex))

    def entries(self) -> Entries:
        """Return the arrays of the book, one position for each set of images.

        Of boards of more than 9 points the book has the positions that occur if at least one side plays its best moves.
        Raises GoError for those where repetition decides the empty board.
        """
        rows = self._all_rows() if len(self._points) <= _WHOLE else self._rows_of_best_play()
        if not len(rows):
            low, high = self.bounds_of(EMPTY_BOARD)
            raise GoError(
                f"expected a board without endless play, got one where Black has {low:+d} to {high:+d} points"
            )
        return rows.entries()

    def _all_rows(self) -> Rows:
        rows = Rows(self.size, self.rules)
        for state in self._states():
            score = self._score_of(state)
            if score is not None and rows.add(state, for_color(score, state.color)):
                self._add_moves(rows, state, self._ordered(state))
        return rows

    def _rows_of_best_play(self) -> Rows:
        """Return the positions in which at least one side has played its best moves from the empty board."""
        rows, seen = Rows(self.size, self.rules), set[tuple[int, int]]()
        waiting = deque((EMPTY_BOARD, side) for side in (BLACK, WHITE))
        while waiting:
            state, side = waiting.popleft()
            score, key = self._score_of(state), rows.key_of(state)
            if score is None or (key, side) in seen:
                continue
            seen.add((key, side))
            rows.add(state, for_color(score, state.color))
            moves = self._ordered(state)
            chosen = moves[:1] if state.color == side else moves
            self._add_moves(rows, state, chosen)
            waiting += ((move.after, side) for move in chosen if move.after is not None)
        return rows

    @staticmethod
    def _add_moves(rows: Rows, state: State, moves: list[_Move]) -> None:
        for move in moves:
            # Of moves that end the game only the best one is in the book, its score that of the position before it.
            if move.after is not None or move is moves[0]:
                rows.add_move(state, move.vertex, move.after)

    def _states(self) -> Iterator[State]:
        """Yield every state."""
        for color in (BLACK, WHITE):
            for position in self._board.positions.tolist():
                mine, others, _ = split(position)
                yield from (State(mine, others, NO_KO, passes, color) for passes in (0, 1))
            for key in self._board.kos.tolist():
                digits = [key // MOST_POINTS // 3**row % 3 for row in range(len(self._points))]
                mine, others = (sum(1 << row for row, each in enumerate(digits) if each == side) for side in (1, 2))
                yield State(mine, others, key % MOST_POINTS, 0, color)


def _all_positions(width: int, height: int, suicide: bool) -> SmallBoard:
    count = width * height
    masks = masks_of(width, height, suicide)
    sets = np.arange(1 << count)
    ternary = sum((sets >> row & 1) * 3**row for row in range(count)).astype(np.int32)
    positions = np.empty(3**count, np.int64)
    positions = positions[: find_positions(masks, ternary, positions)].copy()
    board = SmallBoard(masks, ternary, positions, np.zeros(3**count, np.int8), np.empty(0, np.int64))
    kos = np.empty(find_kos(board, board.kos), np.int64)
    find_kos(board, kos)
    return board._replace(kos=np.unique(kos))


def _parts(count: int) -> Iterator[tuple[int, int]]:
    """Yield the ends of parts of a number of rows."""
    step = max(1, -(-count // _PARTS))
    yield from ((first, min(first + step, count)) for first in range(0, count, step))


def write_exact(path: Path, exact: Exact, rules: Rules) -> None:
    """Write the book of a board that was solved under these rules. Raises OSError."""
    width, height = exact.size
    write(path, About(width, height, rules, 0.0, 0, made={"states": exact.states}), exact.entries())
