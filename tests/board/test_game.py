"""A game's history: legality and its reasons, superko, passes, undo, setup, handicap and bonuses."""

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.board.facts import (
    ALTERNATING,
    BANNED,
    KO_BEFORE,
    KO_EARLIER,
    KO_NOW,
    LEGAL_TURNS,
    MARKED,
    PASS_EFFECT,
    PASS_ENDS_GAME,
    PASS_GOES_ON,
    PHASE_TURNS,
)
from engine.board.layout import COLOR
from engine.color import BLACK, WHITE, opponent
from engine.errors import IllegalMove
from engine.game import Game
from engine.rules import PRESETS, TROMP_TAYLOR, Ko, Rules, Scoring
from engine.scoring import final_score
from engine.vertex import NO_POINT, PASS, parse_vertex, points
from tests.oracle.naive_board import NaiveGame
from tests.positions import game_of

RULE_SETS = [
    *(replace(TROMP_TAYLOR, ko=ko, suicide=suicide) for ko in Ko for suicide in (False, True)),
    PRESETS["japanese"],
    PRESETS["aga-button"],
]
KO = "B5 C5 A4 D4 B3 C3 E1 B4 C4"
"""On 5x5: Black has just taken the ko at B4 with C4."""


def state_of(game: Game) -> tuple[object, ...]:
    """Return everything that a game tells about its position."""
    return (
        game.board.tobytes(),
        tuple(game.moves),
        game.to_play,
        game.move_number,
        tuple(game.legal_vertices(BLACK)),
        tuple(game.legal_vertices(WHITE)),
        tuple(game.superko_keys().tolist()),
        game.ever_occupied.tobytes(),
        game.consecutive_passes,
        game.is_over,
        game.no_result,
        game.phase,
        game.white_bonus,
        game.captured(BLACK),
        game.captured(WHITE),
        game.handicap,
        *(game.facts(color).tobytes() for color in (BLACK, WHITE)),
        *(part.tobytes() for color in (BLACK, WHITE) for part in game.clean_up(color)),
        *(game.remembered_passes(color).tobytes() for color in (BLACK, WHITE)),
    )


@settings(max_examples=50, deadline=None)
@given(
    size=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    rules=st.sampled_from(RULE_SETS),
    encore=st.booleans(),
    choices=st.lists(st.tuples(st.integers(0, 10_000), st.booleans(), st.booleans()), max_size=40),
)
def test_undo_restores_everything(
    size: tuple[int, int], rules: Rules, encore: bool, choices: list[tuple[int, bool, bool]]
) -> None:
    game = Game(*size, rules=rules, encore=encore)
    states = []
    for choice, passes, out_of_turn in choices:
        states.append(state_of(game))
        color = opponent(game.to_play) if out_of_turn and choice % 8 == 0 else game.to_play
        legal = [*game.legal_vertices(color), PASS]
        vertex = PASS if passes and choice % 4 == 0 else legal[choice % len(legal)]
        game.play(color, vertex)
        assert game.undo() == (color, vertex)
        assert state_of(game) == states[-1]
        game.play(color, vertex)
    while states:
        game.undo()
        assert state_of(game) == states.pop()
    with pytest.raises(IllegalMove, match="cannot undo"):
        game.undo()


@settings(max_examples=50, deadline=None)
@given(
    size=st.sampled_from([(2, 2), (3, 2), (3, 3), (4, 3)]),
    ko=st.sampled_from(Ko),
    suicide=st.booleans(),
    choices=st.lists(st.integers(0, 10_000), max_size=60),
)
def test_legal_moves_of_small_boards_are_those_of_the_naive_game(
    size: tuple[int, int], ko: Ko, suicide: bool, choices: list[int]
) -> None:
    game = Game(*size, rules=replace(TROMP_TAYLOR, ko=ko, suicide=suicide))
    naive = NaiveGame(*size, ko, suicide)
    for choice in choices:
        assert set(game.legal_vertices()) == naive.legal_points()
        legal = [*game.legal_vertices(), PASS]
        vertex = legal[choice % len(legal)]
        naive.play(game.to_play, vertex)
        game.play(game.to_play, vertex)


