"""Levels: what a weaker one overlooks, and that it plays worse."""

from dataclasses import replace

import numpy as np
import pytest

from engine.color import BLACK, opponent
from engine.evaluators.cache import CachedEvaluator
from engine.game import Game
from engine.levels import ATTENTION, FULL_LEVEL
from engine.netfile.network import Computing, open_network
from engine.netfile.options import DEFAULT_NETWORK
from engine.players import AnalysisRequest, Limits, ReflexPlayer, SearchPlayer, at_level
from engine.players.oversight import overlooked
from engine.rules import CHINESE
from engine.scoring import final_score
from engine.search.params import SearchParams
from engine.search.root import root_priors
from engine.search.search import Search
from engine.search.stoppers import SearchStats
from engine.vertex import PASS, parse_vertex, points
from tests.search.fakes import FakeEvaluator

AREA = 81
MOVES = np.array([*points(9, 9), PASS])


def seen(priors: np.ndarray, attention: float, tries: int = 2000) -> np.ndarray:
    """Return how often each move is seen."""
    generator, count = np.random.default_rng(1), np.zeros(len(MOVES))
    for _ in range(tries):
        count += ~np.isin(MOVES, overlooked(MOVES, priors, attention, generator))
    return count / tries


def test_a_plain_move_is_seen_more_often_the_more_attention_there_is() -> None:
    priors = np.array([0.9, 0.5, 0.1, *[0.0] * (AREA - 2)])
    base = 1 - 5 / (AREA + 1)
    for attention in (0.1, 1.0, 3.0):
        expected = 1 - base * np.array([0.1, 0.5, 0.9, 1.0]) ** attention
        assert np.abs(seen(priors, attention)[:4] - expected).max() < 0.04


def test_a_pass_and_a_sure_move_are_never_overlooked() -> None:
    assert seen(np.array([1.0, *[0.0] * AREA]), 0.05, 200)[[0, -1]].tolist() == [1.0, 1.0]


def test_the_best_point_is_seen_where_all_would_be_overlooked() -> None:
    moves, priors = np.array([*range(40, 60), PASS]), np.array([*np.linspace(0.0, 0.01, 20), 0.8])
    generator = np.random.default_rng(3)
    found = [set(moves.tolist()) - set(overlooked(moves, priors, 0.0, generator)) for _ in range(300)]
    assert min(len(each) for each in found) == 2
    assert all(59 in each for each in found if len(each) == 2 and len(each - {PASS, 59}) == 0)
    assert all(PASS in each for each in found)


def test_where_only_a_pass_is_left_it_is_seen() -> None:
    assert overlooked(np.array([PASS]), np.array([1.0]), 0.5, np.random.default_rng(1)) == []


def test_levels_below_the_full_one_do_not_think() -> None:
    limits = Limits(visits=400, seconds=3.0)
    assert at_level(limits, FULL_LEVEL) == limits
    for level, attention in enumerate(ATTENTION, 1):
        assert at_level(limits, level) == replace(limits, visits=1, attention=attention)
    assert sorted(ATTENTION) == list(ATTENTION)


@pytest.fixture(scope="module")
def player() -> SearchPlayer:
    """Keima's own player."""
    network = open_network(DEFAULT_NETWORK, Computing(threads=1))
    return SearchPlayer(CachedEvaluator(network.evaluator), SearchParams(), network=network)


def test_a_level_plays_what_it_sees_and_analysis_sees_everything(player: SearchPlayer) -> None:
    game, looked_at = Game(9, rules=CHINESE), []
    first = {player.genmove(game, BLACK, at_level(Limits(), 2)).vertex for _ in range(12)}
    assert len(first) > 4
    assert PASS not in first

    def look(search: Search, stats: SearchStats) -> None:
        looked_at.append(len(root_priors(search.tree)))

    player.analyze(game, BLACK, AnalysisRequest(Limits(visits=8)), look)
    assert {player.genmove(game, BLACK, Limits(visits=1)).vertex for _ in range(5)} == {parse_vertex("E5", 9, 9)}
    assert max(looked_at) > 10


def test_a_level_moves_by_reflex_where_the_player_does() -> None:
    mover = ReflexPlayer(FakeEvaluator(), SearchParams())
    moves = {mover.genmove(Game(9, rules=CHINESE), BLACK, at_level(Limits(), 1)).vertex for _ in range(12)}
    assert len(moves) > 4


def test_a_higher_level_beats_a_lower_one(player: SearchPlayer) -> None:
    won = 0
    for strong in (BLACK, opponent(BLACK)) * 3:
        game = Game(9, rules=CHINESE, komi=7.0)
        player.new_game()
        while not game.is_over and game.move_number < 3 * AREA:
            level = 8 if game.to_play == strong else 2
            decision = player.genmove(game, game.to_play, at_level(Limits(), level))
            if decision.resign:
                break
            game.play(game.to_play, decision.vertex)
        lead = final_score(game, []) if game.is_over else 1.0 if game.to_play != BLACK else -1.0
        won += (lead > 0) == (strong == BLACK)
    assert won == 6
