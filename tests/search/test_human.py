"""A human network beside the playing one: which moves it has searched, what counts, and its share in the choice."""

import math
from dataclasses import replace

import numpy as np
import pytest

from engine.encoders.human import human_metadata
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.rules import TROMP_TAYLOR
from engine.search.human import with_human_share
from engine.search.kernel_params import params_of
from engine.search.move_choice import choose_vertex, move_table
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.search.selection import choose_edge
from engine.search.tree import EXPANDED, ROOT, links_of
from engine.vertex import NO_POINT, PASS, policy_index
from tests.oracle.naive_values import preferred_human_edge
from tests.positions import game_of
from tests.search.fakes import FakeEvaluator

PLAIN = SearchParams(shares_nodes=False, subtree_value_bias_factor=0.0, human_profile="rank_5k")


class HumanEvaluator(FakeEvaluator):
    """A fake human network: other priors than the playing one's; remembers the profiles that it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.attributes = replace(self.attributes, needs_profile=True)
        self.metadata: list[np.ndarray | None] = []

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the made-up evaluation."""
        super().evaluate(positions, count, out)
        self.metadata.append(positions.metadata)
        out.policy[:count] = out.policy[:count] ** 4
        out.policy[:count] /= out.policy[:count].sum(axis=1, keepdims=True)


def searched(visits: int = 200, human: HumanEvaluator | None = None, **changes: float | str) -> Search:
    game = game_of("C3 B3 C4", 5, rules=TROMP_TAYLOR)
    search = Search(FakeEvaluator(), replace(PLAIN, **changes), human=human or HumanEvaluator())
    search.begin(game, game.to_play, game.legal_vertices())
    search.run([], visits)
    return search


def test_the_root_is_evaluated_once_with_the_profile() -> None:
    human = HumanEvaluator()
    search = searched(human=human)
    assert human.positions == 1
    (given,) = human.metadata
    assert given is not None
    assert np.array_equal(given, human_metadata("rank_5k", 5, 5))
    assert search.human_evaluation is not None
    assert search.human_evaluation.policy[0].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("temperature", [0.5, 3.0])
def test_a_temperature_makes_the_human_policy_flatter_at_the_root_alone(temperature: float) -> None:
    plain, tempered = searched(), searched(human_root_temperature=temperature)
    assert plain.human_evaluation is not None and tempered.human_evaluation is not None
    expected = plain.human_evaluation.policy[0].astype(np.float64) ** (1 / temperature)
    assert tempered.human_evaluation.policy[0] == pytest.approx(expected / expected.sum(), rel=1e-4, abs=1e-7)
    assert plain.root_evaluation.policy[0] == pytest.approx(tempered.root_evaluation.policy[0])


def test_without_a_profile_the_human_network_is_not_used() -> None:
    human = HumanEvaluator()
    search = searched(human=human, human_profile="", human_root_weightless=1.0)
    assert (human.calls, search.human_evaluation) == (0, None)
    assert search.tree.nodes[ROOT]["visits"] == 200


def test_without_its_parameters_the_search_is_the_same_as_without_a_human_network() -> None:
    with_human, game = searched(), game_of("C3 B3 C4", 5, rules=TROMP_TAYLOR)
    without = Search(FakeEvaluator(), PLAIN)
    without.begin(game, game.to_play, game.legal_vertices())
    without.run([], 200)
    one, two = (move_table(each.tree, each.root, PLAIN) for each in (with_human, without))
    assert np.array_equal(one.vertex, two.vertex)
    assert np.array_equal(one.visits, two.visits)
    assert np.array_equal(one.play_weight, two.play_weight)


def test_weightless_playouts_judge_moves_and_leave_the_root_as_it_was() -> None:
    search = searched(human_root_weightless=1.0)
    root = search.tree.nodes[ROOT]
    assert (root["visits"], root["utility"]) == (1, root["raw_utility"])
    table = move_table(search.tree, search.root, PLAIN)
    assert not table.visits.any()
    assert search.tree.nodes["visits"][table.child].sum() == 199
    assert table.is_known.all()


def test_a_share_of_the_playouts_is_weightless() -> None:
    search = searched(2000, human_root_weightless=0.25)
    assert search.tree.nodes[ROOT]["visits"] == pytest.approx(1500, abs=100)


@pytest.mark.parametrize("name", ["human_root_weightful", "human_own_weightful", "human_opponent_weightful"])
def test_a_human_move_is_the_best_by_human_prior_and_value(name: str) -> None:
    params = replace(PLAIN, human_c_puct=0.7, human_c_puct_permanent=0.1, **{name: 1.0})
    search = searched(300, human_c_puct=0.7, human_c_puct_permanent=0.1, **{name: 1.0})
    tree, root, given = search.tree, search.root, params_of(params, 25)
    mine, compared, work = int(tree.nodes[ROOT]["to_play"]), 0, np.zeros((4, tree.edge_vertex.shape[1]))
    for node in range(search.size()):
        each = tree.nodes[node]
        if each["stage"] != EXPANDED:
            continue
        side = "own" if each["to_play"] == mine else "opponent"
        if name.split("_")[1] == ("root" if node == ROOT else side):
            assert each["has_human"] == 1
            chosen = choose_edge(
                tree, given, node, 0 if node == ROOT else 1, root.avoid, root.avoid_depth, root.board, NO_POINT, work
            )
            assert chosen == preferred_human_edge(tree, node, params, is_root=node == ROOT)
            assert given.numbers["is_weightless"] == 0
            compared += 1
    assert compared >= (1 if "root" in name else 40)


