"""Snapshots of a search: the tree's figures from either side, in order, and those of mirror images."""

from typing import Any

import numpy as np
import pytest

from engine.color import BLACK, WHITE, for_color, opponent
from engine.game import Game
from engine.search.analysis import Wanted, of_single_move, snapshot
from engine.search.tree import ROOT
from engine.vertex import NO_POINT, PASS, parse_vertex, points
from tests.gtp.small_search import LEAD, PRIORS, REPLIES, SCORE, STDEV, VALUE, VISITS, small_search


def searched(width: int = 4, height: int = 3, color: int = BLACK) -> Any:
    return small_search(Game(width, height), color)


@pytest.mark.parametrize("color", [BLACK, WHITE])
def test_figures_are_those_of_the_tree_seen_by_a_color(color: int) -> None:
    search = searched()
    analysis = snapshot(search, Wanted(), color)
    assert analysis is not None
    first, second = analysis.moves
    sign = 1 if color == BLACK else -1
    corner = points(4, 3)[0]
    assert (first.vertex, first.visits, first.edge_visits, first.order) == (corner, VISITS[0], VISITS[0], 0)
    assert (first.utility, first.winrate) == (sign * VALUE, (1 + sign * VALUE) / 2)
    assert (first.lead, first.score_mean, first.score_stdev) == (sign * LEAD, sign * SCORE, pytest.approx(STDEV))
    assert (second.winrate, second.lead) == ((1 - sign * VALUE) / 2, -sign * LEAD)
    assert [move.prior for move in analysis.moves] == pytest.approx(PRIORS, abs=1e-4)
    assert [move.weight for move in analysis.moves] == list(VISITS)
    assert first.ownership is None
    assert (analysis.root.visits, analysis.root.winrate, analysis.root.lead) == (10, 0.5, 0.0)


@pytest.mark.parametrize("mover", [BLACK, WHITE])
@pytest.mark.parametrize("color", [BLACK, WHITE])
def test_bounds_are_pessimistic_for_the_side_to_move(mover: int, color: int) -> None:
    analysis = snapshot(searched(color=mover), Wanted(min_moves=5), color)
    assert analysis is not None
    sign = 1 if mover == color else -1
    for move in analysis.moves:
        assert sign * move.utility_lcb < sign * move.utility
        assert sign * move.lcb < sign * move.winrate
    best = analysis.moves[0]
    assert best.vertex == points(4, 3)[0 if mover == BLACK else 1], "the better move for the side to move"
    # The winrate's radius is half of the utility's share that is winning.
    largest = 1.0 + 0.1 + 0.3
    assert best.winrate - best.lcb == pytest.approx((best.utility - best.utility_lcb) / 2 / largest)


def test_a_variation_follows_the_most_visited_moves_up_to_its_length() -> None:
    search = searched()
    reply = int(search.tree.edge_vertex[1, 0])
    whole, short = (snapshot(search, Wanted(pv_length=length), BLACK) for length in (15, 0))
    assert whole is not None and short is not None
    first = whole.moves[0]
    assert first.pv == (first.vertex, reply)
    assert (first.pv_visits, first.pv_edge_visits) == ((VISITS[0], REPLIES), (VISITS[0], REPLIES))
    assert short.moves[0].pv == (first.vertex,)


def test_a_position_reached_elsewhere_has_more_visits_than_its_edge() -> None:
    search = searched()
    search.tree.nodes[3]["visits"] = 9
    analysis = snapshot(search, Wanted(), BLACK)
    assert analysis is not None
    assert (analysis.moves[0].pv_visits[1], analysis.moves[0].pv_edge_visits[1]) == (9, REPLIES)


def test_moves_without_visits_come_last_when_they_are_wanted() -> None:
    analysis = snapshot(searched(), Wanted(min_moves=4), BLACK)
    assert analysis is not None
    assert [move.visits for move in analysis.moves] == [*VISITS, 0, 0]
    assert [move.order for move in analysis.moves] == [0, 1, 2, 3]
    assert all(move.pv == (move.vertex,) for move in analysis.moves[2:])
    everything = snapshot(searched(), Wanted(min_moves=1000), BLACK)
    assert everything is not None
    assert {move.vertex for move in everything.moves} == {*points(4, 3), PASS}


