"""The reference values every move alone, equally deep, keeps values on disk and refuses damaged ones."""

from pathlib import Path

import numpy as np
import pytest

from engine.apps.quality.choices import Choice
from engine.apps.quality.positions import Position, positions_of
from engine.apps.quality.reference import Reference
from engine.apps.quality.statistics import Regrets, estimates, regrets
from engine.errors import GoError
from engine.game import Game
from engine.players.moves import safe_vertices
from engine.search.params import SearchParams
from engine.search.position import Root
from engine.search.root import root_priors
from engine.search.side_by_side import Extent, search_all
from engine.search.tree import ROOT, Tree
from engine.vertex import PASS
from tests.apps.quality.records import SIZE, file_of
from tests.search.fakes import FakeEvaluator, LeadEvaluator

VISITS = 30


@pytest.fixture
def positions(tmp_path: Path) -> list[Position]:
    """Return three positions."""
    return positions_of([file_of(tmp_path, 12)], (SIZE, SIZE), 3, LeadEvaluator(0.0))


def reference(out: Path | None, visits: int = VISITS, network: str = "fake") -> Reference:
    """Return a reference by a fake evaluator."""
    return Reference(FakeEvaluator(), SearchParams(), visits, network, out)


def chosen(positions: list[Position]) -> dict[str, set[int]]:
    """Return a pass and the first legal move for each position."""
    return {each.key: {PASS, each.game.legal_vertices()[0]} for each in positions}


def test_every_chosen_move_and_the_references_own_have_a_value(positions: list[Position]) -> None:
    judge = reference(None)
    judge.judge(positions, chosen(positions))
    for each in positions:
        for vertex in (*chosen(positions)[each.key], judge.best(each)):
            assert 0.0 <= judge.value(each, vertex).winrate <= 1.0


def test_a_move_is_valued_by_a_search_of_the_position_after_it(positions: list[Position]) -> None:
    judge, position = reference(None), positions[0]
    judge.judge([position], {position.key: {PASS}})
    after = position.game.copy()
    after.play(after.to_play, PASS)
    seen = list[float]()
    search_all(
        FakeEvaluator(),
        [after],
        SearchParams(),
        Extent(VISITS, seed=7_919),
        safe_vertices,
        lambda place, tree, root: seen.append(float(tree.nodes[ROOT]["value"])),
    )
    sign = 1 if position.game.to_play == 1 else -1
    assert judge.value(position, PASS).winrate == pytest.approx((1 + sign * seen[0]) / 2)


