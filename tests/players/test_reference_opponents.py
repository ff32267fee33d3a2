"""Opponents that every search must beat: random moves, and a few plies of alpha-beta."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from engine.color import BLACK, WHITE
from engine.evaluators.rollout import RolloutEvaluator
from engine.game import Game
from engine.players import Limits, RandomPlayer, SearchPlayer
from engine.rules import TROMP_TAYLOR
from engine.scoring import final_score
from engine.search.params import ROLLOUT_PARAMS
from engine.vertex import format_vertex
from tests.oracle.alpha_beta import AlphaBetaPlayer, plain_value
from tests.positions import game_from_diagram, random_game

GAMES = 6


def wins_of_a_search(opponent_of: Callable[[int], Any], visits: int, side: int = 5, games: int = GAMES) -> int:
    """Return how many games, colors alternating, a search by playouts wins; opponents differ by number."""
    thinker, wins = SearchPlayer(RolloutEvaluator(1), replace(ROLLOUT_PARAMS)), 0
    for number in range(games):
        game, opponent = Game(side, rules=TROMP_TAYLOR, komi=0.5), opponent_of(number)
        thinker.new_game()
        color = BLACK if number % 2 == 0 else WHITE
        while not game.is_over:
            mover = thinker if game.to_play == color else opponent
            decision = mover.genmove(game, game.to_play, Limits(visits=visits))
            if decision.resign:
                assert mover is thinker
                break
            game.play(game.to_play, decision.vertex)
        else:
            wins += (final_score(game) > 0) == (color == BLACK)
    return wins


@pytest.mark.parametrize(
    ("opponent_of", "visits"), [(RandomPlayer, 200), (lambda number: AlphaBetaPlayer(1 + number // 2 % 2), 400)]
)
def test_a_search_by_play_outs_beats(opponent_of: Callable[[int], Any], visits: int) -> None:
    assert wins_of_a_search(opponent_of, visits) >= GAMES - 1


@pytest.mark.slow
def test_a_search_by_few_play_outs_beats_random_moves_on_9x9_in_95_games_of_100() -> None:
    assert wins_of_a_search(RandomPlayer, 10, side=9, games=100) >= 95


@pytest.mark.parametrize("seed", range(4))
def test_alpha_beta_finds_the_value_that_plain_search_finds_with_fewer_positions(seed: int) -> None:
    game, reader = random_game(seed, 4, moves=6), AlphaBetaPlayer()
    assert reader.value(game, 2, -math.inf, math.inf) == plain_value(game, 2)
    assert reader.positions < 1 + len(game.legal_vertices()) * (len(game.legal_vertices()) + 1)


def test_alpha_beta_captures_what_is_in_atari() -> None:
    game = game_from_diagram(". X O . .\n. . X . .\n. O . O .\n. . . . .\n. . . . .", rules=TROMP_TAYLOR)
    assert format_vertex(AlphaBetaPlayer().genmove(game, BLACK, Limits()).vertex, 5, 5) == "D5"
