"""Lines of a game: other ways and the way back, reviews, records and files."""

from pathlib import Path

import pytest

from engine.apps.web.facts import Kind, Way
from engine.apps.web.records import read_ways
from engine.color import BLACK, WHITE
from engine.errors import GoError
from engine.game import Move
from engine.records.sgf import load_sgf
from tests.apps.web.tables import MIXED, PEOPLE, answer, facts, moves, table, task, vertex, wanted


def way(began: int, name: str) -> Way:
    return Way(began, Move(WHITE if began % 2 else BLACK, vertex(name)))


def test_a_look_back_asks_for_nothing_and_a_move_there_goes_another_way() -> None:
    at = table(MIXED)
    moves(at, "C3")
    at.moves(task(at), vertex("D3"))
    at.command("go", {"to": 1})
    assert wanted(at) is None
    assert (facts(at).game.move_number, len(facts(at).line)) == (1, 2)
    at.command("go", {"to": 99})
    assert facts(at).game.move_number == 2
    at.command("go", {"to": 0})
    moves(at, "B2")
    assert [move.vertex for move in facts(at).line] == [vertex("B2")]
    assert wanted(at) is Kind.MOVE


def test_a_record_tells_the_level_of_an_engine_that_has_levels() -> None:
    at = table(MIXED)
    at.command("sit", {"level": 3})
    moves(at, "C3")
    at.sit_down("Keima")
    assert "PW[Keima]" in at.record()[0]
    assert facts(at).shown.error == "Keima knows no levels: it plays as well as it can."
    at.sit_down("Keima", has_levels=True)
    assert "PW[Keima, level 3]" in at.record()[0]
    assert task(at).level == 3


def test_a_record_is_opened_and_told_again() -> None:
    at = table(MIXED)
    at.open(b"(;SZ[9]KM[5.5]RU[Japanese]RE[W+R]PB[Shusaku];B[ee];W[cc])")
    now = facts(at)
    assert (now.game.width, now.game.komi, now.settings.rules, now.result) == (9, 5.5, "japanese", "W+R")
    assert now.settings.people == {BLACK: "Shusaku", WHITE: ""}
    assert [move.color for move in now.line] == [BLACK, WHITE]
    record = load_sgf(at.record()[0].encode())
    assert (len(record.moves), record.result, record.komi) == (2, "W+R", 5.5)
    assert (record.black, record.white) == ("Shusaku", "Person")
    at.command("sit", {"white": "engine"})
    assert facts(at).settings.people[BLACK] == "Shusaku"
    at.command("new", {})
    assert facts(at).settings.people == {}


def test_every_move_is_saved_with_what_the_engine_thought(tmp_path: Path) -> None:
    at = table(MIXED, tmp_path / "games")
    assert not (tmp_path / "games").exists()
    moves(at, "C3")
    asked = task(at)
    at.thinks(asked, answer(0.25))
    at.moves(asked, vertex("D3"))
    at.command("go", {"to": 0})
    at.command("resign", {})
    [saved] = (tmp_path / "games").iterdir()
    record = load_sgf(saved)
    assert (len(record.moves), record.result, record.black, record.white) == (2, "W+R", "Person", "engine")
    assert "C[Black 75.0%, -1.5]" in saved.read_text(encoding="utf-8")


def test_another_way_is_saved_beside_the_game_as_a_variation(tmp_path: Path) -> None:
    at = table(PEOPLE, tmp_path)
    moves(at, "C3", "D3", "B2")
    at.command("go", {"to": 1})
    moves(at, "E5")
    at.command("new", {})
    moves(at, "A1")
    saved = [read_ways(path.read_bytes())[1] for path in tmp_path.iterdir()]
    assert sorted([len(line.moves) for line in lines] for lines in saved) == [[1], [3, 2]]


