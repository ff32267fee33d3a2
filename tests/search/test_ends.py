"""Games that end within the tree: how they are counted, and when a count is not believed."""

from dataclasses import replace

import pytest

from engine.color import BLACK, WHITE
from engine.evaluators.uniform import UniformEvaluator
from engine.rules import CHINESE, JAPANESE, TROMP_TAYLOR, Rules, Tax
from engine.scoring import area_score, final_score, territory_score
from engine.search.params import ROLLOUT_PARAMS, SearchParams
from engine.search.search import Search
from engine.search.tree import ROOT, TERMINAL, TERMINAL_PLAYOUTS, child_nodes
from engine.vertex import PASS, parse_vertex
from tests.positions import DEAD_STONE, game_from_diagram
from tests.search.fakes import FakeEvaluator, LeadEvaluator
from tests.search.test_search import child_by

SETTLED = """
    . X X O O .
    X X X O O O
    . X X O O .
    X X X O O O
    . X X O O .
    """
ONE_MOVE_BEFORE = SETTLED.replace(". X X O O .", ". X . O O .", 1)


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


@pytest.mark.parametrize("tax", [Tax.NONE, Tax.SEKI, Tax.ALL])
def test_an_area_count_in_the_tree_is_the_game_s_under_every_tax(tax: Tax) -> None:
    game = game_from_diagram(
        """
        X X X .
        . X O O
        O X X O
        X X O O
        """,
        rules=replace(TROMP_TAYLOR, tax=tax, suicide=False),
        komi=0.5,
    )
    game.play(BLACK, PASS)
    search = Search(UniformEvaluator(), ROLLOUT_PARAMS)
    search.begin(game, WHITE, game.legal_vertices(WHITE))
    search.run([], 1000)
    found = search.tree.nodes[child_by(search, PASS)]["score"]
    game.play(WHITE, PASS)
    assert found == area_score(game)


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


def settled_search(diagram: str, rules: Rules, *, ends_settled: bool = True) -> tuple[Search, FakeEvaluator]:
    """Return a search of 40 visits for Black, who is half a point behind on the board of `SETTLED`."""
    game, evaluator = game_from_diagram(diagram, rules=rules, komi=0.5), FakeEvaluator()
    search = Search(evaluator, SearchParams(ends_settled=ends_settled))
    search.begin(game, BLACK, game.legal_vertices())
    search.run([], 40)
    return search, evaluator


def test_a_line_ends_where_every_point_is_pass_alive_and_needs_no_evaluation() -> None:
    search, evaluator = settled_search(SETTLED, CHINESE)
    assert evaluator.positions == 1  # the root
    assert search.tree.counters[TERMINAL_PLAYOUTS] == search.tree.nodes[ROOT]["visits"] - 1
    found = search.tree.nodes[child_nodes(search.tree, ROOT)]
    assert len(found) > 1
    assert set(found["value"]) == {-1.0}
    assert set(found["score"]) == {-0.5}


def test_a_settled_line_has_the_score_of_the_area_after_it() -> None:
    search, evaluator = settled_search(ONE_MOVE_BEFORE, CHINESE)
    game = game_from_diagram(ONE_MOVE_BEFORE, rules=CHINESE, komi=0.5)
    game.play(BLACK, parse_vertex("C5", 6, 5))
    child = search.tree.nodes[child_by(search, parse_vertex("C5", 6, 5))]
    assert evaluator.positions > 1
    assert (child["raw_score"], child["stage"]) == (area_score(game), TERMINAL)


@pytest.mark.parametrize(
    "rules", [JAPANESE, replace(TROMP_TAYLOR, tax=Tax.ALL), replace(TROMP_TAYLOR, button=True)], ids=str
)
def test_a_line_goes_on_where_more_than_the_area_counts(rules: Rules) -> None:
    search, evaluator = settled_search(SETTLED, rules)
    assert evaluator.positions > 1
    assert TERMINAL not in search.tree.nodes[child_nodes(search.tree, ROOT)]["stage"]


def test_a_line_goes_on_where_the_parameter_says_so_or_the_game_is_played_on() -> None:
    assert settled_search(SETTLED, CHINESE, ends_settled=False)[1].positions > 1
    game, evaluator = game_from_diagram(SETTLED, rules=CHINESE, komi=0.5), FakeEvaluator()
    search = Search(evaluator, SearchParams())
    search.begin(game, BLACK, game.legal_vertices())
    search.play_on()
    search.run([], 40)
    assert evaluator.positions > 1
    assert search.tree.counters[TERMINAL_PLAYOUTS] == 0
