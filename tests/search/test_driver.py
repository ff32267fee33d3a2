"""Threads that search without Python: the tree that one thread builds, and nothing lost, left or waited for."""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.search.stoppers import SearchStats, TimeStopper
from engine.search.tree import EXPANDED, ROOT, SIZE, TERMINAL, TERMINAL_PLAYOUTS, links_of
from tests.native_fakes import CALLS, NativeFake, needs_closures
from tests.positions import game_from_diagram, random_game
from tests.search.test_search import subtree

pytestmark = needs_closures
_SLOW = 20_000_000
"""Pauses of a second and more."""


class AtVisits:
    """Ends a search at a number of visits or a little later; otherwise only time could end it."""

    def __init__(self, visits: int) -> None:
        self.visits = visits

    def should_stop(self, stats: SearchStats) -> bool:
        return stats.visits >= self.visits


class Once:
    """Ends a search once a condition holds."""

    def __init__(self, holds: Callable[[], bool]) -> None:
        self.holds = holds

    def should_stop(self, stats: SearchStats) -> bool:
        return self.holds()


def begun(game: Game, evaluator: NativeFake, **params: float) -> Search:
    search = Search(evaluator, SearchParams(random_symmetries=False, **params))  # type: ignore[arg-type]
    search.begin(game, game.to_play, game.legal_vertices())
    return search


def assert_whole(search: Search) -> None:
    """Assert that nothing is under way, and that the visits of every node are its own and its links'."""
    search.driver.wait()
    nodes = search.tree.nodes[: search.tree.counters[SIZE]]
    assert not nodes["pending"].any()
    for number in np.flatnonzero((nodes["stage"] == EXPANDED) & (nodes["visits"] > 0)).tolist():
        links = sum(int(search.tree.links[link]["visits"]) for link in links_of(search.tree, number))
        assert nodes[number]["visits"] >= 1 + links if number != ROOT else nodes[number]["visits"] == 1 + links


