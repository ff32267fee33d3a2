"""Ladders, drawn; the exact agreement with another reader is in tests/golden."""

import numpy as np
import pytest

from engine.board.ladders import find_ladders, new_ladder_scratch
from engine.color import BLACK, WHITE
from engine.diagram import parse_diagram
from engine.vertex import format_vertex, points

LADDER = """
.......
..O....
.OX....
..O....
.......
.......
.......
"""
CAUGHT_AT_ONCE = """
.O.....
OX.....
.O.....
.......
.......
.......
.......
"""
BROKEN = """
.......
.......
..O....
.OX....
..OX...
.......
.......
"""
ALONE = """
.....
.....
..X..
.....
.....
"""


def ladders_of(text: str) -> tuple[set[str], set[str], set[str]]:
    """Return the laddered stones, and the moves that start a ladder against Black and against White."""
    diagram = parse_diagram(text.strip())
    board = diagram.board()
    laddered, working = (np.zeros(board.shape[1], dtype=np.int8) for _ in range(2))
    find_ladders(board, new_ladder_scratch(board), board.copy(), laddered, working)
    size = (diagram.width, diagram.height)
    named = [(vertex, format_vertex(vertex, *size)) for vertex in points(*size)]
    return (
        {name for vertex, name in named if laddered[vertex]},
        {name for vertex, name in named if working[vertex] & BLACK},
        {name for vertex, name in named if working[vertex] & WHITE},
    )


@pytest.mark.parametrize(
    ("text", "laddered"),
    [
        pytest.param(CAUGHT_AT_ONCE, {"B6"}, id="a stone in atari at the edge of a ladder"),
        pytest.param(BROKEN, set(), id="a friend next to it"),
        pytest.param(ALONE, set(), id="four liberties"),
    ],
)
def test_laddered_stones(text: str, laddered: set[str]) -> None:
    assert ladders_of(text)[0] == laddered


def test_a_stone_with_two_liberties_is_laddered_by_the_move_on_the_right_side() -> None:
    laddered, against_black, against_white = ladders_of("....../.OX.../..O.../....../....../......".replace("/", "\n"))
    assert "C5" in laddered
    assert against_black
    assert not against_white


def test_reading_changes_neither_the_board_nor_its_ko_point() -> None:
    board = parse_diagram(LADDER.strip()).board()
    before = board.copy()
    marks = [np.zeros(board.shape[1], dtype=np.int8) for _ in range(2)]
    find_ladders(board, new_ladder_scratch(board), board.copy(), *marks)
    assert np.array_equal(board, before)
