"""What is told of life and death, and of a game that goes on, from an expected ownership."""

import threading

import numpy as np
import pytest

from engine.color import BLACK, WHITE
from engine.evaluators.rollout import RolloutEvaluator
from engine.players import AnalysisRequest, Limits, SearchPlayer
from engine.players.base import all_but
from engine.players.judge import Judge, dead_chains, seki_chains
from engine.players.search_player import after_move
from engine.rules import CHINESE, JAPANESE, Rules
from engine.scoring import final_score
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.search.stoppers import SearchStats
from engine.vertex import PASS, parse_vertex, policy_index
from tests.players.test_search_player import player
from tests.positions import DEAD_STONE, game_from_diagram, game_of
from tests.search.fakes import FakeEvaluator

EYE_EACH = """
. X . O . O X
X X X O O O X
O O O X X X X
. . O X . . .
. . O X . . .
. . O X . . .
. . O X . . .
"""
DAME = """
. X . O .
. X X O .
. X O O .
. X O . .
. X O . .
"""


def test_a_judgement_by_playouts_takes_judge_visits_for_each_side_to_move_first() -> None:
    judge = Judge(RolloutEvaluator(1), SearchParams(judge_visits=30), threading.Event())
    assert judge.effort(Limits(visits=5)) == 60
    judge.set_params(SearchParams(judge_visits=10))
    assert judge.effort(Limits()) == 20
    judge.close()


@pytest.mark.parametrize(("owner", "is_dead"), [(0.1, True), (-0.1, False)])
def test_a_chain_in_doubt_is_dead_where_that_is_more_likely_than_not(owner: float, is_dead: bool) -> None:
    game = game_from_diagram(DEAD_STONE)
    ownership = np.array([[1.0] * 4 + [-1.0] * 3] * 7).ravel()
    vertex = parse_vertex("B6", 7, 7)
    ownership[policy_index(vertex, 7, 7)] = owner
    assert dead_chains(game, ownership) == ([[vertex]] if is_dead else [])


@pytest.mark.parametrize(
    ("eye", "shared", "is_over", "in_seki"),
    [(0.7, 0.7, True, True), (0.9, 0.7, True, False), (0.7, 0.9, True, False), (0.7, 0.7, False, False)],
)
@pytest.mark.parametrize("swaps", [False, True])
def test_two_groups_with_an_eye_each_that_share_a_liberty_are_both_in_seki_once_the_game_is_over(
    eye: float, shared: float, is_over: bool, in_seki: bool, swaps: bool
) -> None:
    drawing = EYE_EACH.translate(str.maketrans("XO", "OX")) if swaps else EYE_EACH
    game = game_from_diagram(drawing, rules=JAPANESE, komi=0)
    sign = -1.0 if swaps else 1.0
    ownership = np.array(
        [[0.6, 0.9, shared, -0.9, -eye, -0.9, 1.0], [*[0.9] * 3, *[-0.9] * 3, 1.0], [-1.0] * 3 + [1.0] * 4]
    )
    ownership = sign * np.vstack([ownership, np.array([[-1.0] * 3 + [1.0] * 4] * 4)]).ravel()
    for color in (BLACK, WHITE) * is_over:
        game.play(color, PASS)
    both = {parse_vertex(name, 7, 7) for name in ("B7", "A6", "B6", "C6", "D7", "F7", "D6", "E6", "F6")}
    found = {vertex for chain in seki_chains(game, ownership) for vertex in chain}
    assert found == (both if in_seki else set())
    if in_seki:
        assert final_score(game, seki=found) == sign * (4 * 3 - 4 * 2)


def test_living_groups_beside_a_neutral_point_are_in_no_seki() -> None:
    game = game_from_diagram(DAME, rules=JAPANESE, komi=0)
    game.play(BLACK, PASS)
    game.play(WHITE, PASS)
    ownership = np.array([[1.0] * 2 + [0.0] + [-1.0] * 2] * 5).ravel()
    assert seki_chains(game, ownership) == []


@pytest.mark.parametrize("rules", [CHINESE, JAPANESE], ids=["area", "territory"])
def test_a_game_in_which_every_point_is_decided_needs_no_estimate(rules: Rules) -> None:
    thinker = player()
    game = game_from_diagram(DEAD_STONE, rules=rules, komi=0.5)
    assert thinker.expected_score(game) is None
    for color in (BLACK, WHITE):
        game.play(color, PASS)
    assert thinker.expected_score(game) is None
    thinker.close()


def test_an_open_game_is_expected_to_end_as_the_search_sees_it() -> None:
    thinker = SearchPlayer(FakeEvaluator(), SearchParams())
    game = game_of("C3 C2 C4 PASS E5", 9)
    assert thinker.expected_score(game) == pytest.approx(2.5, abs=1.5), "the fake counts stones"
    thinker.close()


@pytest.mark.parametrize("rules", [CHINESE, JAPANESE], ids=["area", "territory"])
def test_an_analysis_after_a_pass_knows_what_another_pass_comes_to(rules: Rules) -> None:
    game = game_from_diagram(DEAD_STONE, rules=rules, komi=0.5)
    game.play(BLACK, PASS)
    counted = final_score(game, [parse_vertex("B6", 7, 7)])
    assert counted != final_score(game)
    thinker, reported, only_pass = player(), [], {WHITE: all_but([PASS], 1, 7, 7)}

    def watch(search: Search, _: SearchStats) -> None:
        reported[:] = [float(search.tree.nodes[after_move(search.tree, PASS)]["lead"])]

    for _ in range(2):
        thinker.analyze(game, WHITE, AnalysisRequest(Limits(visits=50), only_pass), watch)
        assert reported == [counted]
        thinker.genmove(game, WHITE, Limits(visits=300))
    thinker.close()
