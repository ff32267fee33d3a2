"""What a deep search found about a position biases later searches of it, where that is turned on."""

from dataclasses import replace

import numpy as np
import pytest

from engine.game import Game
from engine.rules import JAPANESE, TROMP_TAYLOR
from engine.search.kernel_params import SCORE_TABLE, Params, new_records, write_params
from engine.search.memory import ENTRIES, find_entry
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.search.tree import MEMORY, NODE, ROOT
from engine.search.values import pull, score_utility, utility_of
from tests.oracle import naive_memory, naive_tree
from tests.positions import game_of
from tests.search.test_parameters import signature
from tests.search.test_values import DetailedEvaluator

PLAIN = SearchParams(prunes_symmetric_moves=False)
REMEMBERING = replace(PLAIN, remembers=True)
DEEP, QUICK = 1500, 60
GAME = game_of("E5 C3 G7 G4 C7 D4 F4", 9, rules=TROMP_TAYLOR)


def search_again(search: Search, game: Game, visits: int) -> dict[int, int]:
    """Search a position without the tree of the last search; return visits by move."""
    search.forget()
    search.begin(game, game.to_play, game.legal_vertices())
    search.run([], visits)
    return {vertex: visits for vertex, visits, _ in signature(search)}


def most_visited(visits: dict[int, int]) -> set[int]:
    """Return the three moves with the most visits."""
    return set(sorted(visits, key=lambda vertex: -visits[vertex])[:3])


@pytest.fixture(scope="module")
def deep() -> Search:
    """Return a search that has searched the position for long."""
    search = Search(DetailedEvaluator(), REMEMBERING)
    search_again(search, GAME, DEEP)
    return search


def restored(search: Search, entries: np.ndarray) -> Search:
    """Return the search with what it remembered before."""
    search.memory.entries[:] = entries
    return search


def test_a_quick_search_finds_the_moves_of_the_deep_one_before_it(deep: Search) -> None:
    entries = deep.memory.entries.copy()
    plain = Search(DetailedEvaluator(), PLAIN)
    best = most_visited(search_again(plain, GAME, DEEP))
    assert not best & search_again(plain, GAME, QUICK).keys()
    assert most_visited(search_again(deep, GAME, QUICK)) == best
    restored(deep, entries)


def test_off_and_on_without_memories_the_tree_is_the_same() -> None:
    off, on = (Search(DetailedEvaluator(), params) for params in (PLAIN, REMEMBERING))
    assert search_again(off, GAME, 300) == search_again(on, GAME, 300)
    assert np.count_nonzero(off.memory.entries["key"]) == 0
    for name in ("utility", "visits", "weight", "value"):
        assert np.array_equal(off.tree.nodes[name][:300], on.tree.nodes[name][:300])


def test_the_position_of_another_game_is_not_the_same(deep: Search) -> None:
    entries, off = deep.memory.entries.copy(), Search(DetailedEvaluator(), PLAIN)
    for game in (game_of("E5 C3 G7 G4 C7 D4 F4", 9, rules=JAPANESE), game_of("E5 C3 G7 G4 C7 D4 F4", 9, komi=3.5)):
        assert search_again(deep, game, QUICK) == search_again(off, game, QUICK)
    restored(deep, entries)


def test_counts_that_are_doubted_and_those_that_are_not_share_no_entry() -> None:
    for rules, kept in ((JAPANESE, False), (TROMP_TAYLOR, True)):
        game = game_of("E5 C3 G7 G4 C7 D4 F4", 9, rules=rules)
        search, other = Search(DetailedEvaluator(), REMEMBERING), Search(DetailedEvaluator(), PLAIN)
        search_again(search, game, DEEP)
        search.doubts_counts = other.doubts_counts = True
        assert (search_again(search, game, QUICK) != search_again(other, game, QUICK)) == kept


def test_a_cleared_memory_has_no_effect(deep: Search) -> None:
    entries = deep.memory.entries.copy()
    deep.memory.clear()
    assert search_again(deep, GAME, QUICK) == search_again(Search(DetailedEvaluator(), PLAIN), GAME, QUICK)
    restored(deep, entries)


