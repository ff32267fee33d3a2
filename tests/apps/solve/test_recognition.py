"""Problems are recognized by their stones, and games are not taken for problems."""

import pytest

from engine.apps.solve.recognition import looks_like_a_problem
from engine.color import BLACK, WHITE, opponent
from engine.game import Game
from engine.vertex import parse_vertex
from tests.apps.solve.test_framed import problem
from tests.json_analysis.talk import answers, query

CORNER = "A2 A3 B2 B3 C2 C3 D2 D3 E2 E3"
"""Two rows in a corner, the colors in turn."""
AROUND = "D4 Q16 Q4 D16 C10 R10 K3 K17 O17 F3"


def played(moves: str, color: int = BLACK) -> Game:
    """Return a game in which two players play in turn."""
    game = Game(19)
    for name in moves.split():
        game.play(color, parse_vertex(name, 19, 19))
        color = opponent(color)
    return game


def set_up(moves: str) -> Game:
    """Return the same stones, without moves."""
    game, vertices = Game(19), [parse_vertex(name, 19, 19) for name in moves.split()]
    game.setup(vertices[::2], vertices[1::2])
    return game


def in_rows(moves: str) -> Game:
    """Return the same stones as a GUI sends them: first all of one color."""
    game, vertices = Game(19), [parse_vertex(name, 19, 19) for name in moves.split()]
    for color, stones in ((BLACK, vertices[::2]), (WHITE, vertices[1::2])):
        for vertex in stones:
            game.play(color, vertex, lenient=True)
    return game


@pytest.mark.parametrize("game", [problem(), set_up(CORNER), in_rows(CORNER)])
def test_stones_in_a_corner_are_a_problem(game: Game) -> None:
    assert looks_like_a_problem(game)


@pytest.mark.parametrize("game", [Game(19), played(CORNER), set_up(AROUND), set_up("A2 A3"), problem(7)])
def test_games_and_stones_all_over_the_board_are_none(game: Game) -> None:
    assert not looks_like_a_problem(game)


def test_a_handicap_game_is_no_problem() -> None:
    game = Game(19)
    game.place_handicap(parse_vertex(name, 19, 19) for name in ("D4", "Q16", "Q4", "D16"))
    for number, name in enumerate(["C6", "C3", "F3", "R14", "O17"]):
        assert not looks_like_a_problem(game)
        game.play(WHITE if number % 2 == 0 else BLACK, parse_vertex(name, 19, 19))


def test_a_query_with_a_frame_on_trial_frames_problems_alone() -> None:
    names = CORNER.split()
    stones = [["BW"[number % 2], name] for number, name in enumerate(names)]
    asked = query(boardXSize=19, boardYSize=19, maxVisits=2, frame="auto")
    [found] = answers(asked | {"initialStones": stones})
    assert found["frame"]
    [found] = answers(asked | {"moves": stones})
    assert "frame" not in found
