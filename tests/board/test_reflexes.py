"""Moves without thinking, drawn. The point in question is marked by its GTP name; X asks for Black, O for White."""

import pytest

from engine.board.layout import HEAD, LIBERTIES
from engine.board.reflexes import (
    CAPTURE,
    DOUBLE_ATARI,
    NO_REFLEX,
    OWN_EYE,
    SAVE,
    SELF_ATARI,
    reflex_at,
    reflex_move,
    takes,
)
from engine.color import BLACK, WHITE, opponent
from engine.game import Game
from engine.vertex import NO_POINT, parse_vertex
from tests.positions import game_from_diagram, random_game

COLORS = {"X": BLACK, "O": WHITE}


def game_of(rows: str) -> Game:
    return game_from_diagram("\n".join(" ".join(row) for row in rows.split("/")))


def at(rows: str, name: str) -> int:
    lines = rows.split("/")
    return parse_vertex(name, len(lines[0]), len(lines))


REFLEXES = [
    pytest.param(".X./XOX/...", "B1", "X", CAPTURE, id="the last liberty of a stone"),
    pytest.param("O.../X.../..../....", "B4", "X", CAPTURE, id="a stone in the corner"),
    pytest.param(".OX/OXX/.X.", "A3", "X", CAPTURE, id="two chains of one stone"),
    pytest.param("X.OO/XXXX/..../....", "B4", "X", CAPTURE, id="two stones along the edge"),
    pytest.param(".XO./XO.O/.XO./....", "C3", "X", CAPTURE, id="a ko"),
    pytest.param(".OO/XXX/...", "A3", "X", CAPTURE, id="two stones in the corner, from the corner"),
    pytest.param(".XX../XOO../XO.../.X.../.....", "C3", "X", NO_REFLEX, id="a chain with liberties to spare"),
    pytest.param(".XX../XOOX./XO.../.X.../.....", "C3", "X", CAPTURE, id="one chain from two sides"),
    pytest.param("...../..O../.OX../..O../.....", "D3", "O", CAPTURE, id="a stone in the open"),
    pytest.param("...../..O../.OX../..O../.....", "D3", "X", SAVE, id="extending into the open"),
    pytest.param("...../.OO../OXX../.OO../.....", "D3", "X", SAVE, id="extending two stones"),
    pytest.param("...../..O../.OX.X/..O../.....", "D3", "X", SAVE, id="connecting to a friend"),
    pytest.param("..O../.OXO./...../...../.....", "C3", "X", SAVE, id="down from the second line"),
    pytest.param("...../...../...../.OXO./..O..", "C3", "X", SAVE, id="up from the second line"),
    pytest.param("O...../X...../O...../....../....../......", "B5", "X", SAVE, id="off the edge"),
    pytest.param("OX.../.O.../...../...../.....", "C5", "X", NO_REFLEX, id="along the first line is no rescue"),
    pytest.param("..O../.OXO./.O.O./...../.....", "C3", "X", SELF_ATARI, id="an extension that stays in atari"),
    pytest.param("...../...X./XO.OX/...../.....", "C3", "X", NO_REFLEX, id="one of two stones has three liberties"),
    pytest.param("...../.X.X./XO.OX/.X.X./.....", "C3", "X", CAPTURE, id="two stones in atari"),
    pytest.param("...../.X.X./XO.OX/...../.....", "C3", "X", DOUBLE_ATARI, id="two stones with two liberties each"),
    pytest.param("...X./..XOX/.XO.X/...X./.....", "D3", "X", CAPTURE, id="atari and capture is a capture"),
    pytest.param("...../.X.../XO.../..OX./..X..", "C3", "X", DOUBLE_ATARI, id="around a corner"),
    pytest.param("..X../.XO../XO.X./.XX../.....", "C3", "X", CAPTURE, id="one of two is taken"),
    pytest.param("...../.XX../XOO../.X.../.....", "D3", "X", NO_REFLEX, id="atari on one chain alone"),
    pytest.param(".X./X.X/.X.", "B2", "X", OWN_EYE, id="an eye in the center"),
    pytest.param(".X./XX./...", "A3", "X", OWN_EYE, id="an eye in the corner"),
    pytest.param("X.X/XXX/...", "B3", "X", OWN_EYE, id="an eye at the edge"),
    pytest.param("..../OXX./X.X./XX..", "B2", "X", OWN_EYE, id="an eye with one diagonal taken"),
    pytest.param("..../OXX./X.X./.XO.", "B2", "X", NO_REFLEX, id="a false eye may be filled"),
    pytest.param(".O../..../..../....", "A4", "X", SELF_ATARI, id="a corner stone without air"),
    pytest.param(".XO./OO../..../....", "A4", "O", CAPTURE, id="a stone between"),
    pytest.param("X.O./OO../..../....", "B4", "X", SELF_ATARI, id="two stones without air"),
    pytest.param("X..O/OOO./..../....", "B4", "X", SELF_ATARI, id="one liberty is not enough"),
    pytest.param("X..O/O.O./.O../....", "B4", "X", NO_REFLEX, id="two liberties are"),
    pytest.param("O.X./XOX./.X../....", "B4", "O", SELF_ATARI, id="a chain that stays in atari"),
    pytest.param(".OOX/.OXX/OOX./XXX.", "A4", "X", NO_REFLEX, id="one stone thrown in that gives atari"),
    pytest.param("..../..../..../....", "B2", "X", NO_REFLEX, id="an empty board"),
    pytest.param("..../.X../..O./....", "C3", "X", NO_REFLEX, id="contact"),
]


