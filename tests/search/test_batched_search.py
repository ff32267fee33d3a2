"""A batched search is many searches: visit for visit what each would be alone."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.evaluators.rollout import RolloutEvaluator
from engine.game import Game
from engine.rules import CHINESE, TROMP_TAYLOR, Ko, Rules
from engine.search.batched_search import BatchedDriver, BatchedSearch, Group, Kept
from engine.search.params import ROLLOUT_PARAMS, SearchParams
from engine.search.root import root_priors
from engine.search.search import Search
from engine.search.tree import ROOT, SIZE, Tree, links_of
from tests.search.fakes import FakeEvaluator, TurningEvaluator

ONE_BY_ONE = SearchParams(batch_size=1, prunes_symmetric_moves=False, adds_noise=True, forced_playouts=2.0, seed=3)
FIRST_SEED = 3 * 1_000_003 + 1_000_000_007
"""What the first search with the seed 3 draws random numbers from."""


def figures(tree: Tree, node: int = ROOT) -> tuple[Any, ...]:
    """Return all that a search knows of a node and of what is below it, ownership left out."""
    each = tree.nodes[node]
    names = [name for name in tree.nodes.dtype.names if name not in ("first_link", "last_link", "bias_slot")]
    edges, links = int(each["edges"]), links_of(tree, node)
    return (
        [each[name].item() for name in names],
        tree.edge_vertex[node, :edges].tolist(),
        tree.edge_prior[node, :edges].tolist(),
        [(int(tree.links[link]["visits"]), figures(tree, int(tree.links[link]["child"]))) for link in links],
    )


def some_game(seed: int, rules: Rules = TROMP_TAYLOR, moves: int = 12) -> Game:
    """Return a 5x5 game after random moves."""
    chance, game = random.Random(seed), Game(5, rules=rules, komi=float(seed))
    for _ in range(moves):
        game.play(game.to_play, chance.choice(game.legal_vertices()))
    return game


def run(search: BatchedSearch, trees: list[int], leaves: int = 1) -> BatchedDriver:
    """Search until all is over, with one batch at a time; return the driver."""
    driver = BatchedDriver([Group(search, trees, lambda _: None, leaves)])
    driver.run(lambda: False)
    driver.close()
    return driver


def visits(search: BatchedSearch, tree: int) -> int:
    """Return the visits of a tree's root."""
    return int(search.trees[tree].nodes[ROOT]["visits"])


def begin(search: BatchedSearch, tree: int, game: Game, params: SearchParams, until: int) -> None:
    """Begin a search as `Search` begins its first one."""
    search.begin(tree, game, game.to_play)
    search.start(tree, params, until, FIRST_SEED, np.random.default_rng(params.seed))


@pytest.mark.parametrize("rules", [TROMP_TAYLOR, CHINESE, replace(TROMP_TAYLOR, ko=Ko.SITUATIONAL)], ids=lambda r: r.ko)
def test_every_tree_is_that_of_a_search_alone(rules: Rules) -> None:
    games = [some_game(seed, rules) for seed in range(4)]
    search = BatchedSearch(FakeEvaluator(), games[0], 4, 400, most_moves=80, seed=3)
    for tree, game in enumerate(games):
        begin(search, tree, game, ONE_BY_ONE, 60 + 20 * tree)
    run(search, [0, 1, 2, 3])
    for tree, game in enumerate(games):
        alone = Search(FakeEvaluator(), ONE_BY_ONE)
        alone.begin(game, game.to_play, game.legal_vertices())
        alone.run([], 60 + 20 * tree)
        assert visits(search, tree) == 60 + 20 * tree
        assert figures(search.trees[tree]) == figures(alone.tree)


def test_a_root_under_all_symmetries_is_that_of_a_search_alone() -> None:
    params = replace(ONE_BY_ONE, adds_noise=False, root_symmetries=8, random_symmetries=False)
    games = [some_game(seed) for seed in range(3)]
    search = BatchedSearch(TurningEvaluator(), games[0], 3, 400, most_moves=80, seed=3)
    for tree, game in enumerate(games):
        begin(search, tree, game, params, 60)
    run(search, [0, 1, 2])
    for tree, game in enumerate(games):
        alone = Search(TurningEvaluator(), params)
        alone.begin(game, game.to_play, game.legal_vertices())
        alone.run([], 60)
        assert figures(search.trees[tree]) == figures(alone.tree)


