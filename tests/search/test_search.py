"""The search: its tree's bookkeeping, what it reuses, what it never plays, and that it finds what it must."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from engine.board.layout import COLOR
from engine.color import BLACK, WHITE
from engine.evaluators.rollout import RolloutEvaluator
from engine.evaluators.uniform import UniformEvaluator
from engine.game import Game
from engine.rules import AGA, CHINESE, CHINESE_KGS, JAPANESE, TROMP_TAYLOR, Ko, Rules
from engine.search.move_choice import choose_vertex, move_table
from engine.search.params import ROLLOUT_PARAMS, SearchParams
from engine.search.pruning import prune
from engine.search.root import root_priors
from engine.search.search import Search
from engine.search.tree import (
    BIAS_ENTRIES,
    EXPANDED,
    NO_LINK,
    ROOT,
    SIZE,
    TERMINAL,
    Tree,
    bytes_per_node,
    child_nodes,
    links_of,
)
from engine.symmetry import COUNT, map_vertex
from engine.vertex import PASS, format_vertex, parse_vertex
from tests.evaluators.naive_backend import naive_evaluator
from tests.nets.examples import EXAMPLES
from tests.positions import DEAD_STONE, game_from_diagram, game_of, random_game, turned
from tests.search.fakes import FakeEvaluator, TurningEvaluator


def searched(game: Game, evaluator: object, visits: int = 200, **params: float) -> Search:
    """Return a search that has looked at a game, the side to move first."""
    base = ROLLOUT_PARAMS if isinstance(evaluator, RolloutEvaluator | UniformEvaluator) else SearchParams()
    search = Search(evaluator, replace(base, **params))  # type: ignore[arg-type]
    search.begin(game, game.to_play, game.legal_vertices())
    search.run([], visits)
    return search


def best_vertex(search: Search) -> int:
    return choose_vertex(search.tree, search.root, search.params, 0, search.generator)


def best_move(search: Search, game: Game) -> str:
    return format_vertex(best_vertex(search), game.width, game.height)


def child_by(search: Search, vertex: int) -> int:
    """Return the root's child by a move."""
    children = child_nodes(search.tree, ROOT)
    return children[search.tree.edge_vertex[ROOT, : len(children)].tolist().index(vertex)]


def subtree(tree: Tree, node: int = ROOT, *, with_pending: bool = True) -> tuple:  # type: ignore[type-arg]
    """Return everything a node holds, and its links and children, as nested tuples.

    with_pending: with the moves of leaves that are not expanded, which workers write without the lock.
    """
    each = tree.nodes[node]
    has_moves = with_pending or each["stage"] == EXPANDED
    count = int(each["edges"]) if has_moves else 0
    left_out = ("first_link", "last_link", "bias_slot", *(() if has_moves else ("edges",)))
    own = (
        [each[name].item() for name in tree.nodes.dtype.names if name not in left_out],
        tree.edge_vertex[node, :count].tolist(),
        tree.edge_prior[node, :count].tolist(),
        tree.ownership[node].tolist() if each["stage"] == EXPANDED else [],  # others have none
    )
    links = links_of(tree, node)
    return (
        *own,
        tuple(
            (int(tree.links[link]["visits"]), subtree(tree, int(tree.links[link]["child"]), with_pending=with_pending))
            for link in links
        ),
    )


@pytest.mark.parametrize("shares_nodes", [False, True])
def test_visits_of_a_node_are_its_own_evaluation_and_its_links(shares_nodes: bool) -> None:
    search = searched(Game(3, rules=TROMP_TAYLOR), FakeEvaluator(), 900, shares_nodes=shares_nodes)
    tree = search.tree
    parents = np.zeros(search.size(), dtype=int)
    for node in range(search.size()):
        each, links, children = tree.nodes[node], links_of(tree, node), child_nodes(tree, node)
        np.add.at(parents, children, 1)
        assert each["pending"] == 0
        assert len(links) == each["children"]
        if each["stage"] == EXPANDED:
            assert each["visits"] == 1 + sum(int(tree.links[link]["visits"]) for link in links)
            assert all(tree.links[link]["visits"] <= tree.nodes[tree.links[link]["child"]]["visits"] for link in links)
    assert parents[ROOT] == 0 and parents[1:].min() == 1
    assert (parents.max() > 1) == shares_nodes


