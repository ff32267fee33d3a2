"""GoGui's commands: positions, lines of play, and what its analyze dialog shows."""

import re

import pytest

from engine.errors import BadVertex
from engine.rules import PRESETS, SERVER_PRESETS, parse_rules
from engine.settings.levels import FULL, RANKS
from engine.vertex import parse_vertex
from gtp.commands import HANDLERS
from gtp.commands.gogui_views import MENU
from gtp.state import GtpState, SessionConfig
from tests.gtp.fake_player import FakePlayer
from tests.gtp.talk import ask, new_state

TYPES = {
    *("none", "string", "hstring", "bwboard", "cboard", "dboard", "sboard", "gfx", "plist", "pspairs", "pstring"),
    *("eplist", "param", "var", "varb", "varw", "varc", "varp", "varpo", "hpstring"),
}
COLORS = re.compile(r"#[0-9a-f]{6}")
POINTS = {"BLACK", "WHITE", "CIRCLE", "SQUARE", "TRIANGLE", "MARK"}
LADDER = "b a6 w a5 b b5"
"""White's stone has one liberty and can only crawl along the edge."""
SIZE = 9


def watched_state(visits: int = 10) -> GtpState:
    """Return a session whose player shows a small search."""
    return new_state(FakePlayer(thinking=True), SessionConfig(width=SIZE, height=SIZE, visits=visits, seconds=0.02))


def is_point(word: str) -> bool:
    """True for a point of the board as GoGui reads it."""
    try:
        return parse_vertex(word, SIZE, SIZE) > 0
    except BadVertex:
        return False


def check_board(text: str) -> None:
    """Check the rows of numbers of a dboard."""
    rows = [row.split(" ") for row in text.split("\n")]
    assert [len(row) for row in rows] == [SIZE] * SIZE
    assert all(-1.0 <= float(cell) <= 1.0 for row in rows for cell in row)


def check_graphics(text: str) -> None:
    """Check the lines of a gfx response."""
    for line in text.split("\n"):
        kind, *words = line.split(" ")
        if kind == "COLOR":
            assert COLORS.fullmatch(words[0]) and words[1:] and all(map(is_point, words[1:]))
        elif kind == "LABEL":
            assert words and len(words) % 2 == 0 and all(map(is_point, words[::2]))
        elif kind in POINTS:
            assert words and all(map(is_point, words))
        else:
            assert kind == "TEXT" and words


def check_pairs(text: str) -> None:
    """Check points that alternate with texts."""
    words = text.split(" ")
    assert len(words) % 2 == 0 and all(map(is_point, words[::2])) and not any(map(is_point, words[1::2]))


def check_points(text: str) -> None:
    """Check a list of points, which may be empty."""
    assert all(map(is_point, text.split()))


def check_params(text: str) -> None:
    """Check the lines of a param response: a type in brackets, a key, a value."""
    for line in text.split("\n"):
        match = re.fullmatch(r"\[(bool|string|list(?:/[^/\] ]+)+)\] (\S+) (\S+)", line)
        assert match, line
        kind, _, value = match.groups()
        assert kind != "bool" or value in "01"
        assert not kind.startswith("list") or value in kind.split("/")[1:]


def check_text(text: str) -> None:
    """Check that there is one line."""
    assert text and "\n" not in text


CHECKS = {
    "dboard": check_board,
    "gfx": check_graphics,
    "pspairs": check_pairs,
    "plist": check_points,
    "varc": check_points,
    "param": check_params,
    "string": check_text,
    "none": lambda text: None,
}


def test_the_menu_names_types_labels_and_commands_that_are_there() -> None:
    lines = ask(new_state(), "gogui-analyze_commands").split("\n")
    assert lines == list(MENU)
    for line in lines:
        kind, label, command = line.split("/")
        assert kind in TYPES and label and command.split(" ")[0] in HANDLERS