@settings(max_examples=30, deadline=None)
@given(choices=st.lists(st.integers(0, 10_000), max_size=30), rules=st.sampled_from(RULE_SETS))
def test_a_copy_goes_its_own_way(choices: list[int], rules: Rules) -> None:
    game = Game(3, rules=rules)
    for choice in choices:
        before = state_of(game)
        copy = game.copy()
        assert state_of(copy) == before
        legal = [*game.legal_vertices(), PASS]
        copy.play(copy.to_play, legal[choice % len(legal)])
        assert state_of(game) == before
        after = state_of(copy)
        game.play(game.to_play, legal[choice % len(legal)])
        assert state_of(copy) == state_of(game) == after
        copy.undo()
        assert state_of(game) == after


def vertex(name: str, width: int = 5, height: int = 5) -> int:
    """Return the vertex of a name, on 5x5 unless said."""
    return parse_vertex(name, width, height)


@pytest.mark.parametrize(
    ("moves", "color", "name", "reason"),
    [
        (KO, WHITE, "B4", "ko"),
        (KO, BLACK, "B4", None),
        (KO, WHITE, "C4", "occupied"),
        (KO + " D1 A1", WHITE, "B4", None),
        (KO + " pass pass", WHITE, "B4", None),
        ("B1 A5 A2", WHITE, "A1", "suicide"),
        ("", BLACK, "pass", None),
    ],
)
def test_moves_are_refused_with_the_reason(moves: str, color: int, name: str, reason: str | None) -> None:
    game = game_of(moves, 5, rules=PRESETS["chinese"])
    assert game.legality(color, vertex(name)) == reason
    assert game.is_legal(color, vertex(name)) == (reason is None)
    if reason:
        before = state_of(game)
        with pytest.raises(IllegalMove, match=f"{name}: {reason}"):
            game.play(color, vertex(name))
        with pytest.raises(IllegalMove):
            game.play(color, vertex(name), lenient=True)
        assert state_of(game) == before


def test_two_passes_allow_the_ko_but_not_the_repetition() -> None:
    for ko, reason in ((Ko.SIMPLE, None), (Ko.POSITIONAL, "superko"), (Ko.SITUATIONAL, "superko")):
        game = game_of(KO + " pass pass", 5, rules=replace(TROMP_TAYLOR, ko=ko))
        assert game.legality(WHITE, vertex("B4")) == reason


def test_superko_is_tolerated_on_demand() -> None:
    game = game_of(KO + " pass pass", 5)
    with pytest.raises(IllegalMove, match="B4: superko"):
        game.play(WHITE, vertex("B4"))
    assert game.play(WHITE, vertex("B4"), lenient=True) == 1


def test_suicide_of_two_is_tolerated_on_demand_and_of_one_never() -> None:
    game = Game(5, rules=PRESETS["chinese"])
    game.setup([vertex("B5")], [vertex(name) for name in ("C5", "A4", "B4", "D1", "E2")])
    with pytest.raises(IllegalMove, match="A5: suicide"):
        game.play(BLACK, vertex("A5"))
    with pytest.raises(IllegalMove, match="E1: suicide"):
        game.play(BLACK, vertex("E1"), lenient=True)
    assert game.play(BLACK, vertex("A5"), lenient=True) == 0
    assert game.captured(BLACK) == 2
    assert game.color_at(vertex("B5")) == 0


def test_two_passes_end_the_game_and_a_move_revives_it() -> None:
    game = game_of("C3 pass", 5)
    assert not game.is_over
    game.play(BLACK, PASS)
    assert game.is_over
    game.play(WHITE, vertex("D3"))
    assert not game.is_over
    assert game.consecutive_passes == 0


def test_the_button_costs_a_third_pass() -> None:
    game = game_of("C3 pass", 5, rules=PRESETS["aga-button"])
    assert game.white_bonus == 8.0
    game.play(BLACK, PASS)
    assert not game.is_over
    game.play(WHITE, PASS)
    assert game.is_over


def test_the_clean_up_of_territory_rules_needs_six_passes() -> None:
    game = Game(5, rules=PRESETS["japanese"], encore=True)
    phases = []
    for _ in range(6):
        game.play(game.to_play, PASS)
        phases.append((game.phase, game.is_over))
    assert phases == [(0, False), (1, False), (1, False), (2, False), (2, False), (2, True)]
    plain = game_of("pass pass", 5, rules=PRESETS["japanese"])
    assert (plain.phase, plain.is_over) == (0, True)


