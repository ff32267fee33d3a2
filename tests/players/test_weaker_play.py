"""Ranks: what a weaker player chooses from, that it never passes for it, and that it plays worse."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from engine.color import BLACK, WHITE, opponent
from engine.encoders.human import human_metadata
from engine.evaluators.cache import CachedEvaluator
from engine.evaluators.factory import Computing, open_network
from engine.evaluators.raw import NetworkFacts, RawNetwork
from engine.game import Game
from engine.players import AnalysisRequest, Decision, Limits, ReflexPlayer, SearchPlayer, at_rank
from engine.players.search_player import after_moves
from engine.players.weaker_play import draw_vertex
from engine.rules import CHINESE, JAPANESE, Rules
from engine.scoring import final_score
from engine.search.params import SearchParams
from engine.search.root import root_priors
from engine.search.search import Search
from engine.search.stoppers import SearchStats
from engine.search.tree import ROOT
from engine.settings.levels import FULL, LEVELS, RANKS, KnownPeople, Level, level_at, people_of, rank_on, ranks_on
from engine.vertex import PASS, points, policy_index
from tests.search.fakes import FakeEvaluator, LeadEvaluator
from tests.search.test_human import HumanEvaluator
from weights.shipped import DEFAULT_NETWORK

AREA = 81


@pytest.fixture(scope="module")
def player() -> SearchPlayer:
    """Keima's own player."""
    network = open_network(DEFAULT_NETWORK, Computing(threads=1))
    params = SearchParams(allow_resignation=False)
    return SearchPlayer(CachedEvaluator(network.evaluator), params, network=network)


@pytest.mark.parametrize(
    ("rank", "rules", "size"),
    [("15k", CHINESE, 9), ("15k", JAPANESE, 7), ("8k", JAPANESE, 7), ("1k", CHINESE, 7)],
)
def test_nobody_passes_in_the_opening_and_every_game_ends(
    player: SearchPlayer, rank: str, rules: Rules, size: int
) -> None:
    game = Game(size, rules=rules, komi=7.0)
    player.new_game()
    while not game.is_over and game.move_number < 3 * size * size:
        vertex = player.genmove(game, game.to_play, at_rank(Limits(), rank, size, size)).vertex
        assert vertex != PASS or game.move_number > size
        game.play(game.to_play, vertex)
    assert game.is_over


@pytest.mark.parametrize("most_loss", [0.0, 1.0, 5.0])
def test_a_drawn_move_loses_at_most_the_points_of_its_level(player: SearchPlayer, most_loss: float) -> None:
    game, drawn = Game(9, rules=CHINESE, komi=7.0), []
    level = Level(24, 3.0, most_loss)
    for _ in range(60):
        vertex = player.genmove(game, BLACK, Limits(visits=24, level=level)).vertex
        nodes = player.search.tree.nodes
        leads = {move: float(nodes[node]["lead"]) for move, node in after_moves(player.search.tree) if move != PASS}
        assert leads[vertex] >= max(leads.values()) - most_loss
        drawn.append(vertex)
    assert (len(set(drawn)) > 3) == (most_loss > 0)


def test_without_points_a_level_limits_the_win_rate_that_a_move_loses(player: SearchPlayer) -> None:
    game, level = Game(9, rules=CHINESE, komi=7.0), Level(24, 3.0, 0.5)
    player.genmove(game, BLACK, Limits(visits=24, level=level))
    tree, generator = player.search.tree, np.random.default_rng(1)
    values = {move: float(tree.nodes[node]["value"]) for move, node in after_moves(tree) if move != PASS}
    near = {move for move, value in values.items() if value >= max(values.values()) - 0.5 / 9}
    assert 0 < len(near) < len(values)
    drawn = {draw_vertex(tree, player.search.root, level, min(near), generator, has_score=False) for _ in range(300)}
    assert drawn <= near


def test_a_move_is_drawn_as_often_as_the_flattened_prior_says(player: SearchPlayer) -> None:
    game, level = Game(9, rules=CHINESE, komi=7.0), Level(24, 3.0, 1000.0)
    player.genmove(game, BLACK, Limits(visits=24, level=level))
    search, generator = player.search, np.random.default_rng(1)
    tree = search.tree
    visited = [move for move, _ in after_moves(tree) if move != PASS]
    edges = tree.edge_vertex[ROOT, : int(tree.nodes[ROOT]["edges"])].tolist()
    priors = dict(zip(edges, root_priors(tree).tolist(), strict=True))
    drawn = [draw_vertex(tree, search.root, level, visited[0], generator) for _ in range(4000)]
    total = sum(priors[move] for move in visited)
    assert max(abs(drawn.count(move) / 4000 - priors[move] / total) for move in visited) < 0.03
    assert draw_vertex(tree, search.root, level, PASS, generator) == PASS


