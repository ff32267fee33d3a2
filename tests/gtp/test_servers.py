"""Servers: the end of a game, chat, CGOS's analysis; and what is said about the last move."""

import json

import pytest

from gtp.commands import HANDLERS, UNLISTED
from gtp.commands.servers import owner_letters
from gtp.protocol import parse_command
from gtp.session import answer
from gtp.state import GtpState, SessionConfig
from tests.gtp.fake_player import FakePlayer
from tests.gtp.talk import ask, new_state

OWNER_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def lines_of(state: GtpState, line: str) -> list[str]:
    """Return the lines of a reply that comes line by line."""
    command = parse_command(line)
    assert command is not None
    written: list[str] = []
    answer(state, command, written.append)
    text = "".join(written)
    assert text.endswith("\n\n")
    return text[:-2].split("\n")


def thinking_state(script: list[str] | None = None) -> GtpState:
    """Return a session whose player lets itself be watched."""
    config = SessionConfig(width=9, height=9, seconds=0.02)
    return new_state(FakePlayer(script or [], thinking=True), config)


@pytest.mark.parametrize("line", ["kgs-game_over", "cgos-gameover B+3.5", "cgos-gameover W+Resign"])
def test_the_end_of_a_game_leaves_the_board_and_ends_pondering(line: str) -> None:
    state = new_state(config=SessionConfig(width=9, height=9, ponder=True))
    ask(state, "genmove b")
    assert state.may_ponder
    assert ask(state, line) == ""
    assert not state.may_ponder
    assert ask(state, "list_stones b") == "A9"


def test_chat_is_answered_and_not_listed() -> None:
    assert set(UNLISTED) == {"kgs-chat"} and "kgs-chat" not in HANDLERS
    state = new_state()
    assert "kgs-chat" not in ask(state, "list_commands").split("\n")
    assert ask(state, "known_command kgs-chat") == "false"
    assert ask(state, "kgs-chat private someone hello there").startswith("I am Keima")
    ask(state, "genmove b")
    assert "A9" in ask(state, "kgs-chat game someone winrate?")
    for line in ("kgs-chat", "kgs-chat game", "kgs-chat shout someone x"):
        assert ask(state, line) == "? syntax error"


def test_cgos_gets_one_line_of_json_and_the_move() -> None:
    head, reported, move = lines_of(thinking_state(), "3 cgos-genmove_analyze b")
    assert (head, move) == ("=3", "play A9")
    report = json.loads(reported)
    assert " " not in reported.replace('"pv":"' + report["moves"][0]["pv"], "")
    assert set(report) == {"winrate", "score", "visits", "moves", "ownership"}
    assert 0.0 <= report["winrate"] <= 1.0
    assert set(report["moves"][0]) == {"move", "winrate", "score", "prior", "visits", "pv"}
    assert report["moves"][0]["move"] == "A9"
    assert not report["moves"][0]["pv"].startswith("A9")
    assert len(report["ownership"]) == 81 and set(report["ownership"]) <= set(OWNER_LETTERS)


def test_cgos_owners_run_from_the_opponents_to_the_movers() -> None:
    assert owner_letters([-1.0, 0.0, 1.0, 2.0]) == "Af++"


def test_cgos_receives_a_resignation() -> None:
    assert lines_of(thinking_state(["resign"]), "cgos-genmove_analyze w")[-1] == "play resign"
    assert ask(new_state(), "known_command cgos-genmove_analyze") == "true"


def test_the_last_move_is_explained() -> None:
    state = thinking_state()
    assert ask(state, "gomill-explain_last_move") == "? no move was generated"
    ask(state, "genmove b")
    assert ask(state, "gomill-explain_last_move").startswith("A9, ")
    assert "expecting " in ask(state, "gomill-explain_last_move")
    ask(state, "clear_board")
    assert ask(state, "gomill-explain_last_move") == "? no move was generated"


def test_the_engine_is_described_in_lines() -> None:
    state = new_state(config=SessionConfig(visits=20, seconds=1.5))
    described = ask(state, "gomill-describe_engine").split("\n")
    assert described[0].startswith("Keima ")
    assert described[1] == "playouts, no network"
    assert described[-1] == "20 visits a move, 1.5 seconds a move"


def test_the_engine_reports_a_rank_below_full_strength() -> None:
    state = new_state(config=SessionConfig(seconds=1.5))
    assert ask(state, "keima-rank 4k") == ""
    assert ask(state, "gomill-describe_engine").endswith("\nrank 4k, 1.5 seconds a move")
