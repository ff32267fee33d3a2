"""What a search corrects in a tree that it keeps, and what ends it: dropped moves, the center, arrays that are full."""

from dataclasses import replace

import numpy as np
import pytest

import engine.search.tree as tree_module
from engine.color import BLACK, WHITE
from engine.evaluation.evaluator import Evaluator
from engine.evaluators.uniform import UniformEvaluator
from engine.game import Game
from engine.rules import TROMP_TAYLOR
from engine.search.avoided import avoid_table
from engine.search.kernel_params import NO_LIMIT, SCORE_TABLE, Params, new_records, write_params
from engine.search.move_choice import move_table
from engine.search.params import SearchParams
from engine.search.pruning import prune
from engine.search.refresh import recompute_tree, tolerance_of
from engine.search.search import Search
from engine.search.tree import LINKS, NO_SLOT, ROOT, TERMINAL, child_nodes, links_of
from engine.vertex import PASS, parse_vertex, points
from tests.search.fakes import FakeEvaluator, LeadEvaluator


def begun(
    game: Game, evaluator: Evaluator, params: SearchParams, avoided: dict[int, dict[int, int]] | None = None
) -> Search:
    """Return a search that has not run yet."""
    search = Search(evaluator, params)
    again(search, game, avoided)
    return search


def again(search: Search, game: Game, avoided: dict[int, dict[int, int]] | None = None) -> None:
    """Begin a search of a game with the present tree."""
    avoid = avoid_table(avoided or {}, game.board.shape[1])
    search.begin(game, game.to_play, game.legal_vertices(), avoid=avoid)


def recompute_around(search: Search, expected_score: float) -> None:
    """Recompute a search's tree with the center of this expected score."""
    edges, records = search.tree.edge_vertex.shape[1], new_records(1)
    write_params(records[0], search.params, edges - 1, expected_score, has_details=False)
    recompute_tree(search.tree, Params(records[0], SCORE_TABLE), np.zeros((4, edges)))


def except_for(moves: list[str], depth: int, size: int) -> dict[int, dict[int, int]]:
    """Return what to avoid so that only some moves are played above a depth, by both colors."""
    kept = {parse_vertex(move, size, size) for move in moves}
    others = {vertex: depth for vertex in [*points(size, size), PASS] if vertex not in kept}
    return {BLACK: others, WHITE: others}


def test_dropped_moves_leave_the_root_before_the_next_playout() -> None:
    game = Game(9, 9, rules=TROMP_TAYLOR)
    search = begun(game, FakeEvaluator(), SearchParams(seed=3))
    search.run([], 400)
    table = move_table(search.tree, search.root, search.params)
    dropped = table.vertex[np.argsort(-table.weight)[:3]].tolist()
    again(search, game, {BLACK: dict.fromkeys(dropped, 1)})
    kept = int(search.tree.nodes[ROOT]["visits"])
    search.run([], kept)
    root, children = search.tree.nodes[ROOT], search.tree.nodes[child_nodes(search.tree, ROOT)]
    assert root["visits"] == kept == 1 + children["visits"].sum()
    assert root["weight"] <= root["raw_weight"] + children["weight"].sum() + 1e-6
    values = [*children["value"], root["raw_value"]]
    assert min(values) <= root["value"] <= max(values)
    before = root["value"].item(), root["utility"].item()
    search.run([], kept + 1)
    assert (root["value"], root["utility"]) == pytest.approx(before, abs=0.05)


def test_a_kept_tree_has_the_utilities_of_the_new_center() -> None:
    game, evaluator = Game(5, 5, rules=TROMP_TAYLOR), LeadEvaluator(0.0)
    search = begun(game, evaluator, SearchParams(seed=3, dynamic_score_zero_weight=0.0))
    search.run([], 1500)
    tree, nodes = search.tree, search.tree.nodes[: search.size()]
    game.play(BLACK, int(move_table(tree, search.root, search.params).vertex[0]))
    again(search, game)
    size = search.size()
    assert size > 20
    # As if the network had seen the new lead everywhere but at the root, whose score is the center.
    nodes = tree.nodes[:size]
    nodes["score"], nodes["score_sq"] = 6.0, 36.0
    utilities = nodes["utility"].copy()
    expected = float(tree.nodes[ROOT]["score"])
    assert expected > tolerance_of(size)
    search.run([], int(tree.nodes[ROOT]["visits"]))
    changed = nodes["visits"] > 0
    assert (np.abs(nodes["utility"] - utilities)[changed] > 1e-3).mean() > 0.9
    stored, weights = nodes["utility"].copy(), nodes["weight"].copy()
    recompute_around(search, expected)
    assert nodes["utility"] == pytest.approx(stored, abs=2e-3), "all nodes have the center of this search"
    assert nodes["weight"] == pytest.approx(weights, rel=0.02)


