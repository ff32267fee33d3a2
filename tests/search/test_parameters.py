"""What parameters of the search do, one by one: each has an effect that a search shows."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.board.facts import ALTERNATING
from engine.color import BLACK, WHITE
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.evaluators.rollout import RolloutEvaluator
from engine.game import Game
from engine.rules import TROMP_TAYLOR
from engine.search.avoided import avoid_table
from engine.search.move_choice import choose_vertex, move_table
from engine.search.params import ROLLOUT_PARAMS, SEARCH_SETTINGS, SearchParams
from engine.search.root import root_temperature, shaped_priors
from engine.search.search import Search
from engine.search.shapes import played_shapes, shape_key
from engine.search.tree import ROOT, TERMINAL, child_nodes
from engine.vertex import NO_POINT, PASS, parse_vertex
from gtp.params import PARAMS
from tests.positions import game_of
from tests.search.test_values import DetailedEvaluator

PLAIN = SearchParams(prunes_symmetric_moves=False)
WIDE = replace(PLAIN, forced_playouts=5.0, visits_in_flight=8)
"""Many moves get visits that neither their priors nor their values explain, and some are pending beside others."""
CHANGED: dict[str, Any] = {
    "cpuctExploration": 2.0,
    "cpuctExplorationBase": 50.0,
    "cpuctExplorationLog": 2.0,
    "cpuctUtilityStdevPrior": 1.0,
    "cpuctUtilityStdevPriorWeight": 40.0,
    "cpuctUtilityStdevScale": 0.0,
    "dynamicScoreCenterScale": 0.3,
    "dynamicScoreCenterZeroWeight": 1.0,
    "dynamicScoreUtilityFactor": 0.9,
    "fpuLossProp": 0.5,
    "fpuParentWeightByVisitedPolicy": False,
    "fpuParentWeightByVisitedPolicyPow": 0.2,
    "fpuReductionMax": 1.0,
    "graphSearchCatchUpLeakProb": 1.0,
    "nnPolicyTemperature": 2.0,
    "noResultUtilityForWhite": 0.9,
    "noisePruneUtilityScale": 5.0,
    "noisePruningCap": 0.1,
    "numVirtualLossesPerThread": 20.0,
    "rootDesiredPerChildVisitsCoeff": 20.0,
    "rootFpuLossProp": 0.5,
    "rootFpuReductionMax": 1.0,
    "rootNoiseEnabled": True,
    "rootPolicyTemperature": 3.0,
    "rootPolicyTemperatureEarly": 3.0,
    "staticScoreUtilityFactor": 0.9,
    "subtreeValueBiasFactor": 0.0,
    "subtreeValueBiasWeightExponent": 0.1,
    "uncertaintyCoeff": 0.9,
    "uncertaintyExponent": 0.3,
    "uncertaintyMaxWeight": 2.0,
    "useGraphSearch": False,
    "useNoisePruning": False,
    "useUncertainty": False,
    "valueWeightExponent": 0.0,
    "wideRootNoise": 1.0,
    "winLossUtilityFactor": 0.2,
}
"""Parameters by KataGo's names, each with a value that must change a search."""


