"""Judging moves: points lost, grades by rank and board, phases, statistics."""

from itertools import pairwise

import pytest

from engine.apps.review.judgement import (
    BEGINNER,
    DAN,
    DOUBLE_KYU,
    LIMITS,
    PROFESSIONAL,
    SINGLE_KYU,
    Grade,
    Limits,
    Phase,
    Position,
    checked_rank,
    judge,
    largest_swing,
    phase_of,
    points_lost,
    rank_limits,
    scaled,
    tallies,
    tally,
    turning_point,
    worst,
)
from engine.color import BLACK, WHITE
from engine.errors import GoError
from engine.scoring import format_lead

PLAYED, FIRST, MIRROR = 30, 40, 50
LIMITS_OF_BOTH = {BLACK: SINGLE_KYU, WHITE: SINGLE_KYU}


def position(lead: float, winrate: float = 0.5, best: tuple[int, ...] = (FIRST,)) -> Position:
    """Return a position whose search preferred `best`."""
    return Position(winrate, lead, best, best[:1])


@pytest.mark.parametrize(("color", "lost"), [(BLACK, 7.0), (WHITE, 0.0)])
def test_a_falling_lead_of_black_is_lost_by_black_and_not_by_white(color: int, lost: float) -> None:
    assert points_lost(position(4.0), position(-3.0), color, PLAYED) == lost


def test_a_rising_lead_of_black_is_lost_by_white() -> None:
    assert points_lost(position(-1.5), position(3.0), WHITE, PLAYED) == 4.5


@pytest.mark.parametrize("vertex", [FIRST, MIRROR])
def test_the_first_choice_and_its_mirror_image_lose_nothing(vertex: int) -> None:
    assert points_lost(position(9.0, best=(FIRST, MIRROR)), position(0.0), BLACK, vertex) == 0.0


@pytest.mark.parametrize(
    ("rank", "limits"),
    [
        ("9p", PROFESSIONAL),
        ("1 pro", PROFESSIONAL),
        ("P3段", PROFESSIONAL),
        ("P9", PROFESSIONAL),
        ("Pro 9 dan", PROFESSIONAL),
        ("职业九段", PROFESSIONAL),
        ("９段", DAN),
        ("1-dan", DAN),
        ("P99", SINGLE_KYU),
        ("九段", DAN),
        ("5d", DAN),
        ("3 dan", DAN),
        ("7D?", DAN),
        ("1k", SINGLE_KYU),
        ("9 kyu", SINGLE_KYU),
        ("10k", DOUBLE_KYU),
        ("19K", DOUBLE_KYU),
        ("20k", BEGINNER),
        ("30 kyu", BEGINNER),
        ("", SINGLE_KYU),
        ("2153", SINGLE_KYU),
        ("5 kings", SINGLE_KYU),
    ],
)
def test_limits_follow_the_rank_and_are_those_of_single_digit_kyu_without_one(rank: str, limits: Limits) -> None:
    assert rank_limits(rank) == limits


def test_a_typed_rank_must_be_one() -> None:
    assert checked_rank("12k") == "12k"
    with pytest.raises(GoError, match="'strong'"):
        checked_rank("strong")


def test_weaker_players_have_wider_limits_and_each_limit_is_above_the_last() -> None:
    for limits in LIMITS:
        assert 0 < limits.inaccuracy < limits.mistake < limits.blunder
    for stronger, weaker in pairwise(LIMITS):
        assert (stronger.inaccuracy, stronger.mistake, stronger.blunder) < (
            weaker.inaccuracy,
            weaker.mistake,
            weaker.blunder,
        )


def test_a_limit_itself_belongs_to_the_worse_grade() -> None:
    limits = Limits("test", 1.0, 2.0, 4.0)
    grades = [limits.grade(points) for points in (0.99, 1.0, 2.0, 4.0)]
    assert grades == [Grade.FINE, Grade.INACCURACY, Grade.MISTAKE, Grade.BLUNDER]


def test_limits_are_proportional_to_the_side_of_the_board() -> None:
    assert scaled(DAN, 19, 19) == DAN
    assert scaled(SINGLE_KYU, 9, 9).blunder == pytest.approx(10 * 9 / 19)


@pytest.mark.parametrize(
    ("side", "opening", "middle"),
    [(19, 50, 151), (13, 23, 70), (9, 11, 34)],
)
def test_phases_end_at_moves_that_grow_with_the_board(side: int, opening: int, middle: int) -> None:
    numbers = (1, opening, opening + 1, middle, middle + 1)
    phases = [Phase.OPENING, Phase.OPENING, Phase.MIDDLE, Phase.MIDDLE, Phase.ENDGAME]
    assert [phase_of(number, side, side) for number in numbers] == phases


