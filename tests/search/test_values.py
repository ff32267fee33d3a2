"""Values and choices of the kernels against plain formulas, and what each parameter is for."""

from dataclasses import replace

import numpy as np
import pytest

from engine.color import BLACK, WHITE
from engine.evaluation.evaluation import SCORE_ERROR, SCORE_MEAN, SCORE_STDEV, VALUE_ERROR, Evaluation
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.rules import TROMP_TAYLOR
from engine.search.kernel_params import STEPS, TABLE_MEANS, params_of, score_table
from engine.search.move_choice import choose_vertex, move_table
from engine.search.params import SearchParams
from engine.search.root import mirrored_moves
from engine.search.search import Search
from engine.search.selection import choose_edge, scaling
from engine.search.statistics import Statistics
from engine.search.tree import EXPANDED, NODE, ROOT, TERMINAL, child_nodes, links_of
from engine.search.tree_ownership import tree_ownership
from engine.search.values import playout_weight, score_utility
from engine.vertex import NO_POINT, PASS, parse_vertex
from tests.oracle import naive_values
from tests.oracle.naive_values import expected_score_value, preferred_edge, utility_of
from tests.positions import game_of
from tests.search.fakes import FakeEvaluator

PLAIN = SearchParams(shares_nodes=False, subtree_value_bias_factor=0.0)