def test_the_roots_own_value_is_not_pulled(deep: Search) -> None:
    entries = deep.memory.entries.copy()
    search_again(deep, GAME, 1)
    root = deep.tree.nodes[ROOT]
    assert root["memory_slot"] >= 0
    assert root["utility"] == pytest.approx(float(root["raw_utility"]))
    restored(deep, entries)


def test_nodes_of_enough_visits_are_remembered_with_their_values(deep: Search) -> None:
    search = Search(DetailedEvaluator(), replace(REMEMBERING, remember_visits=80))
    search_again(search, GAME, 800)
    nodes = search.tree.nodes[:800]
    kept = nodes[(nodes["visits"] >= 80)]
    assert len(kept) > 1
    for node in kept:
        slot = find_entry(search.memory.entries, node["memory_key"])
        assert slot == naive_memory.find_entry(search.memory.entries, int(node["memory_key"]))
        assert search.memory.entries[slot]["weight"] == node["visits"]
        assert search.memory.entries[slot]["value"] == node["value"]
    assert np.count_nonzero(search.memory.entries["key"]) == len(kept)
    assert find_entry(search.memory.entries, np.uint64(12345)) == -1


def test_the_table_does_not_grow() -> None:
    search = Search(DetailedEvaluator(), replace(REMEMBERING, remember_visits=1))
    for _ in range(3):
        search_again(search, GAME, 400)
    assert len(search.memory.entries) == ENTRIES


def test_score_utility() -> None:
    chance, record = np.random.default_rng(2), new_records(1)[0]
    write_params(record, SearchParams(), 81, 4.0, has_details=True)
    for _ in range(50):
        mean = chance.normal(0, 20)
        square = mean**2 + chance.uniform(0, 400)
        expected = naive_tree.score_utility(record, mean, square)
        assert score_utility(Params(record, SCORE_TABLE), mean, square) == pytest.approx(expected, abs=1e-5)


def test_utility_of() -> None:
    chance, record = np.random.default_rng(3), new_records(1)[0]
    write_params(record, SearchParams(no_result_utility=0.3), 81, 4.0, has_details=True)
    for _ in range(50):
        values = (chance.uniform(-1, 1), chance.uniform(0, 0.2), score := chance.normal(0, 20), score**2 + 7.0)
        expected = naive_memory.utility_of(record, *values)
        assert utility_of(Params(record, SCORE_TABLE), *values) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("is_leaf", [True, False])
def test_pull(is_leaf: bool) -> None:
    chance, record = np.random.default_rng(4), new_records(1)[0]
    write_params(record, SearchParams(no_result_utility=0.3), 81, 4.0, has_details=True)
    record["remember_visits"] = 100
    nodes, entries = np.zeros(1, dtype=NODE), np.zeros(4, dtype=MEMORY)
    for _ in range(100):
        node, entry, visits = nodes[0], entries[2], int(chance.integers(1, 300))
        for each in (node, entry):
            each["value"], each["no_result"] = chance.uniform(-1, 1), chance.uniform(0, 0.2)
            each["score"], each["lead"] = chance.normal(0, 9, 2)
        node["score_sq"], node["utility"] = float(node["score"]) ** 2 + chance.uniform(0, 99), chance.uniform(-1, 1)
        node["utility_sq"] = float(node["utility"]) ** 2 + 0.1
        node["memory_key"], entry["key"], node["memory_slot"] = 7, 7, 2
        entry["weight"] = chance.integers(100, 900)
        expected = naive_memory.pull(record, node, entry, visits, is_leaf=is_leaf)
        pull(Params(record, SCORE_TABLE), node, entries, visits, is_leaf)
        for name, value in expected.items():
            assert float(node[name]) == pytest.approx(value, abs=2e-4), name
    entries[2]["key"] = 9
    before = nodes.copy()
    pull(Params(record, SCORE_TABLE), nodes[0], entries, 5, is_leaf)
    assert nodes[0] == before[0]