def test_a_tree_of_play_outs_is_that_of_a_search_alone() -> None:
    params, game = replace(ROLLOUT_PARAMS, batch_size=1, prunes_symmetric_moves=False, seed=3), some_game(1)
    evaluator = RolloutEvaluator()
    evaluator.attributes = replace(evaluator.attributes, concurrent=1)
    search = BatchedSearch(evaluator, game, 2, 400, most_moves=80, kept=Kept(rave=True), seed=3)
    for tree in (0, 1):
        begin(search, tree, game, params, 100)
    run(search, [0, 1])
    alone = Search(evaluator, params)
    alone.begin(game, game.to_play, game.legal_vertices())
    alone.run([], 100)
    assert figures(search.trees[1]) == figures(alone.tree)


def test_the_subtree_of_moves_that_were_played_is_kept() -> None:
    # A search alone recomputes the tree that it keeps, which changes nothing without these two.
    plain = replace(ONE_BY_ONE, adds_noise=False, dynamic_score_factor=0.0, subtree_value_bias_factor=0.0)
    game, moves = some_game(2), 2
    search = BatchedSearch(FakeEvaluator(), game, 1, 400, most_moves=80, seed=3)
    alone = Search(FakeEvaluator(), plain)
    for _ in range(3):
        begin(search, 0, game, plain, 150)
        run(search, [0])
        alone.begin(game, game.to_play, game.legal_vertices())
        alone.run([], 150)
        assert figures(search.trees[0]) == figures(alone.tree)
        for _ in range(moves):
            tree = search.trees[0]
            vertex = int(tree.edge_vertex[ROOT, 0])
            game.play(game.to_play, vertex if game.is_legal(game.to_play, vertex) else game.legal_vertices()[0])
        moves = 1
    before = visits(search, 0)
    search.begin(0, game, game.to_play)
    assert 1 < visits(search, 0) < before
    search.forget(0)
    search.begin(0, game, game.to_play)
    assert visits(search, 0) == 0


def test_noise_is_mixed_once_a_root() -> None:
    game = some_game(3)
    search = BatchedSearch(FakeEvaluator(), game, 2, 400, most_moves=80)
    quiet = replace(ONE_BY_ONE, adds_noise=False)
    for tree, params in enumerate((ONE_BY_ONE, quiet)):
        begin(search, tree, game, params, 1)
    run(search, [0, 1])
    of = [dict(zip(each.edge_vertex[ROOT].tolist(), root_priors(each), strict=False)) for each in search.trees]
    count = len(of[0])
    noise = np.random.default_rng(ONE_BY_ONE.seed).dirichlet(np.full(count, ONE_BY_ONE.noise_concentration / count))
    order = search.trees[1].edge_vertex[ROOT, :count].tolist()
    expected = {vertex: 0.75 * of[1][vertex] + 0.25 * share for vertex, share in zip(order, noise, strict=True)}
    assert of[0] == pytest.approx(expected, abs=1e-4)
    for visits_then, params in ((80, quiet), (120, ONE_BY_ONE)):
        search.start(0, params, visits_then, 1)
        run(search, [0])
        after = dict(zip(search.trees[0].edge_vertex[ROOT].tolist(), root_priors(search.trees[0]), strict=False))
        assert after == pytest.approx(of[0], abs=1e-9)


def test_a_full_tree_makes_room_and_goes_on() -> None:
    game = Game(5)
    search = BatchedSearch(FakeEvaluator(), game, 1, 40, most_moves=80)
    begin(search, 0, game, ONE_BY_ONE, 300)
    run(search, [0])
    assert visits(search, 0) == 300
    assert search.trees[0].counters[SIZE] <= 40


def test_several_leaves_a_tree_keep_the_number_of_visits() -> None:
    game = Game(5)
    search = BatchedSearch(FakeEvaluator(), game, 3, 400, most_moves=80)
    for tree in range(3):
        begin(search, tree, game, ONE_BY_ONE, 100 + tree)
    run(search, [0, 1, 2], leaves=4)
    assert [visits(search, tree) for tree in range(3)] == [100, 101, 102]


