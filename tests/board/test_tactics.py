"""Local judgement, drawn: eyes, self-atari, captures, escapes, vital points, 3x3 patterns.

The point in question is marked by its GTP name; X asks for Black, O for White.
"""

import numpy as np
import pytest

from engine.board.layout import HEAD, HEADER, HEIGHT, WIDTH, Board
from engine.board.tactics import (
    NAKADE_POINTS,
    PATTERNS,
    breathes_after,
    captures,
    chain_size_after,
    counter_capture,
    is_eye,
    last_liberty,
    nakade_point,
    neighborhood,
    puts_in_atari,
    saves,
)
from engine.color import BLACK, WHITE, opponent
from engine.vertex import NO_POINT, parse_vertex
from tests.diagrams import parse_diagram

COLOR = {"X": BLACK, "O": WHITE}


def board_of(text: str) -> Board:
    return parse_diagram(text.replace("/", "\n")).board()


def at(board: Board, name: str) -> int:
    return parse_vertex(name, int(board[HEADER, WIDTH]), int(board[HEADER, HEIGHT]))


@pytest.mark.parametrize(
    ("stones", "point", "owner", "expected"),
    [
        pytest.param(".X./XX./...", "A3", "X", True, id="corner"),
        pytest.param(".X./XO./...", "A3", "X", False, id="corner with the diagonal taken"),
        pytest.param("X.X/XXX/...", "B3", "X", True, id="edge"),
        pytest.param("X.X/OXX/...", "B3", "X", False, id="edge with a diagonal taken"),
        pytest.param("XXX/X.X/XXX", "B2", "X", True, id="center"),
        pytest.param("OXX/X.X/XXX", "B2", "X", True, id="center, one diagonal taken"),
        pytest.param("OXX/X.X/XXO", "B2", "X", False, id="center, two diagonals taken"),
        pytest.param(".X./X.X/.X.", "B2", "X", True, id="center, diagonals empty"),
        pytest.param(".X./X.X/...", "B2", "X", False, id="one side open"),
        pytest.param(".X./X.X/.O.", "B2", "X", False, id="one side taken by the enemy"),
        pytest.param(".X./X.X/.X.", "B2", "O", False, id="the other side's"),
    ],
)
def test_one_point_eyes(stones: str, point: str, owner: str, expected: bool) -> None:
    board = board_of(stones)
    assert is_eye(board, at(board, point), COLOR[owner]) == expected


@pytest.mark.parametrize(
    ("stones", "move", "mover", "breathes"),
    [
        pytest.param(".O./.../...", "A3", "X", False, id="corner stone with one liberty"),
        pytest.param(".../.../...", "A3", "X", True, id="corner stone with two"),
        pytest.param("X.O/OO./...", "B3", "X", False, id="extension along the edge into nothing"),
        pytest.param("X../OO./...", "B3", "X", False, id="extension that gains one liberty"),
        pytest.param("X..X/OO../....", "B3", "X", False, id="still one liberty short of the friend"),
        pytest.param("X.X./OO../....", "B3", "X", True, id="connection to a friend with liberties"),
        pytest.param(".OX/OOX/XX.", "A3", "X", True, id="captures two or more"),
        pytest.param("OX./OX./.O.", "A1", "X", True, id="captures two of which one becomes a liberty"),
        pytest.param("XX./OX./.O.", "A1", "X", False, id="captures one that becomes the only liberty"),
        pytest.param(".OX./OX../X.../....", "A4", "X", True, id="captures two single stones"),
        pytest.param(".OX/OX./X../...", "A4", "X", True, id="captures and stays free"),
        pytest.param("O.O/.O./...", "B3", "X", False, id="into an enemy eye"),
    ],
)
def test_a_move_breathes_with_two_liberties_or_by_capturing_two_stones(
    stones: str, move: str, mover: str, breathes: bool
) -> None:
    board = board_of(stones)
    assert breathes_after(board, at(board, move), COLOR[mover]) == breathes


@pytest.mark.parametrize(
    ("stones", "move", "mover", "captured", "atari", "saved"),
    [
        pytest.param(".O./OXO/O..", "B1", "O", 1, 0, 0, id="takes a stone"),
        pytest.param(".O./OXO/O..", "B1", "X", 0, 2, 0, id="an extension on the first line fails"),
        pytest.param(".O../OXO./..../....", "B2", "X", 0, 0, 1, id="an extension into the open saves"),
        pytest.param(".OO../OXXO./...../.....", "B2", "O", 0, 2, 0, id="atari on two"),
        pytest.param("XX../OO../....", "C3", "O", 2, 0, 0, id="takes two in the corner"),
        pytest.param("X.../..../....", "A2", "O", 0, 1, 0, id="atari in the corner"),
        pytest.param("XO../.XX./....", "A2", "X", 0, 0, 1, id="connects a stone in atari"),
        pytest.param("..../.X../....", "B3", "O", 0, 0, 0, id="mere contact"),
    ],
)
def test_captures_ataris_and_rescues(stones: str, move: str, mover: str, captured: int, atari: int, saved: int) -> None:
    board, color = board_of(stones), COLOR[mover]
    point = at(board, move)
    assert captures(board, point, color) == captured
    assert puts_in_atari(board, point, color) == atari
    assert saves(board, point, color) == saved


