"""Games that end within the tree: how they are counted, and when a count is not believed."""

import pytest

from engine.color import BLACK, WHITE
from engine.evaluators.uniform import UniformEvaluator
from engine.rules import CHINESE, JAPANESE, Rules
from engine.scoring import final_score, territory_score
from engine.search.params import ROLLOUT_PARAMS, SearchParams
from engine.search.search import Search
from engine.search.tree import ROOT, TERMINAL_PLAYOUTS
from engine.vertex import PASS, parse_vertex
from tests.positions import DEAD_STONE, game_from_diagram
from tests.search.fakes import FakeEvaluator, LeadEvaluator
from tests.search.test_search import child_by


def test_japanese_rules_count_agreed_dead_stones_as_prisoners_in_the_tree() -> None:
    game = game_from_diagram(
        """
        . . X X O .
        . O . X O O
        . . X X O .
        X X X X O O
        . X . X O .
        """,
        rules=JAPANESE,
        komi=0.5,
    )
    game.play(WHITE, PASS)
    scores = []
    for dead in ((), (parse_vertex("B4", 6, 5),)):
        search = Search(UniformEvaluator(), ROLLOUT_PARAMS)
        search.begin(game, BLACK, game.legal_vertices(), dead)
        search.run([], 1000)
        scores.append(float(search.tree.nodes[child_by(search, PASS)]["score"]))
    assert scores[1] == territory_score(game, [parse_vertex("B4", 6, 5)])
    assert scores[0] < scores[1]


@pytest.mark.parametrize(("rules", "doubts"), [(JAPANESE, True), (CHINESE, False)])
def test_a_count_far_from_what_the_evaluator_thought_is_not_believed_by_territory_rules(
    rules: Rules, doubts: bool
) -> None:
    game = game_from_diagram(DEAD_STONE, rules=rules, komi=0.5)
    game.play(WHITE, PASS)
    dead = parse_vertex("B6", 7, 7)
    counted = final_score(game, [dead])
    for lead, told in ((counted + 1, counted), (counted + 50, counted + 50)):
        search = Search(LeadEvaluator(lead), SearchParams())
        search.doubts_counts = True
        search.begin(game, BLACK, game.legal_vertices(BLACK), [dead])
        search.run([], 300)
        assert (search.tree.nodes[child_by(search, PASS)]["raw_lead"] == told) == doubts


def test_counts_that_are_doubted_and_those_that_are_not_share_no_tree() -> None:
    for rules, kept in ((JAPANESE, False), (CHINESE, True)):
        game, search = game_from_diagram(DEAD_STONE, rules=rules), Search(FakeEvaluator(), SearchParams())
        search.begin(game, BLACK, game.legal_vertices())
        search.run([], 50)
        search.doubts_counts = True
        search.begin(game, BLACK, game.legal_vertices())
        assert (search.tree.nodes[ROOT]["visits"] > 0) == kept


def test_no_passes_end_a_game_that_is_played_on() -> None:
    game = game_from_diagram(DEAD_STONE, rules=CHINESE)
    for plays_on in (False, True):
        search = Search(FakeEvaluator(), SearchParams())
        search.begin(game, BLACK, game.legal_vertices())
        if plays_on:
            search.play_on()
        search.run([], 3000)
        assert (search.tree.counters[TERMINAL_PLAYOUTS] == 0) == plays_on
