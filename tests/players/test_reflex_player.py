"""The player without a search: reflexes first, then the best prior."""

from dataclasses import replace

from engine.color import BLACK, WHITE
from engine.evaluators.rollout import RolloutEvaluator
from engine.game import Game
from engine.players import Limits, RandomPlayer, ReflexPlayer
from engine.rules import TROMP_TAYLOR
from engine.scoring import final_score
from engine.search.params import ROLLOUT_PARAMS
from engine.vertex import parse_vertex
from tests.positions import game_from_diagram

ATARI = """
. O . . .
O X . . .
. O . . .
. . . . .
. . . . .
"""


def player() -> ReflexPlayer:
    return ReflexPlayer(RolloutEvaluator(1), replace(ROLLOUT_PARAMS, seed=1))


def test_a_reflex_comes_before_the_best_prior() -> None:
    game, rescue = game_from_diagram(ATARI), parse_vertex("C4", 5, 5)
    decision = player().genmove(game, BLACK, Limits(visits=1000))
    assert (decision.vertex, decision.visits) == (rescue, 0)


def test_a_move_that_is_to_be_avoided_is_no_reflex() -> None:
    game, rescue = game_from_diagram(ATARI), parse_vertex("C4", 5, 5)
    assert player().genmove(game, BLACK, Limits(), avoided={BLACK: {rescue: 1}}).vertex != rescue


def test_without_a_reflex_one_visit_decides() -> None:
    assert player().genmove(Game(5), BLACK, Limits(visits=1000)).visits == 1


def test_reflexes_beat_random_moves() -> None:
    mover, wins = player(), 0
    for number in range(1, 7):
        game, dice = Game(7, rules=TROMP_TAYLOR, komi=0.5), RandomPlayer(seed=number)
        mover.new_game()
        color = BLACK if number % 2 == 0 else WHITE
        while not game.is_over and game.move_number < 200:
            decision = (mover if game.to_play == color else dice).genmove(game, game.to_play, Limits())
            assert not decision.resign, "one playout is too little to resign by"
            game.play(game.to_play, decision.vertex)
        wins += game.is_over and (final_score(game) > 0) == (color == BLACK)
    assert wins == 6
