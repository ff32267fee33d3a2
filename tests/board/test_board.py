"""Moves on one board, drawn: what is captured, what remains, where the ko point is, what is illegal."""

import numpy as np
import pytest

from engine.board.kernels import ILLEGAL, is_legal, is_suicide, play, position_hash
from engine.board.layout import COLOR, HEADER, HEIGHT, KO_POINT, ROWS, TO_PLAY, WIDTH, Board, new_board
from engine.color import BLACK, WHITE
from engine.vertex import NO_POINT, PASS, format_vertex, parse_vertex, points
from tests.diagrams import parse_diagram

COLORS = {"B": BLACK, "W": WHITE}


def drawn(board: Board) -> str:
    """Return the stones of a board as rows joined by strokes."""
    width, height = int(board[HEADER, WIDTH]), int(board[HEADER, HEIGHT])
    marks = "".join(".XO"[board[COLOR, vertex]] for vertex in points(width, height))
    return "/".join(marks[start : start + width] for start in range(0, len(marks), width))


def board_of(text: str) -> Board:
    """Return the board drawn by rows joined by strokes."""
    return parse_diagram(text.replace("/", "\n")).board()


def vertex_on(board: Board, name: str) -> int:
    """Return the vertex that a GTP name means on a board."""
    return parse_vertex(name, int(board[HEADER, WIDTH]), int(board[HEADER, HEIGHT]))


def ko_of(board: Board) -> str | None:
    """Return the GTP name of the ko point."""
    vertex = int(board[HEADER, KO_POINT])
    return None if vertex == NO_POINT else format_vertex(vertex, int(board[HEADER, WIDTH]), int(board[HEADER, HEIGHT]))


@pytest.mark.parametrize(
    ("before", "move", "after", "captured", "ko"),
    [
        pytest.param(".../.../...", "B B2", ".../.X./...", 0, None, id="a stone in the open"),
        pytest.param("..../.X../O...", "B B1", "..../.X../OX..", 0, None, id="contact captures nothing"),
        pytest.param("..../X.../O...", "B B1", "..../X.../.X..", 1, None, id="one stone with room around: no ko"),
        pytest.param(".X.X./XO.OX/.X.X./.....", "B C3", ".X.X./X.X.X/.X.X./.....", 2, None, id="two chains: no ko"),
        pytest.param("XXX/OOO/X.X", "B B1", "XXX/.../XXX", 3, None, id="a chain of three"),
        pytest.param(".XO./XO.O/.XO./....", "B C3", ".XO./X.XO/.XO./....", 1, "B3", id="ko in the middle"),
        pytest.param(".XO./XO../..../....", "W A4", "O.O./XO../..../....", 1, "B4", id="ko in the corner"),
        pytest.param("..OX/.OX./OX../....", "B A4", "X.OX/.OX./OX../....", 0, None, id="into an eye of one side"),
        pytest.param("X.OO/OO../....", "W B3", ".OOO/OO../....", 1, None, id="taken by a chain: no ko"),
        pytest.param(".XXO./OOO../.....", "W A3", "O..O./OOO../.....", 2, None, id="two taken by one: no ko"),
        pytest.param("X./..", "W B2", "XO/..", 0, None, id="the smallest game"),
    ],
)
def test_stones_after_a_move(before: str, move: str, after: str, captured: int, ko: str | None) -> None:
    board = board_of(before)
    color, name = move.split()
    assert play(board, vertex_on(board, name), COLORS[color], False) == captured
    assert drawn(board) == after
    assert ko_of(board) == ko
    assert board[HEADER, TO_PLAY] == 3 - COLORS[color]