def test_evaluations_are_the_leaves_that_were_expanded() -> None:
    evaluator, game = FakeEvaluator(), Game(5)
    search = BatchedSearch(evaluator, game, 2, 400, most_moves=80)
    for tree in range(2):
        begin(search, tree, game, ONE_BY_ONE, 120)
    driver = run(search, [0, 1])
    expanded = sum(int((tree.nodes["stage"][: tree.counters[SIZE]] == 2).sum()) for tree in search.trees)
    assert evaluator.positions == driver.rows == expanded


def test_positions_are_seen_under_random_symmetries_where_wanted() -> None:
    evaluator, game = TurningEvaluator(), some_game(4)
    search = BatchedSearch(evaluator, game, 2, 400, most_moves=80)
    for tree, turns in enumerate((True, False)):
        begin(search, tree, game, replace(ONE_BY_ONE, random_symmetries=turns), 60)
    for tree in (0, 1):
        evaluator.symmetries.clear()
        run(search, [tree])
        seen = {each for batch in evaluator.symmetries for each in batch}
        assert seen == (set(range(8)) if tree == 0 else {0})


@pytest.mark.parametrize("count", [2, 8])
def test_a_root_is_evaluated_under_as_many_symmetries_as_the_parameters_say(count: int) -> None:
    evaluator, games = TurningEvaluator(), [some_game(seed) for seed in range(12)]
    params = replace(ONE_BY_ONE, root_symmetries=count, random_symmetries=False)
    search = BatchedSearch(evaluator, games[0], len(games), 100, most_moves=80)
    for tree, game in enumerate(games):
        begin(search, tree, game, params, 1)
    assert [len(set(batch)) for batch in evaluator.symmetries] == [count] * len(games)
    differing = {tuple(sorted(batch)) for batch in evaluator.symmetries}
    assert len(differing) == 1 if count == 8 else len(differing) > 3


def test_groups_whose_run_is_ended_go_on_with_the_same_trees() -> None:
    def trees(rounds: int) -> tuple[list[Any], list[int]]:
        """Search with two groups, `rounds` rounds in a run; return the trees, and their numbers as they ended."""
        game, ended, left = Game(5), list[int](), 0
        search = BatchedSearch(FakeEvaluator(), game, 4, 400, most_moves=80)
        for tree in range(4):
            begin(search, tree, game, ONE_BY_ONE, 40 + 10 * tree)
        driver = BatchedDriver([Group(search, trees, ended.append) for trees in (range(0, 4, 2), range(1, 4, 2))])

        def is_over() -> bool:
            nonlocal left
            left -= 1
            return left < 0

        while any(search.is_searching):
            left = rounds
            driver.run(is_over)
            assert not any(tree.nodes["pending"].any() for tree in search.trees)
        driver.close()
        return [figures(tree) for tree in search.trees], ended

    assert trees(7) == trees(1000)
    assert trees(7)[1] == [0, 1, 2, 3]


def test_an_error_where_a_search_ends_ends_the_run() -> None:
    def fail(tree: int) -> None:
        raise RuntimeError(f"tree {tree} ends")

    game = Game(5)
    search = BatchedSearch(FakeEvaluator(), game, 2, 400, most_moves=80)
    for tree in range(2):
        begin(search, tree, game, ONE_BY_ONE, 30 + 200 * tree)
    driver = BatchedDriver([Group(search, [tree], fail) for tree in range(2)])
    with pytest.raises(RuntimeError, match="tree 0 ends"):
        driver.run(lambda: False)
    driver.close()


def test_a_failing_evaluator_is_heard_of() -> None:
    game = Game(5)
    search = BatchedSearch(FakeEvaluator(fail_at=3), game, 1, 400, most_moves=80)
    begin(search, 0, game, ONE_BY_ONE, 60)
    with pytest.raises(RuntimeError, match="made to fail"):
        run(search, [0])


def test_a_game_of_other_rules_is_refused() -> None:
    search = BatchedSearch(FakeEvaluator(), Game(5), 1, 40, most_moves=80)
    with pytest.raises(ValueError, match="5x5"):
        search.begin(0, Game(5, rules=CHINESE), 1)
    with pytest.raises(ValueError, match="5x5"):
        search.begin(0, Game(4), 1)