@pytest.mark.parametrize(("size", "visits"), [(3, 900), (4, 6000)])
def test_shared_nodes_are_the_same_position_by_another_order_of_moves(size: int, visits: int) -> None:
    game = Game(size, rules=TROMP_TAYLOR)
    search = searched(game, FakeEvaluator(), visits)
    seen: dict[int, tuple[bytes, int]] = {}
    shared = 0
    for node, played in positions_by_links(search, game):
        position = (played.board[COLOR].tobytes(), played.to_play)
        shared += node in seen
        assert seen.setdefault(node, position) == position
    assert shared > 10


def positions_by_links(search: Search, game: Game) -> Iterator[tuple[int, Game]]:
    """Yield the node at the end of every link, with the game played out to it by one of the ways that lead there."""
    waiting, entered = [(ROOT, game.copy())], {ROOT}
    while waiting:
        node, played = waiting.pop()
        for edge, child in enumerate(child_nodes(search.tree, node)):
            following = played.copy()
            following.play(following.to_play, int(search.tree.edge_vertex[node, edge]))
            yield child, following
            if child not in entered:
                entered.add(child)
                waiting.append((child, following))


def test_every_expanded_leaf_is_evaluated_once() -> None:
    evaluator = FakeEvaluator()
    search = searched(Game(4, rules=TROMP_TAYLOR), evaluator, 400)
    assert evaluator.positions == np.count_nonzero(search.tree.nodes["stage"][: search.size()] == EXPANDED)


def test_a_search_has_exactly_the_visits_asked_for() -> None:
    for visits in (1, 2, 7, 100, 333):
        assert searched(Game(9), FakeEvaluator(), visits).tree.nodes[ROOT]["visits"] == visits


def test_unvisited_edges_are_sorted_by_prior_and_priors_sum_to_one() -> None:
    tree = searched(game_of("C3 B3 C4", 5), FakeEvaluator(), 100).tree
    for node in range(int(tree.counters[SIZE])):
        priors = tree.edge_prior[node, tree.nodes[node]["children"] : tree.nodes[node]["edges"]]
        assert np.all(np.diff(priors.astype(int)) <= 0)
    assert root_priors(tree).sum() == pytest.approx(1, abs=1e-3)


def test_the_same_seed_gives_the_same_tree() -> None:
    for evaluator in (FakeEvaluator, lambda: RolloutEvaluator(1), lambda: RolloutEvaluator(2)):
        trees = [subtree(searched(Game(5), evaluator(), 300, batch_size=8, seed=3).tree) for _ in range(2)]
        assert trees[0] == trees[1]


def test_rollouts_do_not_depend_on_the_number_of_threads() -> None:
    trees = [subtree(searched(Game(5), RolloutEvaluator(threads), 300).tree) for threads in (1, 2, 3)]
    assert trees[0] == trees[1] == trees[2]


CAPTURE = """
O O . . O
O O X . O
X X X . O
. . X . O
. . X . O
"""


SMALL_CAPTURE = """
. O X
O O X
X X .
"""
"""Whoever moves captures the other's stones."""


@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize(("diagram", "move"), [(CAPTURE, "C5"), (SMALL_CAPTURE, "A3")])
def test_a_winning_capture_is_found_with_few_visits_at_any_batch_size(diagram: str, move: str, batch: int) -> None:
    game = game_from_diagram(diagram, rules=CHINESE, komi=0)
    search = searched(game, RolloutEvaluator(1), 200, batch_size=batch)
    assert best_move(search, game) == move
    assert search.tree.nodes[child_by(search, best_vertex(search))]["value"] > 0


