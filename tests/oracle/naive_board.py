"""A Go board and game in plain Python: the yardstick for `engine.board` and `engine.game`.

Owns play, captures, suicide, simple ko, superko and legal sets, all by flood fill and by looking
the whole history up. Shares no code with the kernels; knows nothing of scoring.
"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from engine.color import BLACK, EMPTY, WHITE, opponent
from engine.rules import Ko
from engine.vertex import NO_POINT, PASS, array_length, points, row_column

Outcomes: TypeAlias = dict[int, tuple[bytes, int, int]]
"""By empty point: the board after a stone there, enemy stones captured, own stones lost."""


class NaiveBoard:
    """Stones on a board and the simple ko point; every chain is found anew by flood fill."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.points = points(width, height)
        at = {row_column(point, width): point for point in self.points}
        around = ((-1, 0), (0, -1), (0, 1), (1, 0))
        self.neighbors = {
            point: [at[row + dy, column + dx] for dy, dx in around if (row + dy, column + dx) in at]
            for (row, column), point in at.items()
        }
        self.colors = bytearray(array_length(width, height))
        self.ko_point = NO_POINT

    def key(self) -> bytes:
        """Return the stones as a value that can be compared and looked up."""
        return bytes(self.colors)

    def chain(self, point: int) -> tuple[set[int], set[int]]:
        """Return the stones and the liberties of the chain on a point."""
        color = self.colors[point]
        stones, liberties, todo = {point}, set(), [point]
        while todo:
            for neighbor in self.neighbors[todo.pop()]:
                if self.colors[neighbor] == EMPTY:
                    liberties.add(neighbor)
                elif self.colors[neighbor] == color and neighbor not in stones:
                    stones.add(neighbor)
                    todo.append(neighbor)
        return stones, liberties

    def chains(self) -> Iterator[tuple[int, set[int], set[int]]]:
        """Yield (color, stones, liberties) of every chain."""
        seen: set[int] = set()
        for point in self.points:
            if self.colors[point] != EMPTY and point not in seen:
                stones, liberties = self.chain(point)
                seen |= stones
                yield self.colors[point], stones, liberties

    def place(self, point: int, color: int) -> tuple[set[int], set[int]]:
        """Put a stone on an empty point; return the enemy stones captured and the own ones lost.

        Ignores the ko point and allows every suicide; leaves the ko point as it was.
        """
        assert self.colors[point] == EMPTY
        self.colors[point] = color
        captured: set[int] = set()
        for neighbor in self.neighbors[point]:
            if self.colors[neighbor] == opponent(color) and neighbor not in captured:
                stones, liberties = self.chain(neighbor)
                if not liberties:
                    captured |= stones
        for stone in captured:
            self.colors[stone] = EMPTY
        own, liberties = self.chain(point)
        lost = set() if liberties else own
        for stone in lost:
            self.colors[stone] = EMPTY
        return captured, lost

    def play(self, point: int, color: int) -> tuple[set[int], set[int]]:
        """Place a stone as `place` does, and note the simple ko point."""
        captured, lost = self.place(point, color)
        self.ko_point = NO_POINT
        if len(captured) == 1 and not lost:
            stones, liberties = self.chain(point)
            if len(stones) == 1 and len(liberties) == 1:
                (self.ko_point,) = captured
        return captured, lost

    def outcomes(self, color: int) -> Outcomes:
        """Return what a stone of this color on each empty point would do.

        One flood fill of the board serves all points.
        """
        owner = {stone: chain for chain in self.chains() for stone in chain[1]}
        before = self.key()
        result = {}
        for point in self.points:
            if before[point] != EMPTY:
                continue
            near = [owner[neighbor] for neighbor in self.neighbors[point] if before[neighbor] != EMPTY]
            captured = {s for who, stones, free in near if who != color and free == {point} for s in stones}
            friends = [(stones, free) for who, stones, free in near if who == color]
            breathes = (
                len(near) < len(self.neighbors[point]) or bool(captured) or any(len(free) > 1 for _, free in friends)
            )
            lost = set() if breathes else {point}.union(*(stones for stones, _ in friends))
            after = bytearray(before)
            after[point] = color
            for stone in captured | lost:
                after[stone] = EMPTY
            result[point] = (bytes(after), len(captured), len(lost))
        return result


class NaiveGame:
    """A board with its whole history, for one ko rule and one suicide rule at a time.

    Legality ignores whether the game is over. A color that moves out of turn is free of the simple
    ko, which is not its own. restarts: such a move also forgets the history, as in KataGo over GTP.
    """

    def __init__(
        self, width: int, height: int, ko: Ko = Ko.POSITIONAL, suicide: bool = True, *, restarts: bool = False
    ) -> None:
        self.board = NaiveBoard(width, height)
        self.ko, self.suicide, self.restarts = ko, suicide, restarts
        self.captured = {BLACK: 0, WHITE: 0}
        self.moves: list[tuple[int, int]] = []
        self._restart(BLACK)

    def _restart(self, to_play: int) -> None:
        self.to_play = to_play
        self.board.ko_point = NO_POINT
        self.positions = {self.board.key()}
        self.situations = {(self.board.key(), to_play)}

    def setup(self, black: Iterable[int], white: Iterable[int] = (), to_play: int = BLACK) -> None:
        """Put stones on an empty board and start the history there."""
        for color, stones in ((BLACK, black), (WHITE, white)):
            for stone in stones:
                self.board.colors[stone] = color
        assert all(liberties for _, _, liberties in self.board.chains())
        self._restart(to_play)

    def turn_to(self, color: int) -> None:
        """Make it a color's turn; if it was not, the simple ko is over."""
        if color != self.to_play:
            self.board.ko_point = NO_POINT
            self.to_play = color
            if self.restarts:
                self._restart(color)

    def legal_points(
        self, ko: Ko | None = None, suicide: bool | None = None, outcomes: Outcomes | None = None
    ) -> set[int]:
        """Return the points where the side to move may play, by these rules or else the game's own.

        outcomes: those of the board for the side to move, where they are at hand.
        """
        ko = self.ko if ko is None else ko
        suicide = self.suicide if suicide is None else suicide
        legal = set()
        for point, (after, _, lost) in (outcomes or self.board.outcomes(self.to_play)).items():
            if point == self.board.ko_point or lost == 1 or (lost and not suicide):
                continue
            if ko is Ko.POSITIONAL and after in self.positions:
                continue
            if ko is Ko.SITUATIONAL and (after, opponent(self.to_play)) in self.situations:
                continue
            legal.add(point)
        return legal

    def play(self, color: int, vertex: int) -> int:
        """Play a move without checking superko or suicide; return how many enemy stones it took."""
        self.turn_to(color)
        captured: set[int] = set()
        if vertex == PASS:
            self.board.ko_point = NO_POINT
        else:
            captured, lost = self.board.play(vertex, color)
            self.captured[opponent(color)] += len(captured)
            self.captured[color] += len(lost)
        self.moves.append((color, vertex))
        self.to_play = opponent(color)
        self.positions.add(self.board.key())
        self.situations.add((self.board.key(), self.to_play))
        return len(captured)