class VoidEvaluator(DetailedEvaluator):
    """A fake that also expects games without a result."""

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the made-up evaluation."""
        super().evaluate(positions, count, out)
        out.no_result[:count] = 0.2 * (positions.hashes[:count] % np.uint64(5)).astype(np.float32) / 5


def searched(params: SearchParams, visits: int = 800, game: Game | None = None) -> Search:
    game = game or game_of("B2 C3", 4, rules=TROMP_TAYLOR)
    search = Search(VoidEvaluator(), params)
    search.begin(game, game.to_play, game.legal_vertices())
    search.run([], visits)
    return search


def signature(search: Search) -> list[tuple[int, int, float]]:
    """Return moves, visits and rounded values at the root."""
    table = move_table(search.tree, search.root, search.params)
    rows = zip(table.vertex.tolist(), table.visits.tolist(), table.utility.tolist(), strict=True)
    return sorted((vertex, visits, round(utility, 5)) for vertex, visits, utility in rows)


@pytest.fixture(scope="module")
def usual() -> list[tuple[int, int, float]]:
    """Return the root of a search without changes."""
    return signature(searched(WIDE))


@pytest.mark.parametrize("name", CHANGED)
def test_a_parameter_changes_the_search(name: str, usual: list[tuple[int, int, float]]) -> None:
    changes = {PARAMS[name].field: CHANGED[name]}
    if name == "fpuParentWeightByVisitedPolicy":
        changes["fpu_parent_weight"] = 0.7
    assert signature(searched(replace(WIDE, **changes))) != usual
    assert signature(searched(WIDE)) == usual


def test_every_parameter_stands_in_a_test_outside_those_of_all_settings() -> None:
    tests = Path(__file__).parents[1]
    lists = {*tests.joinpath("settings").iterdir(), tests / "gtp" / "test_katago_config.py"}
    files = [path for path in tests.rglob("test_*.py") if path not in lists]
    words = {word for path in files for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    assert [name for name, each in SEARCH_SETTINGS.items() if words.isdisjoint({name, each.katago})] == []


def test_first_play_urgency_counts_against_all_moves_as_first_by_its_weight() -> None:
    visited = []
    for weight in (ROLLOUT_PARAMS.rave_prior, 0.0):
        search = Search(RolloutEvaluator(1), replace(ROLLOUT_PARAMS, rave_prior=weight, seed=5))
        search.begin(game_of("", 5), BLACK, game_of("", 5).legal_vertices())
        search.run([], 200)
        visited.append(signature(search))
    assert visited[0] != visited[1]


def test_the_share_of_the_parents_own_value_needs_the_other_rule_off() -> None:
    off = replace(PLAIN, fpu_by_visited_policy=False)
    assert signature(searched(replace(off, fpu_parent_weight=0.7))) != signature(searched(off))
    assert signature(searched(replace(PLAIN, fpu_parent_weight=0.7))) == signature(searched(PLAIN))


def test_a_search_makes_at_most_so_many_new_playouts() -> None:
    search = searched(replace(PLAIN, max_playouts=30), 1000)
    assert search.tree.nodes[ROOT]["visits"] == 30
    game = game_of("B2 C3", 4, rules=TROMP_TAYLOR)
    search.begin(game, game.to_play, game.legal_vertices())
    search.run([], 1000)
    assert search.tree.nodes[ROOT]["visits"] == 60


def test_the_most_visited_move_is_chosen_without_bounds() -> None:
    search = searched(replace(PLAIN, uses_lcb=False), 800)
    table = move_table(search.tree, search.root, search.params)
    chosen = choose_vertex(search.tree, search.root, search.params, 0.0, search.generator)
    assert chosen == table.vertex[np.argmax(table.play_weight)]
    assert table.play_weight.max() == table.weight[np.argmax(table.play_weight)]


def test_the_first_move_may_be_left_out_of_the_choice_by_bounds() -> None:
    search = searched(PLAIN, 800)
    with_first, without = (
        move_table(search.tree, search.root, replace(PLAIN, bounds_first_move=each)) for each in (True, False)
    )
    best = int(np.argmax(np.where(with_first.play_weight > 0.15 * with_first.weight.max(), with_first.lcb, -9.0)))
    if best == 0:
        assert without.play_weight[0] <= with_first.play_weight[0]
    else:
        assert np.array_equal(without.play_weight, with_first.play_weight)


def test_noise_is_mixed_only_where_it_is_turned_on() -> None:
    priors, generator = np.full(10, 0.1), np.random.default_rng(1)
    quiet = replace(PLAIN, adds_noise=False, noise_fraction=0.5)
    assert np.array_equal(shaped_priors(priors, quiet, 1.0, generator), priors)
    noisy = shaped_priors(priors, replace(quiet, adds_noise=True), 1.0, generator)
    assert not np.allclose(noisy, priors)


def test_priors_at_a_temperature_near_zero_are_the_best_moves_alone() -> None:
    flat = replace(PLAIN, adds_noise=False)
    found = shaped_priors(np.array([0.002, 0.004, 0.001]), flat, 0.002, np.random.default_rng(1))
    assert found == pytest.approx([0.0, 1.0, 0.0])
    twice = shaped_priors(np.array([0.001, 0.002, 0.002]), flat, 0.001, np.random.default_rng(1))
    assert twice == pytest.approx([0.0, 0.5, 0.5])


def test_the_temperature_of_root_priors_falls_from_the_early_one() -> None:
    params = replace(PLAIN, root_policy_temperature=1.0, early_root_policy_temperature=3.0, temperature_halflife=10.0)
    assert root_temperature(params, 0, 361) == 3.0
    assert root_temperature(params, 10, 361) == pytest.approx(2.0)
    assert root_temperature(replace(params, early_root_policy_temperature=0.0), 0, 361) == 1.0


class RememberingEvaluator(DetailedEvaluator):
    """A fake that keeps the moves and the number of them that positions show, and the advantages in playouts."""

    def __init__(self) -> None:
        super().__init__()
        self.moves: list[int] = []
        self.turns: list[int] = []
        self.doublings: set[float] = set()
        self.optimism: list[float] = []

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the made-up evaluation."""
        super().evaluate(positions, count, out)
        self.moves += positions.moves[:count].flatten().tolist()
        self.turns += positions.facts[:count, ALTERNATING].tolist()
        self.doublings.add(positions.playout_doubling)
        self.optimism += positions.optimism[:count].tolist()


def test_the_root_and_the_positions_below_have_an_optimism_of_their_own() -> None:
    evaluator, game = RememberingEvaluator(), Game(5, rules=TROMP_TAYLOR)
    search = Search(evaluator, replace(PLAIN, policy_optimism=0.75, root_policy_optimism=0.25))
    search.begin(game, BLACK, game.legal_vertices())
    search.run([], 20)
    assert evaluator.optimism[0] == 0.25
    assert set(evaluator.optimism[1:]) == {0.75}


