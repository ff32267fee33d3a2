"""The diagram grammar: what is drawn, what is read, and that the two agree."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.board.layout import COLOR, HEADER, KO_POINT, LIBERTIES
from engine.color import BLACK
from engine.errors import GoError
from engine.game import Game
from engine.records.diagram import Diagram, diagram_of, format_diagram, showboard
from engine.vertex import NO_POINT, PASS, parse_vertex
from tests.diagrams import parse_diagram

KO = """\
   A B C D E
 5 . . . . . 5
 4 . X O . . 4
 3 X .(X)O . 3
 2 . X O . . 2
 1 . . . . X 1
   A B C D E
to play: white
ko: B3
last move: C3
move: 9
komi: 6.5
captured: black 0, white 1"""


def ko_game() -> Game:
    """Return a game with a ko just taken."""
    game = Game(5, komi=6.5)
    for name in ("B4", "C4", "A3", "D3", "B2", "C2", "E1", "B3", "C3"):
        game.play(game.to_play, parse_vertex(name, 5, 5))
    return game


def test_showboard_draws_position_and_facts() -> None:
    assert showboard(ko_game()) == KO


def test_drawn_diagrams_read_back() -> None:
    game = ko_game()
    diagram = parse_diagram(showboard(game))
    assert diagram == diagram_of(game)
    assert format_diagram(diagram) == showboard(game)
    assert (diagram.board()[COLOR] == game.board[COLOR]).all()
    assert diagram.board()[HEADER, KO_POINT] == game.board[HEADER, KO_POINT] == parse_vertex("B3", 5, 5)
    assert diagram.board()[LIBERTIES, parse_vertex("E1", 5, 5)] == 2


def test_bare_rows_are_a_diagram() -> None:
    diagram = parse_diagram("X.O\n. + .")
    assert diagram == Diagram(3, 2, (parse_vertex("A2", 3, 2),), (parse_vertex("C2", 3, 2),))
    assert (diagram.to_play, diagram.ko_point, diagram.last_move) == (BLACK, NO_POINT, None)


def test_large_boards_have_star_points_and_aligned_rows() -> None:
    lines = showboard(Game(19)).splitlines()
    assert lines[0] == "   A B C D E F G H J K L M N O P Q R S T"
    assert lines[4] == "16 . . . + . . . . . + . . . . . + . . . 16"
    assert lines[11] == " 9 . . . . . . . . . . . . . . . . . . . 9"
    assert len({len(line.rstrip("0123456789")) for line in lines[1:20]}) == 1


@pytest.mark.parametrize(("width", "height"), [(1, 1), (2, 2), (9, 9), (13, 13), (25, 25), (3, 25), (25, 4)])
def test_text_is_ascii_without_blank_lines_or_trailing_spaces(width: int, height: int) -> None:
    game = Game(width, height)
    game.play(BLACK, PASS)
    text = showboard(game)
    assert text.isascii()
    assert all(line and line == line.rstrip() for line in text.splitlines())
    assert "last move: pass" in text
    assert parse_diagram(text) == diagram_of(game)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "0 rows"),
        ("X.\nX", "are not a board"),
        ("X.\n?O", "line 2: '\\?O' is neither a row"),
        (".\nto play: red", "to play: 'red'"),
        (".\nko: C3", "outside the 1x1 board"),
        (".\ncaptured: 3", "captured: '3'"),
        ("." * 26, "are not a board"),
    ],
)
def test_what_is_no_diagram_is_refused(text: str, words: str) -> None:
    with pytest.raises(GoError, match=words):
        parse_diagram(text)


@settings(max_examples=60, deadline=None)
@given(width=st.integers(1, 25), height=st.integers(1, 25), choices=st.lists(st.integers(0, 10_000), max_size=30))
def test_writing_and_reading_is_a_fixed_point(width: int, height: int, choices: list[int]) -> None:
    game = Game(width, height)
    for choice in choices:
        legal = [*game.legal_vertices(), PASS]
        game.play(game.to_play, legal[choice % len(legal)])
    diagram = parse_diagram(showboard(game))
    assert diagram == diagram_of(game)
    assert format_diagram(diagram) == showboard(game)
