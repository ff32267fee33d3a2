"""What a record does not say: the page says what it assumes, and adds no names."""

import subprocess
import sys
from pathlib import Path

import pytest

from engine.apps.web.game_session import GameSession
from engine.apps.web.settings import GameSettings
from engine.apps.web.snapshot import NOTHING
from engine.rules import parse_rules
from tests.apps.web.sessions import MIXED, PEOPLE, moves, session, snapshot
from tests.apps.web.test_server import ask, events

ROOT = Path(__file__).resolve().parents[3]
HANDICAP = "HA[2]AB[bb][dd]"


@pytest.mark.parametrize(
    ("named", "rules", "has_notice"),
    [("", "japanese", True), ("RU[AGA]", "aga", False), ("RU[chess]", "japanese", True)],
)
def test_a_record_without_rules_takes_those_of_the_server_and_the_page_says_so(
    named: str, rules: str, has_notice: bool
) -> None:
    at = session(PEOPLE, rules="japanese")
    at.command("new", {"rules": "new-zealand"})
    at.open(f"(;SZ[5]{named};B[aa])".encode())
    now = snapshot(at)
    assert (now.settings.rules, now.game.rules) == (rules, parse_rules(rules))
    assert now.notice.rules == ("japanese" if has_notice else "")
    at.command("new", {})
    assert snapshot(at).notice.rules == ""


@pytest.mark.parametrize(
    ("named", "default", "komi", "has_notice"),
    [
        ("", None, 7.5, True),
        ("KM[]", None, 7.5, True),
        ("KM[xx]", 5.5, 5.5, True),
        (HANDICAP, None, 0.5, True),
        (HANDICAP, 5.5, 5.5, True),
        ("KM[0]", 5.5, 0.0, False),
        ("KM[6.5]", None, 6.5, False),
    ],
)
def test_a_record_without_komi_takes_that_of_the_server_or_the_usual_one_and_the_page_says_so(
    named: str, default: float | None, komi: float, has_notice: bool
) -> None:
    at = GameSession(GameSettings(5, 5, players=PEOPLE), default_komi=default)
    at.command("new", {"komi": 3})
    at.open(f"(;SZ[5]RU[AGA]{named};W[aa])".encode())
    now = snapshot(at)
    assert now.settings.komi == now.game.komi == komi
    assert now.notice.komi == (komi if has_notice else None)
    at.command("new", {})
    assert snapshot(at).notice == NOTHING


def test_a_record_without_names_is_saved_without_names() -> None:
    at = session(MIXED)
    at.open(b"(;SZ[5]BR[3k];B[aa])")
    moves(at, "C3")
    at.command("edit", {"note": "a comment", "EV": "Club"})
    text, _ = at.record()
    assert "PB[" not in text and "PW[" not in text
    assert all(part in text for part in ("BR[3k]", "EV[Club]", "C[a comment]"))
    at.command("edit", {"PB": "Ann"})
    assert "PB[Ann]" in at.record()[0]
    at.command("new", {"white": "engine"})
    assert all(part in at.record()[0] for part in ("PB[Person]", "PW[engine]"))


def test_a_game_started_here_names_its_players_after_the_event_is_entered_too() -> None:
    at = session(MIXED)
    moves(at, "C3")
    at.command("edit", {"EV": "Club"})
    assert all(part in at.record()[0] for part in ("PB[Person]", "PW[engine]"))


@pytest.mark.parametrize(("words", "komi"), [(["--komi", "5.5"], 5.5), ([], 0.5)])
def test_the_komi_of_the_command_line_is_that_of_records_only_where_it_is_given(words: list[str], komi: float) -> None:
    command = [sys.executable, str(ROOT / "keima.py"), "web", "--port", "0", "--no-browser", "--net", "none", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline().split()[0].rstrip("/").rpartition(":")[2])
            assert ask(port, "POST", "/game.sgf", f"(;SZ[5]{HANDICAP};W[aa])")[0] == 200
            heard = events(port)
            now = next(heard)
            heard.close()
        finally:
            process.terminate()
            assert process.wait(timeout=60) == 0
    assert (now["komi"], now["notice"]["komi"]) == (komi, komi)
