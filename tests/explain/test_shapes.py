"""Shapes of moves, a diagram each: X is the player who moves, O the opponent, @ the move."""

import pytest

from engine.color import BLACK, WHITE
from engine.explain.shapes import shapes_of
from engine.explain.stones import Stones
from engine.game import Game
from engine.vertex import format_vertex, parse_vertex, point_at

SHAPES = {
    "hane": """
        . . . . . . .
        . . . . . . .
        . . X O . . .
        . . . @ . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "hane at the head of two": """
        . . . . . . .
        . . . . . . .
        . . X O . . .
        . . X O . . .
        . . . @ . . .
        . . . . . . .
        . . . . . . .""",
    "kosumi": """
        . . . . . . .
        . . . . . . .
        . . X . . . .
        . . . @ . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "kosumi-tsuke": """
        . . . . . . .
        . . . . . . .
        . . X . . . .
        . . . @ O . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "nobi": """
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . O X @ . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "narabi": """
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . X @ . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "turn": """
        . . . . . . .
        . . . . . . .
        . . X O . . .
        . . X @ . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "push": """
        . . . . . . .
        . . . . . . .
        . . O O . . .
        . . X @ . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "ikken tobi": """
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . X . @ . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "keima": """
        . . . . . . .
        . . . . . . .
        . . X . . . .
        . . . . @ . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "niken tobi": """
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . X . . @ . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "ogeima": """
        . . . . . . .
        . . . . . . .
        . X . . . . .
        . . . . @ . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "tsuke": """
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . O @ . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "wedge": """
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . O @ O . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "cut": """
        . . . . . . .
        . . . . . . .
        . . X O . . .
        . . O @ . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "connection": """
        . . . . . . .
        . . . . . . .
        . . O X . . .
        . . X @ . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "peep": """
        . . . . . . .
        . . . . . . .
        . . . @ . . .
        . . O . O . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "bamboo joint": """
        . . . . . . .
        . . . . . . .
        . . X . X . .
        . . X . @ . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "tiger's mouth": """
        . . . . . . .
        . . . . . . .
        . . . X . . .
        . . X . @ . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "empty triangle": """
        . . . . . . .
        . . . . . . .
        . . X X . . .
        . . . @ . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "ponnuki": """
        . . . . . . .
        . . . . . . .
        . . . X . . .
        . . X O @ . .
        . . . X . . .
        . . . . . . .
        . . . . . . .""",
    "eye-filling": """
        @ X . . . . .
        X X . . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "throw-in": """
        . @ O . . . .
        O O . . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
    "first line": """
        . . . . . . .
        . . . . . . .
        . . . . . . @
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .""",
}
OF_BOARDS = {
    "3-3": (19, "", "C3"),
    "3-4": (19, "", "Q17"),
    "4-4": (19, "", "D16"),
    "3-5": (19, "", "C5"),
    "4-5": (19, "", "Q5"),
    "tengen": (19, "", "K10"),
    "3-3 invasion": (19, "WD4", "C3"),
    "approach": (19, "WD4", "F3"),
    "enclosure": (19, "BC4", "E3"),
    "shoulder hit": (19, "WK3", "L4"),
    "cap": (19, "WK3", "K5"),
}
"""Size, stones and the move of shapes that depend on the place: B is the player who moves."""


def names_of(drawing: str, color: int = BLACK) -> set[str]:
    """Return the names of the shapes of the move @, played by `color`."""
    rows = [line.split() for line in drawing.strip().splitlines()]
    width = len(rows[0])
    places = {(row, column): mark for row, line in enumerate(rows) for column, mark in enumerate(line)}
    stones = {mark: [point_at(*place, width) for place, each in places.items() if each == mark] for mark in "XO@"}
    game = Game(width, len(rows))
    black, white = (stones["X"], stones["O"]) if color == BLACK else (stones["O"], stones["X"])
    game.setup(black, white)
    return shapes(game, stones["@"][0], color)


def shapes(game: Game, vertex: int, color: int) -> set[str]:
    """Return the names of the shapes of a move."""
    before = Stones(game.board)
    game.play(color, vertex)
    return {shape.name for shape in shapes_of(before, Stones(game.board), vertex, color)}


def turned(drawing: str) -> str:
    """Return a drawing after a quarter turn."""
    rows = [line.split() for line in drawing.strip().splitlines()]
    return "\n".join(" ".join(row) for row in zip(*rows[::-1], strict=True))


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_is_named_in_every_direction_for_both_colors(name: str) -> None:
    drawing = SHAPES[name]
    for _ in range(4):
        assert name in names_of(drawing, BLACK)
        assert name in names_of(drawing, WHITE)
        drawing = turned(drawing)


@pytest.mark.parametrize("name", OF_BOARDS)
def test_a_place_has_its_name(name: str) -> None:
    assert name in shapes_of_place(*OF_BOARDS[name])


def shapes_of_place(size: int, stone: str, vertex: str) -> set[str]:
    """Return the names of the shapes of Black's move on a board with one stone."""
    game = Game(size)
    if stone:
        black, white = ([parse_vertex(stone[1:], size, size)] if stone[0] == each else [] for each in "BW")
        game.setup(black, white)
    return shapes(game, parse_vertex(vertex, size, size), BLACK)


@pytest.mark.parametrize(
    ("drawing", "names"),
    [
        # One shape each: the names exclude each other where they look alike.
        (SHAPES["hane"], {"hane"}),
        (SHAPES["kosumi"], {"kosumi"}),
        (SHAPES["nobi"], {"nobi"}),
        (SHAPES["keima"], {"keima"}),
        (SHAPES["tsuke"], {"tsuke"}),
        (SHAPES["wedge"], {"wedge"}),
        (SHAPES["peep"], {"peep"}),
        (SHAPES["cut"], {"cut"}),
        (SHAPES["ponnuki"], {"ponnuki"}),
    ],
)
def test_a_move_has_no_names_of_other_shapes(drawing: str, names: set[str]) -> None:
    assert names_of(drawing) - {"tengen"} == names


@pytest.mark.parametrize(
    ("name", "drawing"),
    [
        # A stone between two that are a knight's move apart: the points between must be empty.
        ("keima", ". . . . .\n. X O . .\n. . . @ .\n. . . . .\n. . . . ."),
        # An enemy stone in the fourth point makes the triangle solid.
        ("empty triangle", ". . . . .\n. X X . .\n. O @ . .\n. . . . .\n. . . . ."),
        # A bamboo joint cannot be cut.
        ("cut", ". . . . .\n. O @ O .\n. O . O .\n. . . . .\n. . . . ."),
        # Both points beside are the enemy's: a cut, not a hane.
        ("hane", ". . . . .\n. X O . .\n. O @ . .\n. . . . .\n. . . . ."),
        # Two chains that share another liberty are connected already.
        ("connection", ". . . . .\n. . X . .\n. X @ . .\n. . . . .\n. . . . ."),
        # An own stone at the cutting point's side was there before: the threat is not new.
        ("peep", ". . @ . .\n. O . O .\n. . X . .\n. . . . .\n. . . . ."),
        # The fourth side of the point is the edge: a tiger's mouth needs an open side.
        ("tiger's mouth", ". X . @ .\n. . X . .\n. . . . .\n. . . . .\n. . . . ."),
        # Two liberties: the stone is not thrown in.
        ("throw-in", ". @ . . .\nO O . . .\n. . . . .\n. . . . .\n. . . . ."),
    ],
)
def test_what_looks_alike_is_another_shape(name: str, drawing: str) -> None:
    assert name not in names_of(drawing)


def test_a_shape_names_the_stones_that_make_it() -> None:
    game = Game(9)
    game.setup([point_at(4, 2, 9)], [point_at(4, 3, 9)])
    before = Stones(game.board)
    vertex = point_at(5, 3, 9)
    game.play(BLACK, vertex)
    [shape] = shapes_of(before, Stones(game.board), vertex, BLACK)
    assert [format_vertex(stone, 9, 9) for stone in shape.stones] == ["C5", "D5"]
