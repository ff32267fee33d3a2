"""The search: its tree's bookkeeping, what it reuses, what it never plays, and that it finds what it must."""

import numpy as np
import pytest

from engine.color import BLACK, WHITE
from engine.evaluators.rollout import RolloutEvaluator
from engine.evaluators.uniform import UniformEvaluator
from engine.game import Game
from engine.rules import AGA, CHINESE, CHINESE_KGS, JAPANESE, TROMP_TAYLOR, Ko, Rules
from engine.scoring import territory_score
from engine.search.params import SearchParams
from engine.search.root import choose_child, root_priors
from engine.search.search import Search
from engine.search.stoppers import SearchStats, SettledStopper
from engine.search.tree import EXPANDED, NO_NODE, ROOT, SIZE, TERMINAL, Tree, bytes_per_node, child_nodes, keep_subtree
from engine.vertex import PASS, format_vertex, parse_vertex
from tests.positions import game_from_diagram, game_of, random_game
from tests.search.fakes import FakeEvaluator, TurningEvaluator


def searched(game: Game, evaluator: object, visits: int = 200, **params: float) -> Search:
    """Return a search that has looked at a game, the side to move first."""
    search = Search(evaluator, SearchParams(**params))  # type: ignore[arg-type]
    search.begin(game, game.to_play, game.legal_vertices())
    search.run([], visits)
    return search


def best_move(search: Search, game: Game) -> str:
    child = choose_child(search.tree, 0, search.generator)
    assert child is not None
    return format_vertex(int(search.tree.vertex[child]), game.width, game.height)


def subtree(tree: Tree, node: int = ROOT) -> tuple:  # type: ignore[type-arg]
    """Return everything a node holds, and its children, as nested tuples."""
    count = int(tree.edges[node])
    own = (
        int(tree.vertex[node]),
        int(tree.visits[node]),
        float(tree.value_sum[node]),
        tree.edge_vertex[node, :count].tolist(),
        tree.edge_prior[node, :count].tolist(),
    )
    return (*own, tuple(subtree(tree, child) for child in child_nodes(tree, node)))


def test_visits_of_a_node_are_its_own_evaluation_and_its_childrens() -> None:
    tree = searched(Game(5, rules=TROMP_TAYLOR), FakeEvaluator(), 500).tree
    for node in range(int(tree.counters[SIZE])):
        children = child_nodes(tree, node)
        assert tree.pending[node] == 0
        assert len(children) == tree.children[node]
        if tree.stage[node] == EXPANDED:
            assert tree.visits[node] == 1 + sum(int(tree.visits[child]) for child in children)
            assert all(tree.parent[child] == node > NO_NODE for child in children)
            played = [int(tree.vertex[child]) for child in children]
            assert played == tree.edge_vertex[node, : len(children)].tolist()


def test_every_expanded_leaf_is_evaluated_once() -> None:
    evaluator = FakeEvaluator()
    search = searched(Game(4, rules=TROMP_TAYLOR), evaluator, 400)
    assert evaluator.positions == np.count_nonzero(search.tree.stage[: search.size()] == EXPANDED)


def test_a_search_has_exactly_the_visits_asked_for() -> None:
    for visits in (1, 2, 7, 100, 333):
        assert searched(Game(9), FakeEvaluator(), visits).tree.visits[ROOT] == visits


def test_unvisited_edges_are_sorted_by_prior_and_priors_sum_to_one() -> None:
    tree = searched(Game(5), FakeEvaluator(), 100).tree
    for node in range(int(tree.counters[SIZE])):
        priors = tree.edge_prior[node, tree.children[node] : tree.edges[node]]
        assert np.all(np.diff(priors.astype(int)) <= 0)
    assert root_priors(tree).sum() == pytest.approx(1, abs=1e-3)


def test_the_same_seed_gives_the_same_tree() -> None:
    for evaluator in (FakeEvaluator, lambda: RolloutEvaluator(1), lambda: RolloutEvaluator(2)):
        trees = [subtree(searched(Game(5), evaluator(), 300, batch_size=8, seed=3).tree) for _ in range(2)]
        assert trees[0] == trees[1]