def test_weightless_moves_below_the_root_count_up_to_the_one_that_does_not() -> None:
    tree = searched(400, human_opponent_weightless=0.5).tree
    lacking = 0
    for node in range(200):
        each, links = tree.nodes[node], links_of(tree, node)
        if each["stage"] == EXPANDED:
            assert each["visits"] == 1 + sum(int(tree.links[link]["visits"]) for link in links)
        for link in links:
            below = int(tree.nodes[tree.links[link]["child"]]["visits"]) - int(tree.links[link]["visits"])
            assert below >= 0
            lacking += below
    assert lacking > 20
    assert not tree.nodes["pending"][:200].any()


def test_human_priors_of_the_root_are_those_of_the_human_network() -> None:
    search = searched(human_root_weightful=0.5)
    tree, human = search.tree, search.human_evaluation
    assert human is not None
    for edge in range(int(tree.nodes[ROOT]["edges"])):
        prior = human.policy[0, policy_index(int(tree.edge_vertex[ROOT, edge]), 5, 5)]
        assert (tree.human_prior[ROOT, edge] / 65535) ** 2 == pytest.approx(float(prior), abs=1e-4)


def share(policy: list[float], utilities: list[float], vertices: list[int], **changes: float | bool) -> list[float]:
    weights = np.array([6.0, 3.0, 0.0, 1.0])
    params = replace(PLAIN, **{"human_move_share": 1.0, **changes})
    return with_human_share(np.array(vertices), weights, np.array(utilities), np.array(policy), params).tolist()


def test_the_share_of_the_human_policy_replaces_the_weights_of_the_search() -> None:
    utilities, vertices = [0.3, 0.1, math.nan, 0.2], [7, 8, 9, PASS]
    assert share([0.1, 0.2, 0.4, 0.3], utilities, vertices) == pytest.approx([1.0, 2.0, 4.0, 3.0])
    half = share([0.1, 0.2, 0.4, 0.3], utilities, vertices, human_move_share=0.5)
    assert half == pytest.approx([3.5, 2.5, 2.0, 2.0])


def test_a_pass_may_be_left_to_the_search() -> None:
    found = share([0.1, 0.2, 0.4, 0.3], [0.3, 0.1, math.nan, 0.2], [7, 8, 9, PASS], human_ignores_pass=True)
    assert found == pytest.approx([9 / 7, 18 / 7, 36 / 7, 1.0])


def test_human_moves_that_lose_utility_become_rare_on_the_given_scale() -> None:
    utilities = [0.3, 0.1, math.nan, 0.2]
    found = share([0.25] * 4, utilities, [7, 8, 9, PASS], human_move_scale=0.1)
    chances = [math.exp((each - 0.3) / 0.1) for each in (0.3, 0.1, 0.2, 0.2)]
    assert found == pytest.approx([10 * chance / sum(chances) for chance in chances])


def test_the_move_of_a_person_is_played_where_the_share_is_whole() -> None:
    search = searched(human_move_share=1.0)
    human = search.human_evaluation
    assert human is not None
    params = replace(PLAIN, human_move_share=1.0)
    chosen = choose_vertex(search.tree, search.root, params, 0.0, search.generator, human)
    assert policy_index(chosen, 5, 5) == int(np.argmax(human.policy[0]))


def test_a_reused_tree_has_the_human_evaluation_of_the_new_root() -> None:
    search, game = searched(400), game_of("C3 B3 C4", 5, rules=TROMP_TAYLOR)
    before = search.human_evaluation
    vertex = choose_vertex(search.tree, search.root, PLAIN, 0.0, search.generator)
    game.play(game.to_play, vertex)
    search.begin(game, game.to_play, game.legal_vertices())
    assert search.tree.nodes[ROOT]["visits"] > 1
    search.run([], 600)
    after = search.human_evaluation
    assert before is not None
    assert after is not None
    assert after.policy[0, policy_index(vertex, 5, 5)] == 0.0 < before.policy[0, policy_index(vertex, 5, 5)]


def test_all_moves_may_be_played_by_people_on_an_empty_board() -> None:
    search, game = Search(FakeEvaluator(), PLAIN, human=HumanEvaluator()), Game(5, rules=TROMP_TAYLOR)
    search.begin(game, game.to_play, game.legal_vertices())
    search.run([], 1)
    params = replace(PLAIN, human_move_share=1.0)
    chosen = choose_vertex(search.tree, search.root, params, 1.0, search.generator, search.human_evaluation)
    assert game.is_legal(game.to_play, chosen)