@pytest.mark.parametrize(
    "evaluator", [FakeEvaluator(), LeadEvaluator(0.0), UniformEvaluator()], ids=lambda e: type(e).__name__
)
def test_a_subtree_that_was_folded_keeps_its_values_when_the_tree_is_recomputed(evaluator: Evaluator) -> None:
    game = Game(7, 7, rules=TROMP_TAYLOR)
    search = begun(game, evaluator, SearchParams(seed=3))
    search.run([], 1500)
    prune(search.tree, ROOT, 100)
    nodes = search.tree.nodes[: search.size()]
    folded = (nodes["children"] == 0) & (nodes["visits"] > 1)
    assert folded.sum() > 20
    before, root = nodes[folded].copy(), nodes[ROOT]["utility"].item()
    recompute_around(search, float(nodes[ROOT]["score"]))
    for name in ("utility", "utility_sq", "value", "weight", "visits"):
        assert np.array_equal(nodes[folded][name], before[name])
    assert nodes[ROOT]["utility"] == pytest.approx(root, abs=1e-3)


def test_a_large_tree_is_recomputed_only_for_a_large_change() -> None:
    assert tolerance_of(1) == tolerance_of(50_000) == pytest.approx(0.1)
    assert tolerance_of(500_000) == pytest.approx(1.0)


@pytest.mark.parametrize(("moves", "depth"), [(["E5"], 10), (["E5", "C3"], 8), (["E5", "C3", "G7"], 5)])
def test_a_search_has_its_visits_though_positions_are_left_without_a_move(moves: list[str], depth: int) -> None:
    game = Game(9, 9, rules=TROMP_TAYLOR)
    search = begun(game, FakeEvaluator(), SearchParams(seed=1), except_for(moves, depth, 9))
    assert search.run([], 300).visits == 300
    tree = search.tree
    played = {int(vertex) for vertex in tree.edge_vertex[ROOT, : len(links_of(tree, ROOT))]}
    assert played <= {parse_vertex(move, 9, 9) for move in moves}
    nodes = tree.nodes[: search.size()]
    assert not nodes["pending"].any()
    blocked = nodes[(nodes["children"] == 0) & (nodes["visits"] > 1) & (nodes["stage"] != TERMINAL)]
    assert len(blocked) > 0
    assert blocked["weight"] == pytest.approx(blocked["raw_weight"] * blocked["visits"], rel=1e-6)
    assert blocked["value"] == pytest.approx(blocked["raw_value"])


def test_a_root_without_a_move_ends_the_search() -> None:
    search = begun(Game(5, 5), FakeEvaluator(), SearchParams(), except_for([], 1, 5))
    assert search.run([], 50).visits == 1


def test_a_tree_whose_links_are_full_before_its_nodes_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    # As where most positions come by many paths, on small boards.
    monkeypatch.setattr(tree_module, "LINKS_PER_NODE", 0.55)
    search = begun(Game(5, 5, rules=TROMP_TAYLOR), FakeEvaluator(), SearchParams(seed=1, max_memory_mib=1))
    visits = 3 * len(search.tree.links)
    assert search.run([], visits).visits == visits
    assert search.tree.counters[LINKS] < len(search.tree.links)


def test_a_search_without_a_limit_ends_before_its_counters_overflow() -> None:
    for most in (None, 1 << 50):
        search = begun(Game(5, 5), FakeEvaluator(), SearchParams(seed=1))
        search.run([], 10)
        search.tree.nodes[ROOT]["visits"] = NO_LIMIT - 5
        assert search.run([], most).visits == NO_LIMIT < 2**31


def test_exact_results_and_passes_have_no_share_in_the_errors_of_others() -> None:
    game = Game(3, 3, rules=TROMP_TAYLOR)
    search = begun(game, FakeEvaluator(), SearchParams(seed=1))
    search.run([], 3000)
    tree = search.tree
    nodes, slots = tree.nodes[: search.size()], tree.nodes["bias_slot"][: search.size()]
    ended = nodes["stage"] == TERMINAL
    assert ended.sum() > 10
    assert (slots[ended] == NO_SLOT).all()
    assert (slots[~ended] != NO_SLOT).any()
    passed, moved = set(), set()
    for number in range(len(nodes)):
        children = child_nodes(tree, number)
        for child, vertex in zip(children, tree.edge_vertex[number, : len(children)], strict=True):
            (passed if vertex == PASS else moved).add(child)
    after_passes = sorted(passed - moved)
    assert after_passes
    assert (slots[after_passes] == NO_SLOT).all()


def test_pondering_keeps_the_tree_of_a_player_that_varies_its_shapes() -> None:
    game = Game(5, 5, rules=TROMP_TAYLOR)
    search = begun(game, FakeEvaluator(), SearchParams(seed=1, repeated_shape_penalty=0.1))
    search.run([], 100)
    game.play(BLACK, parse_vertex("C3", 5, 5))
    search.begin(game, WHITE, game.legal_vertices(), side=BLACK)
    search.run([], 300)
    assert search.root.shape_color == BLACK
    reply = int(move_table(search.tree, search.root, search.params).vertex[0])
    game.play(WHITE, reply)
    again(search, game)
    kept = int(search.tree.nodes[ROOT]["visits"])
    assert kept > 5
    search.begin(game, BLACK, game.legal_vertices(), side=WHITE)
    assert search.tree.nodes[ROOT]["visits"] == 0, "the other side has other shapes"
    search.params = replace(search.params, repeated_shape_penalty=0.0)
