"""The kernels of the search, one by one, against their slow twins in `tests.oracle`."""

import random

import numpy as np
import pytest

from engine.board.kernels import position_hash
from engine.board.layout import HEADER, KO_POINT
from engine.color import BLACK, WHITE
from engine.search.bias import bias_slot, mixed
from engine.search.kernel_params import new_records
from engine.search.params import SearchParams
from engine.search.position import in_set, put_all_in_set, put_in_set
from engine.search.pruning import mark_subtree
from engine.search.search import Search
from engine.search.selection import random_unit
from engine.search.shapes import shape_key
from engine.search.tree import (
    COUNTERS,
    NO_LINK,
    NO_NODE,
    NO_SLOT,
    SHARED_PLAYOUTS,
    SIZE,
    TERMINAL_PLAYOUTS,
    WEIGHTLESS_PLAYOUTS,
    Tree,
    add_node,
    decoded_prior,
    find_node,
    new_tree,
    playouts_without_evaluation,
    put_in_index,
    visits_made,
)
from engine.search.walk import node_key, plant
from engine.symmetry import applicable
from engine.vertex import NO_POINT
from tests.oracle import naive_random, naive_search
from tests.positions import random_game
from tests.search.fakes import FakeEvaluator


def keys_of(count: int, seed: int = 1) -> list[int]:
    """Return random keys, the same several times, and 0; many lie at the end of a table's places."""
    generator = random.Random(seed)
    keys = []
    for _ in range(count):
        some, last = generator.getrandbits(64), 2**64 - 1 - generator.getrandbits(3)
        keys.append(generator.choice((0, 1, some, some, last)))
    return keys + keys[: count // 3]


@pytest.fixture(scope="module")
def tree() -> Tree:
    """Return a tree with nodes that several paths share."""
    search = Search(FakeEvaluator(), SearchParams(max_memory_mib=1))
    game = random_game(3, 3, moves=2)
    search.begin(game, game.to_play, game.legal_vertices())
    search.run([], 600)
    search.close()
    return search.tree


def test_put_in_set_and_put_all_in_set() -> None:
    keys = keys_of(90)
    one, all_ = np.zeros(256, dtype=np.uint64), np.zeros(256, dtype=np.uint64)
    for key in keys:
        put_in_set(one, np.uint64(key))
    put_all_in_set(all_, np.array(keys, dtype=np.uint64))
    for table in (one, all_):
        expected = {naive_search.stored(key) for key in keys}
        assert sorted(table[table != 0].tolist()) == sorted(expected)
        for key in (*keys, 2, 3, 12345):
            assert in_set(table, np.uint64(key)) == (naive_search.stored(key) in expected)


def test_add_node_put_in_index_and_find_node() -> None:
    tree, expected = new_tree(200, 9, rave=False), {}
    for key in dict.fromkeys(keys_of(120)):
        number = add_node(tree, np.uint64(key), np.uint64(key // 3), BLACK)
        node = tree.nodes[number]
        assert (number, int(node["key"]), int(node["chain"])) == (len(expected), key, key // 3)
        assert node["visits"] == node["pending"] == node["edges"] == node["children"] == node["weight"] == 0
        assert (node["first_link"], node["bias_slot"]) == (NO_LINK, NO_SLOT)
        expected[key] = number
    assert tree.counters[SIZE] == len(expected)
    rebuilt = np.zeros_like(tree.key_index)
    for number in reversed(range(len(expected))):
        put_in_index(tree.nodes, rebuilt, number)
    for index in (tree.key_index, rebuilt):
        for key in (*expected, 12345, 2**63):
            assert find_node(tree.nodes, index, np.uint64(key)) == expected.get(key, NO_NODE)


def test_mark_subtree(tree: Tree) -> None:
    size = int(tree.counters[SIZE])
    counts = set()
    for root in range(0, size, 7):
        for least_visits in (0, 2, 5, 50):
            marks, stack = (np.empty(size, dtype=np.int32) for _ in range(2))
            counts.add(mark_subtree(tree, root, least_visits, marks, stack))
            expected = naive_search.marks_of(tree, root, least_visits)
            assert marks.tolist() == expected
            assert mark_subtree(tree, root, least_visits, marks, stack) == expected.count(0)
    assert len(counts) > 10


def test_decoded_prior() -> None:
    for code in range(0, 65536, 13):
        assert decoded_prior(code) == pytest.approx(naive_search.decoded_prior(code), abs=1e-15)


def test_mixed() -> None:
    generator = random.Random(2)
    for _ in range(200):
        key, part = generator.getrandbits(64), generator.getrandbits(64)
        assert mixed(np.uint64(key), np.uint64(part)) == naive_random.mixed(key, part)


def test_bias_slot() -> None:
    tree = new_tree(16, 9, rave=False)
    naive = naive_search.BiasTable(len(tree.bias_keys))
    for key in keys_of(120, seed=4):
        expected = naive.bias_slot(key | 1)
        assert bias_slot(tree, np.uint64(key | 1)) == (NO_SLOT if expected is None else expected)
    assert naive.bias_slot(12345) is None


def test_node_key_and_plant() -> None:
    search = Search(FakeEvaluator(), SearchParams(max_memory_mib=1))
    for seed in range(20):
        game = random_game(seed, 5, moves=12)
        search.begin(game, game.to_play, game.legal_vertices())
        board, stones = game.board.copy(), int(position_hash(game.board))
        for ko in (NO_POINT, 8):
            board[HEADER, KO_POINT] = ko
            for color, chain in ((BLACK, 0), (WHITE, 2**64 - seed - 1)):
                found = node_key(board, color, np.uint64(chain), seed)
                assert found == naive_search.node_key(stones, board, color, chain, seed)
        planted, root = new_tree(4, 25, rave=False), search.root
        plant(planted, root)
        expected = naive_search.node_key(stones, root.board, game.to_play, 0, len(game.moves))
        assert (int(planted.counters[SIZE]), int(planted.nodes[0]["key"])) == (1, expected)
        assert planted.nodes[0]["to_play"] == game.to_play
    search.close()


def test_visits_made() -> None:
    tree = new_tree(4, 9, rave=False)
    tree.counters[:] = np.arange(10, 10 + COUNTERS)
    tree.nodes["visits"][0] = 100
    assert visits_made(tree) == np.sum([100, tree.counters[WEIGHTLESS_PLAYOUTS]])


def test_random_unit() -> None:
    record, state = new_records(1)[0], 12345
    record["generator"] = state
    for _ in range(100):
        state, expected = naive_random.random_unit(state)
        assert random_unit(record) == expected
        assert record["generator"] == state


def test_shape_key_is_equal_exactly_where_the_shape_is() -> None:
    keys: dict[int, object] = {}
    for seed in range(12):
        game = random_game(seed, 5, moves=8)
        for vertex in game.legal_vertices()[:6]:
            for symmetry in applicable(5, 5):
                at, seen = naive_search.shape(game, vertex, symmetry)
                key = int(shape_key(game.board, vertex, at, BLACK, symmetry))
                assert keys.setdefault(key, (at, seen)) == (at, seen)
                assert key != int(shape_key(game.board, vertex, at, WHITE, symmetry))
    assert len(keys) == len({repr(shape) for shape in keys.values()}) > 300


def test_playouts_without_evaluation() -> None:
    counters = np.arange(10, 10 + COUNTERS)
    assert playouts_without_evaluation(counters) == np.sum(counters[[TERMINAL_PLAYOUTS, SHARED_PLAYOUTS]])