def test_a_third_repetition_without_a_pass_makes_the_game_void() -> None:
    generator = random.Random(5)
    void = 0
    for _ in range(300):
        game = Game(2, 2, rules=replace(TROMP_TAYLOR, ko=Ko.SIMPLE))
        seen = Counter([situation_of(game)])
        for _ in range(30):
            legal = [*game.legal_vertices()] * 5 + [PASS]
            vertex = generator.choice(legal)
            game.play(game.to_play, vertex)
            if vertex == PASS:
                seen.clear()
            seen[situation_of(game)] += 1
            assert game.no_result == (vertex != PASS and seen[situation_of(game)] >= 3)
            if game.no_result:
                void += 1
                assert game.is_over
                assert final_score(game) == 0
                break
    assert void > 20


def situation_of(game: Game) -> tuple[bytes, int]:
    """Return the stones and the side to move."""
    return game.board[COLOR].tobytes(), game.to_play


def test_the_clean_up_phases_know_no_superko() -> None:
    rules = replace(TROMP_TAYLOR, scoring=Scoring.TERRITORY)
    game = game_of(KO + " pass pass", 5, rules=rules)
    assert game.legality(WHITE, vertex("B4")) == "superko"
    in_clean_up = Game(5, rules=rules, encore=True)
    for color, point in game.moves:
        in_clean_up.play(color, point)
    assert in_clean_up.phase == 1
    assert in_clean_up.legality(WHITE, vertex("B4")) is None


def test_changed_rules_judge_the_moves_anew() -> None:
    game = game_of(KO + " pass pass", 5, rules=replace(TROMP_TAYLOR, ko=Ko.SIMPLE))
    assert game.is_legal(WHITE, vertex("B4"))
    game.set_rules(TROMP_TAYLOR)
    assert not game.is_legal(WHITE, vertex("B4"))
    assert game.move_number == 11
    game.set_komi(-3.0)
    assert game.white_bonus == -3.0


def test_setup_changes_nothing_when_it_is_refused() -> None:
    game = Game(5)
    game.setup([vertex("A1")])
    before = state_of(game)
    for black, white in (
        ([vertex("A1")], []),
        ([vertex("B2"), vertex("B2")], []),
        ([], [vertex("A2"), vertex("B1")]),
        ([PASS], []),
    ):
        with pytest.raises(IllegalMove):
            game.setup(black, white)
        assert state_of(game) == before
    assert (game.setup_black, game.setup_white) == ([vertex("A1")], [])
    game.play(BLACK, PASS)
    with pytest.raises(IllegalMove, match="before the first move"):
        game.setup([vertex("B2")])


def test_undo_never_takes_setup_back() -> None:
    game = Game(5)
    game.place_handicap([vertex("B2"), vertex("D4")])
    game.play(WHITE, vertex("C3"))
    game.undo()
    assert (game.color_at(vertex("B2")), game.to_play, game.move_number) == (BLACK, WHITE, 0)


@pytest.mark.parametrize(
    ("setup", "moves", "handicap"),
    [
        ("", "", 0),
        ("B2", "", 0),
        ("B2 D4", "W C3", 2),
        ("", "B B2 B D4 W C3", 2),
        ("", "B B2 W pass B D4 W pass B C3 W D2", 3),
        ("", "B B2 W C3 B D4", 0),
        ("B2 D4", "B C4 W C3", 3),
        ("", "B B2 B D4 W pass W C3", 0),
        ("", "B B2 B D4 W C3 W C4", 0),
        ("B2 D4", "B C4 W C3 W E5", 2),
        ("", "B B2 B D4 W C3 B E5 W E4 W E3", 2),
    ],
)
def test_handicap_counts_setup_and_the_first_run_of_black_moves(setup: str, moves: str, handicap: int) -> None:
    game = Game(5, rules=PRESETS["aga"])
    game.place_handicap([vertex(name) for name in setup.split()])
    words = moves.split()
    for color, name in zip(words[::2], words[1::2], strict=True):
        game.play(BLACK if color == "B" else WHITE, vertex(name))
    assert game.handicap == handicap
    assert game.white_bonus == 7.5 + max(0, handicap - 1)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (25, 25), (2, 25), (25, 3)])