def filled_in(command: str) -> str:
    """Replace GoGui's placeholders: colors of the side to move and of one's choice, and a point."""
    for placeholder, argument in {"%m": "b", "%c": "w", "%p": "d5"}.items():
        command = command.replace(placeholder, argument)
    return command


def test_a_command_of_the_menu_gets_the_point_that_is_clicked() -> None:
    state = watched_state()
    ask(state, "gogui-setup b d5")
    assert ask(state, filled_in("countlib %p")) == "4"


@pytest.mark.parametrize("line", MENU)
def test_everything_in_the_menu_answers_in_the_format_of_its_type(line: str) -> None:
    kind, _, command = line.split("/")
    state = watched_state()
    ask(state, "gogui-setup b d5 w e5 b e6 b d6 w f9 b f5 b e9 w c3")
    ask(state, "genmove b")
    text = ask(state, filled_in(command))
    assert not text.startswith("?")
    CHECKS[kind](text)


def test_boards_of_owners_are_blacks_whoever_is_to_move() -> None:
    of_black, of_white = (ask(watched_state(), f"keima-ownership {color}").split() for color in "bw")
    assert of_black == of_white
    assert float(of_black[0]) > 0.1


def test_key_points_are_the_opponents_best_moves_with_their_cost() -> None:
    found, best = (ask(watched_state(), f"keima-{view}").split("\n") for view in ("key_points b", "best_moves w"))
    assert found[:-1] == best[:-1]
    leads = [float(ask(watched_state(), f"keima-best_moves {color}").split("lead ")[1].split(",")[0]) for color in "bw"]
    reported = re.fullmatch(r"TEXT ([A-J]\d) would cost (-?\d+\.\d) points", found[-1])
    assert reported and f"CIRCLE {reported[1]}" in found
    assert float(reported[2]) == pytest.approx(sum(leads), abs=0.11)


def test_chains_in_atari_and_ladders_are_found() -> None:
    state = new_state()
    assert ask(state, f"gogui-play_sequence {LADDER}") == ""
    assert ask(state, "keima-atari") == "A5"
    assert ask(state, "keima-ladders") == "MARK A5"


def test_pass_alive_areas_are_reported() -> None:
    state = new_state()
    assert ask(state, "gogui-setup b b1 b b2 b a2 b c2 b d2 b d1 b e1 b e2 w j9") == ""
    rows = [row.split() for row in ask(state, "keima-pass_alive").split("\n")]
    assert rows[8] == ["1.000"] * 5 + ["0.000"] * 4
    assert rows[0] == ["0.000"] * 9


def test_a_sequence_is_played_whole_or_not_at_all() -> None:
    state = new_state()
    assert ask(state, "gogui-play_sequence b c3 w pass b d4") == ""
    for refused, answer in (
        ("b e5 w c3", "? illegal move"),
        ("b e5 w", "? syntax error"),
        ("b e5 g c3", "? syntax error"),
    ):
        assert ask(state, f"gogui-play_sequence {refused}") == answer
        assert ask(state, "move_history").split("\n") == ["black D4", "white pass", "black C3"]
    assert ask(state, "gogui-play_sequence") == ""
    long = " ".join(f"{'bw'[number % 2]} pass" for number in range(500))
    assert ask(state, f"gogui-play_sequence {long}") == ""


def test_a_position_is_set_up_with_its_side_to_move() -> None:
    state = new_state()
    assert ask(state, "gogui-setup w c3 b d4") == ""
    assert ask(state, "list_stones b") == "D4"
    for color, answer in (("w", "W"), ("b", "B")):
        assert ask(state, f"gogui-setup_player {color}") == ""
        assert ask(state, "showboard").count(f"to play: {'white' if answer == 'W' else 'black'}") == 1
        assert ask(state, "list_stones w") == "C3"
    assert ask(state, "gogui-setup b e5") == "? board not empty"
    assert ask(state, "play b e5") == ""
    assert ask(state, "gogui-setup_player w") == "? moves have been played"
    assert ask(state, "undo") == ""
    assert ask(state, "undo") == "? cannot undo"