@pytest.mark.parametrize(("komi", "winner"), [(-0.5, BLACK), (0.5, WHITE)])
def test_komi_decides_a_finished_game_inside_the_tree(komi: float, winner: int) -> None:
    game = game_from_diagram(". X . O .\n" * 5, rules=TROMP_TAYLOR, komi=komi)
    game.play(WHITE, PASS)
    search = searched(game, UniformEvaluator(), 1000)
    end = search.tree.nodes[child_by(search, PASS)]
    assert end["stage"] == TERMINAL
    assert np.sign(end["value"]) == (1 if winner == BLACK else -1)
    assert end["score"] == -komi


@pytest.mark.parametrize("ko", list(Ko))
@pytest.mark.parametrize("suicide", [False, True])
def test_no_leaf_is_reached_by_a_move_that_the_rules_forbid(ko: Ko, suicide: bool) -> None:
    rules = Rules(ko=ko, suicide=suicide)
    for seed in range(3):
        game = random_game(seed, 3, 3, moves=25, rules=rules)
        if game.is_over:
            game.undo()
        search = searched(game, FakeEvaluator(), 1500, shares_nodes=False)
        tree, waiting = search.tree, [(ROOT, game.copy())]
        while waiting:
            node, played = waiting.pop()
            count = int(tree.nodes[node]["edges"])
            if tree.nodes[node]["stage"] == EXPANDED:
                legal = sorted([*played.legal_vertices(), PASS])
                assert sorted(tree.edge_vertex[node, :count].tolist()) == legal
            for edge, child in enumerate(child_nodes(tree, node)):
                vertex, following = int(tree.edge_vertex[node, edge]), played.copy()
                assert following.is_legal(following.to_play, vertex)
                following.play(following.to_play, vertex)
                waiting.append((child, following))


def test_playing_an_explored_move_keeps_its_visits() -> None:
    game = game_of("C3 B3 C4", 5)
    search = searched(game, FakeEvaluator(), 300)
    vertex = best_vertex(search)
    before = subtree(search.tree, child_by(search, vertex))
    game.play(game.to_play, vertex)
    search.begin(game, game.to_play, game.legal_vertices())
    assert search.tree.nodes[ROOT]["visits"] > 1
    assert subtree(search.tree) == before


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda game: game.undo(), id="undo"),
        pytest.param(lambda game: game.set_komi(game.komi + 1), id="komi"),
        pytest.param(lambda game: game.set_rules(AGA), id="rules"),
    ],
)
def test_the_tree_is_dropped_after(change) -> None:  # type: ignore[no-untyped-def]
    game = game_of("C3 C2", 5, rules=CHINESE_KGS)
    search = searched(game, FakeEvaluator(), 300)
    change(game)
    search.begin(game, game.to_play, game.legal_vertices())
    assert search.tree.nodes[ROOT]["visits"] == 0


@pytest.mark.parametrize(
    ("rules", "passes", "dead", "is_kept"),
    [
        (CHINESE_KGS, 1, "B6", True),
        (CHINESE_KGS, 1, "", False),
        (CHINESE_KGS, 0, "", True),
        (JAPANESE, 0, "B6", True),
        (JAPANESE, 0, "", False),
    ],
)
def test_the_tree_is_kept_only_if_passes_in_it_come_to_the_same(
    rules: Rules, passes: int, dead: str, is_kept: bool
) -> None:
    game = game_from_diagram(DEAD_STONE, rules=rules)
    for _ in range(passes):
        game.play(BLACK, PASS)
    search = Search(FakeEvaluator(), SearchParams())
    for stones in ("B6", dead):
        search.begin(game, WHITE, game.legal_vertices(WHITE), [parse_vertex(stone, 7, 7) for stone in stones.split()])
        kept = search.tree.nodes[ROOT]["visits"] > 0
        search.run([], 50)
    assert kept == is_kept


@pytest.mark.parametrize("size", [3, 5])
def test_keeping_a_subtree_leaves_every_node_of_it_as_it_was(size: int) -> None:
    search = searched(Game(size), FakeEvaluator(), 600)
    tree = search.tree
    for depth in range(3):
        child = child_nodes(tree, ROOT)[depth % 2]
        before = subtree(tree, child)
        prune(tree, child)
        assert subtree(tree) == before


