"""Where problems are searched, and the walls around them."""

import numpy as np
import pytest

from engine.apps.solve.frame import Box, attacker, frame, local_box
from engine.apps.solve.problems import read_problems
from engine.apps.solve.solver import pose
from engine.color import BLACK, EMPTY, WHITE, opponent
from engine.game import Game
from engine.scoring import final_score
from engine.vertex import point_at, row_column
from tests.shared import require_shared

CORNER = """
. X . O . .
X X X O . .
O O O O . .
"""


def stones(text: str, height: int = 19, width: int = 19) -> np.ndarray:
    """Return the colors of a board with these rows in its upper left corner."""
    board = np.zeros((height, width), dtype=np.int8)
    for row, line in enumerate(text.strip().splitlines()):
        for column, cell in enumerate(line.split()):
            board[row, column] = {".": EMPTY, "X": BLACK, "O": WHITE}[cell]
    return board


def test_the_region_is_the_stones_and_two_lines() -> None:
    board = np.zeros((19, 19), dtype=np.int8)
    board[8, 9], board[10, 6] = BLACK, WHITE
    assert local_box(board) == Box(6, 13, 4, 12)
    assert local_box(board, margin=1) == Box(7, 12, 5, 11)


def test_a_last_line_before_the_edge_belongs_to_the_region() -> None:
    board = np.zeros((19, 19), dtype=np.int8)
    board[3, 15] = BLACK
    assert local_box(board) == Box(0, 6, 13, 19)


def test_the_region_of_an_empty_board_is_all_of_it() -> None:
    assert local_box(np.zeros((9, 13), dtype=np.int8)) == Box(0, 9, 0, 13)


@pytest.mark.parametrize("turns", range(4))
@pytest.mark.parametrize("flipped", [False, True])
def test_who_shuts_in_attacks(turns: int, flipped: bool) -> None:
    board = np.rot90(stones(CORNER), turns)
    if flipped:
        board = board.T
    assert attacker(board, local_box(board)) == WHITE
    swapped = np.where(board == EMPTY, EMPTY, 3 - board).astype(np.int8)
    assert attacker(swapped, local_box(swapped)) == BLACK


def test_there_is_no_frame_where_there_is_no_room() -> None:
    for size in (6, 7, 8):
        board = stones(CORNER, size, size)
        assert frame(board, local_box(board), 7.0) is None
    board = stones(CORNER, 9, 9)
    assert frame(board, local_box(board), 7.0) is not None


@pytest.mark.parametrize(("height", "width"), [(19, 19), (13, 19), (19, 9), (12, 12)])
@pytest.mark.parametrize("komi", [7.0, -30.0])
def test_walls_part_the_board_for_good(height: int, width: int, komi: float) -> None:
    board = stones(CORNER, height, width)
    box = local_box(board)
    around = frame(board, box, komi)
    assert around is not None
    inside = box.mask(height, width)
    assert not around[inside].any()
    game = Game(width, height, komi=0.0)
    outer = around.copy()
    outer[inside] = WHITE  # all of the problem is the attacker's
    outer[0, 0] = outer[0, 2] = EMPTY
    for color in (BLACK, WHITE):
        game.setup(
            [point_at(r, c, width) for r, c in np.argwhere(outer == color)] if color == BLACK else [],
            [point_at(r, c, width) for r, c in np.argwhere(outer == color)] if color == WHITE else [],
        )
    black = (height * width + final_score(game)) / 2
    assert black == int(black) > 0, "every point belongs to one side"


def test_the_attacker_is_barely_ahead_when_the_problem_is_his() -> None:
    for color in (BLACK, WHITE):
        board = stones(CORNER)
        if color == BLACK:
            board = np.where(board == EMPTY, EMPTY, 3 - board).astype(np.int8)
        box = local_box(board)
        around = frame(board, box, 7.0)
        assert around is not None
        # The defender's land is every row from his wall to the far edge.
        game = Game(19, komi=7.0)
        outer = np.where(box.mask(19, 19), color, around)
        outer[0, 0] = outer[0, 2] = EMPTY
        game.setup(
            [point_at(r, c, 19) for r, c in np.argwhere(outer == BLACK)],
            [point_at(r, c, 19) for r, c in np.argwhere(outer == WHITE)],
        )
        score = final_score(game) if color == BLACK else -final_score(game)
        assert 4 <= score <= 6


def test_a_posed_problem_keeps_its_stones_and_allows_every_correct_move() -> None:
    problems = read_problems(require_shared("problems/tsumego.jsonl.gz"))
    outside = []
    for problem in problems[::20]:
        for framed in (False, True):
            game, region = pose(problem, framed=framed)
            assert all(game.color_at(vertex) == BLACK for vertex in problem.black)
            assert all(game.color_at(vertex) == WHITE for vertex in problem.white)
            added = game.move_number + len(game.setup_black) + len(game.setup_white)
            added -= len(problem.black) + len(problem.white)
            assert (added > 0) == (framed and problem.size == 19)
            assert game.to_play == problem.to_play != opponent(problem.to_play)
            outside += [row_column(vertex, problem.size) for vertex in problem.correct - set(region)]
    assert outside == []