def test_a_flatter_policy_at_the_root_is_searched_and_stops_on_the_way_change_nothing(
    positions: list[Position],
) -> None:
    games, flatter = [each.game for each in positions], SearchParams(root_policy_temperature=1.5)

    def searched(params: SearchParams, stops: tuple[int, ...] = ()) -> dict[int, list[float]]:
        found = dict[int, list[float]]()

        def end(place: int, tree: Tree, _: Root) -> None:
            found[place] = root_priors(tree).tolist()

        search_all(FakeEvaluator(), games, params, Extent(VISITS, stops=stops), safe_vertices, end)
        return found

    plain, tempered = searched(SearchParams()), searched(flatter)
    assert tempered == searched(flatter, stops=(VISITS // 3, VISITS // 2))
    for place, priors in plain.items():
        expected = np.array(priors) ** (1 / 1.5)
        assert sorted(tempered[place]) == pytest.approx(sorted(expected / expected.sum()), abs=1e-4)


def test_a_second_pass_is_counted(positions: list[Position]) -> None:
    game = positions[0].game.copy()
    game.play(game.to_play, PASS)
    game.set_komi(100.5)
    ended = Position("ended", "endgame", game)
    judge = reference(None)
    judge.judge([ended], {"ended": {PASS}})
    value = judge.value(ended, PASS)
    assert value.winrate == (1.0 if game.to_play == 2 else 0.0)
    assert abs(value.lead) > 50


def test_stored_values_are_not_searched_again(positions: list[Position], tmp_path: Path) -> None:
    first = reference(tmp_path)
    first.judge(positions, chosen(positions))
    assert first.searches >= 3 * len(positions)
    second = reference(tmp_path)
    assert second.missing(positions, 2) == 0
    second.judge(positions, chosen(positions))
    assert second.searches == 0
    for each in positions:
        assert second.values(each) == first.values(each)


def test_a_run_that_was_killed_goes_on(positions: list[Position], tmp_path: Path) -> None:
    first = reference(tmp_path)
    first.judge(positions[:1], chosen(positions))
    lines = next(tmp_path.rglob("results.jsonl"))
    lines.write_bytes(lines.read_bytes() + b'{"position": "to')
    again = reference(tmp_path)
    again.judge(positions, chosen(positions))
    assert again.searches > 0
    assert again.values(positions[0]).keys() == first.values(positions[0]).keys()


def test_other_networks_and_visits_have_values_of_their_own(positions: list[Position], tmp_path: Path) -> None:
    reference(tmp_path).judge(positions, chosen(positions))
    for other in (reference(tmp_path, VISITS + 1), reference(tmp_path, network="other")):
        assert other.missing(positions, 2) > 0


@pytest.mark.parametrize(
    "line",
    [
        "not JSON",
        "[]",
        '{"move": "A1", "winrate": 0.5, "lead": 0}',
        '{"position": "a", "move": "A1", "winrate": 1.5, "lead": 0}',
        '{"position": "a", "move": "A1", "winrate": 0.5}',
        '{"position": "a", "winrate": 0.5, "lead": 0}',
    ],
)
def test_a_damaged_file_is_refused(positions: list[Position], tmp_path: Path, line: str) -> None:
    reference(tmp_path).judge(positions[:1], chosen(positions))
    lines = next(tmp_path.rglob("results.jsonl"))
    lines.write_text(lines.read_text() + line + "\n")
    with pytest.raises(GoError, match="no value of a reference"):
        reference(tmp_path)


def test_the_move_that_loses_nothing_has_no_regret(positions: list[Position]) -> None:
    judge = reference(None)
    judge.judge(positions, chosen(positions))
    best, other = {}, {}
    for each in positions:
        values = {vertex: judge.value(each, vertex) for vertex in (*chosen(positions)[each.key], judge.best(each))}
        best[each.key] = Choice(max(values, key=lambda vertex: values[vertex].winrate), VISITS, 0.0)
        other[each.key] = Choice(min(values, key=lambda vertex: values[vertex].winrate), VISITS, 0.0)
    nothing, something = regrets(judge, positions, best), regrets(judge, positions, other)
    assert nothing.winrate.tolist() == [0.0] * 3
    assert nothing.equal.tolist() == [1.0] * 3
    assert something.winrate.max() > 0
    assert (something.points >= 0).all()


def test_the_same_moves_differ_by_nothing() -> None:
    some = Regrets(*np.random.default_rng(1).random((3, 50)))
    for each in estimates(some, some).values():
        assert each == (0.0, 0.0, 0.0)


def test_intervals_contain_the_mean_and_shrink_with_more_positions() -> None:
    few, many = (estimates(Regrets(*np.random.default_rng(1).random((3, count))))["winrate"] for count in (50, 5000))
    assert few.low < few.mean < few.high
    assert many.high - many.low < (few.high - few.low) / 5


def test_a_paired_difference_is_more_exact_than_two_means() -> None:
    generator = np.random.default_rng(1)
    first = generator.random((3, 500))
    second = first + 0.01 * generator.random((3, 500))
    found = estimates(Regrets(*second), Regrets(*first))["points"]
    assert 0 < found.low < found.mean < found.high < 0.01


def test_searches_side_by_side_are_those_of_one_alone() -> None:
    games = [Game(SIZE), Game(SIZE)]
    games[1].play(1, games[1].legal_vertices()[3])

    def values(which: list[Game]) -> dict[int, float]:
        found = dict[int, float]()
        search_all(
            FakeEvaluator(),
            which,
            SearchParams(),
            Extent(VISITS),
            safe_vertices,
            lambda place, tree, root: found.update({place: float(tree.nodes[ROOT]["utility"])}),
        )
        return found

    assert values(games)[1] == values(games[1:])[0]