def test_with_a_human_network_the_moves_of_a_rank_are_drawn_by_its_policy_for_people_of_the_rank() -> None:
    human, game = HumanEvaluator(), Game(9, rules=CHINESE)
    facts = NetworkFacts("people.bin.gz", "people", 15, 15, "fp32", imitates=True)
    mover = SearchPlayer(FakeEvaluator(), SearchParams(), human=RawNetwork(human, facts))
    for rank, profile in (("21k", "rank_20k"), ("15k", "rank_15k")):
        human.metadata.clear()
        mover.genmove(game, BLACK, at_rank(Limits(), rank, 9, 9))
        assert human.metadata
        assert all(np.array_equal(given, human_metadata(profile, 9, 9)) for given in human.metadata)
    search, generator, level = mover.search, np.random.default_rng(1), Level(24, 3.0, 1000.0)
    assert search.human_evaluation is not None
    assert search.params == mover.params
    policy = search.human_evaluation.policy[0]
    visited = [move for move, _ in after_moves(search.tree) if move != PASS]
    likeliest = max(points(9, 9), key=lambda vertex: policy[policy_index(vertex, 9, 9)])
    assert likeliest in visited
    people = search.human_evaluation
    drawn = [draw_vertex(search.tree, search.root, level, visited[0], generator, people) for _ in range(4000)]
    total = sum(policy[policy_index(move, 9, 9)] for move in visited)
    assert max(abs(drawn.count(move) / 4000 - policy[policy_index(move, 9, 9)] / total) for move in visited) < 0.03


def test_a_human_network_has_a_flatter_policy_below_a_rank_and_the_weakest_people_that_it_knows() -> None:
    human, game = HumanEvaluator(), Game(9, rules=CHINESE)
    facts = NetworkFacts("people.bin.gz", "people", 15, 15, "fp32", imitates=True, people=KnownPeople("10k", "5k"))
    mover, policies = SearchPlayer(FakeEvaluator(), SearchParams(), human=RawNetwork(human, facts)), []
    for rank in ("3k", "5k", "8k", "16k", "21k"):
        human.metadata.clear()
        mover.genmove(game, BLACK, at_rank(Limits(), rank, 9, 9))
        profile = f"rank_{rank}" if rank in ("3k", "5k", "8k") else "rank_10k"
        assert all(np.array_equal(given, human_metadata(profile, 9, 9)) for given in human.metadata)
        assert mover.search.human_evaluation is not None
        policies.append(mover.search.human_evaluation.policy[0])
    strong, same, *flatter = (policy.max() for policy in policies)
    assert strong == same > flatter[0] > flatter[1] > flatter[2]
    assert mover.search.params == mover.params


@pytest.mark.parametrize(
    ("rank", "known", "people"),
    [
        ("21k", KnownPeople(), ("rank_20k", (7.93 / 7.5) ** 2.5)),
        ("21k", KnownPeople("10k"), ("rank_10k", (7.93 / 3.21) ** 2.5)),
        ("12k", KnownPeople("10k", "5k"), ("rank_10k", (3.92 / 1.99) ** 2.5)),
        ("8k", KnownPeople("10k", "5k"), ("rank_8k", (2.72 / 1.99) ** 2.5)),
        ("10k", KnownPeople("10k"), ("rank_10k", 1.0)),
        ("1k", KnownPeople("10k", "5k"), ("rank_1k", 1.0)),
        ("1k", KnownPeople("6d"), ("rank_6d", 1.03**2.5)),
        ("21k", KnownPeople("21k"), ("rank_20k", (7.93 / 7.5) ** 2.5)),
        ("21k", KnownPeople("10k", "1k"), ("rank_10k", 100.0)),
    ],
)
def test_a_rank_imitates_its_people_or_the_weakest_that_a_network_knows(
    rank: str, known: KnownPeople, people: tuple[str, float]
) -> None:
    profile, temperature = people_of(rank, known, 9, 9)
    assert (profile, pytest.approx(temperature)) == people


def test_full_strength_and_the_ranks_that_play_the_best_move_ask_no_human_network() -> None:
    human, game = HumanEvaluator(), Game(9, rules=CHINESE)
    facts = NetworkFacts("people.bin.gz", "people", 15, 15, "fp32", imitates=True)
    mover = SearchPlayer(FakeEvaluator(), SearchParams(), human=RawNetwork(human, facts))
    for rank in ("6d", FULL):
        mover.genmove(game, BLACK, at_rank(Limits(visits=8), rank, 9, 9))
    assert human.calls == 0


