"""Mistakes are judged by the points that they lost, for the player's rank, and come with what was better."""

import pytest

from engine.apps.review.judgement import DAN, SINGLE_KYU
from engine.apps.web.mistakes import mistakes
from engine.apps.web.snapshot import Estimate
from engine.color import BLACK, WHITE
from engine.game import Move
from engine.vertex import parse_vertex

PLAYED, BEST, NEXT = (parse_vertex(name, 19, 19) for name in ("D4", "Q16", "C3"))
LIMITS = {BLACK: SINGLE_KYU, WHITE: DAN}


@pytest.mark.parametrize(
    ("before", "after", "grade"),
    [
        ((0.6, 3.0), (0.58, 1.5), 0),
        ((0.6, 3.0), (0.3, 1.0), 1),
        ((1.0, 40.0), (1.0, 34.0), 2),
        ((0.6, 5.0), (0.4, -5.0), 3),
        ((0.6, None), (0.52, None), 1),
        ((0.6, None), (0.39, 1.0), 3),
        ((0.4, -3.0), (0.7, 5.0), 0),
    ],
)
def test_a_mistake_is_judged_by_its_points_and_without_them_by_its_winrate(
    before: tuple[float, float | None], after: tuple[float, float | None], grade: int
) -> None:
    found = mistakes([Move(BLACK, PLAYED)], {0: Estimate(*before, (BEST, NEXT)), 1: Estimate(*after)}, LIMITS)
    assert [(each.number, each.grade, each.better) for each in found] == ([(1, grade, (BEST, NEXT))] if grade else [])


def test_white_loses_what_black_wins_and_is_judged_by_the_own_rank() -> None:
    estimates = {0: Estimate(0.5, 0.0, (BEST,)), 1: Estimate(0.75, 8.0)}
    [found] = mistakes([Move(WHITE, PLAYED)], estimates, LIMITS)
    assert (found.points, found.winrate, found.grade.label) == (8.0, 0.25, "blunder")


def test_the_engines_first_choice_is_no_mistake() -> None:
    estimates = {0: Estimate(0.9, 9.0, (PLAYED, NEXT)), 1: Estimate(0.1, -9.0)}
    assert mistakes([Move(BLACK, PLAYED)], estimates, LIMITS) == []