@pytest.mark.parametrize("command", ["gogui-setup", "set_position"])
def test_a_position_that_cannot_stand_changes_nothing(command: str) -> None:
    state = new_state()
    ask(state, "komi 3.5")
    for stones in ("b a1 w a2 w b1", "b c3 w c3"):
        assert ask(state, f"{command} {stones}").startswith("? illegal position: ")
        assert ask(state, "list_stones b") == ""
    assert ask(state, f"{command} b pass") == "? syntax error"
    assert ask(state, f"{command} b") == "? syntax error"
    assert ask(state, f"{command} b c3") == ""
    assert ask(state, "get_komi") == "3.5"


def test_set_position_replaces_what_was_there_with_black_to_play() -> None:
    state = new_state()
    ask(state, "play b e5")
    assert ask(state, "set_position w a1") == ""
    assert (ask(state, "list_stones b"), ask(state, "list_stones w")) == ("", "A1")
    assert "to play: black" in ask(state, "showboard")
    assert ask(state, "set_position") == ""
    assert ask(state, "list_stones w") == ""


def test_parameters_are_changed_by_key_and_value() -> None:
    state = new_state()
    assert ask(state, "keima-params maxVisits 77") == ""
    assert ask(state, "keima-params ponderingEnabled 1") == ""
    listed = ask(state, "keima-params").split("\n")
    assert ask(state, "keima-params rank 4k") == ""
    assert f"[list/{'/'.join([*RANKS, FULL])}] rank 4k" in ask(state, "keima-params").split("\n")
    assert "[string] maxVisits 77" in listed and "[bool] ponderingEnabled 1" in listed
    assert ask(state, "keima-params maxVisits -1").startswith("? ")
    assert ask(state, "keima-params nonsense 1").startswith("? ")
    assert ask(state, "keima-params maxVisits") == "? syntax error"


def test_rules_are_changed_field_by_field_or_by_name() -> None:
    state = new_state()
    assert ask(state, "keima-rules rules japanese") == ""
    assert ask(state, "keima-rules ko POSITIONAL") == ""
    assert ask(state, "keima-rules suicide 1") == ""
    listed = ask(state, "keima-rules").split("\n")
    assert {"[list/SIMPLE/POSITIONAL/SITUATIONAL] ko POSITIONAL", "[bool] suicide 1"} <= set(listed)
    assert listed[0].endswith("] rules custom")
    assert ask(state, "keima-rules rules martian").startswith("? ")
    assert ask(state, "keima-rules ko MAYBE").startswith("? ")


def test_every_named_rule_set_is_offered_and_shown_by_its_name() -> None:
    state = new_state()
    offered = ask(state, "keima-rules").split("\n")[0]
    for name in (*PRESETS, *SERVER_PRESETS):
        assert name in re.split(r"[/\]]", offered)
        assert ask(state, f"keima-rules rules {name}") == ""
        shown = ask(state, "keima-rules").split("\n")[0].rpartition(" ")[2]
        assert parse_rules(shown) == parse_rules(name)


def test_the_title_has_name_and_version() -> None:
    assert ask(new_state(config=SessionConfig(name="X", version="1.2")), "gogui-title") == "X 1.2"


def test_interruption_is_announced_and_answers_nothing() -> None:
    assert ask(new_state(), "gogui-interrupt") == ""
    assert ask(new_state(), "gogui-interrupt now") == "? syntax error"


def test_a_look_keeps_to_the_limits_of_a_move() -> None:
    player = FakePlayer(thinking=True)
    state = new_state(player, SessionConfig(width=SIZE, height=SIZE, visits=33, seconds=2.0))
    ask(state, "keima-score")
    ((_, request),) = player.analyzed
    assert (request.limits.visits, request.limits.seconds) == (33, 2.0)
