"""Scores of small finished games, counted by hand; `tests.golden` has the large ones."""

from dataclasses import replace

import pytest

from engine.color import BLACK, WHITE
from engine.game import Game
from engine.rules import PRESETS, TROMP_TAYLOR, HandicapBonus, Rules, Tax
from engine.scoring import area_score, final_score, format_score, territory_score
from engine.vertex import PASS, parse_vertex
from tests.oracle.naive_score import tromp_taylor_score
from tests.positions import game_from_diagram

WALLS = """
. X O . .
. X O . .
. X O . .
. X O . .
. X O . .
"""
"""Black has 5 stones and 5 points, White 5 stones and 10 points."""
DEAD_STONE = """
. X O . .
O X O . .
. X O . .
. X O . .
. X O . .
"""
SEKI = ". . X . O ."
"""On one line: neither side can take the point between, so neither eye is independent life."""
TWO_AGAINST_ONE = """
. X O . O X .
. X O . O X .
. X O . O X .
"""


def score_of(drawing: str, rules: Rules, dead: str = "", komi: float = 0.0) -> float:
    """Return the final score of a drawn position."""
    game = game_from_diagram(drawing, rules=rules, komi=komi)
    return final_score(game, [parse_vertex(name, game.width, game.height) for name in dead.split()])


def test_area_counts_stones_and_points() -> None:
    game = game_from_diagram(WALLS, komi=0.5)
    assert tromp_taylor_score(game) == area_score(game) == final_score(game) == 10 - 15 - 0.5


def test_territory_counts_points_and_prisoners() -> None:
    assert score_of(WALLS, PRESETS["japanese"]) == 5 - 10
    assert score_of(DEAD_STONE, PRESETS["japanese"], dead="A4") == 5 + 1 - 10


def test_a_dead_stone_counts_for_the_surrounder_by_area() -> None:
    assert score_of(DEAD_STONE, PRESETS["chinese"], dead="A4") == 10 - 15
    alive = game_from_diagram(DEAD_STONE, rules=TROMP_TAYLOR, komi=0)
    assert tromp_taylor_score(alive) == 5 - 16


def test_captures_count_under_territory_rules_only() -> None:
    scores = {}
    for name in ("japanese", "chinese"):
        game = Game(5, rules=PRESETS[name], komi=0)
        for color, point in ((BLACK, "B1"), (WHITE, "A1"), (BLACK, "A2")):
            game.play(color, parse_vertex(point, 5, 5))
        assert game.captured(WHITE) == 1
        scores[name] = final_score(game)
    assert scores == {"japanese": 24.0, "chinese": 25.0}


def test_empty_board_is_komi() -> None:
    game = Game(9, komi=6.5)
    assert final_score(game) == area_score(game) == territory_score(game) == tromp_taylor_score(game) == -6.5


@pytest.mark.parametrize(
    ("bonus", "expected"), [(HandicapBonus.ZERO, 25.0), (HandicapBonus.N, 22.0), (HandicapBonus.N_MINUS_ONE, 23.0)]
)
def test_handicap_bonus_goes_to_white(bonus: HandicapBonus, expected: float) -> None:
    game = Game(5, rules=replace(TROMP_TAYLOR, handicap_bonus=bonus), komi=0)
    game.place_handicap([parse_vertex(name, 5, 5) for name in ("A1", "C3", "E5")])
    assert final_score(game) == expected


@pytest.mark.parametrize(("taker", "expected"), [(BLACK, -5 + 0.5), (WHITE, -5 - 0.5)])
def test_the_button_is_half_a_point_to_who_passes_first(taker: int, expected: float) -> None:
    game = game_from_diagram(WALLS, rules=replace(TROMP_TAYLOR, button=True), komi=0)
    game.play(taker, PASS)
    assert final_score(game) == expected


@pytest.mark.parametrize(
    ("drawing", "tax", "area", "territory"),
    [
        (SEKI, Tax.NONE, 3 - 2, 2 - 1),
        (SEKI, Tax.SEKI, 1 - 1, 0),
        (SEKI, Tax.ALL, 1 - 1, 0),
        (TWO_AGAINST_ONE, Tax.NONE, 12 - 9, 6 - 3),
        (TWO_AGAINST_ONE, Tax.SEKI, 12 - 9, 6 - 3),
        (TWO_AGAINST_ONE, Tax.ALL, (12 - 4) - (9 - 2), None),
    ],
)
def test_taxes_take_eyes_in_seki_or_two_points_a_group(
    drawing: str, tax: Tax, area: int, territory: int | None
) -> None:
    assert score_of(drawing, replace(TROMP_TAYLOR, tax=tax)) == area
    if territory is not None:
        assert score_of(drawing, replace(PRESETS["japanese"], tax=tax)) == territory


@pytest.mark.parametrize(("seki", "expected"), [("C1 E1", 0), ("", 2 - 1), ("C1", 0 - 1), ("E1", 2), (None, 0)])
def test_territory_is_lost_beside_stones_that_are_given_as_living_in_seki_and_nowhere_else(
    seki: str | None, expected: int
) -> None:
    game = game_from_diagram(SEKI, rules=PRESETS["japanese"], komi=0)
    reported = None if seki is None else [parse_vertex(name, 6, 1) for name in seki.split()]
    assert territory_score(game, seki=reported) == final_score(game, seki=reported) == expected


@pytest.mark.parametrize(
    ("score", "text"), [(0.0, "0"), (0.5, "B+0.5"), (-0.5, "W+0.5"), (7.0, "B+7"), (-361.0, "W+361"), (-0.0, "0")]
)
def test_scores_are_written_as_gtp_has_them(score: float, text: str) -> None:
    assert format_score(score) == text


def test_the_tax_on_groups_costs_each_living_group_two_points_under_territory_rules_too() -> None:
    one_white_group_more = score_of(TWO_AGAINST_ONE, PRESETS["ancient-territory"])
    assert one_white_group_more == score_of(TWO_AGAINST_ONE, PRESETS["japanese"]) - 2 * (2 - 1)
