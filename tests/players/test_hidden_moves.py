"""Levels: what a weaker one overlooks, and that it plays worse."""

from dataclasses import replace

import numpy as np
import pytest

from engine.color import BLACK, opponent
from engine.evaluators.cache import CachedEvaluator
from engine.evaluators.factory import Computing, open_network
from engine.game import Game
from engine.players import AnalysisRequest, Limits, ReflexPlayer, SearchPlayer, at_level
from engine.players.hidden_moves import choose_hidden_moves
from engine.rules import CHINESE, JAPANESE, Rules
from engine.scoring import final_score
from engine.search.params import SearchParams
from engine.search.root import root_priors
from engine.search.search import Search
from engine.search.stoppers import SearchStats
from engine.settings.levels import FULL_LEVEL, VISIBILITY
from engine.vertex import PASS, points
from tests.search.fakes import FakeEvaluator
from weights.shipped import DEFAULT_NETWORK

AREA = 81
MOVES = np.array([*points(9, 9), PASS])


def seen(priors: np.ndarray, visibility: float, tries: int = 2000) -> np.ndarray:
    """Return how often each move is seen."""
    generator, count = np.random.default_rng(1), np.zeros(len(MOVES))
    for _ in range(tries):
        count += ~np.isin(MOVES, choose_hidden_moves(MOVES, priors, visibility, generator))
    return count / tries


def test_a_plain_move_is_seen_more_often_the_higher_the_visibility_is() -> None:
    priors = np.array([0.9, 0.5, 0.1, *[0.0] * (AREA - 2)])
    base = 1 - 5 / (AREA + 1)
    for visibility in (0.1, 1.0, 3.0):
        expected = 1 - base * np.array([0.1, 0.5, 0.9, 1.0]) ** visibility
        assert np.abs(seen(priors, visibility)[:4] - expected).max() < 0.04


def test_a_sure_move_is_never_overlooked() -> None:
    assert seen(np.array([1.0, *[0.0] * AREA]), 0.05, 200)[0] == 1.0


@pytest.mark.parametrize(("prior", "share"), [(0.6, 1.0), (0.4, 0.0)])
def test_a_pass_is_seen_where_it_is_the_best_move_and_only_there(prior: float, share: float) -> None:
    assert seen(np.array([0.5, *[0.0] * (AREA - 1), prior]), 0.05, 200)[-1] == share


@pytest.mark.parametrize("rules", [CHINESE, JAPANESE])
@pytest.mark.parametrize("level", [1, 3, 9])
def test_nobody_passes_in_the_opening_and_every_game_ends(player: SearchPlayer, rules: Rules, level: int) -> None:
    for size in (7, 9):
        game = Game(size, rules=rules, komi=7.0)
        player.new_game()
        while not game.is_over and game.move_number < 3 * size * size:
            vertex = player.genmove(game, game.to_play, at_level(Limits(), level)).vertex
            assert vertex != PASS or game.move_number > size
            game.play(game.to_play, vertex)
        assert game.is_over


def test_the_best_point_is_seen_where_all_would_be_overlooked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.players.hidden_moves.RANDOMLY_SEEN", 0)
    often = seen(np.array([*np.linspace(0.0, 0.01, AREA), 0.0]), 0.0, 20)
    assert often.tolist() == [*[0.0] * (AREA - 1), 1.0, 0.0]


def test_where_only_a_pass_is_left_it_is_seen() -> None:
    assert choose_hidden_moves(np.array([PASS]), np.array([1.0]), 0.5, np.random.default_rng(1)) == []


def test_levels_below_the_full_one_do_not_think() -> None:
    limits = Limits(visits=400, seconds=3.0)
    assert at_level(limits, FULL_LEVEL) == limits
    for level, visibility in enumerate(VISIBILITY, 1):
        assert at_level(limits, level) == replace(limits, visits=1, visibility=visibility)
    assert sorted(VISIBILITY) == list(VISIBILITY)


@pytest.fixture(scope="module")
def player() -> SearchPlayer:
    """Keima's own player."""
    network = open_network(DEFAULT_NETWORK, Computing(threads=1))
    params = SearchParams(allow_resignation=False)
    return SearchPlayer(CachedEvaluator(network.evaluator), params, network=network)


def test_a_level_plays_what_it_sees_and_analysis_sees_everything(player: SearchPlayer) -> None:
    game, looked_at = Game(9, rules=CHINESE), []
    first = {player.genmove(game, BLACK, at_level(Limits(), 2)).vertex for _ in range(12)}
    assert len(first) > 4
    assert PASS not in first

    def look(search: Search, stats: SearchStats) -> None:
        looked_at.append(len(root_priors(search.tree)))

    player.analyze(game, BLACK, AnalysisRequest(Limits(visits=8)), look)
    assert len({player.genmove(game, BLACK, Limits(visits=1)).vertex for _ in range(12)}) < len(first)
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
            game.play(game.to_play, player.genmove(game, game.to_play, at_level(Limits(), level)).vertex)
        dead = [vertex for chain in player.dead_stones(game) for vertex in chain]
        won += (final_score(game, dead) > 0) == (strong == BLACK)
    assert won >= 5
