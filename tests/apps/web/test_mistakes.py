"""Mistakes are measured by what they lost, on the board's scale, and come with what was better."""

import pytest

from engine.apps.web.mistakes import mistakes
from engine.apps.web.snapshot import Estimate
from engine.color import BLACK, WHITE
from engine.game import Move
from engine.vertex import parse_vertex

PLAYED, BEST, NEXT = (parse_vertex(name, 19, 19) for name in ("D4", "Q16", "C3"))


@pytest.mark.parametrize(
    ("before", "after", "size"),
    [
        ((0.6, 3.0), (0.58, 1.5), 0),
        ((0.6, 3.0), (0.58, 1.0), 1),
        ((0.6, 3.0), (0.49, 1.0), 2),
        ((1.0, 40.0), (1.0, 34.0), 2),
        ((0.6, 0.5), (0.39, -0.5), 3),
        ((0.6, None), (0.52, None), 1),
        ((0.4, -3.0), (0.7, 5.0), 0),
    ],
)
def test_the_size_of_a_mistake_is_that_of_its_points_or_its_winrate(
    before: tuple[float, float | None], after: tuple[float, float | None], size: int
) -> None:
    line = [Move(BLACK, PLAYED)]
    found = mistakes(line, {0: Estimate(*before, (BEST, NEXT)), 1: Estimate(*after)}, 19, 19)
    assert [(each.number, each.size, each.better) for each in found] == ([(1, size, (BEST, NEXT))] if size else [])


def test_white_loses_what_black_wins() -> None:
    estimates = {0: Estimate(0.5, 0.0, (BEST,)), 1: Estimate(0.75, 8.0)}
    [found] = mistakes([Move(WHITE, PLAYED)], estimates, 19, 19)
    assert (found.points, found.winrate) == (8.0, 0.25)


def test_small_boards_have_smaller_mistakes() -> None:
    line, estimates = [Move(BLACK, PLAYED)], {0: Estimate(0.5, 1.0), 1: Estimate(0.49, 0.0)}
    assert mistakes(line, estimates, 19, 19) == []
    assert [each.size for each in mistakes(line, estimates, 9, 9)] == [1]


def test_the_engines_first_choice_is_no_mistake() -> None:
    estimates = {0: Estimate(0.9, 9.0, (PLAYED, NEXT)), 1: Estimate(0.1, -9.0)}
    assert mistakes([Move(BLACK, PLAYED)], estimates, 19, 19) == []