class DetailedEvaluator(FakeEvaluator):
    """A fake that also tells scores with deviations and expected errors."""

    def __init__(self) -> None:
        super().__init__()
        self.attributes = replace(self.attributes, has_details=True)

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the made-up evaluation."""
        super().evaluate(positions, count, out)
        for row in range(count):
            generator = np.random.default_rng(int(positions.hashes[row]) & 0xFFFFFFFF)
            out.details[row] = 0.0
            out.details[row, SCORE_MEAN] = out.score[row] + generator.normal()
            out.details[row, SCORE_STDEV] = 5 * generator.random()
            out.details[row, VALUE_ERROR] = generator.random()
            out.details[row, SCORE_ERROR] = generator.random()
            out.ownership[row] = generator.uniform(-1, 1, out.ownership.shape[1])


def searched(params: SearchParams, visits: int = 400, game: Game | None = None) -> Search:
    game = game or game_of("C3 B3 C4", 5, rules=TROMP_TAYLOR)
    search = Search(DetailedEvaluator(), params)
    search.begin(game, game.to_play, game.legal_vertices())
    search.run([], visits)
    return search


@pytest.mark.parametrize(("mean", "deviation"), [(0, 0), (1, 0), (-2.3, 0.7), (5.2, 3.1), (-0.4, 8.4), (31, 2)])
def test_the_table_of_score_values_is_the_expectation_of_an_arc_tangent(mean: float, deviation: float) -> None:
    values = params_of(SearchParams(static_score_factor=1.0, dynamic_score_factor=0.0), 25, 0.0, has_details=True)
    scale = 2 * 5
    found = score_utility(values, mean * scale, (mean**2 + deviation**2) * scale**2)
    assert found == pytest.approx(expected_score_value(mean, deviation), abs=2e-3)


def test_the_entries_of_the_table_are_expectations_and_rise_with_the_mean() -> None:
    table, middle = score_table(), TABLE_MEANS // 2
    for mean, deviation in ((0, 0), (8, 0), (-19, 6), (41, 25), (-256, 96), (256, 96), (3, 67)):
        wanted = expected_score_value(mean / STEPS, deviation / STEPS)
        assert table[middle + mean, deviation] == pytest.approx(wanted, abs=1e-4)
    assert np.all(np.diff(table, axis=0) > 0)


def test_the_dynamic_score_utility_is_steepest_near_the_expected_score() -> None:
    values = params_of(SearchParams(static_score_factor=0.0, dynamic_score_factor=1.0), 81, 20.0, has_details=True)
    assert values.numbers["score_center"] == pytest.approx(16.0)
    slopes = [score_utility(values, x + 1, (x + 1) ** 2) - score_utility(values, x, x**2) for x in range(-40, 60)]
    assert slopes.index(max(slopes)) - 40 in (15, 16)


@pytest.mark.parametrize("params", [PLAIN, replace(PLAIN, uncertainty_coefficient=0.0, value_weight_exponent=0.5)])
def test_every_utility_follows_from_the_own_evaluation_and_the_childrens_utilities(params: SearchParams) -> None:
    tree = searched(params).tree
    compared = 0
    for node in range(400):
        each = tree.nodes[node]
        if each["stage"] in (EXPANDED, TERMINAL) and each["visits"] > 0:
            assert each["utility"] == pytest.approx(utility_of(tree, node, params), abs=1e-6)
            compared += bool(links_of(tree, node))
    assert compared > 50


def test_the_chosen_edge_has_the_largest_value_plus_exploration() -> None:
    search = searched(PLAIN)
    tree, root, given = search.tree, search.root, params_of(PLAIN, 25)
    compared, work = 0, np.zeros((4, tree.edge_vertex.shape[1]))
    for node in range(search.size()):
        if tree.nodes[node]["stage"] == EXPANDED:
            depth = 0 if node == ROOT else 1
            chosen = choose_edge(tree, given, node, depth, root.avoid, root.avoid_depth, root.board, NO_POINT, work)
            assert chosen == preferred_edge(tree, node, PLAIN, is_root=node == ROOT)
            compared += 1
    assert compared > 300


def test_scaling() -> None:
    generator, node = np.random.default_rng(6), np.zeros(1, dtype=NODE)[0]
    for _ in range(300):
        node["visits"], node["weight"] = generator.integers(0, 3), 30 * generator.random() ** 3
        node["utility"] = generator.uniform(-1, 1)
        node["utility_sq"] = node["utility"] ** 2 + generator.uniform(-0.1, 0.4)
        if node["visits"] == 0:
            node["weight"] = 0.0
        total = 100 * generator.random() ** 2
        params = replace(PLAIN, stdev_scale=generator.random())
        expected = naive_values.scaling(node, total, params)
        assert scaling(params_of(params, 25).numbers, node, total) == pytest.approx(expected)


def test_an_evaluation_that_expects_a_smaller_error_weighs_more_up_to_the_maximum() -> None:
    values = params_of(SearchParams(), 81, 0.0, has_details=True)
    weights = [playout_weight(values, 0.0, error, error) for error in (0.0, 0.1, 0.5, 1.0)]
    assert weights[0] == pytest.approx(8.0)
    assert weights == sorted(weights, reverse=True)
    assert playout_weight(values, 0.0, -1.0, -1.0) == 1.0


def test_the_same_local_mistake_is_corrected_elsewhere_in_the_tree() -> None:
    corrected, plain = (searched(replace(PLAIN, subtree_value_bias_factor=factor), 800).tree for factor in (0.45, 0.0))
    nodes = corrected.nodes[:800]
    leaves = nodes[(nodes["visits"] == 1) & (nodes["stage"] == EXPANDED)]
    moved = np.abs(leaves["utility"] - leaves["raw_utility"]) > 1e-6
    assert 0 < np.count_nonzero(moved) < len(leaves)
    untouched = plain.nodes[:800]
    leaves = untouched[(untouched["visits"] == 1) & (untouched["stage"] == EXPANDED)]
    assert np.allclose(leaves["utility"], leaves["raw_utility"])


def test_tree_ownership_is_the_weighted_mean_over_the_whole_tree() -> None:
    tree = searched(PLAIN).tree

    def mean(node: int) -> tuple[float, np.ndarray]:
        """Return the part of a node's weight that has an ownership, and their mean times that part."""
        each, parts = tree.nodes[node], []
        if each["stage"] == EXPANDED:
            parts.append((float(each["raw_weight"]), 1.0, tree.ownership[node] / 127))
        elif each["visits"]:
            parts.append((float(each["raw_weight"]), 0.0, np.zeros(25)))
        for child in child_nodes(tree, node):
            part, total = mean(child)
            parts.append((float(tree.nodes[child]["weight"]), part, total))
        weight = sum(w for w, _, _ in parts)
        return sum(w * part for w, part, _ in parts) / weight, sum(w * total for w, _, total in parts) / weight

    part, total = mean(ROOT)
    found, deviation = tree_ownership(tree, ROOT, least_share=0.0)
    assert found == pytest.approx(total / part, abs=1e-6)
    assert np.all(deviation > 0)
    assert tree_ownership(tree, ROOT, least_share=0.01)[0] == pytest.approx(found, abs=0.2)


