"""Area maps of the kernels against the naive ones, and of positions that books show."""

import random

import numpy as np
import pytest

from engine.board.area import area, independent_life, new_scratch, pass_alive, pass_alive_owners
from engine.color import BLACK, EMPTY, WHITE
from engine.records.diagram import format_diagram
from engine.vertex import point_at
from tests.board.positions import diagram_of, random_position
from tests.diagrams import parse_diagram
from tests.oracle.naive_area import area_map
from tests.oracle.naive_area import independent_life as naive_life

SIZES = [(5, 5), (7, 7), (9, 9), (6, 4), (3, 8), (2, 2), (1, 9), (13, 13)]
_POSITIONS = 60


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_area_of_random_positions_is_that_of_the_naive_board(size: tuple[int, int]) -> None:
    generator = random.Random(sum(size))
    claimed = 0
    for number in range(_POSITIONS if size[0] * size[1] < 50 else _POSITIONS // 3):
        naive = random_position(generator, *size)
        suicide = number % 2 == 1
        diagram = diagram_of(naive)
        board = diagram.board()
        scratch, owner = new_scratch(board), np.zeros(board.shape[1], dtype=np.int8)
        drawing = format_diagram(diagram)

        for large in (False, True):
            pass_alive(board, suicide, large, scratch, owner)
            expected = area_map(naive, suicide, safe_big=large, unsafe_big=False, stones_alive=False)
            assert {point: int(owner[point]) for point in naive.points} == expected, drawing
        claimed += any(expected.values())

        for stones_alive in (False, True):
            area(board, suicide, stones_alive, scratch, owner)
            expected = area_map(naive, suicide, unsafe_big=True, stones_alive=stones_alive)
            assert {point: int(owner[point]) for point in naive.points} == expected, drawing

        groups, life = np.zeros(3, dtype=np.int64), np.zeros_like(owner)
        independent_life(board, owner, scratch, groups, life)
        expected_life, expected_groups = naive_life(naive, expected)
        assert {point: int(life[point]) for point in naive.points} == expected_life, drawing
        assert {BLACK: groups[BLACK], WHITE: groups[WHITE]} == expected_groups, drawing
    assert claimed > 5


@pytest.mark.parametrize(
    ("name", "suicide", "text", "expected"),
    [
        ("two one-point eyes live", True, ".X.X / XXXX / .... / ....", "XXXX / XXXX / XXXX / XXXX"),
        ("one eye does not", False, ".X.. / XX.. / ..OO / ..O.", ".... / .... / .... / ...."),
        ("a false eye does not", False, ".XO. / X.XO / OXXO / .OO.", ".... / .... / .... / ...."),
        (
            "a dead stone inside belongs to the eye",
            False,
            "O.X.X / XXXXX / OOOOO / .O.O.",
            "XXXXX / XXXXX / OOOOO / OOOOO",
        ),
        ("a corner with one point out of touch is an eye", False, "O.X. / ..XX / XXXX", "XXXX / XXXX / XXXX"),
        ("but none where suicide can empty it", True, "O.X. / ..XX / XXXX", ".... / .... / ...."),
    ],
)
def test_pass_alive_positions(name: str, suicide: bool, text: str, expected: str) -> None:
    board = parse_diagram(text.replace(" / ", "\n")).board()
    owner = pass_alive_owners(board, suicide, large=True)
    width, height = int(board[0, 0]), int(board[0, 1])
    rows = ["".join(".XO"[owner[point_at(row, column, width)]] for column in range(width)) for row in range(height)]
    assert " / ".join(rows) == expected, name


def test_what_is_large_enough_to_live_in_is_certain_for_nobody() -> None:
    board = parse_diagram(".X.X\nXXXX\n....\n....").board()
    claimed = [int((pass_alive_owners(board, True, large=large) == BLACK).sum()) for large in (False, True)]
    assert claimed == [8, 16]


def test_an_empty_board_belongs_to_nobody() -> None:
    board = parse_diagram("...\n...").board()
    owner = np.ones(board.shape[1], dtype=np.int8)
    area(board, True, True, new_scratch(board), owner)
    assert set(owner.tolist()) == {EMPTY}