def test_a_record_is_opened_with_its_variations_and_told_with_them() -> None:
    at = table(PEOPLE)
    at.open(b"(;SZ[9]RE[B+R];B[ee](;W[cc];B[gg](;W[gc])(;W[cg]))(;W[gg];B[cc])(;W[ee])(;AB[aa]))")
    now = facts(at)
    assert [way.began for way in now.ways] == [0, 3, 1]
    assert (now.way, now.result, len(now.line)) == (0, "B+R", 4)
    at.command("way", {"to": 2})
    assert (facts(at).result, len(facts(at).line), facts(at).game.move_number) == (None, 3, 2)
    at.command("go", {"to": 3})
    at.command("way", {"to": 0})
    assert facts(at).game.move_number == 4
    at.command("way", {"to": 2})
    assert facts(at).game.move_number == 3
    told = at.record()[0].replace("\n", "")
    assert told.endswith("SZ[9];B[ee](;W[cc];B[gg](;W[gc])(;W[cg]))(;W[gg];B[cc]))")


def test_a_record_comes_back_as_it_was_in_its_own_encoding() -> None:
    at = table(PEOPLE)
    root = "SZ[9]CA[Shift_JIS]DT[1985-03-07]EV[棋聖戦]PW[坂田栄寿]C[九段表]"
    at.open(f"(;{root};B[ee]C[one\nBlack 54.3%, -1.5];W[cc]C[Black 9.0%])".encode("shift_jis"))
    assert (facts(at).settings.people[WHITE], facts(at).note) == ("坂田栄寿", "")
    assert {number: each.lead for number, each in facts(at).estimates.items()} == {1: -1.5, 2: None}
    assert [each.winrate for each in facts(at).estimates.values()] == pytest.approx([0.543, 0.09])
    at.command("go", {"to": 1})
    assert facts(at).note == "one"
    at.command("go", {"to": 0})
    assert facts(at).note == "九段表"
    again = load_sgf(at.record()[0].encode())
    assert again.about == {"DT": "1985-03-07", "EV": "棋聖戦"}
    assert again.comments == {0: "九段表", 1: "one\nBlack 54.3%, -1.5", 2: "Black 9.0%"}
    at.command("new", {})
    moves(at, "E5")
    assert "DT" in load_sgf(at.record()[0].encode()).about
    assert facts(at).note == ""


def test_the_game_stays_itself_where_another_way_goes_on_from_its_end() -> None:
    at = table(PEOPLE)
    moves(at, "C3", "D4", "E5")
    at.command("go", {"to": 2})
    moves(at, "A1", "A2")
    at.command("way", {"to": 0})
    at.command("undo", {})
    at.command("resign", {})
    told = at.record()[0]
    at.open(told.encode())
    now = facts(at)
    assert (len(now.line), now.result, len(now.ways), now.way) == (2, "W+R", 2, 0)
    again, before = (read_ways(text.encode())[1] for text in (at.record()[0], told))
    assert [line.moves for line in again] == [line.moves for line in before]


def test_a_step_to_the_position_shown_disturbs_nothing() -> None:
    at = table(MIXED)
    moves(at, "C3")
    asked = task(at)
    at.command("go", {"to": 7})
    at.command("sit", {"level": 10, "seconds": None})
    assert at.is_wanted(asked)
    at.command("sit", {"level": 9})
    assert not at.is_wanted(asked)


def test_estimates_of_another_way_are_forgotten() -> None:
    at = table(PEOPLE)
    moves(at, "C3", "D3")
    at.command("switch", {"analysis": True})
    for number in (2, 1):
        at.command("go", {"to": number})
        at.thinks(task(at), answer())
    moves(at, "E5")
    assert list(facts(at).estimates) == [1]


def test_a_game_that_cannot_be_saved_goes_on_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    at = table(PEOPLE, tmp_path / "file")
    moves(at, "C3")
    assert str(facts(at).shown.error).startswith("The game is not saved: ")
    assert len(facts(at).line) == 1


def test_a_review_looks_at_every_position_once_and_leaves_the_one_shown_alone() -> None:
    at = table(PEOPLE)
    moves(at, "C3", "D3")
    at.command("switch", {"analysis": True})
    shown = task(at)
    at.command("switch", {"review": True})
    assert not at.is_wanted(shown)
    seen = []
    while wanted(at) is Kind.REVIEW:
        asked = task(at)
        at.thinks(asked, answer())
        seen.append(asked.game.move_number)
        at.finished(asked)
        assert facts(at).game.move_number == 2
        assert facts(at).shown.answer is None
    assert seen == [0, 1, 2]
    assert (facts(at).reviewed, sorted(facts(at).estimates)) == (3, [0, 1, 2])
    assert task(at).kind is Kind.ANALYSIS
    at.command("undo", {})
    moves(at, "E5")
    assert task(at).game.move_number == 2


