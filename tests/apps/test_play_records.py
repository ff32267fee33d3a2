"""A saved game that goes on at a terminal, and when the record may be replaced by it."""

import bz2
from pathlib import Path

import pytest

from engine.color import WHITE
from engine.records.sgf import load_sgf
from engine.rules import parse_rules
from tests.apps.test_play import ScriptedPlayer, command


def test_a_record_is_continued_with_its_size_komi_and_rules(tmp_path: Path) -> None:
    (tmp_path / "old.sgf").write_text("(;GM[1]SZ[7]KM[3.5]RU[Japanese];B[cc];W[ee];B[ce])")
    player = ScriptedPlayer("E5", "E4")
    options = {"record": tmp_path / "old.sgf", "sgf": tmp_path / "new.sgf"}
    status, shown = command(lambda: player, "C4 quit", **options)
    assert status == 0
    assert "Illegal move" not in shown
    assert player.calls[0][:2] == (3, WHITE)
    saved = load_sgf(tmp_path / "new.sgf")
    assert (saved.width, saved.komi, saved.rules and saved.rules.scoring) == (7, 3.5, parse_rules("japanese").scoring)
    assert len(saved.moves) == 6
    assert (tmp_path / "old.sgf").read_text().endswith("B[ce])")


def test_a_saved_game_is_replaced_only_by_its_own_continuation(tmp_path: Path) -> None:
    old = tmp_path / "old.sgf"
    old.write_text("(;GM[1]SZ[5];B[cc])")
    message = f"--sgf: {old} exists, and the game would replace it; --record goes on with a saved game"
    assert command(ScriptedPlayer, "quit", size=5, sgf=old) == (2, f"keima play: {message}\n")
    assert old.read_text() == "(;GM[1]SZ[5];B[cc])"
    assert command(lambda: ScriptedPlayer("C4"), "C2 quit", record=old, sgf=old)[0] == 0
    assert [len(load_sgf(old).moves), load_sgf(old).width] == [4, 5]


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("(;SZ[5]C[mine];B[cc]LB[cc:A])", "comments and marks"),
        ("(;SZ[5]PB[Anna]EV[Cup];B[cc](;W[dd])(;W[bb]))", "names of players and facts about the game and variations"),
        ("(;SZ[5];B[cc])(;SZ[5];B[dd])", "other games"),
        ("(;SZ[5];B[cc];AB[aa];W[dd])", "stones that are set up between moves"),
        ("(;SZ[5]HA[3];W[cc])", "a handicap without its stones"),
    ],
)
def test_a_record_is_not_replaced_by_a_game_that_lacks_what_it_has(tmp_path: Path, text: str, lost: str) -> None:
    old = tmp_path / "old.sgf"
    old.write_text(text)
    message = f"keima play: --sgf: {old} has {lost}, which the saved game would not have: name another file\n"
    assert command(ScriptedPlayer, "quit", record=old, sgf=old) == (2, message)
    assert old.read_text() == text


def test_the_first_game_of_a_file_with_one_a_line_goes_on_but_is_not_replaced(tmp_path: Path) -> None:
    old, packed = tmp_path / "x.sgfl.bz2", bz2.compress(b"(;SZ[5];B[cc])\n")
    old.write_bytes(packed)
    message = f"--sgf: {old} holds games that are packed, and the saved game is not: name another file"
    assert command(ScriptedPlayer, "quit", record=old, sgf=old) == (2, f"keima play: {message}\n")
    assert command(lambda: ScriptedPlayer("C4"), "C2 quit", record=old, sgf=tmp_path / "new.sgf")[0] == 0
    assert (len(load_sgf(tmp_path / "new.sgf").moves), old.read_bytes()) == (4, packed)


def test_a_record_that_is_resigned_before_another_move_is_saved_with_its_result(tmp_path: Path) -> None:
    (tmp_path / "old.sgf").write_text("(;SZ[5];B[cc];W[bb])")
    assert command(ScriptedPlayer, "resign", record=tmp_path / "old.sgf", sgf=tmp_path / "new.sgf")[0] == 0
    assert load_sgf(tmp_path / "new.sgf").result == "W+R"


@pytest.mark.parametrize("end", ["", ";B[];W[]"])
def test_a_record_in_which_nothing_was_played_stays_as_it_is(tmp_path: Path, end: str) -> None:
    old, text = tmp_path / "old.sgf", f"(;SZ[5]RE[B+3.5];B[cc];W[bb]{end})"
    old.write_text(text)
    assert command(ScriptedPlayer, "quit", record=old, sgf=old)[0] == 0
    assert old.read_text() == text


def test_a_handicap_game_without_komi_has_half_a_point(tmp_path: Path) -> None:
    (tmp_path / "old.sgf").write_text("(;SZ[5]HA[2]AB[bb][dd];W[cc])")
    record = tmp_path / "old.sgf"
    assert ", komi 0.5." in command(ScriptedPlayer, "quit", record=record, sgf=tmp_path / "a.sgf")[1]
    assert ", komi 3.5." in command(ScriptedPlayer, "quit", komi=3.5, record=record, sgf=tmp_path / "b.sgf")[1]


def test_a_record_without_rules_and_komi_takes_those_of_the_options(tmp_path: Path) -> None:
    (tmp_path / "old.sgf").write_text("(;GM[1]SZ[5];B[cc])")
    options = {"record": tmp_path / "old.sgf", "rules": "aga", "komi": 5.5, "color": "white"}
    command(ScriptedPlayer, "C4 quit", sgf=tmp_path / "new.sgf", **options)
    text = (tmp_path / "new.sgf").read_text()
    assert "KM[5.5]" in text
    assert "RU[AGA]" in text


def test_a_damaged_record_is_status_2_and_named(tmp_path: Path) -> None:
    (tmp_path / "old.sgf").write_text("no game")
    status, shown = command(ScriptedPlayer, "quit", record=tmp_path / "old.sgf")
    assert status == 2
    assert "old.sgf" in shown
