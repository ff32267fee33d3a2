"""What is told of life and death, and of a game that goes on, from an expected ownership."""

import numpy as np
import pytest

from engine.color import BLACK, WHITE
from engine.players import SearchPlayer
from engine.players.judge import dead_chains
from engine.rules import CHINESE, JAPANESE, Rules
from engine.search.params import SearchParams
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