def test_a_rank_replaces_visits_and_keeps_the_clock() -> None:
    limits = Limits(visits=400, seconds=3.0)
    assert at_rank(limits, FULL, 9, 9) == limits
    level = LEVELS[9]["8k"]
    assert at_rank(limits, "8k", 9, 9) == replace(limits, visits=level.visits, level=level, rank="8k")


def test_every_size_has_at_least_twelve_ranks_without_gaps_from_wide_to_narrow_choice() -> None:
    for ladder in LEVELS.values():
        ranks = [RANKS.index(rank) for rank in ladder]
        assert len(ranks) >= 12
        assert ranks == list(range(ranks[0], ranks[0] + len(ranks)))
        levels = list(ladder.values())
        for before, after in pairwise(levels):
            assert after.temperature <= before.temperature
            assert after.most_loss <= before.most_loss
        assert len(set(levels)) == len(levels)


def test_a_board_has_the_ranks_of_the_nearest_size_and_the_nearest_rank() -> None:
    assert level_at("8k", 7, 7) == level_at("8k", 9, 9) == LEVELS[9]["8k"]
    weakest = next(iter(LEVELS[9]))
    assert ranks_on(9, 9)[0] == weakest
    assert ranks_on(9, 9)[-1] == FULL
    assert rank_on(RANKS[0], 9, 9) == weakest
    assert level_at(RANKS[0], 9, 9) == LEVELS[9][weakest]
    assert level_at(FULL, 9, 9) is None


def test_an_analysis_after_a_weaker_move_has_full_strength(player: SearchPlayer) -> None:
    game, looked_at = Game(9, rules=CHINESE), []
    player.genmove(game, BLACK, at_rank(Limits(), "15k", 9, 9))
    assert player.search.params == player.params

    def look(search: Search, stats: SearchStats) -> None:
        looked_at.append(float(root_priors(search.tree).max()))

    player.analyze(game, BLACK, AnalysisRequest(Limits(visits=8)), look)
    flattened = level_at("15k", 9, 9)
    assert flattened is not None
    player.genmove(game, BLACK, Limits(visits=8, level=flattened))
    assert float(root_priors(player.search.tree).max()) < looked_at[-1]


def test_a_rank_moves_by_reflex_where_the_player_does() -> None:
    mover = ReflexPlayer(FakeEvaluator(), SearchParams())
    moves = {mover.genmove(Game(9, rules=CHINESE), BLACK, at_rank(Limits(), "15k", 9, 9)).vertex for _ in range(12)}
    assert len(moves) > 4


def test_a_rank_draws_from_the_same_peoples_moves_with_reflexes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[Limits]()

    def genmove(player: SearchPlayer, game: Game, color: int, limits: Limits, *more: object) -> Decision:
        asked.append(limits)
        return Decision(PASS)

    monkeypatch.setattr(SearchPlayer, "genmove", genmove)
    limits = at_rank(Limits(seconds=3.0), "5k", 9, 9)
    ReflexPlayer(FakeEvaluator(), SearchParams()).genmove(Game(9, rules=CHINESE), BLACK, limits)
    assert [(each.rank, each.level, each.seconds) for each in asked] == [("5k", limits.level, None)]


@pytest.mark.parametrize(("rank", "resigns"), [("21k", False), ("9k", False), ("3k", True), (FULL, True)])
def test_a_rank_plays_on_while_two_of_its_mistakes_would_turn_the_game(rank: str, resigns: bool) -> None:
    game = Game(9, rules=CHINESE, komi=7.0)
    for number, point in enumerate(points(9, 9)[:10]):
        game.play(BLACK, point)
        game.play(WHITE, PASS if number else points(9, 9)[-1])  # passes from the start would be a handicap
    player = SearchPlayer(LeadEvaluator(15.0), SearchParams(resign_turns=1))
    assert player.genmove(game, WHITE, at_rank(Limits(visits=8), rank, 9, 9)).resign is resigns


@pytest.mark.slow
def test_a_higher_rank_beats_a_lower_one(player: SearchPlayer) -> None:
    won = 0
    for strong in (BLACK, opponent(BLACK)) * 3:
        game = Game(9, rules=CHINESE, komi=7.0)
        player.new_game()
        while not game.is_over and game.move_number < 3 * AREA:
            rank = "3k" if game.to_play == strong else "12k"
            game.play(game.to_play, player.genmove(game, game.to_play, at_rank(Limits(), rank, 9, 9)).vertex)
        dead = [vertex for chain in player.dead_stones(game) for vertex in chain]
        won += (final_score(game, dead) > 0) == (strong == BLACK)
    assert won >= 5