@pytest.mark.parametrize(
    ("before", "name", "without", "with_suicide"),
    [
        pytest.param(".O../OO../....", "A3", False, False, id="one stone, never"),
        pytest.param(".XO./OOO./....", "A3", False, True, id="two stones, by the rules"),
        pytest.param(".XO./OO../....", "A3", False, True, id="two stones beside an enemy with liberties"),
        pytest.param(".XO./XOO./O.../....", "A4", False, True, id="joining two chains without liberties"),
        pytest.param(".XO./X.O./OO../....", "A4", True, True, id="joining a chain with a liberty"),
        pytest.param(".OX./OX../X.../....", "A4", True, True, id="capturing makes room"),
        pytest.param("X../.../...", "A3", False, False, id="on a stone"),
    ],
)
def test_suicide_is_legal_where_rules_and_stones_allow(
    before: str, name: str, without: bool, with_suicide: bool
) -> None:
    board = board_of(before)
    vertex = vertex_on(board, name)
    assert bool(is_legal(board, vertex, BLACK, False)) == without
    assert bool(is_legal(board, vertex, BLACK, True)) == with_suicide
    if board[COLOR, vertex] == 0:
        assert bool(is_suicide(board, vertex, BLACK)) == (not without)


def test_suicide_takes_the_own_chain_off() -> None:
    board = board_of(".XO./OO../....")
    assert play(board, vertex_on(board, "A3"), BLACK, True) == 0
    assert drawn(board) == "..O./OO../...."
    assert position_hash(board) == position_hash(board_of("..O./OO../...."))


def test_a_question_writes_nothing_for_several_threads_may_ask_of_one_board() -> None:
    board = board_of(". X O . / X O . O / . X O . / . . . .")
    board[HEADER, KO_POINT] = vertex_on(board, "B3")
    board.flags.writeable = False  # kernels that write do not compile for it
    for vertex in (vertex_on(board, name) for name in ("A4", "A2", "C3")):
        assert is_legal(board, vertex, WHITE, True) == (not is_suicide(board, vertex, WHITE))


def test_an_illegal_move_changes_nothing() -> None:
    board = board_of(".XO./X.XO/.XO./....")
    board[HEADER, KO_POINT] = vertex_on(board, "B3")
    before = board.copy()
    for name in ("B3", "A3", "C3"):
        assert play(board, vertex_on(board, name), WHITE, True) == ILLEGAL
    assert np.array_equal(board, before)


@pytest.mark.parametrize("answer", ["D1", "pass"])
def test_any_other_move_and_a_pass_end_the_ko(answer: str) -> None:
    board = board_of(".XO./XO.O/.XO./....")
    play(board, vertex_on(board, "C3"), BLACK, False)
    assert not is_legal(board, vertex_on(board, "B3"), WHITE, False)
    play(board, vertex_on(board, answer), WHITE, False)
    play(board, PASS, BLACK, False)
    assert is_legal(board, vertex_on(board, "B3"), WHITE, False)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (1, 25), (25, 1), (25, 25), (2, 3)])
def test_boards_of_every_shape_begin_empty(width: int, height: int) -> None:
    board = new_board(width, height)
    assert board.shape[0] == ROWS
    assert set(drawn(board)) <= {".", "/"}
    assert all(bool(is_legal(board, vertex, BLACK, False)) == (width * height > 1) for vertex in points(width, height))


@pytest.mark.parametrize(("width", "height"), [(0, 9), (9, 0), (26, 9), (9, 26), (-1, 9)])
def test_boards_of_other_sizes_are_refused(width: int, height: int) -> None:
    with pytest.raises(ValueError, match=f"board size {width}x{height} is outside"):
        new_board(width, height)


def test_one_position_has_one_hash_whatever_the_order_of_moves() -> None:
    moves = [(BLACK, "A1"), (WHITE, "B2"), (BLACK, "C3"), (WHITE, "A3")]
    hashes = set()
    for order in (moves, moves[::-1], moves[2:] + moves[:2]):
        board = new_board(5, 5)
        for color, name in order:
            play(board, vertex_on(board, name), color, False)
        hashes.add(int(position_hash(board)))
    assert len(hashes) == 1
    assert int(position_hash(new_board(5, 5))) == 0
