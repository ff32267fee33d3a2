"""A problem on a board is framed for analyses: over JSON by a field, over GTP by an option of kata-analyze."""

import pytest

from engine.apps.solve.framed import framed
from engine.color import BLACK, EMPTY, WHITE
from engine.errors import GoError
from engine.game import Game
from engine.vertex import PASS, format_vertex, parse_sgf
from tests.json_analysis.talk import answers, query

BLACKS, WHITES = ("ab", "bb", "cb", "db", "eb"), ("ac", "bc", "ca", "cc", "dc", "ea", "ec", "fb", "fc")
"""A corner problem: White attacks."""


def problem(size: int = 19) -> Game:
    """Return the problem on an empty board."""
    game = Game(size)
    black, white = ([parse_sgf(point, size, size) for point in points] for points in (BLACKS, WHITES))
    game.setup(black, white, BLACK)
    return game


def stones(points: tuple[str, ...], color: str) -> list[list[str]]:
    """Return stones as a query has them."""
    return [[color, format_vertex(parse_sgf(point, 19, 19), 19, 19)] for point in points]


def test_a_frame_adds_stones_outside_the_region_and_changes_none() -> None:
    game = problem()
    found = framed(game, BLACK)
    assert found.added
    assert found.game.to_play == BLACK
    for color, vertex in found.added:
        assert vertex not in found.region
        assert game.color_at(vertex) == EMPTY
        assert found.game.color_at(vertex) == color
    assert all(found.game.color_at(vertex) == game.color_at(vertex) for vertex in found.region)


def test_nobody_plays_outside_the_region_and_a_pass_is_no_first_move() -> None:
    found = framed(problem(), WHITE)
    assert found.game.to_play == WHITE
    for color in (BLACK, WHITE):
        assert not set(found.region) & found.avoided[color].keys()
        assert found.avoided[color][PASS] == 1
        assert len(found.region) + len(found.avoided[color]) == 19 * 19 + 1


@pytest.mark.parametrize("game", [Game(19), problem(7)])
def test_without_stones_or_room_there_is_no_frame(game: Game) -> None:
    with pytest.raises(GoError, match="no room for a frame"):
        framed(game, BLACK)


def test_a_query_with_a_frame_is_answered_with_moves_of_the_region_and_the_frame() -> None:
    asked = query(
        boardXSize=19, boardYSize=19, initialStones=[*stones(BLACKS, "B"), *stones(WHITES, "W")], maxVisits=30
    )
    [found] = answers(asked | {"frame": True, "initialPlayer": "b"})
    region = {format_vertex(vertex, 19, 19) for vertex in framed(problem(), BLACK).region}
    moves = {info["move"] for info in found["moveInfos"]}
    assert moves
    assert moves <= region
    assert {tuple(stone) for stone in found["frame"]} == {
        ("BW"[color - 1], format_vertex(vertex, 19, 19)) for color, vertex in framed(problem(), BLACK).added
    }
    [plain] = answers(asked | {"initialPlayer": "b"})
    assert "frame" not in plain


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"frame": 1}, 'Must be a boolean or "auto"'),
        ({"frame": True}, "no room for a frame"),
        (
            {"frame": True, "avoidMoves": [{"player": "b", "moves": ["A1"], "untilDepth": 1}]},
            "Cannot specify frame together with allowMoves or avoidMoves",
        ),
    ],
)
def test_a_frame_that_cannot_be_is_an_error_of_its_field(fields: dict[str, object], message: str) -> None:
    [found] = answers(query(**fields))
    assert found["field"] == "frame"
    assert message in found["error"]
