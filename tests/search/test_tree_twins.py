"""The kernels that change a tree, against their slow twins, on trees that grow by random evaluations."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from engine.game import Game
from engine.rules import TROMP_TAYLOR
from engine.search.advance import CONTROL, EVALUATING, GO_ON, collect_rows, finish_batch
from engine.search.backup import back_up, back_up_expanded, expand_leaves, reopen, withdraw
from engine.search.expansion import expand, new_sorting, temper, write_human_priors
from engine.search.kernel_params import NO_LIMIT, SCORE_TABLE, Params, new_records, write_params
from engine.search.params import SearchParams
from engine.search.position import Root, Scratch, new_scratch
from engine.search.refresh import recompute_nodes
from engine.search.root import root_position
from engine.search.tree import LINKS, ROOT, SIZE, Tree, child_nodes, new_tree
from engine.search.tree_ownership import order_nodes
from engine.search.values import corrected, recompute, set_own_value
from engine.search.walk import collect, plant
from engine.search.worker import Worker
from tests.oracle import naive_tree
from tests.positions import random_game

PLAIN = SearchParams(subtree_value_bias_factor=0.0, uncertainty_coefficient=0.0)
CASES = {
    "defaults": (SearchParams(), False),
    "without bias and weights": (PLAIN, False),
    "without pruning": (replace(PLAIN, noise_prune_scale=0.0), False),
    "utility of winning alone": (SearchParams(static_score_factor=0.0, dynamic_score_factor=0.0), False),
    "all moves as first": (SearchParams(rave_bias=0.01), True),
    "temperature, utilities and weights": (
        SearchParams(policy_temperature=1.5, win_loss_factor=0.7, no_result_utility=0.4, uncertainty_exponent=0.6),
        False,
    ),
    "human moves that count": (
        SearchParams(human_root_weightful=0.5, human_own_weightful=0.3, human_opponent_weightful=0.4),
        False,
    ),
    "human moves that do not count": (
        SearchParams(human_root_weightless=0.5, human_own_weightless=0.5, human_opponent_weightless=0.2),
        False,
    ),
}
CAPACITY, ROWS, SIDES = 600, 6, (3, 4)


class Growing(NamedTuple):
    """Some trees of one position, and what kernels need to let them grow."""

    trees: Tree
    roots: Root
    scratch: Scratch
    records: Any
    worker: Worker
    chance: np.random.Generator


def stacked(values: Any, count: int) -> Any:
    """Return a named tuple whose arrays hold `count` of the given one."""
    return type(values)(*(np.stack([np.asarray(value)] * count) for value in values))


def growing(params: SearchParams, *, rave: bool, seed: int, count: int = 1) -> Growing:
    """Return trees of a random position that have a root alone."""
    game: Game = random_game(seed, *SIDES, moves=4, rules=TROMP_TAYLOR)
    root = root_position(game, game.to_play, game.legal_vertices(), (), None, None)
    tree = new_tree(CAPACITY, SIDES[0] * SIDES[1], rave=rave, human=params.explores_as_human)
    plant(tree, root)
    worker = Worker(count * ROWS, game, has_details=True, trees=count, has_human=params.explores_as_human)
    records = new_records(count)
    for record in records:
        write_params(record, params, SIDES[0] * SIDES[1], 2.0, has_details=True)
        record["visits"] = NO_LIMIT
    scratch = new_scratch(game.board, worker.evaluation.first_play.shape[1])
    return Growing(stacked(tree, count), stacked(root, count), scratch, records, worker, np.random.default_rng(seed))


def evaluate(grown: Growing, rows: int) -> None:
    """Write random evaluations."""
    out, chance = grown.worker.evaluation, grown.chance
    policy = chance.random(out.policy.shape) ** 3 * grown.worker.positions.legal
    out.policy[:] = policy / policy.sum(axis=1, keepdims=True).clip(1e-9)
    if len(out.human_policy):
        human = chance.random(out.policy.shape) ** 3 * grown.worker.positions.legal
        out.human_policy[:] = human / human.sum(axis=1, keepdims=True).clip(1e-9)
    out.value[:] = chance.uniform(-1, 1, out.value.shape)
    out.score[:] = chance.normal(0, 6, out.score.shape)
    out.ownership[:] = chance.uniform(-1, 1, out.ownership.shape)
    out.first_play[:] = chance.integers(0, 3, out.first_play.shape)
    out.details[:] = chance.random(out.details.shape)
    out.score_mean[:] = out.score + chance.normal(size=out.score.shape)


def copied(values: Any) -> Any:
    """Return a named tuple of copies."""
    return type(values)(*(np.array(value) for value in values))


def assert_same(found: Tree, expected: Tree) -> None:
    """Compare all that is in use of two trees; integers must be equal."""
    size, links = int(found.counters[SIZE]), int(found.counters[LINKS])
    for name in found.nodes.dtype.names or ():
        np.testing.assert_allclose(found.nodes[name][:size], expected.nodes[name][:size], 1e-4, 1e-5, err_msg=name)
    assert np.array_equal(found.links[:links], expected.links[:links])
    for name in ("edge_vertex", "ownership"):
        assert np.array_equal(getattr(found, name)[:size], getattr(expected, name)[:size]), name
    for name in ("edge_prior", "human_prior"):
        one, two = (getattr(each, name)[:size].astype(np.int64) for each in (found, expected))
        assert np.abs(one - two).max(initial=0) <= 1, name
    for name in ("rave_visits", "rave_value", "bias_sums"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), 1e-4, 1e-5, err_msg=name)


@pytest.mark.parametrize("case", CASES)
def test_back_up_reopen_and_withdraw(case: str) -> None:
    params, rave = CASES[case]
    grown = growing(params, rave=rave, seed=3)
    tree = naive_tree.tree_at(grown.trees, 0)
    root = Root(*(value[0] for value in grown.roots))
    kernel_params, arrays = Params(grown.records[0], SCORE_TABLE), grown.worker.arrays
    reopened = expanded = 0
    while expanded < 150:
        rows = collect(tree, root, grown.scratch, arrays.batch, kernel_params, ROWS)
        evaluate(grown, rows)
        naive = copied(tree)
        if grown.chance.random() < 0.2:
            reopen(tree, arrays.batch, rows)
            naive_tree.reopen(naive, arrays.batch, range(rows))
            reopened += rows
        else:
            sums = grown.scratch.ownership_sum.copy()
            # The twin first: the kernel changes policies by the temperature where they are.
            naive_tree.back_up(naive, arrays.batch, arrays.answers, grown.records[0], sums, range(rows), SIDES)
            if expanded % 2:
                back_up(tree, arrays.batch, arrays.answers, kernel_params, grown.scratch, rows)
            else:
                numbers, sorting = kernel_params.numbers, grown.scratch.sorting
                expand_leaves(tree, arrays.batch, arrays.answers, numbers, SIDES[0], sorting, rows)
                back_up_expanded(tree, arrays.batch, arrays.answers, kernel_params, grown.scratch, rows)
            assert grown.scratch.ownership_sum == pytest.approx(sums, abs=1e-4)
            expanded += rows
        assert_same(tree, naive)
    path, _ = naive_tree.walk_of(arrays.batch, 0)
    naive = copied(tree)
    withdraw(tree, np.array(path, dtype=np.int32), len(path) - 1)
    naive_tree.withdraw(naive, path)
    assert_same(tree, naive)
    assert reopened > 10 and np.count_nonzero(tree.nodes["visits"][: tree.counters[SIZE]] > 5) > 5


def test_write_human_priors() -> None:
    game, policy = random_game(4, *SIDES, moves=3), np.arange(13, dtype=np.float32) / 78
    found = new_tree(2, 12, rave=False, human=True)
    legal = game.legal_arrays(game.to_play)[0]
    expand(found, ROOT, legal, policy[::-1].copy(), SIDES[0], new_sorting(13))
    expected = copied(found)
    write_human_priors(found, ROOT, policy, SIDES[0])
    naive_tree.write_human_priors(expected, ROOT, policy, SIDES)
    assert np.array_equal(found.human_prior[ROOT, : legal.sum()], expected.human_prior[ROOT, : legal.sum()])
    assert found.nodes[ROOT]["has_human"] == expected.nodes[ROOT]["has_human"] == 1


@pytest.mark.parametrize("temperature", [0.3, 1.5])
def test_temper(temperature: float) -> None:
    policy = (np.arange(9, dtype=np.float32) ** 2) / 204
    expected = naive_tree.tempered(policy, {"policy_temperature": temperature})
    temper(policy, temperature)
    assert policy == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("case", ["defaults", "without bias and weights", "utility of winning alone"])
def test_corrected_set_own_value_and_recompute(case: str) -> None:
    grown = growing(CASES[case][0], rave=False, seed=8)
    tree, numbers = naive_tree.tree_at(grown.trees, 0), grown.records[0]
    root = Root(*(value[0] for value in grown.roots))
    kernel_params, arrays = Params(numbers, SCORE_TABLE), grown.worker.arrays
    for _ in range(60):
        rows = collect(tree, root, grown.scratch, arrays.batch, kernel_params, ROWS)
        evaluate(grown, rows)
        back_up(tree, arrays.batch, arrays.answers, kernel_params, grown.scratch, rows)
    size = int(tree.counters[SIZE])
    for node in grown.chance.permutation(size).tolist():
        each = tree.nodes[node]
        if each["visits"] == 0:
            continue
        each["raw_value"], each["raw_score"] = grown.chance.uniform(-1, 1), grown.chance.normal(0, 6)
        each["raw_weight"] = grown.chance.uniform(0.5, 4)
        naive = copied(tree)
        if each["children"]:
            codes, work = tree.edge_prior[node], grown.scratch.work
            recompute(kernel_params, tree.nodes, tree.links, codes, tree.bias_sums, node, work, tree.memory)
            naive_tree.recompute(naive, numbers, node)
        elif grown.chance.random() < 0.5:
            set_own_value(kernel_params, tree.nodes, tree.bias_sums, node, 3, tree.memory)
            naive_tree.set_own_value(naive, numbers, node, 3)
        else:
            weight, utility = grown.chance.uniform(0, 9), grown.chance.uniform(-1, 1)
            found = corrected(kernel_params, tree.nodes, tree.bias_sums, node, weight, utility)
            assert found == pytest.approx(naive_tree.corrected(naive, numbers, node, weight, utility), abs=1e-5)
        assert_same(tree, naive)


@pytest.mark.parametrize("case", ["without bias and weights", "temperature, utilities and weights"])
def test_recompute_tree(case: str) -> None:
    # Without bias: there the order in which the nodes of an entry are recomputed matters, and is none of the facts.
    grown = growing(replace(CASES[case][0], subtree_value_bias_factor=0.0), rave=False, seed=9)
    tree, numbers = naive_tree.tree_at(grown.trees, 0), grown.records[0]
    root = Root(*(value[0] for value in grown.roots))
    kernel_params, arrays = Params(numbers, SCORE_TABLE), grown.worker.arrays
    for _ in range(60):
        rows = collect(tree, root, grown.scratch, arrays.batch, kernel_params, ROWS)
        evaluate(grown, rows)
        back_up(tree, arrays.batch, arrays.answers, kernel_params, grown.scratch, rows)
    numbers["score_center"] += 4.0
    size = int(tree.counters[SIZE])
    order, edges_in, stack = (np.empty(size, dtype=np.int32) for _ in range(3))
    count = order_nodes(tree, ROOT, order, edges_in, stack)
    places = {node: place for place, node in enumerate(order[:count].tolist())}
    assert places.keys() == naive_tree.nodes_below(tree) and len(places) == count
    for node in places:
        assert all(places[node] < places[child] for child in child_nodes(tree, node)), "parents come first"
    naive, before = copied(tree), tree.nodes["utility"][:size].copy()
    recompute_nodes(tree, kernel_params, order, count, grown.scratch.work)
    naive_tree.recompute_tree(naive, numbers)
    assert_same(tree, naive)
    assert np.abs(tree.nodes["utility"][:size] - before).max() > 0.05


def test_finish_batch_is_back_up_rows_where_nothing_is_in_turn() -> None:
    control = np.zeros(1, dtype=CONTROL)
    control["workers"] = 1
    grown = growing(SearchParams(), rave=False, seed=5, count=3)
    arrays, answers = grown.worker.arrays, grown.worker.arrays.answers
    for turn in range(50):
        chosen = grown.chance.permutation(3)[: 1 + turn % 3]
        arrays.chosen[: len(chosen)] = chosen
        shared = grown.trees, grown.roots, grown.scratch, grown.records, SCORE_TABLE
        rows = collect_rows(*shared, ROWS, arrays, len(chosen))
        assert rows == grown.worker.rows > 0
        evaluate(grown, rows)
        naive, records, sums = copied(grown.trees), grown.records.copy(), grown.scratch.ownership_sum.copy()
        owners = arrays.owners[:rows].tolist()
        grown.worker.state["state"] = EVALUATING
        assert finish_batch(grown.trees, grown.scratch, grown.records, SCORE_TABLE, control, arrays, rows) == GO_ON
        naive_tree.back_up_rows(naive, arrays.batch, answers, records, sums, owners, SIDES)
        assert grown.worker.rows == 0
        assert np.array_equal(grown.records, records)
        for number in range(3):
            assert_same(naive_tree.tree_at(grown.trees, number), naive_tree.tree_at(naive, number))
    assert (grown.trees.nodes["visits"][:, ROOT] > 50).all()