def test_rollouts_do_not_depend_on_the_number_of_threads() -> None:
    trees = [subtree(searched(Game(5), RolloutEvaluator(threads), 300, batch_size=16).tree) for threads in (1, 2, 3)]
    assert trees[0] == trees[1] == trees[2]


CAPTURE = """
O O . . O
O O X . O
X X X . O
. . X . O
. . X . O
"""


@pytest.mark.parametrize("batch", [1, 8])
def test_a_winning_capture_is_found_with_few_visits_at_any_batch_size(batch: int) -> None:
    game = game_from_diagram(CAPTURE, rules=CHINESE, komi=0)
    search = searched(game, RolloutEvaluator(1), 500, batch_size=batch)
    assert best_move(search, game) == "C5"
    child = choose_child(search.tree, 0, search.generator)
    assert child is not None and search.tree.value_sum[child] > 0


@pytest.mark.parametrize(("komi", "winner"), [(-0.5, BLACK), (0.5, WHITE)])
def test_komi_decides_a_finished_game_inside_the_tree(komi: float, winner: int) -> None:
    game = game_from_diagram(". X . O .\n" * 5, rules=TROMP_TAYLOR, komi=komi)
    game.play(WHITE, PASS)
    tree = searched(game, UniformEvaluator(), 100).tree
    (end,) = (child for child in child_nodes(tree, ROOT) if tree.vertex[child] == PASS)
    assert tree.stage[end] == TERMINAL
    assert np.sign(tree.value_sum[end]) == (1 if winner == BLACK else -1)
    assert tree.score_sum[end] / tree.visits[end] == -komi


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
        search = Search(UniformEvaluator(), SearchParams())
        search.begin(game, BLACK, game.legal_vertices(), dead)
        search.run([], 200)
        (end,) = (child for child in child_nodes(search.tree, ROOT) if search.tree.vertex[child] == PASS)
        scores.append(float(search.tree.score_sum[end]) / int(search.tree.visits[end]))
    assert scores[1] == territory_score(game, [parse_vertex("B4", 6, 5)])
    assert scores[0] < scores[1]


@pytest.mark.parametrize("ko", list(Ko))
@pytest.mark.parametrize("suicide", [False, True])
def test_no_leaf_is_reached_by_a_move_that_the_rules_forbid(ko: Ko, suicide: bool) -> None:
    rules = Rules(ko=ko, suicide=suicide)
    for seed in range(3):
        game = random_game(seed, 3, 3, moves=25, rules=rules)
        if game.is_over:
            game.undo()
        search = searched(game, FakeEvaluator(), 1500)
        tree = search.tree
        for node in range(1, search.size()):
            line, walker = [], node
            while walker != ROOT:
                line.append(int(tree.vertex[walker]))
                walker = int(tree.parent[walker])
            replay = game.copy()
            for vertex in reversed(line):
                assert replay.is_legal(replay.to_play, vertex)
                replay.play(replay.to_play, vertex)
            if tree.stage[node] == EXPANDED:
                edges = tree.edge_vertex[node, : tree.edges[node]].tolist()
                assert sorted(edges) == sorted([*replay.legal_vertices(), PASS])


def test_playing_an_explored_move_keeps_its_visits() -> None:
    game = game_of("C3", 5)
    search = searched(game, FakeEvaluator(), 300)
    child = choose_child(search.tree, 0, search.generator)
    assert child is not None
    visits, before = int(search.tree.visits[child]), subtree(search.tree, child)
    game.play(game.to_play, int(search.tree.vertex[child]))
    search.begin(game, game.to_play, game.legal_vertices())
    assert search.tree.visits[ROOT] == visits > 1
    assert subtree(search.tree)[1:] == before[1:]


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
    assert search.tree.visits[ROOT] == 0


def test_keeping_a_subtree_leaves_every_node_of_it_as_it_was() -> None:
    search = searched(Game(5), FakeEvaluator(), 600)
    tree = search.tree
    for depth in range(3):
        child = child_nodes(tree, ROOT)[depth % 2]
        before = subtree(tree, child)
        keep_subtree(tree, child, np.empty(len(tree.parent), dtype=np.int32))
        assert subtree(tree) == before
        assert tree.parent[ROOT] == NO_NODE == tree.next_sibling[ROOT]