class InPython(NativeFake):
    """The same evaluator for workers that are Python threads. Late answers of some calls change who is first."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.attributes = replace(self.attributes, threads=0)
        self._calls = 0

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        self._calls += 1
        time.sleep(0.002 if self._calls % 7 == 0 else 0.0)
        super().evaluate(positions, count, out)


@pytest.mark.parametrize("game", [Game(9), random_game(3, 7, 7, moves=20)], ids=["9x9", "7x7"])
@pytest.mark.parametrize(("threads", "batch"), [(1, 1), (1, 4), (2, 1), (3, 3), (2, 0)])
def test_workers_in_turn_build_one_tree_with_python_and_without(game: Game, threads: int, batch: int) -> None:
    evaluators = NativeFake(threads), NativeFake(threads, pauses=500), InPython(threads)
    searches = [begun(game, evaluator, batch_size=batch) for evaluator in evaluators]
    for search in searches:
        assert search.run([], 200).visits == 200
        assert search.run([], 300).visits == 300
        assert_whole(search)
    trees = [subtree(search.tree) for search in searches]
    assert trees[0] == trees[1] == trees[2]


@pytest.mark.parametrize("make", [NativeFake, InPython])
def test_workers_that_are_not_in_turn_reach_the_visits_exactly(make: type[NativeFake]) -> None:
    search = begun(Game(9), make(3), seed=0)
    for visits in (1, 2, 7, 100, 333):
        assert search.run([], visits).visits == visits
        assert_whole(search)


@pytest.mark.parametrize("batch", [1, 3, 8])
def test_walks_that_end_with_the_game_do_not_exceed_the_visits(batch: int) -> None:
    search = begun(Game(3), NativeFake(2), batch_size=batch)
    for visits in (40, 300, 800, 1001, 1502):
        assert search.run([], visits).visits == visits
    assert search.tree.counters[TERMINAL_PLAYOUTS] > 0


@pytest.mark.parametrize("batch", [0, 1, 3, 8])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_leaf_is_evaluated_once_and_counted(threads: int, batch: int) -> None:
    evaluator = NativeFake(threads)
    search = begun(Game(9), evaluator, batch_size=batch)
    for visits in (400, 800):
        search.run([AtVisits(visits)])
        assert_whole(search)
    nodes = search.tree.nodes[: search.tree.counters[SIZE]]
    expanded = int(np.count_nonzero(nodes["stage"] == EXPANDED))
    # What was under way when the search was stopped is evaluated in vain, and once more by the next.
    assert expanded <= evaluator.positions <= expanded + 2 * 8 * threads
    assert nodes[ROOT]["visits"] >= 800


def test_whoever_watches_sees_a_tree_that_nobody_changes() -> None:
    search = begun(Game(9), NativeFake(2, pauses=3000))
    seen = []

    def watch(stats: SearchStats) -> None:
        before = subtree(search.tree, with_pending=False)
        time.sleep(0.002)
        assert subtree(search.tree, with_pending=False) == before
        links = sum(int(search.tree.links[link]["visits"]) for link in links_of(search.tree, ROOT))
        assert search.tree.nodes[ROOT]["visits"] == stats.visits == 1 + links
        seen.append(stats.visits)

    search.run([AtVisits(1500)], watch=watch)
    assert len(seen) > 1
    assert seen == sorted(seen)


def test_a_stop_waits_for_no_evaluation_and_the_next_search_for_all() -> None:
    evaluator = NativeFake(2)
    search = begun(Game(9), evaluator)
    search.run([AtVisits(1)])
    evaluator.pauses = _SLOW
    stats = search.run([TimeStopper(0.02)])
    answered = evaluator.positions
    search.driver.wait()
    assert evaluator.positions > answered
    assert stats.visits == search.tree.nodes[ROOT]["visits"]
    assert_whole(search)
    evaluator.pauses = 0
    assert search.run([AtVisits(stats.visits + 200)]).visits >= stats.visits + 200
    assert_whole(search)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_failure_is_raised_as_evaluate_raises_it_and_leaves_nothing_under_way(threads: int) -> None:
    evaluator = NativeFake(threads, fail_at=20)
    search = begun(Game(9), evaluator)
    with pytest.raises(ArithmeticError, match="made to fail"):
        search.run([AtVisits(100_000)])
    assert_whole(search)
    evaluator.fail_at = 0
    visits = int(search.tree.nodes[ROOT]["visits"])
    assert search.run([AtVisits(visits + 100)]).visits >= visits + 100
    assert_whole(search)


def test_a_full_tree_forgets_what_it_visited_least_and_goes_on() -> None:
    search = begun(Game(9), NativeFake(2), max_memory_mib=1)
    capacity = len(search.tree.nodes)
    assert search.run([AtVisits(3 * capacity), TimeStopper(60)]).visits >= 3 * capacity
    assert search.tree.counters[SIZE] <= capacity
    assert_whole(search)


def test_playouts_that_end_the_game_need_no_evaluation_and_no_end() -> None:
    game = game_from_diagram(
        """
        . X .
        X X X
        . X .
        """
    )
    evaluator = NativeFake(2)
    search = begun(game, evaluator)
    search.run([AtVisits(5000), TimeStopper(60)])
    nodes = search.tree.nodes[: search.tree.counters[SIZE]]
    assert nodes[ROOT]["visits"] >= 5000 > evaluator.positions
    assert (nodes["stage"] == TERMINAL).any()
    assert_whole(search)


def test_a_search_without_anything_to_find_ends_by_itself() -> None:
    game = Game(5)
    avoid = np.full((3, game.board.shape[1]), 10, dtype=np.int16)
    search = Search(NativeFake(2), SearchParams())
    search.begin(game, game.to_play, [], avoid=avoid)
    assert search.run([]).visits == 1
    assert_whole(search)


def test_a_search_uses_one_worker_while_others_share_its_evaluator() -> None:
    game, sharing = Game(9), 4
    evaluator = NativeFake(2)
    search = Search(evaluator, SearchParams(random_symmetries=False), lambda: sharing)
    search.begin(game, game.to_play, game.legal_vertices())
    search.run([AtVisits(500), TimeStopper(60)])
    assert [int(counts[CALLS]) > 0 for counts in evaluator.counts[1:]] == [True], "the root's evaluation is the first"
    assert_whole(search)
    sharing = 1
    # Until both have called it: on a busy machine one worker may finish any number of visits before the other starts.
    search.run([Once(lambda: all(int(counts[CALLS]) > 0 for counts in evaluator.counts[-2:])), TimeStopper(60)])
    assert all(int(counts[CALLS]) > 0 for counts in evaluator.counts[-2:])
    assert_whole(search)


def test_time_is_told_by_parts() -> None:
    search = begun(Game(9), NativeFake(2, pauses=200))
    search.run([TimeStopper(0.2)])
    seconds = search.driver.seconds
    assert 0.05 < seconds["all"] < 20.0
    assert all(seconds[part] > 0 for part in ("select", "backup", "evaluate"))
    assert sum(seconds[part] for part in ("select", "backup", "encode", "evaluate")) < 1.05 * seconds["all"]
