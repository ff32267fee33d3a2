"""What self-play learns from a search: forced playouts, their pruning, and temperature."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.game import Game
from engine.search.params import SearchParams
from engine.search.policy_target import root_moves, tempered, without_forced
from engine.search.root import root_priors
from engine.search.search import Search
from engine.search.tree import ROOT, child_nodes, links_of
from engine.vertex import policy_index
from tests.oracle.naive_playouts import forced_playouts, pruned_target
from tests.search.fakes import FakeEvaluator

MOVES = st.lists(
    st.tuples(st.integers(1, 60), st.floats(0.01, 1.0), st.floats(-1.0, 1.0)),
    min_size=1,
    max_size=6,
    unique_by=lambda move: move[0],
)


@settings(max_examples=60, deadline=None)
@given(moves=MOVES, scale=st.floats(0.1, 20.0), factor=st.sampled_from([0.5, 2.0, 8.0]))
def test_pruning_takes_off_what_the_paper_takes_off(
    moves: list[tuple[int, float, float]], scale: float, factor: float
) -> None:
    visits, priors, utilities = (list(each) for each in zip(*moves, strict=True))
    sums = np.array(priors) / sum(priors)
    naive = pruned_target(visits, sums.tolist(), utilities, scale, factor)
    found = without_forced(np.array(visits, float), np.array(visits), sums, np.array(utilities), scale, factor)
    close = np.isclose(found, naive, atol=0.0025)
    at_the_edge = np.minimum(np.abs(np.maximum(found, naive) - 1.0), 1.0) < 0.005  # one playout, more or less
    assert (close | at_the_edge).all(), (found, naive)


def searched(visits: int = 300, **params: float) -> Search:
    """Return a search of the empty 5x5 board, one playout at a time."""
    search = Search(FakeEvaluator(), SearchParams(batch_size=1, prunes_symmetric_moves=False, **params))  # type: ignore[arg-type]
    game = Game(5)
    search.begin(game, game.to_play, game.legal_vertices())
    search.run([], visits)
    return search


def test_every_move_that_was_tried_has_its_forced_playouts() -> None:
    def lacking(search: Search) -> int:
        tree = search.tree
        visits = tree.links[links_of(tree, ROOT)]["visits"]
        assert all(tree.nodes[child_nodes(tree, ROOT)]["stage"] != 0)
        needed = [forced_playouts(prior, visits.sum(), 2.0) for prior in root_priors(tree)[: len(visits)]]
        return int((visits < np.floor(needed) - 1).sum())

    assert lacking(searched(forced_playouts=2.0, shares_nodes=False)) == 0
    assert lacking(searched(forced_playouts=0.0, shares_nodes=False)) > 0


def test_a_target_is_the_visits_where_nothing_was_forced() -> None:
    search = searched(shares_nodes=False, noise_prune_scale=0.0, uncertainty_coefficient=0.0)
    found = root_moves(search.tree, search.root, search.params)
    visits = search.tree.links[links_of(search.tree, ROOT)]["visits"]
    assert found.weight == pytest.approx(visits)
    spread = found.spread(1.0, 5, 5)
    assert spread.sum() == pytest.approx(1.0)
    for vertex, count in zip(found.vertex.tolist(), visits.tolist(), strict=True):
        assert spread[policy_index(vertex, 5, 5)] == pytest.approx(count / visits.sum())


def test_after_one_visit_the_moves_are_the_priors() -> None:
    search = searched(1)
    found = root_moves(search.tree, search.root, search.params)
    assert found.weight == pytest.approx(root_priors(search.tree))
    assert len(found.vertex) == 26


def test_a_forbidden_move_has_no_share() -> None:
    search = Search(FakeEvaluator(), SearchParams(batch_size=1))
    game = Game(3)
    avoid = np.zeros((3, game.board.shape[1]), dtype=np.int16)
    avoid[game.to_play, game.legal_vertices()[:4]] = 1
    search.begin(game, game.to_play, game.legal_vertices(), avoid=avoid)
    for visits in (1, 100):
        search.run([], visits)
        found = root_moves(search.tree, search.root, search.params)
        assert not found.spread(1.0, 3, 3)[:4].any()


def test_temperature_one_keeps_the_proportions_and_zero_takes_the_largest() -> None:
    weights = np.array([1.0, 4.0, 0.0, 3.0])
    assert tempered(weights, 1.0) == pytest.approx(weights / 8)
    assert tempered(weights, 0.5) == pytest.approx(weights**2 / 26)
    assert tempered(weights, 0.0).tolist() == [0, 1, 0, 0]
    assert tempered(weights, 1e-3) == pytest.approx([0, 1, 0, 0])
    assert tempered(np.array([2.0, 2.0]), 0.0).tolist() == [0.5, 0.5]
    assert tempered(np.array([1e-300, 1e300]), 0.01).tolist() == [0, 1]
