"""Players: safe moves, passing, resigning, dead stones, and that searching beats not searching."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from engine.clock import Allotment
from engine.color import BLACK, WHITE, opponent
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.evaluators.rollout import RolloutEvaluator
from engine.game import Game
from engine.players import AnalysisRequest, Decision, Limits, RandomPlayer, SearchPlayer, limits_within, safe_vertices
from engine.players.base import all_but
from engine.players.resignation import Resigner
from engine.rules import CHINESE, CHINESE_KGS, JAPANESE, TROMP_TAYLOR
from engine.scoring import ownership_map
from engine.search.params import ROLLOUT_PARAMS, SearchParams
from engine.search.root import root_priors
from engine.search.search import Search
from engine.search.stoppers import SearchStats
from engine.search.tree import ROOT, links_of
from engine.settings.levels import Level
from engine.vertex import PASS, format_vertex, parse_vertex
from tests.fake_clock import FakeClock, TimedEvaluator
from tests.positions import DEAD_STONE, game_from_diagram, game_of
from tests.search.fakes import FakeEvaluator

WON = """
. X . X O . O
X X X X O O .
. X . X O . O
X X X X O O O
. X . X O . O
X X X X O O .
. X . X O . O
"""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """Return a clock that stands still but for the evaluations of a `TimedEvaluator`."""
    return FakeClock(monkeypatch)


def player(**params: float) -> SearchPlayer:
    return SearchPlayer(RolloutEvaluator(1), replace(ROLLOUT_PARAMS, **params))


def test_random_players_finish_a_game_with_legal_moves_only() -> None:
    game, mover = Game(9, rules=TROMP_TAYLOR), RandomPlayer(seed=3)
    while not game.is_over:
        game.play(game.to_play, mover.genmove(game, game.to_play, Limits()).vertex)
    assert game.move_number > 40


def test_a_won_game_ends_at_the_opponents_pass() -> None:
    game = game_from_diagram(WON, rules=CHINESE, komi=0.5)
    game.play(WHITE, PASS)
    decision = player().genmove(game, BLACK, Limits(visits=300))
    assert decision.vertex == PASS
    assert decision.score_lead is not None and decision.score_lead > 0


@pytest.mark.parametrize("rules", [CHINESE, JAPANESE, TROMP_TAYLOR])
def test_a_settled_board_is_passed_out_without_filling_own_eyes(rules: object) -> None:
    game = game_from_diagram(WON, rules=rules, komi=0.5)  # type: ignore[arg-type]
    thinker = player()
    for _ in range(2):
        decision = thinker.genmove(game, game.to_play, Limits(visits=2000))
        if decision.resign:
            return
        assert decision.vertex == PASS or rules is TROMP_TAYLOR
        game.play(game.to_play, decision.vertex)


def test_the_dead_stone_is_found_and_the_living_are_spared() -> None:
    game = game_from_diagram(DEAD_STONE, rules=CHINESE)
    dead = player().dead_stones(game)
    assert [[format_vertex(vertex, 7, 7) for vertex in chain] for chain in dead] == [["B6"]]


def test_a_position_is_never_repeated_by_own_choice_under_simple_ko() -> None:
    game = game_of("B4 C4 A3 D3 B2 C2 E5 B3 C3 E1 E2", 5, rules=CHINESE)
    assert game.to_play == WHITE
    retake = parse_vertex("B3", 5, 5)
    assert game.is_legal(WHITE, retake)
    assert retake in safe_vertices(game, WHITE)
    game.play(WHITE, retake)
    game.play(BLACK, PASS)
    game.play(WHITE, PASS)
    assert game.is_legal(BLACK, parse_vertex("C3", 5, 5))
    assert parse_vertex("C3", 5, 5) not in safe_vertices(game, BLACK)


def test_suicide_is_never_played_even_where_it_is_legal() -> None:
    game = game_from_diagram("X . O\nO O O\n. . .", rules=TROMP_TAYLOR)
    point = parse_vertex("B3", 3, 3)
    assert game.is_legal(BLACK, point)
    assert point not in safe_vertices(game, BLACK)


def test_an_analysis_shows_a_move_that_only_the_rules_in_force_allow_and_the_engine_does_not_choose_it() -> None:
    game = game_from_diagram("X . O\nO O O\n. . .", rules=TROMP_TAYLOR)
    point, thinker = parse_vertex("B3", 3, 3), SearchPlayer(FakeEvaluator(), SearchParams())

    def visited() -> set[int]:
        tree = thinker.search.tree
        return set(tree.edge_vertex[ROOT, : len(links_of(tree, ROOT))].tolist())

    thinker.analyze(game, BLACK, AnalysisRequest(Limits(visits=100)), lambda *_: None)
    assert point in visited()
    decision = thinker.genmove(game, BLACK, Limits(visits=200))
    assert decision.vertex != point
    assert point not in visited(), "the tree of the analysis goes on without it"
    thinker.close()


def test_a_hopeless_game_is_resigned_after_the_given_turns_and_not_at_once() -> None:
    game = game_from_diagram(WON, rules=CHINESE_KGS, komi=0.5)
    for _ in range(6):
        game.play(BLACK, PASS)
        game.play(WHITE, PASS)
    thinker = player(resign_turns=2)
    game.play(BLACK, parse_vertex("C3", 7, 7))
    decisions = []
    for answer in ("C5", "C7", "A7"):
        decisions.append(thinker.genmove(game, WHITE, Limits(visits=300)).resign)
        game.play(WHITE, PASS)
        game.play(BLACK, parse_vertex(answer, 7, 7))
    assert decisions == [False, True, True]
    assert not any(player(resign_threshold=0).genmove(game, WHITE, Limits(visits=300)).resign for _ in range(3))


def test_a_settled_game_that_the_count_wins_is_not_resigned_whatever_the_search_says() -> None:
    lost, params = Decision(PASS, winrate=0.01, score_lead=-9.0), SearchParams(resign_turns=1)
    won, behind = (game_from_diagram(DEAD_STONE, rules=JAPANESE, komi=komi) for komi in (0.5, 40.5))
    judgement = player().judge.judge(won, Limits())
    assert not Resigner().gives_up(won, BLACK, lost, params, judgement)
    assert Resigner().gives_up(behind, BLACK, lost, params, judgement)
    assert Resigner().gives_up(won, BLACK, lost, params)


def test_an_analysis_by_territory_rules_knows_the_dead_stones_before_anybody_passed() -> None:
    thinker, dead = player(), parse_vertex("B6", 7, 7)
    for rules, expected in ((JAPANESE, [dead]), (TROMP_TAYLOR, [])):
        game = game_from_diagram(DEAD_STONE, rules=rules)
        thinker.analyze(game, BLACK, AnalysisRequest(limits=Limits(visits=8)), lambda *_: None)
        assert np.flatnonzero(thinker.search.root.dead).tolist() == expected


def test_a_level_sees_nothing_of_what_was_thought_before() -> None:
    thinker, game = SearchPlayer(FakeEvaluator(), SearchParams()), Game(5)
    thinker.analyze(game, BLACK, AnalysisRequest(limits=Limits(visits=100)), lambda *_: None)
    thinker.genmove(game, BLACK, Limits(visits=5, level=Level(5, 2.0, 1.0)))
    assert thinker.search.tree.nodes[ROOT]["visits"] == 5
    thinker.close()


def test_one_visit_plays_the_best_prior_and_reports_the_evaluation_of_the_root() -> None:
    game, thinker = game_of("C3 C4 B2", 5), SearchPlayer(FakeEvaluator(), SearchParams())
    decision = thinker.genmove(game, WHITE, Limits(visits=1))
    tree = thinker.search.tree
    best = int(tree.edge_vertex[ROOT, np.argmax(root_priors(tree))])
    thinker.close()
    assert (decision.vertex, decision.visits) == (best, 1)
    assert decision.winrate == pytest.approx((1 + np.tanh(-1 / 4)) / 2, abs=1e-4)
    assert decision.score_lead == pytest.approx(-1, abs=1e-4)


def hopeless_game() -> Game:
    """Return a game that is late enough to resign; White has lost it by the komi."""
    game = game_from_diagram(WON, rules=TROMP_TAYLOR, komi=-30.5)
    for _ in range(7):
        game.play(BLACK, PASS)
        game.play(WHITE, PASS)
    game.play(BLACK, parse_vertex("C3", 7, 7))
    return game


def test_a_hopeless_game_is_resigned_by_a_player_of_one_visit_too() -> None:
    game = hopeless_game()
    thinker = SearchPlayer(FakeEvaluator(), SearchParams(resign_turns=1, resign_threshold=0.49))
    assert thinker.genmove(game, WHITE, Limits(visits=1)).resign
    thinker.close()


def test_a_new_game_begins_without_what_was_searched_before() -> None:
    thinker, game, found = player(), Game(5), []
    thinker.genmove(game, BLACK, Limits(visits=100))
    for forget in (lambda: None, thinker.new_game):
        forget()
        thinker.genmove(game, BLACK, Limits(visits=1))
        found.append(int(thinker.search.tree.nodes[ROOT]["visits"]))
    thinker.close()
    assert found[0] >= 100
    assert found[1] == 1


class SignalingEvaluator(FakeEvaluator):
    """Sets `reached` once it has evaluated more than `wanted` positions."""

    wanted = 1 << 30

    def __init__(self) -> None:
        super().__init__()
        self.reached = threading.Event()

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        super().evaluate(positions, count, out)
        if self.positions > self.wanted:
            self.reached.set()


def test_pondering_ends_at_stop_and_its_visits_serve_the_next_move() -> None:
    evaluator, game = SignalingEvaluator(), game_of("C3", 7)
    thinker = SearchPlayer(evaluator, SearchParams())
    thinker.warm_up(7, 7)
    evaluator.wanted = evaluator.positions + 50

    def stop_later() -> None:
        stopped.append(evaluator.reached.wait(60))
        thinker.stop()

    stopped: list[bool] = []
    threading.Thread(target=stop_later).start()
    thinker.ponder(game)
    assert stopped == [True]
    pondered = int(thinker.search.tree.nodes[ROOT]["visits"])
    reply = thinker.search.tree.edge_vertex[ROOT, 0]
    game.play(WHITE, int(reply))
    decision = thinker.genmove(game, BLACK, Limits(visits=1))
    thinker.close()
    assert pondered >= 50
    assert decision.visits > 1


def test_pondering_has_a_limit_in_visits() -> None:
    thinker = SearchPlayer(FakeEvaluator(), SearchParams(ponder_visits=40, batch_size=4))
    thinker.ponder(Game(9))
    assert 40 <= thinker.search.tree.nodes[ROOT]["visits"] < 80


def test_pondering_has_a_limit_in_playouts() -> None:
    thinker, game = SearchPlayer(FakeEvaluator(), SearchParams(ponder_playouts=40, batch_size=4)), Game(9)
    for visits in (40, 80):
        thinker.ponder(game)
        assert visits <= thinker.search.tree.nodes[ROOT]["visits"] < visits + 40, "on top of the kept tree"


@pytest.mark.parametrize("answers", [True, False])
def test_a_move_is_chosen_against_mirroring_and_an_analysis_as_the_other_parameter_says(answers: bool) -> None:
    thinker, game = SearchPlayer(FakeEvaluator(), SearchParams(genmove_anti_mirror=answers)), Game(5)
    seen: list[bool] = []

    def watch(search: Search, stats: SearchStats) -> None:
        seen.append(search.params.anti_mirror)

    thinker.genmove(game, BLACK, Limits(visits=20), watch)
    moves, seen[:] = seen.copy(), []
    thinker.analyze(game, BLACK, AnalysisRequest(limits=Limits(visits=40)), watch)
    assert (set(moves), set(seen)) == ({answers}, {False})


def test_an_opening_temperature_varies_the_first_move_and_not_a_late_one() -> None:
    opening, late = Game(5), game_of("C3 C2 B2 D3", 5)

    def moves(game: Game, **params: float) -> set[int]:
        players = (SearchPlayer(FakeEvaluator(), SearchParams(seed=seed, **params)) for seed in range(1, 13))  # type: ignore[arg-type]
        return {each.genmove(game, game.to_play, Limits(visits=30)).vertex for each in players}

    assert len(moves(opening)) == 1 < len(moves(opening, early_temperature=5.0))
    # After four moves on 5x5 with a half-life of 0.1 moves on 19x19, nothing is left of the early temperature.
    settled = moves(late, early_temperature=5.0, temperature_halflife=0.1)
    assert settled == moves(late)


def test_pondering_has_a_limit_of_its_own_and_ends_with_the_game(clock: FakeClock) -> None:
    evaluator, game = TimedEvaluator(FakeEvaluator(), clock, 0.01), Game(5)
    thinker = SearchPlayer(evaluator, SearchParams(ponder_seconds=0.5))
    thinker.ponder(game)
    assert 0.5 <= clock.passed < 0.6
    game.play(BLACK, PASS)
    game.play(WHITE, PASS)
    calls = evaluator.calls
    thinker.ponder(game)
    thinker.close()
    assert evaluator.calls == calls


def test_an_analysis_is_reported_as_it_goes_avoids_what_it_shall_and_plays_nothing() -> None:
    thinker, game = player(), Game(5)
    center, reported = parse_vertex("C3", 5, 5), []

    def watch(search: Search, stats: SearchStats) -> None:
        reported.append(stats.visits)

    request = AnalysisRequest(Limits(visits=400), {BLACK: {center: 1, PASS: 9}})
    thinker.analyze(game, BLACK, request, watch)
    tree = thinker.search.tree
    visited = tree.edge_vertex[ROOT, : len(links_of(tree, ROOT))].tolist()
    thinker.close()
    assert reported == sorted(reported)
    assert reported[-1] >= 400
    assert visited
    assert not {center, PASS} & set(visited)
    assert game.move_number == 0


def test_the_most_playouts_of_a_move_end_no_analysis() -> None:
    thinker = SearchPlayer(FakeEvaluator(), SearchParams(max_playouts=20))
    thinker.analyze(Game(5), BLACK, AnalysisRequest(Limits(visits=100)), lambda *_: None)
    assert thinker.search.tree.nodes[ROOT]["visits"] >= 100
    thinker.genmove(Game(5), BLACK, Limits(visits=1000))
    thinker.close()
    assert thinker.search.params.max_playouts == 20


@pytest.mark.parametrize("plies", [1, 65535])
def test_only_the_moves_that_are_left_are_chosen(plies: int) -> None:
    thinker, game = player(), Game(5)
    allowed = {parse_vertex("A1", 5, 5), parse_vertex("E2", 5, 5)}
    avoided = {BLACK: all_but(allowed, plies, 5, 5)}
    decision = thinker.genmove(game, BLACK, Limits(visits=100), avoided=avoided)
    thinker.close()
    assert decision.vertex in allowed


def test_an_evaluator_without_ownership_judges_by_playing_out() -> None:
    evaluator = FakeEvaluator()
    evaluator.attributes = replace(evaluator.attributes, has_ownership=False)
    judge = SearchPlayer(evaluator, SearchParams())
    dead = judge.dead_stones(game_from_diagram(DEAD_STONE, rules=CHINESE))
    judge.close()
    assert [[format_vertex(vertex, 7, 7) for vertex in chain] for chain in dead] == [["B6"]]


def test_a_finished_game_without_agreement_counts_the_stones_that_stand() -> None:
    game = game_from_diagram(DEAD_STONE, rules=replace(CHINESE, friendly_pass=False))
    judge = player()
    assert judge.dead_stones(game) != []
    game.play(BLACK, PASS)
    game.play(WHITE, PASS)
    owner, _ = ownership_map(game, game.board)
    enclosed = owner[parse_vertex("B6", 7, 7)] == BLACK
    assert (judge.dead_stones(game) != []) == enclosed
    judge.close()


def test_a_hard_move_takes_no_more_than_its_bound_and_a_forced_one_nothing(clock: FakeClock) -> None:
    thinker = SearchPlayer(TimedEvaluator(FakeEvaluator(), clock, 0.01), SearchParams())
    thinker.genmove(Game(9), BLACK, Limits(seconds=0.3, most_seconds=0.5))
    assert 0.1 < clock.passed < 0.6
    full = game_from_diagram(". X .\nX X X\n. X .", rules=replace(CHINESE, friendly_pass=False), komi=0.5)
    before = clock.passed
    assert thinker.genmove(full, WHITE, Limits(seconds=20.0, most_seconds=30.0)).vertex == PASS
    assert clock.passed - before < 5.0
    thinker.close()


@pytest.mark.parametrize(("stops_early", "takes_all"), [(True, False), (False, True)])
def test_a_move_that_cannot_be_overtaken_takes_its_fixed_time_only_if_that_is_wanted(
    stops_early: bool, takes_all: bool, clock: FakeClock
) -> None:
    game = game_from_diagram("O O . . O\nO O X . O\nX X X . O\n. . X . O\n. . X . O", rules=CHINESE, komi=0)
    evaluator = TimedEvaluator(RolloutEvaluator(1), clock, 0.01)
    capturing = SearchPlayer(evaluator, replace(ROLLOUT_PARAMS, stops_early=stops_early))
    capturing.genmove(game, BLACK, Limits(visits=2000))
    before = clock.passed
    capturing.genmove(game, BLACK, Limits(seconds=0.4))
    assert (clock.passed - before >= 0.3) == takes_all  # a part is kept for judging life and death
    capturing.close()


def test_the_clock_and_the_caps_of_a_user_both_bound_a_move() -> None:
    allotment = Allotment(seconds=4.0, most_seconds=9.0)
    assert limits_within(None, 100, 2.0) == Limits(100, 2.0)
    assert limits_within(allotment) == Limits(None, 4.0, 9.0)
    assert limits_within(allotment, 50, 6.0) == Limits(50, 4.0, 6.0)
    assert limits_within(allotment, None, 1.0) == Limits(None, 1.0, 1.0)


def test_other_parameters_serve_the_next_search() -> None:
    thinker, game = player(), Game(5)
    thinker.genmove(game, BLACK, Limits(visits=50))
    thinker.set_params(replace(thinker.params, resign_turns=7))
    assert thinker.search.params.resign_turns == 7
    assert thinker.genmove(game, BLACK, Limits(visits=10)).visits < 50
    thinker.close()


def test_a_search_without_limits_ends_at_stop() -> None:
    thinker = player()

    def watch(search: Search, stats: SearchStats) -> None:
        if stats.visits > 100:
            thinker.stop()

    decision = thinker.genmove(Game(9), BLACK, Limits(), watch)
    thinker.close()
    assert decision.vertex != PASS
    assert decision.visits > 100


def test_genmove_leaves_the_game_alone() -> None:
    game = game_of("C3 C2", 5)
    before = (list(game.moves), game.board.copy().tobytes(), game.to_play)
    player().genmove(game, opponent(game.to_play), Limits(visits=50))
    assert (list(game.moves), game.board.tobytes(), game.to_play) == before


def test_after_a_restart_the_same_question_gets_the_same_answer() -> None:
    thinker, game = player(), game_of("C3 C2", 9)
    answers = []
    for _ in range(3):
        thinker.restart()
        answers.append(thinker.genmove(game, BLACK, Limits(visits=300)))
    assert answers[0] == answers[1] == answers[2]


def test_judging_and_searching_together_keep_to_the_time_of_a_move(clock: FakeClock) -> None:
    game = game_from_diagram(DEAD_STONE, rules=CHINESE, komi=0.5)
    for _ in range(13):
        game.play(BLACK, PASS)
        game.play(WHITE, PASS)
    evaluator = TimedEvaluator(RolloutEvaluator(1), clock, 0.01)
    thinker = SearchPlayer(evaluator, replace(ROLLOUT_PARAMS, resign_threshold=0))
    for color in (BLACK, WHITE):
        before = clock.passed
        thinker.genmove(game, color, Limits(seconds=1.0))
        assert clock.passed - before < 1.1
    thinker.close()


def test_a_network_judges_dead_stones_with_no_more_visits_than_a_move_may_take() -> None:
    evaluator = FakeEvaluator()
    judge = SearchPlayer(evaluator, SearchParams())
    judge.judge.ownership(game_from_diagram(WON), Limits(visits=1))
    assert evaluator.positions == 2
    judge.close()