def test_noise_is_mixed_once_a_search_and_never_into_noise() -> None:
    game = Game(5)
    search = Search(FakeEvaluator(), SearchParams(noise_fraction=0.25))
    clean = Search(FakeEvaluator(), SearchParams())
    for each in (search, clean):
        each.begin(game, BLACK, game.legal_vertices())
        each.run([], 60)

    def by_vertex(one: Search) -> np.ndarray:
        order = np.argsort(one.tree.edge_vertex[ROOT, : one.tree.edges[ROOT]])
        return root_priors(one.tree)[order]

    clean_priors = by_vertex(clean)
    for _ in range(4):
        noisy = by_vertex(search)
        assert not np.allclose(noisy, clean_priors, atol=0.01)
        assert np.all(noisy >= 0.75 * clean_priors - 1e-3)
        search.begin(game, BLACK, game.legal_vertices())
        search.run([], int(search.tree.visits[ROOT]) + 30)


def test_a_full_tree_ends_the_search_and_stays_within_its_memory() -> None:
    search = searched(Game(19), FakeEvaluator(), 100_000, max_memory_mib=1)
    assert search.size() == len(search.tree.parent)
    assert search.tree.visits[ROOT] < 100_000


def test_a_node_takes_at_most_two_kibibytes_on_19x19() -> None:
    assert bytes_per_node(361, rave=False) <= 2048


def test_a_failing_evaluator_leaves_no_pending_visits() -> None:
    search = Search(FakeEvaluator(fail_at=4), SearchParams())
    search.begin(Game(5), BLACK, Game(5).legal_vertices())
    with pytest.raises(RuntimeError, match="made to fail"):
        search.run([], 200)
    assert np.all(search.tree.pending[: search.size()] == 0)
    search.run([], 200)
    assert search.tree.visits[ROOT] == 200


def test_a_settled_search_stops_and_an_open_one_goes_on() -> None:
    stopper = SettledStopper(10.0)
    assert stopper.should_stop(SearchStats(1000, 1000, 5.0, 1000, 0)) is False
    assert stopper.should_stop(SearchStats(1000, 1000, 6.0, 900, 50)) is True
    assert stopper.should_stop(SearchStats(1000, 1000, 0.5, 1000, 0)) is False


def test_temperature_draws_in_proportion_to_visits() -> None:
    search = searched(Game(3), FakeEvaluator(), 200)
    children = child_nodes(search.tree, ROOT)
    generator = np.random.default_rng(5)
    drawn = [choose_child(search.tree, 1.0, generator) for _ in range(3000)]
    for child in children:
        share = search.tree.visits[child] / search.tree.visits[children].sum()
        assert drawn.count(child) / len(drawn) == pytest.approx(share, abs=0.04)


@pytest.mark.parametrize(("size", "used"), [((5, 5), 8), ((5, 4), 4)])
def test_a_new_root_is_evaluated_under_every_symmetry_of_the_board_as_one_visit(
    size: tuple[int, int], used: int
) -> None:
    evaluator, game = TurningEvaluator(), Game(*size)
    search = Search(evaluator, SearchParams(root_symmetries=8))
    search.begin(game, BLACK, game.legal_vertices(BLACK))
    assert search.run([], max_visits=1).visits == 1
    assert evaluator.symmetries == [list(range(used))]
    assert search.tree.value_sum[ROOT] == pytest.approx((used - 1) / 16)
    assert search.run([], max_visits=20).visits == 20
    assert all(symmetry == 0 for batch in evaluator.symmetries[1:] for symmetry in batch)
    search.close()


def test_a_root_whose_evaluation_failed_can_be_evaluated_again() -> None:
    evaluator, game = TurningEvaluator(fail_at=1), Game(5)
    search = Search(evaluator, SearchParams(root_symmetries=8))
    search.begin(game, BLACK, game.legal_vertices(BLACK))
    with pytest.raises(RuntimeError):
        search.run([], max_visits=1)
    assert search.run([], max_visits=3).visits == 3
    assert evaluator.symmetries[0] == list(range(8))
    search.close()