def test_at_most_so_many_moves_are_told() -> None:
    for most in (0, 1, 2):
        analysis = snapshot(searched(), Wanted(min_moves=9, max_moves=most), BLACK)
        assert analysis is not None
        assert len(analysis.moves) == most


def test_moves_that_are_to_be_avoided_are_not_told() -> None:
    search = searched()
    search.root.avoid[BLACK, points(4, 3)[0]] = 1
    analysis = snapshot(search, Wanted(min_moves=1000), BLACK)
    assert analysis is not None
    assert points(4, 3)[0] not in {move.vertex for move in analysis.moves}
    assert len(analysis.moves) == 12


@pytest.mark.parametrize("color", [BLACK, WHITE])
def test_owners_are_seen_by_the_color(color: int) -> None:
    analysis = snapshot(searched(), Wanted(min_moves=3, ownership=True, moves_ownership=True), color)
    assert analysis is not None
    sign = 1 if color == BLACK else -1
    root, (first, second, unvisited) = analysis.root, analysis.moves
    assert first.ownership is not None and second.ownership is not None
    assert first.ownership[:3].tolist() == [sign, sign, 0]
    assert second.ownership[:3].tolist() == [-sign, -sign, 0]
    assert root.ownership is not None and root.ownership_stdev is not None
    assert np.array_equal(root.ownership, unvisited.ownership)
    assert (root.ownership_stdev >= 0).all()
    assert root.ownership_stdev[0] > 0.5


def test_an_evaluator_without_ownership_tells_none() -> None:
    search = searched()
    search.tree = search.tree._replace(ownership=search.tree.ownership[:, :0])
    analysis = snapshot(search, Wanted(ownership=True, moves_ownership=True), BLACK)
    assert analysis is not None
    assert analysis.root.ownership is None
    assert analysis.moves[0].ownership_stdev is None


def test_nothing_is_told_of_a_root_that_is_not_evaluated() -> None:
    search = searched()
    search.tree.nodes[ROOT]["visits"] = 0
    assert snapshot(search, Wanted(), BLACK) is None


def test_mirror_images_have_the_figures_of_their_original_turned() -> None:
    game = Game(4, 3)
    game.play(BLACK, PASS)
    search = small_search(game, WHITE)
    original, image = (parse_vertex(name, 4, 3) for name in ("b3", "c3"))
    search.mirrored = {image: original}
    search.tree.ownership[2, 0] = -127
    search.tree.ownership[2, 1:] = 0
    analysis = snapshot(search, Wanted(moves_ownership=True), BLACK)
    assert analysis is not None
    first, second, third = analysis.moves
    assert [move.vertex for move in analysis.moves[:2]] == [original, image]
    assert (first.is_symmetry_of, second.is_symmetry_of, third.is_symmetry_of) == (NO_POINT, original, NO_POINT)
    assert [move.order for move in analysis.moves] == [0, 1, 2]
    assert (second.utility, second.visits) == (first.utility, first.visits)
    assert first.ownership is not None and second.ownership is not None
    assert (first.ownership[0], second.ownership[3]) == (-1, -1)
    assert second.pv[0] == image


def test_a_move_without_a_search_is_seen_from_both_sides() -> None:
    for color in (BLACK, WHITE):
        own = of_single_move(PASS, 1.0, 12.5, color, color).moves[0]
        other = of_single_move(PASS, 1.0, 12.5, color, opponent(color)).moves[0]
        assert (own.winrate, own.lead, own.pv) == (1.0, 12.5, (PASS,))
        assert (other.winrate, other.lead) == (0.0, -12.5)


def test_turning_a_figure_twice_changes_nothing() -> None:
    owners = np.array([0.5, -1.0])
    for color in (BLACK, WHITE):
        assert for_color(for_color(0.25, color), color) == 0.25
        assert np.array_equal(for_color(for_color(owners, color), color), owners)