def test_what_dropped_nodes_taught_of_a_pattern_may_be_forgotten() -> None:
    found = []
    for share in (0.0, 1.0):
        game, search = game_of("B2 C3", 4, rules=TROMP_TAYLOR), Search(VoidEvaluator(), WIDE)
        search.params = replace(WIDE, subtree_value_bias_free_share=share, subtree_value_bias_factor=0.9)
        for _ in range(2):
            search.begin(game, game.to_play, game.legal_vertices())
            search.run([], 400)
            rows = signature(search)
            game.play(game.to_play, max(rows, key=lambda row: row[1])[0])
        found.append(rows)
    assert found[0] != found[1]


@pytest.mark.parametrize("hides", [True, False])
def test_all_of_the_past_may_be_hidden(hides: bool) -> None:
    evaluator, game = RememberingEvaluator(), game_of("C3 B3 C4", 5, rules=TROMP_TAYLOR)
    search = Search(evaluator, replace(PLAIN, ignores_all_past=hides))
    search.begin(game, game.to_play, game.legal_vertices())
    search.run([], 60)
    assert (set(evaluator.moves) == {NO_POINT}) is hides
    assert (set(evaluator.turns) == {0}) is hides


@pytest.mark.parametrize(
    ("owner", "root_color", "blacks"),
    [("none", BLACK, 1.5), ("none", WHITE, -1.5), ("black", WHITE, 1.5), ("white", BLACK, -1.5)],
)
def test_the_advantage_in_playouts_is_that_of_its_owner(owner: str, root_color: int, blacks: float) -> None:
    evaluator, game = RememberingEvaluator(), Game(5, rules=TROMP_TAYLOR)
    if root_color == WHITE:
        game.play(BLACK, parse_vertex("C3", 5, 5))
    params = replace(PLAIN, playout_doubling_advantage=1.5, playout_doubling_color=owner)
    search = Search(evaluator, params)
    search.begin(game, root_color, game.legal_vertices())
    search.run([], 10)
    assert evaluator.doublings == {blacks}


@pytest.mark.parametrize(("owner", "kept"), [("none", False), ("black", True)])
def test_a_tree_of_another_advantage_in_playouts_is_dropped(owner: str, kept: bool) -> None:
    params = replace(PLAIN, playout_doubling_advantage=1.5, playout_doubling_color=owner)
    game, search = Game(5, rules=TROMP_TAYLOR), Search(DetailedEvaluator(), params)
    search.begin(game, BLACK, game.legal_vertices())
    search.run([], 50)
    game.play(BLACK, signature(search)[0][0])
    search.begin(game, WHITE, game.legal_vertices())
    assert (search.tree.nodes[ROOT]["visits"] > 0) == kept


def test_a_conservative_search_goes_on_after_its_own_last_pass() -> None:
    game = game_of("C3 B3 C4 pass", 5, rules=TROMP_TAYLOR)
    ends = []
    for conservative in (False, True):
        search = searched(replace(PLAIN, conservative_pass=conservative, root_policy_temperature=9.0), 400, game)
        vertices = search.tree.edge_vertex[ROOT].tolist()
        after_pass = child_nodes(search.tree, ROOT)[vertices.index(PASS)]
        ends.append(search.tree.nodes[after_pass]["stage"] == TERMINAL)
    assert ends == [True, False]


def test_a_shape_is_the_same_in_all_symmetries_for_the_side_that_played_it() -> None:
    game = game_of("C3", 13, rules=TROMP_TAYLOR)
    played = set(played_shapes(game, BLACK).tolist())
    keys = {
        name: int(shape_key(game.board, vertex, vertex, BLACK, 0))
        for name in ("L11", "C11", "L3", "L10", "G7")
        for vertex in [parse_vertex(name, 13, 13)]
    }
    assert [name for name, key in keys.items() if key in played] == ["L11", "C11", "L3"]
    assert played_shapes(game, WHITE).tolist() == []


def test_repeating_a_shape_costs_the_penalty() -> None:
    game = game_of("C3 pass", 13, rules=TROMP_TAYLOR)
    repeated, other = (parse_vertex(name, 13, 13) for name in ("L11", "G7"))
    visits = []
    for penalty in (0.0, 0.25):
        search = Search(VoidEvaluator(), replace(PLAIN, repeated_shape_penalty=penalty, visits_in_flight=8))
        search.begin(game, BLACK, [repeated, other], avoid=avoid_table({BLACK: {PASS: 1}}, game.board.shape[1]))
        search.run([], 200)
        tree = search.tree
        nodes = dict(zip(tree.edge_vertex[ROOT].tolist(), child_nodes(tree, ROOT), strict=False))
        assert [float(tree.nodes[nodes[each]]["shape_bonus"]) for each in (repeated, other)] == [-penalty, 0.0]
        visits.append(int(tree.nodes[nodes[repeated]]["visits"]))
    assert visits[0] > 2 * visits[1]