def test_games_of_every_shape_can_be_played(width: int, height: int) -> None:
    game = Game(width, height)
    expected = [] if width == height == 1 else points(width, height)
    assert game.legal_vertices() == expected
    for point in expected[:1]:
        game.play(BLACK, point)
        assert np.count_nonzero(game.ever_occupied[points(width, height)]) == 1


def test_two_passes_of_one_color_do_not_end_the_game() -> None:
    game = game_of("C3 D3", 5)
    for color in (BLACK, BLACK, WHITE):
        assert not game.is_over
        game.play(color, PASS)
    assert game.is_over


@pytest.mark.parametrize("ko", [Ko.POSITIONAL, Ko.SITUATIONAL])
def test_superko_outlives_a_move_out_of_turn(ko: Ko) -> None:
    game = game_of(KO, 5, rules=replace(TROMP_TAYLOR, ko=ko))
    game.play(BLACK, PASS)
    assert game.legality(WHITE, vertex("B4")) == "superko"


def test_the_side_whose_turn_it_is_not_sees_a_history_that_begins_now() -> None:
    game = game_of("C3 D4 pass", 5, rules=PRESETS["chinese"])
    own, other = game.facts(WHITE), game.facts(BLACK)
    assert own[[PASS_EFFECT, ALTERNATING, PHASE_TURNS, LEGAL_TURNS]].tolist() == [PASS_ENDS_GAME, 3, 3, 3]
    assert other[[PASS_EFFECT, ALTERNATING, PHASE_TURNS, LEGAL_TURNS]].tolist() == [PASS_GOES_ON, 0, 0, 0]
    assert not game.pass_ends_phase(BLACK)


def test_facts_hold_the_ko_points_of_three_boards() -> None:
    game = game_of(KO, 5)
    for later, expected in enumerate([["B4", None, None], [None, "B4", None], [None, None, "B4"]]):
        found = [int(point) for point in game.facts(game.to_play)[[KO_NOW, KO_BEFORE, KO_EARLIER]]]
        assert found == [vertex(name) if name else NO_POINT for name in expected]
        game.play(game.to_play, vertex(("E5", "A1", "E2")[later]))
    game = game_of(KO, 5)
    assert game.facts(BLACK)[KO_NOW] == NO_POINT
    game.play(BLACK, vertex("E5"))
    assert game.facts(WHITE)[KO_BEFORE] == NO_POINT


def test_in_the_clean_up_a_play_at_a_marked_ko_only_lifts_the_mark() -> None:
    game = Game(5, rules=PRESETS["japanese"], encore=True)
    for name in (KO + " pass pass").split():
        game.play(game.to_play, vertex(name))
    assert game.play(WHITE, vertex("B4")) == 1
    bonus, stones = game.white_bonus, game.board[COLOR].copy()
    assert game.clean_up(BLACK)[0][vertex("B4")] == MARKED
    assert {vertex("B4"), vertex("C4")} <= set(game.legal_vertices())
    assert game.play(BLACK, vertex("C4")) == 0
    assert np.array_equal(game.board[COLOR], stones)
    assert (game.white_bonus, game.to_play, game.consecutive_passes) == (bonus, WHITE, 0)
    game.play(WHITE, PASS)
    assert game.play(BLACK, vertex("C4")) == 1
    game.play(WHITE, vertex("C4"))
    game.play(BLACK, PASS)
    assert game.clean_up(WHITE)[0][vertex("B4")] == BANNED
    assert game.legality(WHITE, vertex("B4")) == "superko"
    assert game.clean_up(BLACK)[0].max() == 0


def test_a_pass_in_a_situation_passed_in_before_ends_the_game_under_simple_ko() -> None:
    void, ended = 0, 0
    generator = random.Random(11)
    for _ in range(200):
        game = Game(2, 2, rules=replace(TROMP_TAYLOR, ko=Ko.SIMPLE))
        passed: set[tuple[bytes, int]] = set()
        while not game.is_over:
            legal = game.legal_vertices()
            choice = PASS if not legal or generator.random() < 0.2 else generator.choice(legal)
            expected = game.consecutive_passes == 1 or situation_of(game) in passed
            assert game.pass_ends_phase(game.to_play) == expected
            if choice == PASS:
                ended += expected and game.consecutive_passes == 0
                passed.add(situation_of(game))
            game.play(game.to_play, choice)
            assert game.is_over == (game.no_result or (choice == PASS and expected))
            void += game.no_result
    assert ended > 10
    assert void > 0
