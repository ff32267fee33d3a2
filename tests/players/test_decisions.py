"""What a decision knows of points, when it is made early, and what a random player may choose from."""

from dataclasses import replace

import pytest

from engine.color import BLACK, WHITE
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.players import Limits, RandomPlayer, SearchPlayer, search_player
from engine.rules import TROMP_TAYLOR
from engine.search.params import SearchParams
from engine.search.stoppers import SettledStopper
from engine.vertex import points
from tests.fake_clock import FakeClock, TimedEvaluator
from tests.players.test_search_player import hopeless_game
from tests.search.fakes import FakeEvaluator


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """Return a clock that stands still but for the evaluations of a `TimedEvaluator`."""
    return FakeClock(monkeypatch)


class NoScoreEvaluator(FakeEvaluator):
    """A fake that knows no points, as networks of Leela Zero."""

    def __init__(self) -> None:
        super().__init__()
        self.attributes = replace(self.attributes, has_score=False)

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the made-up evaluation."""
        super().evaluate(positions, count, out)
        out.score[:count] = 0


def test_a_player_without_points_claims_none_and_resigns_by_its_win_rate() -> None:
    thinker = SearchPlayer(NoScoreEvaluator(), SearchParams(resign_turns=1, resign_threshold=0.49))
    decision = thinker.genmove(hopeless_game(), WHITE, Limits(visits=30))
    thinker.close()
    assert decision.score_lead is None
    assert decision.resign


@pytest.mark.parametrize(
    ("params", "is_asked"),
    [({}, True), ({"temperature": 0.5}, False), ({"early_temperature": 0.5}, False), ({"uses_lcb": False}, True)],
)
def test_a_fixed_time_is_cut_short_only_where_the_best_move_is_played(
    params: dict[str, float], is_asked: bool, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    shares: list[float] = []

    class Noted(SettledStopper):
        def __init__(self, seconds: float, speed: float, share: float) -> None:
            super().__init__(seconds, speed, share)
            shares.append(share)

    monkeypatch.setattr(search_player, "SettledStopper", Noted)
    thinker = SearchPlayer(TimedEvaluator(FakeEvaluator(), clock, 0.01), replace(SearchParams(), **params))
    thinker.genmove(Game(5), BLACK, Limits(seconds=0.1))
    thinker.close()
    assert bool(shares) == is_asked
    assert set(shares) <= {1.0 if "uses_lcb" in params else SearchParams().lcb_least_share}


def test_a_random_player_avoids_what_it_shall_and_is_random_without_a_seed() -> None:
    game = Game(5, rules=TROMP_TAYLOR)
    only = dict.fromkeys(points(5, 5)[1:], 1)
    mover = RandomPlayer(seed=0)
    drawn = [
        mover.genmove(game, BLACK, Limits(), avoided={BLACK: only, WHITE: {points(5, 5)[0]: 1}}).vertex
        for _ in range(9)
    ]
    assert set(drawn) == {points(5, 5)[0]}
    games = [[mover.genmove(game, BLACK, Limits()).vertex for _ in range(30)] for _ in range(2) if not mover.restart()]
    assert games[0] == games[1]
    others = [[RandomPlayer(seed=0).genmove(game, BLACK, Limits()).vertex for _ in range(30)] for _ in range(2)]
    assert others[0] != others[1]