def test_a_look_elsewhere_does_not_begin_the_review_anew() -> None:
    at = table(PEOPLE)
    moves(at, "C3")
    at.command("switch", {"review": True})
    at.finished(task(at))
    at.command("go", {"to": 0})
    assert task(at).game.move_number == 1
    at.command("switch", {"review": False})
    assert wanted(at) is None


def test_another_way_leads_back_to_the_game_that_it_left() -> None:
    at = table(PEOPLE)
    at.command("switch", {"analysis": True})
    moves(at, "C3", "D3")
    at.thinks(task(at), answer(0.75))
    at.command("resign", {})
    at.command("go", {"to": 1})
    moves(at, "E5", "E4")
    at.command("go", {"to": 2})
    moves(at, "A1")
    assert (facts(at).way, facts(at).result, len(facts(at).line), list(facts(at).estimates)) == (2, None, 3, [])
    assert facts(at).ways == (Way(0, Move(BLACK, vertex("C3"))), way(1, "E5"), way(2, "A1"))
    at.command("way", {"to": 0})
    now = facts(at)
    assert [move.vertex for move in now.line] == [vertex("C3"), vertex("D3")]
    assert (now.game.move_number, now.result, now.way, list(now.estimates)) == (1, "W+R", 0, [2])
    at.command("way", {"to": 1})
    assert [move.vertex for move in facts(at).line] == [vertex("C3"), vertex("E5"), vertex("E4")]


def test_a_move_that_a_way_has_goes_along_it_and_begins_none(tmp_path: Path) -> None:
    at = table(PEOPLE, tmp_path)
    moves(at, "C3", "D3", "B2")
    at.command("go", {"to": 1})
    moves(at, "D3")
    assert (facts(at).game.move_number, len(facts(at).line), facts(at).way) == (2, 3, 0)
    at.command("go", {"to": 1})
    moves(at, "E5")
    at.command("way", {"to": 0})
    moves(at, "E5")
    assert (facts(at).way, len(facts(at).ways), len(facts(at).line)) == (1, 2, 2)
    moves(at, "D4")
    at.command("go", {"to": 1})
    moves(at, "D3", "B2")
    assert (facts(at).way, facts(at).game.move_number) == (0, 3)
    assert len(list(tmp_path.iterdir())) == 1


def test_the_engine_answers_where_a_way_ends() -> None:
    at = table(MIXED)
    moves(at, "C3")
    at.moves(task(at), vertex("D3"))
    at.command("go", {"to": 0})
    moves(at, "B2")
    at.moves(task(at), vertex("D4"))
    at.command("go", {"to": 0})
    moves(at, "C3")
    assert (facts(at).way, wanted(at)) == (0, None)
    at.command("way", {"to": 1})
    at.command("undo", {})
    moves(at, "B2")
    assert (facts(at).way, wanted(at)) == (1, Kind.MOVE)


def test_a_way_whose_own_move_was_taken_back_has_none() -> None:
    at = table(PEOPLE)
    moves(at, "C3", "D3")
    at.command("go", {"to": 1})
    moves(at, "E5")
    at.command("undo", {})
    assert facts(at).ways[1] == Way(1, None)
    at.command("undo", {})
    moves(at, "A1")
    assert facts(at).ways[1] == Way(0, Move(BLACK, vertex("A1")))


@pytest.mark.parametrize("to", [-1, 1, "1", None])
def test_a_way_that_there_is_not_is_refused(to: object) -> None:
    at = table(PEOPLE)
    with pytest.raises(GoError, match="expected the number of a way, from 0 to 0, got"):
        at.command("way", {"to": to})


def test_an_illegal_move_begins_no_other_way() -> None:
    at = table(PEOPLE)
    moves(at, "C3", "D3", "B2")
    at.command("go", {"to": 2})
    with pytest.raises(GoError, match="occupied"):
        moves(at, "C3")
    assert (facts(at).way, len(facts(at).ways), len(facts(at).line)) == (0, 1, 3)
