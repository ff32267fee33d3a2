"""GNU Go's query commands, word for word as GNU Go 3.8 answers them."""

import re

import pytest

from gtp.state import GtpState
from tests.gtp.fake_player import FakePlayer
from tests.gtp.talk import ask, new_state

MOVES = ["b d4", "w d5", "b e5", "w c4"]
ANSWERS = [
    ("query_boardsize", "9"),
    ("list_stones white", "D5 C4"),
    ("list_stones green", "? syntax error"),
    ("color d4", "black"),
    ("color c4", "white"),
    ("color a1", "empty"),
    ("color pass", "? syntax error"),
    ("countlib d4", "2"),
    ("findlib d4", "E4 D3"),
    ("findlib a1", "? vertex must not be empty"),
    ("is_legal b d4", "0"),
    ("is_legal w pass", "1"),
    ("is_legal b e4", "1"),
    ("is_legal b", "? syntax error"),
    ("captures b", "0"),
    ("last_move", "white C4"),
    ("move_history", "white C4\nblack E5\nwhite D5\nblack D4"),
    ("get_handicap", "0"),
    ("gg_genmove b 7", "A9"),
    ("gg_genmove", "? syntax error"),
    ("restricted_genmove b", "? no allowed vertex"),
    ("restricted_genmove b d4 d5", "PASS"),
    ("unconditional_status d4", "undecided"),
    ("popgo", "? Stack empty."),
    ("echo a  b", "a  b"),
    ("final_status e5", "alive"),
]


def position() -> GtpState:
    """Return a session after a few moves."""
    state = new_state()
    for move in MOVES:
        assert ask(state, f"play {move}") == ""
    return state


@pytest.mark.parametrize(("line", "answer"), ANSWERS)
def test_answers_are_those_of_gnu_go(line: str, answer: str) -> None:
    assert ask(position(), line) == answer


def test_the_liberties_of_every_chain_are_counted_and_found_as_drawn() -> None:
    state = new_state()
    ask(state, "gogui-setup b a1 b b1 b b2 w a2 w a3 b e5 b e6 b f6 w c1 w j9")
    found = {point: ask(state, f"findlib {point}") for point in ("a1", "a2", "f6", "c1", "j9")}
    assert found == {
        "a1": "B3 C2",
        "a2": "A4 B3",
        "f6": "E7 F7 D6 G6 D5 F5 E4",
        "c1": "C2 D1",
        "j9": "H9 J8",
    }
    assert all(ask(state, f"countlib {point}") == str(len(names.split())) for point, names in found.items())


def test_an_empty_board_has_no_last_move() -> None:
    state = new_state()
    assert ask(state, "last_move") == "? no previous move known"
    assert ask(state, "move_history") == ""
    assert len(ask(state, "all_legal b").split(" ")) == 81


def test_a_rectangle_reports_both_sides() -> None:
    state = new_state()
    ask(state, "rectangular_boardsize 9 7")
    assert ask(state, "query_boardsize") == "9 7"


def test_captured_stones_count_for_their_captor() -> None:
    state = new_state()
    ask(state, "gogui-play_sequence w a1 b a2 b b1")
    assert (ask(state, "captures b"), ask(state, "captures w")) == ("1", "0")


def test_superko_is_illegal_to_a_query_and_fine_to_play() -> None:
    state = new_state()
    ask(state, "gogui-play_sequence b c3 b d2 b d4 w e2 w e4 w f3 w d3 b e3")
    assert ask(state, "is_legal w d3") == "0"
    assert "D3" not in ask(state, "all_legal w").split(" ")


def test_trial_moves_are_taken_back_one_by_one_and_nothing_else_is() -> None:
    state = new_state()
    ask(state, "play b c3")
    assert ask(state, "trymove w d4") == ask(state, "trymove b e5") == ""
    assert ask(state, "trymove w e5") == "? illegal move"
    assert ask(state, "popgo") == ask(state, "popgo") == ""
    assert ask(state, "popgo") == "? Stack empty."
    assert ask(state, "move_history") == "black C3"


@pytest.mark.parametrize("undo", ["undo", "gg-undo 1"])
def test_moves_on_trial_cannot_be_undone(undo: str) -> None:
    state = new_state()
    assert ask(state, "trymove b a1") == ""
    assert ask(state, undo) == "? cannot undo"
    assert ask(state, "gogui-play_sequence w a1") == "? illegal move"
    assert ask(state, "popgo") == ""
    assert ask(state, "move_history") == ""


def test_a_real_move_ends_all_trials() -> None:
    state = new_state()
    assert ask(state, "trymove b a1") == ask(state, "play w b2") == ""
    assert ask(state, "popgo") == "? Stack empty."
    assert ask(state, "undo") == ""
    assert ask(state, "move_history") == "black A1"


def test_a_restricted_move_is_one_of_those_allowed_and_is_not_played() -> None:
    player = FakePlayer()
    state = new_state(player)
    ask(state, "restricted_genmove w a9 j1")
    assert player.avoided is not None
    ((color, avoided),) = player.avoided.items()
    assert (color, len(avoided), set(avoided.values())) == (2, 80, {1})
    assert ask(state, "move_history") == ""


def test_scores_have_the_form_of_gnu_go() -> None:
    pattern = r"[BW]\+\d+\.\d \(upper bound: -?\d+\.\d, lower: -?\d+\.\d\)"
    state = new_state(FakePlayer(thinking=True))
    ask(state, "play b e5")
    assert ask(state, "new_score") == "B+73.5 (upper bound: -73.5, lower: -73.5)"
    assert re.fullmatch(pattern, ask(state, "estimate_score"))


def test_top_moves_are_pairs_of_move_and_winrate() -> None:
    words = ask(new_state(FakePlayer(thinking=True)), "top_moves_white").split(" ")
    assert words[::2] == ["B9", "A9"]
    assert all(0.0 <= float(word) <= 100.0 for word in words[1::2])


def test_final_status_knows_stones_and_territory() -> None:
    state = new_state()
    ask(state, "gogui-setup b b1 b b2 b a2 b c1 w j9")
    found = {point: ask(state, f"final_status {point}") for point in ("a1", "b2", "j9")}
    assert found == {"a1": "black_territory", "b2": "alive", "j9": "seki"}


def test_pass_alive_stones_and_their_prisoners_are_unconditional() -> None:
    state = new_state()
    assert ask(state, "gogui-setup b b1 b b2 b a2 b c2 b d2 b e2 b e1 w c1 w j9") == ""
    found = {point: ask(state, f"unconditional_status {point}") for point in ("b1", "a1", "c1", "j9")}
    assert found == {"b1": "alive", "a1": "black_territory", "c1": "dead", "j9": "undecided"}
