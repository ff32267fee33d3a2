"""Players: safe moves, passing, resigning, dead stones, and that searching beats not searching."""

import threading
import time

import pytest

from engine.color import BLACK, WHITE, opponent
from engine.evaluators.rollout import RolloutEvaluator
from engine.game import Game
from engine.players import Limits, RandomPlayer, SearchPlayer, safe_vertices
from engine.rules import CHINESE, CHINESE_KGS, JAPANESE, TROMP_TAYLOR
from engine.scoring import final_score
from engine.search.params import SearchParams
from engine.vertex import PASS, format_vertex, parse_vertex
from tests.positions import game_from_diagram, game_of
from tests.search.fakes import FakeEvaluator

WON = """
. X . X O . O
X X X X O O .
. X . X O . O
X X X X O O O
. X . X O . O
X X X X O O .
. X . X O . O
"""
DEAD_STONE = """
. . X X O . O
. O X X O O .
. . X X O . O
X X X X O O O
. X . X O . O
X X X X O O .
. X . X O . O
"""


def player(**params: float) -> SearchPlayer:
    return SearchPlayer(RolloutEvaluator(1), SearchParams(**params))


def test_random_players_finish_a_game_with_legal_moves_only() -> None:
    game, mover = Game(9, rules=TROMP_TAYLOR), RandomPlayer(seed=3)
    while not game.is_over:
        game.play(game.to_play, mover.genmove(game, game.to_play, Limits()).vertex)
    assert game.move_number > 40


def test_two_hundred_visits_beat_random_moves() -> None:
    thinker, wins = player(), 0
    for round_number in range(6):
        game, dice = Game(5, rules=TROMP_TAYLOR, komi=0.5), RandomPlayer(seed=round_number)
        thinker.new_game()
        color = BLACK if round_number % 2 == 0 else WHITE
        while not game.is_over:
            mover = thinker if game.to_play == color else dice
            decision = mover.genmove(game, game.to_play, Limits(visits=200))
            assert not decision.resign or mover is thinker
            game.play(game.to_play, decision.vertex)
        wins += (final_score(game) > 0) == (color == BLACK)
    assert wins == 6


def test_a_won_game_ends_at_the_opponents_pass() -> None:
    game = game_from_diagram(WON, rules=CHINESE, komi=0.5)
    game.play(WHITE, PASS)
    decision = player().genmove(game, BLACK, Limits(visits=300))
    assert decision.vertex == PASS
    assert decision.score_lead is not None and decision.score_lead > 0


@pytest.mark.parametrize("rules", [CHINESE, JAPANESE, TROMP_TAYLOR])
def test_a_settled_board_is_passed_out_without_filling_own_eyes(rules: object) -> None:
    game = game_from_diagram(WON, rules=rules, komi=0.5)  # type: ignore[arg-type]
    thinker = player()
    for _ in range(2):
        decision = thinker.genmove(game, game.to_play, Limits(visits=2000))
        if decision.resign:
            return
        assert decision.vertex == PASS or rules is TROMP_TAYLOR
        game.play(game.to_play, decision.vertex)


def test_the_dead_stone_is_found_and_the_living_are_spared() -> None:
    game = game_from_diagram(DEAD_STONE, rules=CHINESE)
    dead = player().dead_stones(game)
    assert [[format_vertex(vertex, 7, 7) for vertex in chain] for chain in dead] == [["B6"]]


def test_a_position_is_never_repeated_by_own_choice_under_simple_ko() -> None:
    game = game_of("B4 C4 A3 D3 B2 C2 E5 B3 C3 E1 E2", 5, rules=CHINESE)
    assert game.to_play == WHITE
    retake = parse_vertex("B3", 5, 5)
    assert game.is_legal(WHITE, retake)
    assert retake in safe_vertices(game, WHITE)
    game.play(WHITE, retake)
    game.play(BLACK, PASS)
    game.play(WHITE, PASS)
    assert game.is_legal(BLACK, parse_vertex("C3", 5, 5))
    assert parse_vertex("C3", 5, 5) not in safe_vertices(game, BLACK)


def test_suicide_is_never_played_even_where_it_is_legal() -> None:
    game = game_from_diagram("X . O\nO O O\n. . .", rules=TROMP_TAYLOR)
    point = parse_vertex("B3", 3, 3)
    assert game.is_legal(BLACK, point)
    assert point not in safe_vertices(game, BLACK)


def test_a_hopeless_game_is_resigned_after_the_given_turns_and_not_at_once() -> None:
    game = game_from_diagram(WON, rules=CHINESE_KGS, komi=0.5)
    for _ in range(6):
        game.play(BLACK, PASS)
        game.play(WHITE, PASS)
    thinker = player(resign_turns=2)
    game.play(BLACK, parse_vertex("C3", 7, 7))
    decisions = []
    for _ in range(3):
        decisions.append(thinker.genmove(game, WHITE, Limits(visits=300)).resign)
    assert decisions == [False, True, True]
    assert not any(player(resign_threshold=0).genmove(game, WHITE, Limits(visits=300)).resign for _ in range(3))


def test_one_visit_plays_the_best_prior() -> None:
    game = game_of("C3", 5)
    decision = player().genmove(game, WHITE, Limits(visits=1))
    assert game.is_legal(WHITE, decision.vertex)
    assert decision.visits == 1


def test_a_search_without_limits_ends_when_it_is_told_to() -> None:
    thinker = player()
    thinker.warm_up()
    timer = threading.Timer(0.3, thinker.stop)
    timer.start()
    started = time.monotonic()
    decision = thinker.genmove(Game(9), BLACK, Limits())
    assert decision.vertex != PASS
    assert time.monotonic() - started < 5
    assert decision.visits > 100


def test_genmove_leaves_the_game_alone() -> None:
    game = game_of("C3 C2", 5)
    before = (list(game.moves), game.board.copy().tobytes(), game.to_play)
    player().genmove(game, opponent(game.to_play), Limits(visits=50))
    assert (list(game.moves), game.board.tobytes(), game.to_play) == before


def test_after_a_restart_the_same_question_gets_the_same_answer() -> None:
    thinker, game = player(), game_of("C3 C2", 9)
    answers = []
    for _ in range(3):
        thinker.restart()
        answers.append(thinker.genmove(game, BLACK, Limits(visits=300)))
    assert answers[0] == answers[1] == answers[2]


def test_judging_and_searching_together_keep_to_the_time_of_a_move() -> None:
    game = game_from_diagram(DEAD_STONE, rules=CHINESE, komi=0.5)
    for _ in range(13):
        game.play(BLACK, PASS)
        game.play(WHITE, PASS)
    thinker = player(resign_threshold=0)
    thinker.warm_up()
    for color in (BLACK, WHITE):
        started = time.monotonic()
        thinker.genmove(game, color, Limits(seconds=1.0))
        assert time.monotonic() - started < 1.5


def test_a_network_judges_dead_stones_with_no_more_visits_than_a_move_may_take() -> None:
    evaluator = FakeEvaluator()
    judge = SearchPlayer(evaluator, SearchParams())
    judge.judge.ownership(game_from_diagram(WON), Limits(visits=1))
    assert evaluator.positions == 2
    judge.close()
