"""Root selection by sequential halving with Gumbel noise, beside plain loops and in searches."""

import math
from collections import Counter

import numpy as np
import pytest

from engine.color import BLACK
from engine.game import Game
from engine.search.batched_search import BatchedDriver, BatchedSearch, Group
from engine.search.gumbel import completed_values, improved_logits, visit_schedule
from engine.search.params import SearchParams
from engine.search.tree import ROOT, links_of
from engine.vertex import PASS, policy_index
from tests.search.fakes import FakeEvaluator

PLAIN = SearchParams(policy_optimism=0.0, root_policy_optimism=0.0, prunes_symmetric_moves=False)


@pytest.mark.parametrize(
    ("considered", "playouts", "schedule"),
    [
        (1, 4, [0, 1, 2, 3]),
        (2, 5, [0, 0, 1, 1, 2]),
        (4, 8, [0, 0, 0, 0, 1, 1, 2, 2]),
        (4, 16, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]),
        (8, 3, [0, 0, 0]),
    ],
)
def test_the_schedule_halves_the_moves(considered: int, playouts: int, schedule: list[int]) -> None:
    assert visit_schedule(considered, playouts) == schedule


def test_unvisited_moves_have_the_mixed_value_of_the_paper() -> None:
    priors, visits = np.array([0.5, 0.2, 0.2, 0.1]), np.array([3, 1, 0, 0])
    values, raw = np.array([0.6, 0.3, 0.99, 0.99]), 0.4
    mixed = (raw + 4 * (0.5 * 0.6 + 0.2 * 0.3) / 0.7) / 5
    np.testing.assert_allclose(completed_values(priors, visits, values, raw), [0.6, 0.3, mixed, mixed])
    logits = improved_logits(priors, visits, values, raw)
    slow = [math.log(p) + (50 + 3) * q for p, q in zip(priors, [0.6, 0.3, mixed, mixed], strict=True)]
    np.testing.assert_allclose(logits, slow)


def test_without_visits_the_improved_policy_is_the_policy() -> None:
    priors = np.array([0.7, 0.2, 0.1])
    logits = improved_logits(priors, np.zeros(3, int), np.zeros(3), 0.5)
    chances = np.exp(logits - logits.max())
    np.testing.assert_allclose(chances / chances.sum(), priors)


def searched(
    considered: int, visits: int, seed: int = 3, avoid: np.ndarray | None = None
) -> tuple[BatchedSearch, dict[int, int]]:
    """Search an empty 5x5 board; return the search and the visits of the root's moves."""
    game = Game(5, komi=0.5)
    search = BatchedSearch(FakeEvaluator(), game, 1, 4 * visits + 64, most_moves=75)
    search.begin(0, game, BLACK, avoid=avoid)
    search.start(0, PLAIN, visits, 1, np.random.default_rng(seed), considered)
    driver = BatchedDriver([Group(search, [0], lambda tree: None)])
    driver.run(lambda: False)
    driver.close()
    tree = search.trees[0]
    links = links_of(tree, ROOT)
    played = tree.edge_vertex[ROOT, : len(links)].tolist()
    return search, dict(zip(played, tree.links[links]["visits"].tolist(), strict=True))


@pytest.mark.parametrize(("considered", "visits"), [(4, 9), (4, 17), (8, 33), (16, 50), (2, 8)])
def test_the_root_gives_every_move_the_visits_of_the_schedule(considered: int, visits: int) -> None:
    search, found = searched(considered, visits)
    schedule = visit_schedule(considered, visits - 1)
    assert Counter(schedule) == Counter(each for count in found.values() for each in range(count))
    assert sum(found.values()) == visits - 1
    gumbel = search.gumbel[0]
    assert gumbel is not None
    assert found[gumbel.chosen_move()] == max(found.values())


def test_a_search_of_the_root_alone_has_a_move_and_a_target() -> None:
    search, found = searched(4, 1)
    gumbel = search.gumbel[0]
    assert gumbel is not None
    assert found == {}
    assert gumbel.next_move() == gumbel.chosen_move()
    assert gumbel.chosen_move() in gumbel.target()[0]


def test_the_target_follows_the_values_of_the_search() -> None:
    search, _ = searched(8, 33)
    gumbel = search.gumbel[0]
    assert gumbel is not None
    vertices, target = gumbel.target()
    assert target.sum() == pytest.approx(1)
    tree, links = search.trees[0], links_of(search.trees[0], ROOT)
    utilities = tree.nodes[tree.links[links]["child"]]["utility"]
    played = tree.edge_vertex[ROOT, : len(links)].tolist()
    policy = search.policy(0)
    gains = {vertex: target[vertices.tolist().index(vertex)] / policy[policy_index(vertex, 5, 5)] for vertex in played}
    order = sorted(played, key=lambda vertex: utilities[played.index(vertex)])
    ranked = sorted(played, key=lambda vertex: gains[vertex])
    assert [utilities[played.index(each)] for each in order] == [utilities[played.index(each)] for each in ranked]


def test_the_noise_decides_which_moves_are_considered() -> None:
    assert len({tuple(sorted(searched(2, 6, seed)[1])) for seed in range(8)}) > 1
    assert searched(4, 12)[1] == searched(4, 12)[1]


def test_moves_to_be_avoided_get_no_visits() -> None:
    avoid = np.zeros((3, Game(5).board.shape[1]), dtype=np.int16)
    avoid[BLACK] = 1
    allowed = [PASS, 9, 10]
    avoid[BLACK, allowed] = 0
    search, found = searched(8, 20, avoid=avoid)
    assert set(found) <= set(allowed)
    gumbel = search.gumbel[0]
    assert gumbel is not None
    assert set(gumbel.vertices.tolist()) <= set(allowed)
