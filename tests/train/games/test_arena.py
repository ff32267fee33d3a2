"""Matches between two evaluators: pairs, colors, results, and that the stronger side wins."""

from dataclasses import replace

import numpy as np
import pytest

from engine.color import BLACK, WHITE
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.evaluators.rollout import RolloutEvaluator
from engine.evaluators.uniform import UniformEvaluator
from engine.records.sgf import load_sgf
from engine.scoring import final_score
from engine.train.games.arena import ArenaPlayer, ArenaSettings, arena, draw_openings
from tests.search.fakes import FakeEvaluator

SMALL = ArenaSettings(size=5, games_at_once=4, opening_moves=3, resign_threshold=0.0)


def players(visits: int = 12) -> tuple[ArenaPlayer, ArenaPlayer]:
    return ArenaPlayer(FakeEvaluator(), visits, name="one"), ArenaPlayer(FakeEvaluator(), visits, name="two")


def test_both_games_of_a_pair_have_one_opening_and_exchanged_colors() -> None:
    results = {result.number: result for result in arena(SMALL, *players(), 10)}
    assert sorted(results) == list(range(10))
    openings = set()
    for pair in range(5):
        even, odd = (load_sgf(results[2 * pair + side].record.encode()) for side in (0, 1))
        assert even.moves[:3] == odd.moves[:3]
        assert (even.black, even.white, odd.black, odd.white) == ("one", "two", "two", "one")
        assert results[2 * pair].first_is_black
        assert not results[2 * pair + 1].first_is_black
        openings.add(even.moves[:3])
    assert len(openings) > 3


def test_points_are_the_first_players() -> None:
    for result in arena(SMALL, *players(), 8):
        record = load_sgf(result.record.encode())
        score = final_score(record.game())
        assert result.score == score
        assert result.winner == (BLACK if score > 0 else WHITE if score < 0 else 0)
        won = (score > 0) == result.first_is_black
        assert result.points == (0.5 if score == 0 else float(won))
        assert record.result == result.text
        assert result.moves == len(record.moves)


def test_the_same_match_has_the_same_games() -> None:
    def match(**changes: int) -> dict[int, str]:
        return {each.number: each.record for each in arena(replace(SMALL, **changes), *players(), 6)}

    assert match() == match(games_at_once=2)
    assert match() != match(seed=2)


def test_who_has_lost_for_several_turns_resigns() -> None:
    class Beaten(FakeEvaluator):
        def __init__(self, color: int) -> None:
            super().__init__()
            self.color = color

        def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
            super().evaluate(positions, count, out)
            out.value[:count] = np.where(positions.to_play[:count] == self.color, -1.0, 1.0)

    settings = replace(SMALL, resign_threshold=0.2, opening_moves=0)
    results = list(arena(settings, *(ArenaPlayer(Beaten(BLACK), 4) for _ in range(2)), 4))
    assert [result.text for result in results] == ["W+R"] * 4
    assert {result.moves for result in results} == {4}
    assert [result.score for result in results] == [None] * 4


def test_a_match_can_be_left_in_the_middle() -> None:
    one, two = players()
    results = arena(SMALL, one, two, 1000)
    for _, result in zip(range(3), results, strict=False):
        assert result.moves > 0
    results.close()  # type: ignore[attr-defined]
    assert one.evaluator.positions < 100_000  # type: ignore[attr-defined]


def test_play_outs_beat_knowing_nothing() -> None:
    good = ArenaPlayer(RolloutEvaluator(), 60, name="rollouts")
    bad = ArenaPlayer(UniformEvaluator(), 4, name="uniform")
    results = list(arena(replace(SMALL, games_at_once=6, komi=0.5), good, bad, 6))
    assert sum(result.points for result in results) >= 5


def test_openings_come_from_both_policies_in_turn() -> None:
    one, two = FakeEvaluator(), FakeEvaluator()
    games = draw_openings(replace(SMALL, opening_moves=2), [one, two], 5)
    assert [len(game.moves) for game in games] == [2] * 5
    assert (one.positions, two.positions) == (6, 4)


def test_rules_that_score_territory_are_refused() -> None:
    with pytest.raises(ValueError, match="score area"):
        next(arena(replace(SMALL, rules="japanese"), *players(), 2))
