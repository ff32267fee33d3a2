"""When a game is given up, and when not."""

from dataclasses import replace

import pytest

from engine.color import BLACK, WHITE
from engine.game import Game
from engine.players import Decision
from engine.players.resignation import Resigner, is_hopeless
from engine.search.params import SearchParams
from engine.vertex import PASS, parse_vertex

LOST = Decision(PASS, winrate=0.01, score_lead=-60.0)
PARAMS = SearchParams(resign_threshold=0.05, resign_turns=3)


def game_after(moves: int, handicap: int = 0) -> Game:
    """Return a 19x19 game of that many passes, which end nothing here."""
    game = Game(19)
    if handicap:
        game.place_handicap([parse_vertex(name, 19, 19) for name in ("D4", "Q16", "D16", "Q4")[:handicap]])
    for _ in range(moves):
        game.play(game.to_play, PASS)
    return game


def turns_until_given_up(game: Game, decision: Decision, params: SearchParams = PARAMS) -> int | None:
    """Return after how many equal turns White resigns, None if not within ten."""
    resigner = Resigner()
    for turn in range(1, 11):
        if resigner.gives_up(game, WHITE, decision, params):
            return turn
        pass_in_turn(game)
    return None


def pass_in_turn(game: Game) -> None:
    for _ in range(2):
        game.play(game.to_play, PASS)


def test_three_hopeless_turns_in_a_row_are_enough() -> None:
    assert turns_until_given_up(game_after(150), LOST) == 3


def test_moves_that_were_played_by_hand_break_the_row() -> None:
    game, resigner = game_after(150), Resigner()
    assert not resigner.gives_up(game, WHITE, LOST, PARAMS)
    pass_in_turn(game)
    assert not resigner.gives_up(game, WHITE, LOST, PARAMS)
    for _ in range(10):
        pass_in_turn(game)
    for last in (False, False, True):
        assert resigner.gives_up(game, WHITE, LOST, PARAMS) == last
        pass_in_turn(game)


def test_turns_are_counted_by_the_moves_of_the_color_whoever_else_moves() -> None:
    game, resigner, found = game_after(150), Resigner(), []
    for others in (0, 2, 1, 0):
        found.append(resigner.gives_up(game, WHITE, LOST, PARAMS))
        game.play(WHITE, PASS)
        for _ in range(others):
            game.play(BLACK, PASS)
    assert found == [False, False, True, True]


def test_who_knows_no_points_resigns_by_the_win_rate_alone() -> None:
    assert turns_until_given_up(game_after(150), replace(LOST, score_lead=None)) == 3


@pytest.mark.parametrize(
    ("moves", "decision"),
    [
        (50, LOST),
        (150, replace(LOST, winrate=0.06)),
        (150, replace(LOST, score_lead=0.5)),
        (150, replace(LOST, winrate=None)),
    ],
    ids=["early", "winrate", "ahead-by-count", "unknown"],
)
def test_no_number_of_turns_gives_up(moves: int, decision: Decision) -> None:
    assert turns_until_given_up(game_after(moves), decision) is None


def test_resigning_can_be_forbidden() -> None:
    assert turns_until_given_up(game_after(150), LOST, replace(PARAMS, allow_resignation=False)) is None


def test_a_close_game_is_played_on_if_a_margin_is_asked_for() -> None:
    close = replace(LOST, score_lead=-4.0)
    assert turns_until_given_up(game_after(150), close) == 3
    assert turns_until_given_up(game_after(150), close, replace(PARAMS, resign_min_lead=10.0)) is None


def test_each_color_counts_its_own_turns_and_a_good_one_starts_anew() -> None:
    resigner, game = Resigner(), game_after(150)
    answers = []
    for color in (BLACK, WHITE, BLACK, WHITE, BLACK):
        answers.append(resigner.gives_up(game, color, LOST, PARAMS))
        game.play(game.to_play, PASS)
    assert answers == [False, False, False, False, True]
    assert not resigner.gives_up(game, WHITE, replace(LOST, winrate=0.5), PARAMS)
    pass_in_turn(game)
    assert not resigner.gives_up(game, WHITE, LOST, PARAMS)


def test_a_turn_that_is_thought_about_again_is_one_and_one_that_was_taken_back_is_none() -> None:
    resigner, game = Resigner(), game_after(150)
    assert not any(resigner.gives_up(game, BLACK, LOST, PARAMS) for _ in range(5))
    pass_in_turn(game)
    assert not resigner.gives_up(game, BLACK, LOST, PARAMS)
    for _ in range(4):
        game.undo()
    assert not any(resigner.gives_up(game, BLACK, LOST, PARAMS) or pass_in_turn(game) for _ in range(2))
    assert resigner.gives_up(game, BLACK, LOST, PARAMS)


def test_stones_that_were_set_up_count_as_moves() -> None:
    game = Game(9)
    game.setup([parse_vertex(f"{column}2", 9, 9) for column in "ABCDEFGHJ"], [parse_vertex("E5", 9, 9)])
    assert not is_hopeless(game, WHITE, LOST, PARAMS)
    game = Game(9)
    rows = [[parse_vertex(f"{column}{row}", 9, 9) for column in "ABCDEFGHJ"] for row in (2, 4)]
    game.setup(*rows)
    assert is_hopeless(game, WHITE, LOST, PARAMS)


def test_white_gives_a_handicap_game_time_to_turn() -> None:
    behind = replace(LOST, score_lead=-30.0)
    hopeless = [is_hopeless(game_after(moves, 4), WHITE, behind, PARAMS) for moves in (100, 150, 170, 250)]
    assert hopeless == [False, False, True, True]
    assert is_hopeless(game_after(150, 4), WHITE, replace(LOST, score_lead=-60.0), PARAMS)
    assert is_hopeless(game_after(150, 4), BLACK, behind, PARAMS)
