"""What is told of life and death, and of a game that goes on, from an expected ownership."""

import numpy as np
import pytest

from engine.color import BLACK, WHITE
from engine.players import AnalysisRequest, Limits, SearchPlayer
from engine.players.base import all_but
from engine.players.judge import dead_chains
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


@pytest.mark.parametrize(("owner", "is_dead"), [(0.1, True), (-0.1, False)])
def test_a_chain_in_doubt_is_dead_where_that_is_more_likely_than_not(owner: float, is_dead: bool) -> None:
    game = game_from_diagram(DEAD_STONE)
    ownership = np.array([[1.0] * 4 + [-1.0] * 3] * 7).ravel()
    vertex = parse_vertex("B6", 7, 7)
    ownership[policy_index(vertex, 7, 7)] = owner
    assert dead_chains(game, ownership) == ([[vertex]] if is_dead else [])


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