def test_the_lower_bound_prefers_a_surer_move_to_the_most_visited_one() -> None:
    search = searched(PLAIN, 600)
    table = move_table(search.tree, search.root, PLAIN)
    assert np.all(table.lcb < table.utility)
    visited = table.visits > 20
    assert np.median(table.radius[visited]) < np.median(table.radius[~visited])
    chosen = choose_vertex(search.tree, search.root, PLAIN, 0.0, search.generator)
    serious = table.play_weight >= PLAIN.lcb_least_share * table.play_weight.max()
    assert chosen == table.vertex[serious][np.argmax(table.lcb[serious])]


def test_mirror_images_of_a_move_are_not_searched() -> None:
    game = Game(5, rules=TROMP_TAYLOR)
    search = searched(PLAIN, 300, game)
    assert len(search.mirrored) == 25 - 6
    table = move_table(search.tree, search.root, PLAIN)
    assert not set(table.vertex.tolist()) & set(search.mirrored)
    game.play(BLACK, parse_vertex("D4", 5, 5))
    assert len(mirrored_moves(game, WHITE, game.legal_vertices())) == 10
    game.play(WHITE, parse_vertex("D3", 5, 5))
    assert mirrored_moves(game, BLACK, game.legal_vertices()) == {}


def test_moves_are_avoided_up_to_the_depth_that_is_asked_for() -> None:
    game = game_of("C3 B3 C4", 5, rules=TROMP_TAYLOR)
    vertex = parse_vertex("D3", 5, 5)
    avoid = np.zeros((3, game.board.shape[1]), dtype=np.int16)
    avoid[BLACK, vertex], avoid[WHITE, vertex] = 4, 3
    search = Search(DetailedEvaluator(), PLAIN)
    search.begin(game, game.to_play, game.legal_vertices(), avoid=avoid)
    search.run([], 3000)
    depths, waiting = set(), [(ROOT, 0)]
    while waiting:
        node, depth = waiting.pop()
        for edge, child in enumerate(child_nodes(search.tree, node)):
            if search.tree.edge_vertex[node, edge] == vertex:
                depths.add((int(search.tree.nodes[node]["to_play"]), depth))
            waiting.append((child, depth + 1))
    assert depths and all(depth >= (4 if color == BLACK else 3) for color, depth in depths)


def test_a_region_bounds_the_moves_of_the_whole_tree() -> None:
    game = game_of("C3 B3 C4", 5, rules=TROMP_TAYLOR)
    region = [parse_vertex(name, 5, 5) for name in ("D3", "D4", "B4", "A1")]
    search = Search(DetailedEvaluator(), PLAIN)
    search.begin(game, game.to_play, game.legal_vertices(), region=region)
    search.run([], 300)
    for node in range(search.size()):
        count = int(search.tree.nodes[node]["edges"])
        assert set(search.tree.edge_vertex[node, :count].tolist()) <= {*region, PASS}


def test_wide_root_noise_spreads_the_visits_over_more_root_moves() -> None:
    game = game_of("C3 B3 C4", 5, rules=TROMP_TAYLOR)
    narrow, wide = (
        np.count_nonzero(move_table(search.tree, search.root, PLAIN).visits >= 5)
        for search in (searched(replace(PLAIN, wide_root_noise=noise), 300, game) for noise in (0.0, 0.3))
    )
    assert wide > narrow


def test_statistics_tell_since_when_the_leader_leads() -> None:
    search = searched(PLAIN, 300)
    statistics = Statistics()
    first = statistics.of(search.tree, 290, 0.5)
    table = move_table(search.tree, search.root, PLAIN)
    best = int(np.argmax(table.visits))
    assert (first.best_vertex, first.best_visits) == (table.vertex[best], table.visits[best])
    assert first.best_value == pytest.approx(table.utility[best])
    assert first.second_visits == np.sort(table.visits)[-2]
    assert first.best_since == 10 == statistics.of(search.tree, 0, 1.0).best_since
