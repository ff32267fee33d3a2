"""The choice of the move to play: temperature over the game, and weights that are thinned before it."""

from dataclasses import replace

import numpy as np
import pytest

from engine.game import Game
from engine.search.move_choice import choose_vertex, move_table, temperature_at
from engine.search.params import SearchParams
from engine.search.search import Search
from tests.search.fakes import FakeEvaluator

DRAWS = 2000


@pytest.fixture(scope="module")
def search() -> Search:
    """Return a search of 600 visits on 5x5 that prefers some moves by far."""
    game, found = Game(5), Search(FakeEvaluator(), SearchParams(prunes_symmetric_moves=False, lcb_stdevs=0.0))
    found.begin(game, game.to_play, game.legal_vertices())
    found.run([], 600)
    return found


def shares(search: Search, temperature: float, **params: float) -> dict[int, float]:
    """Return how often each move is chosen."""
    generator, changed = np.random.default_rng(7), replace(search.params, **params)  # type: ignore[arg-type]
    drawn = [choose_vertex(search.tree, search.root, changed, temperature, generator) for _ in range(DRAWS)]
    return {vertex: drawn.count(vertex) / DRAWS for vertex in set(drawn)}


def weights(search: Search) -> dict[int, float]:
    """Return the share of each move in the weight."""
    table = move_table(search.tree, search.root, search.params)
    total = table.play_weight.sum()
    pairs = zip(table.vertex.tolist(), table.play_weight.tolist(), strict=True)
    return {vertex: weight / total for vertex, weight in pairs if weight > 0}


@pytest.mark.parametrize(
    ("move_number", "area", "temperature"), [(0, 361, 0.5), (19, 361, 0.3), (38, 361, 0.2), (9, 81, 0.3)]
)
def test_the_temperature_loses_half_of_the_difference_in_a_halflife(
    move_number: int, area: int, temperature: float
) -> None:
    params = SearchParams(temperature=0.1, early_temperature=0.5, temperature_halflife=19.0)
    assert temperature_at(params, move_number, area) == pytest.approx(temperature)


def test_without_settings_the_best_move_is_played_at_every_move() -> None:
    assert {temperature_at(SearchParams(), number, 361) for number in (0, 30, 300)} == {0.0}


def test_a_temperature_applies_below_a_share_of_the_weight_alone(search: Search) -> None:
    by_weight = weights(search)
    best, second = sorted(by_weight, key=lambda vertex: -by_weight[vertex])[:2]
    between = (by_weight[best] + by_weight[second]) / 2
    cold = shares(search, 0.01, temperature_only_below=between)
    # The best move keeps the weight that it has above the bound; others all but vanish.
    assert cold == {best: 1.0}
    bounded = shares(search, 0.01, temperature_only_below=by_weight[second] * 0.999)
    assert set(bounded) >= {best, second}
    ratio = by_weight[second] / by_weight[best]
    assert bounded[second] / bounded[best] == pytest.approx(ratio, abs=0.08)


def test_light_moves_are_pruned_before_one_is_drawn(search: Search) -> None:
    by_weight = weights(search)
    bound = max(by_weight.values()) / 64
    light = {vertex for vertex, weight in by_weight.items() if weight < bound}
    assert light
    assert shares(search, 4.0).keys() & light
    assert not shares(search, 4.0, choice_prune=1e9).keys() & light
    assert not shares(search, 4.0, choice_subtract=1e9).keys() & light


def test_thinning_leaves_the_best_move(search: Search) -> None:
    by_weight = weights(search)
    best = max(by_weight, key=lambda vertex: by_weight[vertex])
    assert shares(search, 0.0, choice_prune=1e9, choice_subtract=1e9) == {best: 1.0}
