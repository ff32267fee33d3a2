"""Handicap stones: the standard's fixed points, and free placement that always finds room."""

import pytest

from engine.color import BLACK, WHITE
from engine.errors import IllegalMove
from engine.game import Game
from engine.handicap import fixed_handicap_points, free_handicap_points, max_fixed_handicap
from engine.vertex import PASS, format_vertex

FIXED = [
    (19, 2, "Q16 D4"),
    (19, 3, "D16 Q16 D4"),
    (19, 4, "D16 Q16 D4 Q4"),
    (19, 5, "D16 Q16 D4 Q4 K10"),
    (19, 6, "D16 Q16 D4 Q4 D10 Q10"),
    (19, 7, "D16 Q16 D4 Q4 D10 Q10 K10"),
    (19, 8, "D16 Q16 D4 Q4 D10 Q10 K16 K4"),
    (19, 9, "D16 Q16 D4 Q4 D10 Q10 K16 K4 K10"),
    (13, 9, "D10 K10 D4 K4 D7 K7 G10 G4 G7"),
    (12, 4, "C10 K10 C3 K3"),
    (9, 5, "C7 G7 C3 G3 E5"),
    (8, 4, "C6 F6 C3 F3"),
    (7, 4, "C5 E5 C3 E3"),
]
MOST = [
    (5, 5, 0),
    (6, 6, 0),
    (7, 7, 4),
    (8, 8, 4),
    (9, 9, 9),
    (18, 18, 4),
    (19, 19, 9),
    (9, 7, 4),
    (19, 13, 9),
    (9, 6, 0),
]


@pytest.mark.parametrize(("size", "number", "expected"), FIXED)
def test_fixed_stones_stand_where_gnu_go_puts_them(size: int, number: int, expected: str) -> None:
    assert " ".join(format_vertex(v, size, size) for v in fixed_handicap_points(number, size, size)) == expected


@pytest.mark.parametrize(("width", "height", "most"), MOST)
def test_the_board_limits_the_fixed_handicap(width: int, height: int, most: int) -> None:
    assert max_fixed_handicap(width, height) == most
    for number in range(-1, 12):
        if 2 <= number <= most:
            assert len(set(fixed_handicap_points(number, width, height))) == number
        else:
            with pytest.raises(IllegalMove, match="invalid number of stones"):
                fixed_handicap_points(number, width, height)


@pytest.mark.parametrize(("width", "height"), [(2, 2), (2, 25), (5, 5), (7, 7), (9, 9), (13, 9), (19, 19)])
def test_free_stones_are_as_many_as_asked_for_and_all_breathe(width: int, height: int) -> None:
    for number in {2, 3, 9, 10, width * height // 2, width * height - 1} & set(range(2, width * height)):
        vertices = free_handicap_points(number, width, height)
        assert len(set(vertices)) == number
        game = Game(width, height)
        game.place_handicap(vertices)
        assert [game.color_at(vertex) for vertex in vertices] == [BLACK] * number
        assert game.to_play == WHITE


def test_free_stones_start_from_the_fixed_points_and_then_spread() -> None:
    assert free_handicap_points(9, 19, 19) == fixed_handicap_points(9, 19, 19)
    more = free_handicap_points(13, 19, 19)
    assert {format_vertex(vertex, 19, 19) for vertex in more[9:]} == {"G13", "N13", "G7", "N7"}


@pytest.mark.parametrize("number", [-1, 0, 1, 81, 1000])
def test_an_impossible_number_is_refused(number: int) -> None:
    with pytest.raises(IllegalMove, match="invalid number of stones"):
        free_handicap_points(number, 9, 9)
    assert PASS not in free_handicap_points(80, 9, 9)