def test_a_game_is_judged_move_by_move() -> None:
    moves = [(BLACK, PLAYED), (WHITE, FIRST), (BLACK, PLAYED), (WHITE, PLAYED)]
    positions = [position(0, 0.5), position(-2, 0.4), position(-6, 0.2), position(-6, 0.2), position(5, 0.9)]
    judged = judge(moves, positions, (19, 19), LIMITS_OF_BOTH)
    assert [move.points_lost for move in judged] == [2, 0, 0, 11]
    assert [move.grade for move in judged] == [Grade.INACCURACY, Grade.FINE, Grade.FINE, Grade.BLUNDER]
    assert [move.number for move in judged] == [1, 2, 3, 4]
    assert judged[0].winrate_lost == pytest.approx(0.1)
    assert judged[3].winrate_lost == pytest.approx(0.7)


def test_each_player_is_graded_by_own_limits() -> None:
    moves = [(BLACK, PLAYED), (WHITE, PLAYED)]
    judged = judge(moves, [position(0), position(-2), position(0)], (19, 19), {BLACK: DAN, WHITE: BEGINNER})
    assert [move.grade for move in judged] == [Grade.INACCURACY, Grade.FINE]


def test_statistics_count_moves_of_one_player_in_the_game_and_in_each_phase() -> None:
    moves = [(BLACK, PLAYED), (WHITE, PLAYED), (BLACK, FIRST), (WHITE, PLAYED)]
    leads = [0, -6, -5, -5, 20]
    found = tallies(judge(moves, [position(lead) for lead in leads], (3, 3), LIMITS_OF_BOTH), BLACK)
    assert found[None].moves == 2
    assert found[None].mean_loss == pytest.approx(3.0)
    assert found[None].top_share == 0.5
    assert (found[None].mistakes, found[None].blunders) == (1, 0)
    assert set(found) == {None, Phase.OPENING, Phase.MIDDLE}
    assert found[Phase.MIDDLE].top_share == 1.0


def test_no_moves_have_statistics_of_zero() -> None:
    assert tally([]).mean_loss == 0.0
    assert largest_swing([]) is None


def test_moves_of_decided_games_are_the_worst_only_after_all_others() -> None:
    rates, leads = (0.99, 0.99, 0.6, 0.5), (40, 20, 15, 12)
    positions = [Position(winrate=rate, lead=lead) for rate, lead in zip(rates, leads, strict=True)]
    judged = judge([(BLACK, PLAYED)] * 3, positions, (19, 19), LIMITS_OF_BOTH)
    assert [move.is_decided for move in judged] == [True, False, False]
    assert [move.number for move in worst(judged, 10)] == [2, 3, 1]


def test_the_worst_moves_come_first_and_moves_within_the_limits_are_none_of_them() -> None:
    moves = [(BLACK, PLAYED)] * 4
    judged = judge(moves, [position(lead) for lead in (0, -3, -4, -10, -10)], (19, 19), LIMITS_OF_BOTH)
    assert [move.number for move in worst(judged, 10)] == [3, 1]
    assert [move.number for move in worst(judged, 1)] == [3]
    swing = largest_swing(judged)
    assert swing is not None
    assert swing.number == 3


def test_the_turning_point_is_the_largest_fall_of_the_win_rate_and_not_of_points() -> None:
    moves = [(BLACK, PLAYED), (WHITE, FIRST), (BLACK, PLAYED), (WHITE, FIRST), (BLACK, FIRST)]
    leads, rates = (2, -3, -3, -30, -30, -30), (0.6, 0.2, 0.2, 0.01, 0.01, 0.9)
    positions = [position(lead, rate) for lead, rate in zip(leads, rates, strict=True)]
    judged = judge(moves, positions, (19, 19), LIMITS_OF_BOTH)
    turn, swing = turning_point(judged), largest_swing(judged)
    assert turn is not None
    assert swing is not None
    assert (turn.number, swing.number) == (1, 3)
    assert turning_point(judged[1:2]) is None


def test_leads_name_the_leader() -> None:
    assert [format_lead(lead) for lead in (2.54, -0.5, 0.0, -0.04)] == ["B+2.5", "W+0.5", "B+0.0", "B+0.0"]