def test_patterns_that_no_node_uses_any_more_leave_the_bias_table() -> None:
    search = searched(Game(5), FakeEvaluator(), 900, max_memory_mib=0)
    tree, slots = search.tree, search.tree.nodes["bias_slot"]
    sums = {int(tree.nodes[i]["key"]): tree.bias_sums[slots[i]].tolist() for i in range(search.size()) if slots[i] >= 0}
    entries = int(tree.counters[BIAS_ENTRIES])
    tree.counters[BIAS_ENTRIES] = len(tree.bias_keys)
    prune(tree, ROOT, 8)
    assert 0 < tree.counters[BIAS_ENTRIES] == np.count_nonzero(tree.bias_keys) < entries
    for i in range(search.size()):
        if slots[i] >= 0:
            assert tree.bias_sums[slots[i], 1] <= sums[int(tree.nodes[i]["key"])][1]


def test_folding_leaves_the_statistics_of_all_nodes_that_stay_as_they_were() -> None:
    search = searched(Game(5), FakeEvaluator(), 600)
    tree = search.tree
    names = ["visits", "weight", "weight_sq", "utility", "utility_sq", "value", "score", "lead"]
    before = {int(node["key"]): [node[name].item() for name in names] for node in tree.nodes[: search.size()]}
    prune(tree, ROOT, 8)
    assert 8 < search.size() < 300
    for node in tree.nodes[: search.size()]:
        assert [node[name].item() for name in names] == before[int(node["key"])]
        assert node["visits"] >= 8 or node["first_link"] == NO_LINK


def test_noise_is_mixed_once_a_search_and_never_into_noise() -> None:
    game = Game(5)
    search = Search(FakeEvaluator(), SearchParams(adds_noise=True, noise_fraction=0.25))
    clean = Search(FakeEvaluator(), SearchParams())
    for each in (search, clean):
        each.begin(game, BLACK, game.legal_vertices())
        each.run([], 60)

    def by_vertex(one: Search) -> np.ndarray:
        order = np.argsort(one.tree.edge_vertex[ROOT, : one.tree.nodes[ROOT]["edges"]])
        return root_priors(one.tree)[order]

    clean_priors = by_vertex(clean)
    for _ in range(4):
        noisy = by_vertex(search)
        assert not np.allclose(noisy, clean_priors, atol=0.01)
        assert np.all(noisy >= 0.75 * clean_priors - 1e-3)
        search.begin(game, BLACK, game.legal_vertices())
        search.run([], int(search.tree.nodes[ROOT]["visits"]) + 30)


def test_a_full_tree_forgets_what_it_visited_least_and_goes_on() -> None:
    search = searched(Game(5), FakeEvaluator(), 6000, max_memory_mib=0)
    assert search.tree.nodes[ROOT]["visits"] == 6000 > len(search.tree.nodes) >= search.size()
    assert np.all(search.tree.nodes["pending"][: search.size()] == 0)


def test_a_node_takes_at_most_two_kibibytes_on_19x19() -> None:
    assert bytes_per_node(361, rave=False) <= 2048


def test_a_failing_evaluator_leaves_no_pending_visits() -> None:
    search = Search(FakeEvaluator(fail_at=4), SearchParams())
    search.begin(Game(5), BLACK, Game(5).legal_vertices())
    with pytest.raises(RuntimeError, match="made to fail"):
        search.run([], 200)
    assert np.all(search.tree.nodes["pending"][: search.size()] == 0)
    search.run([], 200)
    assert search.tree.nodes[ROOT]["visits"] == 200


def test_a_root_of_its_own_temperature_gives_way_to_another_board() -> None:
    search = searched(Game(5), FakeEvaluator(), 20, root_policy_temperature=1.2, adds_noise=True, noise_fraction=0.25)
    for size in (6, 5):
        game = Game(size)
        search.begin(game, BLACK, game.legal_vertices())
        assert search.run([], 20).visits == 20


