"""Writes the text diagram of a position, as `showboard` prints it and as tests and documents use it.

A diagram has one line for each row of the board, from the top: X is a black stone, O a white one, "." an empty point,
"+" an empty star point. The lines below the board are `key: value`:

    A B C
  3 . X . 3
  2 X O X 2
  1 . . . 1
    A B C
  to play: black
  ko: B1
  last move: A2
  move: 7
  komi: 6.5
  captured: black 0, white 1

Parentheses around a stone highlight the last move. There are no blank lines.
"""

from dataclasses import dataclass

from engine.board.kernels import add_stone
from engine.board.layout import HEADER, KO_POINT, TO_PLAY, Board, new_board
from engine.color import BLACK, WHITE, color_name
from engine.game import Game
from engine.vertex import (
    GTP_COLUMNS,
    NO_POINT,
    format_vertex,
    point_at,
    points,
)


@dataclass(frozen=True)
class Diagram:
    """The contents of a diagram. None marks a line that is missing.

    captured: number of captured black and white stones.
    """

    width: int
    height: int
    black: tuple[int, ...] = ()
    white: tuple[int, ...] = ()
    to_play: int = BLACK
    ko_point: int = NO_POINT
    last_move: int | None = None
    move_number: int | None = None
    komi: float | None = None
    captured: tuple[int, int] | None = None

    def board(self) -> Board:
        """Return the board of the diagram. Chains without liberties are not removed."""
        board = new_board(self.width, self.height)
        for color, vertices in ((BLACK, self.black), (WHITE, self.white)):
            for vertex in vertices:
                add_stone(board, vertex, color)
        board[HEADER, TO_PLAY], board[HEADER, KO_POINT] = self.to_play, self.ko_point
        return board


def showboard(game: Game) -> str:
    """Return the diagram of a game's current position as text."""
    return format_diagram(diagram_of(game))


def diagram_of(game: Game) -> Diagram:
    """Return the diagram of a game's current position."""
    places = points(game.width, game.height)
    return Diagram(
        width=game.width,
        height=game.height,
        black=tuple(vertex for vertex in places if game.color_at(vertex) == BLACK),
        white=tuple(vertex for vertex in places if game.color_at(vertex) == WHITE),
        to_play=game.to_play,
        ko_point=int(game.board[HEADER, KO_POINT]),
        last_move=game.moves[-1].vertex if game.moves else None,
        move_number=game.move_number,
        komi=game.komi,
        captured=(game.captured(BLACK), game.captured(WHITE)),
    )


def format_diagram(diagram: Diagram) -> str:
    """Format a diagram, without a newline at the end."""
    width, height = diagram.width, diagram.height
    stones = dict.fromkeys(diagram.black, "X") | dict.fromkeys(diagram.white, "O")
    stars = star_points(width, height)
    letters = "   " + " ".join(GTP_COLUMNS[:width])
    lines = [letters]
    for row in range(height):
        vertices = [point_at(row, column, width) for column in range(width)]
        gaps = [" "] * (width + 1)
        if diagram.last_move in vertices and diagram.last_move in stones:
            column = vertices.index(diagram.last_move)
            # The parentheses replace the spaces left and right of the stone, so columns stay aligned.
            gaps[column : column + 2] = "()"
        cells = [stones.get(vertex, "+" if vertex in stars else ".") for vertex in vertices]
        line = "".join(gap + cell for gap, cell in zip(gaps, cells, strict=False))
        lines.append(f"{height - row:2d}{line}{gaps[-1]}{height - row}")
    lines += [letters, f"to play: {color_name(diagram.to_play)}"]
    for key, vertex in (("ko", diagram.ko_point), ("last move", diagram.last_move)):
        if vertex is not None and vertex != NO_POINT:
            lines.append(f"{key}: {format_vertex(vertex, width, height)}")
    if diagram.move_number is not None:
        lines.append(f"move: {diagram.move_number}")
    if diagram.komi is not None:
        lines.append(f"komi: {diagram.komi:.10g}")
    if diagram.captured is not None:
        lines.append(f"captured: black {diagram.captured[0]}, white {diagram.captured[1]}")
    return "\n".join(lines)


def star_points(width: int, height: int) -> set[int]:
    """Return the star points of a board: 3rd or 4th lines, middles, and the center."""
    rows, columns = _star_lines(height), _star_lines(width)
    stars = {(row, column) for row in rows for column in columns}
    # Boards below 19x19 have five star points: corners and center, without the sides.
    if len(rows) == len(columns) == 3 and (height < 19 or width < 19):
        center = (rows[1], columns[1])
        corners = {(row, column) for row in rows[::2] for column in columns[::2]}
        stars = corners | {center}
    return {point_at(row, column, width) for row, column in stars}


def _star_lines(size: int) -> list[int]:
    if size < 7:
        return []
    line = 3 if size > 11 else 2
    return [line, size // 2, size - 1 - line] if size % 2 else [line, size - 1 - line]