@pytest.mark.parametrize(
    ("stones", "chain", "answer"),
    [
        pytest.param("XO.../O..../...../.....", "A4", None, id="nothing to take"),
        pytest.param(".X../XOX./.X../....", "B3", None, id="a lone stone in atari, nobody to take back"),
        pytest.param(".OX./OXO./XO../....", "B3", "A4", id="takes the larger of the attackers"),
        pytest.param("OX.../OX.../.O.../.....", "B4", "A2", id="takes two attackers"),
    ],
)
def test_counter_captures(stones: str, chain: str, answer: str | None) -> None:
    board = board_of(stones)
    expected = NO_POINT if answer is None else at(board, answer)
    assert counter_capture(board, int(board[HEAD, at(board, chain)])) == expected


def test_the_last_liberty_of_a_chain() -> None:
    board = board_of(".OO../OXXO./.OO../.....")
    assert last_liberty(board, int(board[HEAD, at(board, "B3")])) == NO_POINT
    board = board_of(".OO../OXXO./.O.../.....")
    assert last_liberty(board, int(board[HEAD, at(board, "B3")])) == at(board, "C2")


@pytest.mark.parametrize(
    ("stones", "attacked", "vital"),
    [
        pytest.param("...O/OOOO/....", "D3", "B3", id="three in a row"),
        pytest.param("..O/.OO/OO.", "C3", "A3", id="three bent"),
        pytest.param("...O/O.OO/OOO.", "D3", "B3", id="pyramid four"),
        pytest.param("....O/OOOOO/.....", "E3", None, id="four in a row lives"),
        pytest.param("..O/..O/OOO", "C3", None, id="square four is dead anyway"),
        pytest.param("..O/..O/.OO/OO.", "C4", "A3", id="bulky five"),
        pytest.param("OO.OO/O...O/OO.OO/.OOO.", "A4", None, id="not next to the stone"),
        pytest.param("OO.OO/O...O/OO.OO/.OOO.", "A3", "C3", id="crossed five"),
        pytest.param("..O/X.O/OOO", "C3", None, id="an enemy stone inside: no plain eye space"),
        pytest.param(".O./OO./...", "A2", None, id="a one-point eye"),
    ],
)
def test_vital_points_of_small_eye_spaces(stones: str, attacked: str, vital: str | None) -> None:
    board = board_of(stones)
    found = nakade_point(board, at(board, attacked), np.zeros(NAKADE_POINTS, dtype=np.int16))
    assert found == (NO_POINT if vital is None else at(board, vital))


@pytest.mark.parametrize(
    ("stones", "point", "matches"),
    [
        pytest.param("XOX/.../...", "B2", True, id="enclosing hane"),
        pytest.param("XO./.../...", "B2", True, id="hane"),
        pytest.param(".O./X.X/...", "B2", True, id="cut of one stone"),
        pytest.param(".../.../...", "B2", False, id="empty"),
        pytest.param("X../.../...", "B2", False, id="a diagonal stone"),
        pytest.param("XXX/X.X/XXX", "B2", False, id="one color"),
        pytest.param(".XO/...", "B1", True, id="edge hane"),
    ],
)
def test_patterns(stones: str, point: str, matches: bool) -> None:
    board = board_of(stones)
    assert bool(PATTERNS[neighborhood(board, at(board, point))]) == matches


def _code(cells: np.ndarray) -> int:
    around = [cells[r, c] for r, c in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (2, 2))]
    return sum(int(color) << (2 * place) for place, color in enumerate(around))


def test_patterns_are_the_same_turned_mirrored_and_with_colors_swapped() -> None:
    generator = np.random.default_rng(1)
    for _ in range(500):
        cells = generator.integers(0, 4, (3, 3))
        expected = PATTERNS[_code(cells)]
        swapped = np.where(np.isin(cells, (BLACK, WHITE)), 3 - cells, cells)
        for turned in (np.rot90(cells), cells[:, ::-1], cells.T, swapped):
            assert PATTERNS[_code(turned)] == expected


def test_the_size_after_a_move_is_never_too_small() -> None:
    board = board_of("XX.X/X..X/XXXX")
    assert chain_size_after(board, at(board, "C3"), BLACK) >= 9
    assert chain_size_after(board, at(board, "C3"), opponent(BLACK)) == 1
