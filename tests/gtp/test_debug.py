"""KataGo's debug commands: the search is described on stderr, its tree and the clocks in replies."""

import pytest

from gtp.protocol import parse_command
from gtp.session import answer
from gtp.state import GtpState, SessionConfig
from tests.gtp.fake_player import FakePlayer
from tests.gtp.small_search import PRIORS, REPLIES, VISITS
from tests.gtp.talk import ask, new_state

CONFIG = SessionConfig(width=5, height=4, seconds=0.05)


def thinking_state() -> GtpState:
    """Return a session whose player searches two moves, A4 and B4, and a reply to the first."""
    return new_state(FakePlayer(thinking=True), CONFIG)


def test_genmove_debug_plays_its_move_and_describes_the_search_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    state = thinking_state()
    assert ask(state, "genmove_debug b") == "A4"
    assert state.game.move_number == 1
    lines = capsys.readouterr().err.split("\n")
    assert any(line.startswith("A4  : W ") and f"N {VISITS[0]:7d} -- A4" in line for line in lines)
    assert any(line.startswith("Time taken: ") for line in lines)


def test_kata_search_debug_plays_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    state = thinking_state()
    assert ask(state, "kata-search_debug w") == "A4"
    assert state.game.move_number == 0
    assert "---White---" in capsys.readouterr().err


def test_the_moves_of_the_last_search_are_reported_by_visits_with_their_priors() -> None:
    state = thinking_state()
    ask(state, "kata-search b")
    root, mean, side, *moves = ask(state, "debug_moves").split("\n")
    assert root == "Root visits: 10"
    assert mean.startswith(": W  50.00% L   +0.0 N      10 -- A4 ")
    assert side == "---Black---"
    assert [line.split()[0] for line in moves] == ["A4", "B4"]
    for prior, visits, line in zip(PRIORS, VISITS, moves, strict=True):
        assert f"P {100 * prior:5.2f}% N {visits:7d} -- " in line
    assert "W  75.00% L   +4.2" in moves[0]
    assert "W  25.00% L   -4.2" in moves[1]


def test_the_moves_after_a_line_are_those_of_the_opponent() -> None:
    state = thinking_state()
    ask(state, "kata-search b")
    _, _, side, reply = ask(state, "debug_moves A4").split("\n")
    assert side == "---White---"
    assert reply.startswith("E1  : W  25.00%") and f"N {REPLIES:7d}" in reply


@pytest.mark.parametrize(
    ("before", "line", "error"),
    [
        ([], "debug_moves", "no search in this game"),
        (["kata-search b"], "debug_moves C3", "this line was not searched"),
        (["kata-search b"], "debug_moves Z9", "syntax error"),
        (["kata-search b", "clear_cache"], "debug_moves", "no search in this game"),
        (["kata-search b", "clear_board"], "debug_moves", "no search in this game"),
    ],
)
def test_what_was_not_searched_is_an_error(before: list[str], line: str, error: str) -> None:
    state = thinking_state()
    for command in before:
        ask(state, command)
    assert ask(state, line) == f"? {error}"


def test_an_analysis_is_a_search_too() -> None:
    state = thinking_state()
    command = parse_command("kata-search_analyze b")
    assert command is not None
    answer(state, command, lambda text: None)
    assert ask(state, "debug_moves").startswith("Root visits: 10")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("kata-time_settings none", "originalMainTime 1e+30 mainTimeLeft 1e+30 inOvertime 0"),
        ("kata-time_settings absolute 100", "originalMainTime 100 mainTimeLeft 100 inOvertime 0"),
        (
            "kata-time_settings byoyomi 60 10 3",
            "originalMainTime 60 originalNumPeriods 3 numStonesPerPeriod 1 perPeriodTime 10 mainTimeLeft 60 "
            "inOvertime 0 numPeriodsLeftIncludingCurrent 3",
        ),
        (
            "time_settings 10 5 3",
            "originalMainTime 10 originalNumPeriods 1 numStonesPerPeriod 3 perPeriodTime 5 mainTimeLeft 10 "
            "inOvertime 0 numPeriodsLeftIncludingCurrent 1",
        ),
        (
            "kata-time_settings fischer-capped 60 5 100 20",
            "originalMainTime 60 increment 5 mainTimeLimit 100 maxTimePerMove 20 mainTimeLeft 60 inOvertime 0",
        ),
    ],
)
def test_both_clocks_are_reported_in_katagos_words(settings: str, words: str) -> None:
    state = new_state()
    ask(state, settings)
    black, white = ask(state, "kata-debug-print-tc").split("\n")
    assert black.split(" minRecMax")[0] == f"Black {words}"
    assert white.split(" minRecMax")[0] == f"White {words}"


def test_overtime_and_the_plan_for_the_next_move_are_reported() -> None:
    state = new_state()
    for line in ("kata-time_settings canadian 0 30 10", "time_left w 20 4"):
        ask(state, line)
    white = ask(state, "kata-debug-print-tc").split("\n")[1]
    assert "inOvertime 1 numPeriodsLeftIncludingCurrent 1 numStonesLeftInPeriod 4 timeLeftInPeriod 20" in white
    recommended, most = (float(word) for word in white.rpartition("minRecMax 0 ")[2].split())
    assert 0 < recommended < 5 <= most < 20