def test_temperature_draws_in_proportion_to_weights() -> None:
    search = searched(Game(3), FakeEvaluator(), 200)
    table = move_table(search.tree, search.root, search.params)
    generator = np.random.default_rng(5)
    drawn = [choose_vertex(search.tree, search.root, search.params, 1.0, generator) for _ in range(3000)]
    for vertex, weight in zip(table.vertex, table.play_weight, strict=True):
        assert drawn.count(int(vertex)) / len(drawn) == pytest.approx(weight / table.play_weight.sum(), abs=0.04)


@pytest.mark.parametrize(("size", "used"), [((5, 5), 8), ((5, 4), 4)])
def test_a_new_root_is_evaluated_under_every_symmetry_of_the_board_as_one_visit(
    size: tuple[int, int], used: int
) -> None:
    evaluator, game = TurningEvaluator(), Game(*size)
    search = Search(evaluator, SearchParams(root_symmetries=8, random_symmetries=False))
    search.begin(game, BLACK, game.legal_vertices(BLACK))
    assert search.run([], max_visits=1).visits == 1
    assert [sorted(each) for each in evaluator.symmetries] == [list(range(used))]
    assert search.tree.nodes[ROOT]["value"] == pytest.approx((used - 1) / 16)
    assert search.run([], max_visits=20).visits == 20
    assert all(symmetry == 0 for batch in evaluator.symmetries[1:] for symmetry in batch)
    search.close()


@pytest.mark.parametrize("symmetry", range(1, COUNT))
def test_a_root_evaluated_under_every_symmetry_is_valued_alike_from_all_sides(symmetry: int) -> None:
    priors, values = [], []
    played = random_game(4, 5, moves=12)
    for game in (played, turned(played, symmetry)):
        search = Search(naive_evaluator(EXAMPLES["transformer"]), SearchParams(root_symmetries=8))
        search.begin(game, game.to_play, game.legal_vertices())
        search.run([], max_visits=1)
        priors.append(dict(zip(search.tree.edge_vertex[ROOT].tolist(), root_priors(search.tree), strict=False)))
        values.append(search.tree.nodes[ROOT]["value"])
        search.close()
    here, there = priors
    assert len(here) > 10
    assert {map_vertex(vertex, symmetry, 5, 5) for vertex in here} == set(there)
    for vertex, prior in here.items():
        assert there[map_vertex(vertex, symmetry, 5, 5)] == pytest.approx(prior, abs=3e-5)
    assert values[0] == pytest.approx(values[1], abs=1e-5)


def test_a_root_whose_evaluation_failed_can_be_evaluated_again() -> None:
    evaluator, game = TurningEvaluator(fail_at=1), Game(5)
    search = Search(evaluator, SearchParams(root_symmetries=8))
    search.begin(game, BLACK, game.legal_vertices(BLACK))
    with pytest.raises(RuntimeError):
        search.run([], max_visits=1)
    assert search.run([], max_visits=3).visits == 3
    assert sorted(evaluator.symmetries[0]) == list(range(8))
    search.close()


def test_walks_of_a_playout_search_pass_over_leaves_under_evaluation_unless_it_is_repeatable() -> None:
    rows = []
    for seed in (0, 5):
        search = Search(RolloutEvaluator(), replace(ROLLOUT_PARAMS, batch_size=8, seed=seed))
        game = Game(9)
        search.begin(game, game.to_play, game.legal_vertices())
        search.run([], max_visits=401)
        rows.append(search.driver.rows / search.driver.answers)
        search.close()
    assert rows[0] == 8 > rows[1]


def test_a_tree_has_rows_for_all_moves_as_first_when_the_parameter_that_turns_them_on_is_changed() -> None:
    search, game = Search(RolloutEvaluator(1), ROLLOUT_PARAMS), Game(5, 5)
    rows = []
    for bias in (ROLLOUT_PARAMS.rave_bias, 0.0, ROLLOUT_PARAMS.rave_bias):
        search.params = replace(ROLLOUT_PARAMS, rave_bias=bias)
        search.begin(game, BLACK, game.legal_vertices())
        search.run([], 50)
        rows.append(search.tree.rave_visits.shape[0])
    assert rows[0] == rows[2] > rows[1] == 0