@pytest.mark.parametrize(("rows", "point", "mover", "kind"), REFLEXES)
def test_what_a_move_is_to_a_reflex(rows: str, point: str, mover: str, kind: int) -> None:
    game, vertex = game_of(rows), at(rows, point)
    assert game.is_legal(COLORS[mover], vertex)
    assert reflex_at(game.board, vertex, COLORS[mover]) == kind


@pytest.mark.parametrize(("rows", "point", "mover", "kind"), REFLEXES)
def test_colors_are_alike_to_reflexes(rows: str, point: str, mover: str, kind: int) -> None:
    game = game_of(rows.translate(str.maketrans("XO", "OX")))
    assert reflex_at(game.board, at(rows, point), opponent(COLORS[mover])) == kind


@pytest.mark.parametrize(
    ("rows", "mover", "move"),
    [
        pytest.param("O.X.O/XX.XO/...XX/...../.....", "X", "D5", id="the larger capture"),
        pytest.param("...../.X.../..O../...../.....", "X", None, id="nothing is urgent"),
        pytest.param("..O.O/.OXOX/...../...../.....", "X", "D5", id="a capture before a rescue"),
        pytest.param("..O../.OXO./...../...../.....", "X", "C3", id="a rescue"),
        pytest.param("...../...../...../...../.....", "X", None, id="an empty board"),
    ],
)
def test_the_move_of_a_reflex(rows: str, mover: str, move: str | None) -> None:
    game, color = game_of(rows), COLORS[mover]
    legal = game.legal_arrays(color)[0]
    assert reflex_move(game.board, color, legal) == (NO_POINT if move is None else at(rows, move))


@pytest.mark.parametrize("seed", range(5))
def test_reflexes_agree_with_the_board_after_the_move(seed: int) -> None:
    game = random_game(seed, 7, moves=50)
    color = game.to_play
    for vertex in game.legal_vertices(color):
        after = game.copy()
        captured = after.play(color, vertex)
        kind = reflex_at(game.board, vertex, color)
        assert takes(game.board, vertex, color) == captured
        assert (kind == CAPTURE) == (captured > 0)
        breath = after.board[LIBERTIES, after.board[HEAD, vertex]]
        if kind in (SAVE, DOUBLE_ATARI):
            assert breath >= 2
        if kind == SELF_ATARI and after.color_at(vertex) == color:
            assert breath == 1
