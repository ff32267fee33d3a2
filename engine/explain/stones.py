"""The stones of a position for rules that are written as geometry: colors by offset, chains, liberties, lines."""

from engine.board.layout import COLOR, HEAD, HEADER, HEIGHT, WIDTH, Board
from engine.color import EMPTY, WALL
from engine.vertex import neighbors, point_at, points, row_column


class Stones:
    """The stones of a board. Does not change when the game goes on."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.width, self.height = int(board[HEADER, WIDTH]), int(board[HEADER, HEIGHT])
        self._colors: list[int] = board[COLOR].tolist()
        self._heads: list[int] = board[HEAD].tolist()

    def color(self, vertex: int) -> int:
        """Return the color of a point; WALL beside the board."""
        return self._colors[vertex]

    def color_at(self, row: int, column: int) -> int:
        """Return the color at a row and a column, WALL outside the board."""
        if 0 <= row < self.height and 0 <= column < self.width:
            return self._colors[point_at(row, column, self.width)]
        return WALL

    def stones(self) -> list[tuple[int, int]]:
        """Return the point and the color of every stone, in policy order."""
        colors = self._colors
        return [(each, colors[each]) for each in points(self.width, self.height) if colors[each] != EMPTY]

    def beside(self, vertex: int, color: int) -> list[int]:
        """Return the neighbors of a point that have a color."""
        return [near for near in neighbors(vertex, self.width) if self._colors[near] == color]

    def around(self, vertex: int, color: int) -> list[int]:
        """Return the points of a color among the eight around a point."""
        row, column = row_column(vertex, self.width)
        places = [(row + down, column + right) for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right]
        return [point_at(*place, self.width) for place in places if self.color_at(*place) == color]

    def head(self, vertex: int) -> int:
        """Return the stone that represents a stone's chain."""
        return self._heads[vertex]

    def chain(self, vertex: int) -> tuple[int, ...]:
        """Return the chain of a stone, in policy order."""
        head = self._heads[vertex]
        return tuple(
            each
            for each in points(self.width, self.height)
            if self._colors[each] != EMPTY and self._heads[each] == head
        )

    def chains(self) -> list[tuple[int, ...]]:
        """Return every chain, in policy order of the first stones."""
        found: dict[int, list[int]] = {}
        for vertex, _ in self.stones():
            found.setdefault(self._heads[vertex], []).append(vertex)
        return [tuple(chain) for chain in found.values()]

    def liberties(self, stones: tuple[int, ...]) -> set[int]:
        """Return the empty points beside some stones."""
        return {near for stone in stones for near in self.beside(stone, EMPTY)}

    def lines(self, vertex: int) -> tuple[int, int]:
        """Return the number of a point's line from the nearer of the two sides, vertically and horizontally; from 1."""
        row, column = row_column(vertex, self.width)
        return min(row + 1, self.height - row), min(column + 1, self.width - column)
