"""Lines of a game: variations and the return from them, reviews, records and files."""

from pathlib import Path

import pytest

from engine.apps.web.game_session import GameSession
from engine.apps.web.records import read_tree
from engine.apps.web.snapshot import Estimate, Kind
from engine.apps.web.tree import GameTree
from engine.color import BLACK, WHITE
from engine.errors import GoError
from engine.game import Move
from engine.programs.answers import AnalysisAnswer, Candidate
from engine.records.sgf import load_sgf
from engine.rules import TROMP_TAYLOR
from engine.vertex import PASS
from tests.apps.web.sessions import MIXED, PEOPLE, answer, moves, session, snapshot, task, vertex, wanted


def variation(branch_point: int, name: str) -> tuple[int, Move]:
    return branch_point, Move(WHITE if branch_point % 2 else BLACK, vertex(name))


def variations(at: GameSession) -> list[tuple[int, Move | None]]:
    """Return the branch point of each line and its first own move."""
    return [(each.branch_point, each.move) for each in snapshot(at).variations]


def lines(tree: GameTree) -> list[list[Move | None]]:
    """Return the moves of all lines."""
    return [[node.move for node in end.path()[1:]] for end in tree.ends()]


def test_a_look_back_asks_for_nothing_and_a_move_there_goes_another_way() -> None:
    at = session(MIXED)
    moves(at, "C3")
    at.engine_moved(task(at), vertex("D3"))
    at.command("go", {"to": 1})
    assert wanted(at) is None
    assert (snapshot(at).game.move_number, len(snapshot(at).line)) == (1, 2)
    at.command("go", {"to": 99})
    assert snapshot(at).game.move_number == 2
    at.command("go", {"to": 0})
    moves(at, "B2")
    assert [move.vertex for move in snapshot(at).line] == [vertex("B2")]
    assert wanted(at) is Kind.MOVE


def test_a_record_names_the_rank_of_an_engine_that_has_ranks() -> None:
    at = session(MIXED)
    at.command("configure", {"rank": "3k"})
    moves(at, "C3")
    at.engine_started("Keima")
    assert "PW[Keima]" in at.record()[0]
    assert snapshot(at).shown.error == "Keima knows no ranks: it plays as well as it can."
    at.engine_started("Keima", has_ranks=True)
    assert "PW[Keima, 3k]" in at.record()[0]
    assert task(at).rank == "3k"


def test_a_record_is_opened_and_told_again() -> None:
    at = session(MIXED)
    at.open(b"(;SZ[9]KM[5.5]RU[Japanese]RE[W+R]PB[Shusaku];B[ee];W[cc])")
    now = snapshot(at)
    assert (now.game.width, now.game.komi, now.settings.rules, now.result) == (9, 5.5, "japanese", "W+R")
    assert now.settings.people == {BLACK: "Shusaku", WHITE: ""}
    assert [move.color for move in now.line] == [BLACK, WHITE]
    record = load_sgf(at.record()[0].encode())
    assert (len(record.moves), record.result, record.komi) == (2, "W+R", 5.5)
    assert (record.black, record.white) == ("Shusaku", "")
    at.command("configure", {"white": "engine"})
    assert snapshot(at).settings.people[BLACK] == "Shusaku"
    at.command("new", {})
    assert snapshot(at).settings.people == {}


def test_every_move_is_saved_with_what_the_engine_thought(tmp_path: Path) -> None:
    at = session(MIXED, tmp_path / "games")
    assert not (tmp_path / "games").exists()
    moves(at, "C3")
    asked = task(at)
    at.analysis_received(asked, answer(0.25))
    at.engine_moved(asked, vertex("D3"))
    at.command("go", {"to": 0})
    at.command("resign", {})
    [saved] = (tmp_path / "games").iterdir()
    record = load_sgf(saved)
    assert (len(record.moves), record.result, record.black, record.white) == (2, "W+R", "Person", "engine")
    assert "C[Black 75.0%, -1.5; 10 visits; best C3]" in saved.read_text(encoding="utf-8")


def test_another_way_is_saved_beside_the_game_as_a_variation(tmp_path: Path) -> None:
    at = session(PEOPLE, tmp_path)
    moves(at, "C3", "D3", "B2")
    at.command("go", {"to": 1})
    moves(at, "E5")
    at.command("new", {})
    moves(at, "A1")
    saved = [read_tree(path.read_bytes(), TROMP_TAYLOR)[1] for path in tmp_path.iterdir()]
    assert sorted([len(line) for line in lines(tree)] for tree in saved) == [[1], [3, 2]]


def test_a_record_is_opened_with_its_variations_and_told_with_them() -> None:
    at = session(PEOPLE)
    at.open(b"(;SZ[9]RE[B+R];B[ee](;W[cc];B[gg](;W[gc])(;W[cg]))(;W[gg];B[cc])(;W[ee])(;AB[aa]))")
    now = snapshot(at)
    assert [variation.branch_point for variation in now.variations] == [0, 3, 1, 1]
    assert now.notice.left_out == 1
    assert (now.variation, now.result, len(now.line)) == (0, "B+R", 4)
    at.command("variation", {"to": 2})
    assert (snapshot(at).result, len(snapshot(at).line), snapshot(at).game.move_number) == (None, 3, 2)
    at.command("go", {"to": 3})
    at.command("variation", {"to": 0})
    assert snapshot(at).game.move_number == 4
    at.command("variation", {"to": 2})
    assert snapshot(at).game.move_number == 3
    told = at.record()[0].replace("\n", "")
    assert told.endswith("SZ[9];B[ee](;W[cc];B[gg](;W[gc])(;W[cg]))(;W[gg];B[cc])(;AB[aa]))")


def test_a_record_comes_back_as_it_was_in_its_own_encoding() -> None:
    at = session(PEOPLE)
    root = "SZ[9]CA[Shift_JIS]DT[1985-03-07]EV[棋聖戦]PW[坂田栄寿]C[九段表]"
    at.open(f"(;{root};B[ee]C[one\nBlack 54.3%, -1.5];W[cc]C[Black 9.0%])".encode("shift_jis"))
    assert (snapshot(at).settings.people[WHITE], snapshot(at).note) == ("坂田栄寿", "")
    assert {number: each.lead for number, each in snapshot(at).estimates.items()} == {1: -1.5, 2: None}
    assert [each.winrate for each in snapshot(at).estimates.values()] == pytest.approx([0.543, 0.09])
    at.command("go", {"to": 1})
    assert snapshot(at).note == "one"
    at.command("go", {"to": 0})
    assert snapshot(at).note == "九段表"
    again = load_sgf(at.record()[0].encode())
    assert again.about == {"DT": "1985-03-07", "EV": "棋聖戦"}
    assert again.comments == {0: "九段表", 1: "one\nBlack 54.3%, -1.5", 2: "Black 9.0%"}
    at.command("new", {})
    moves(at, "E5")
    assert "DT" in load_sgf(at.record()[0].encode()).about
    assert snapshot(at).note == ""


def test_the_game_stays_itself_where_another_way_goes_on_from_its_end() -> None:
    at = session(PEOPLE)
    moves(at, "C3", "D4", "E5")
    at.command("go", {"to": 2})
    moves(at, "A1", "A2")
    at.command("variation", {"to": 0})
    at.command("go", {"to": 3})
    at.command("undo", {})
    at.command("resign", {})
    told = at.record()[0]
    at.open(told.encode())
    now = snapshot(at)
    assert (len(now.line), now.result, len(now.variations), now.variation) == (2, "W+R", 2, 0)
    again, before = (read_tree(text.encode(), TROMP_TAYLOR)[1] for text in (at.record()[0], told))
    assert lines(again) == lines(before)


def test_a_step_to_the_position_shown_disturbs_nothing() -> None:
    at = session(MIXED)
    moves(at, "C3")
    asked = task(at)
    at.command("go", {"to": 7})
    at.command("configure", {"rank": "full", "seconds": None})
    assert at.is_wanted(asked)
    at.command("configure", {"rank": "9k"})
    assert not at.is_wanted(asked)


def test_the_better_variation_survives_saving_and_opening() -> None:
    at = session(PEOPLE)
    at.command("switch", {"analysis": True})
    best = (vertex("C3"), PASS, vertex("D3"))
    at.analysis_received(task(at), AnalysisAnswer((Candidate(vertex("C3"), 10, 0.6, 1.5, best),)))
    moves(at, "A1")
    again = session(PEOPLE)
    again.open(at.record()[0].encode())
    again.command("go", {"to": 0})
    assert snapshot(again).estimates[0] == Estimate(0.6, 1.5, best)
    assert snapshot(again).note == ""


def test_a_variation_that_is_not_on_the_board_is_no_variation() -> None:
    at = session(PEOPLE)
    at.open(b"(;SZ[5]C[Black 50.0%, -1.5; best C3 T19];B[ee])")
    assert snapshot(at).estimates == {0: Estimate(0.5, -1.5)}


def test_estimates_of_another_way_are_forgotten() -> None:
    at = session(PEOPLE)
    moves(at, "C3", "D3")
    at.command("switch", {"analysis": True})
    for number in (2, 1):
        at.command("go", {"to": number})
        at.analysis_received(task(at), answer())
    moves(at, "E5")
    assert list(snapshot(at).estimates) == [1]


def test_a_game_that_cannot_be_saved_goes_on_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    at = session(PEOPLE, tmp_path / "file")
    moves(at, "C3")
    assert str(snapshot(at).shown.error).startswith("The game is not saved: ")
    assert len(snapshot(at).line) == 1


def test_a_review_looks_at_every_position_once_and_leaves_the_one_shown_alone() -> None:
    at = session(PEOPLE)
    moves(at, "C3", "D3")
    at.command("switch", {"analysis": True})
    shown = task(at)
    at.command("switch", {"review": True})
    assert not at.is_wanted(shown)
    seen = []
    while wanted(at) is Kind.REVIEW:
        asked = task(at)
        at.analysis_received(asked, answer())
        seen.append(asked.game.move_number)
        at.task_finished(asked)
        assert snapshot(at).game.move_number == 2
        assert snapshot(at).shown.answer is None
    assert seen == [0, 1, 2]
    assert (snapshot(at).reviewed, sorted(snapshot(at).estimates)) == (3, [0, 1, 2])
    assert task(at).kind is Kind.ANALYSIS
    at.command("undo", {})
    moves(at, "E5")
    assert task(at).game.move_number == 2


def test_a_look_elsewhere_does_not_begin_the_review_anew() -> None:
    at = session(PEOPLE)
    moves(at, "C3")
    at.command("switch", {"review": True})
    at.task_finished(task(at))
    at.command("go", {"to": 0})
    assert task(at).game.move_number == 1
    at.command("switch", {"review": False})
    assert wanted(at) is None


def test_another_way_leads_back_to_the_game_that_it_left() -> None:
    at = session(PEOPLE)
    at.command("switch", {"analysis": True})
    moves(at, "C3", "D3")
    at.analysis_received(task(at), answer(0.75))
    at.command("resign", {})
    at.command("go", {"to": 1})
    moves(at, "E5", "E4")
    at.command("go", {"to": 2})
    moves(at, "A1")
    assert (snapshot(at).variation, snapshot(at).result, len(snapshot(at).line), list(snapshot(at).estimates)) == (
        2,
        None,
        3,
        [],
    )
    assert variations(at) == [variation(0, "C3"), variation(1, "E5"), variation(2, "A1")]
    at.command("variation", {"to": 0})
    now = snapshot(at)
    assert [move.vertex for move in now.line] == [vertex("C3"), vertex("D3")]
    assert (now.game.move_number, now.result, now.variation, list(now.estimates)) == (1, "W+R", 0, [2])
    at.command("variation", {"to": 1})
    assert [move.vertex for move in snapshot(at).line] == [vertex("C3"), vertex("E5"), vertex("E4")]


def test_a_move_that_a_way_has_goes_along_it_and_begins_none(tmp_path: Path) -> None:
    at = session(PEOPLE, tmp_path)
    moves(at, "C3", "D3", "B2")
    at.command("go", {"to": 1})
    moves(at, "D3")
    assert (snapshot(at).game.move_number, len(snapshot(at).line), snapshot(at).variation) == (2, 3, 0)
    at.command("go", {"to": 1})
    moves(at, "E5")
    at.command("variation", {"to": 0})
    moves(at, "E5")
    assert (snapshot(at).variation, len(snapshot(at).variations), len(snapshot(at).line)) == (1, 2, 2)
    moves(at, "D4")
    at.command("go", {"to": 1})
    moves(at, "D3", "B2")
    assert (snapshot(at).variation, snapshot(at).game.move_number) == (0, 3)
    assert len(list(tmp_path.iterdir())) == 1


def test_the_engine_answers_where_a_way_ends() -> None:
    at = session(MIXED)
    moves(at, "C3")
    at.engine_moved(task(at), vertex("D3"))
    at.command("go", {"to": 0})
    moves(at, "B2")
    at.engine_moved(task(at), vertex("D4"))
    at.command("go", {"to": 0})
    moves(at, "C3")
    assert (snapshot(at).variation, wanted(at)) == (0, None)
    at.command("variation", {"to": 1})
    at.command("go", {"to": 2})
    at.command("undo", {})
    moves(at, "B2")
    assert (snapshot(at).variation, wanted(at)) == (1, Kind.MOVE)


def test_a_way_whose_own_move_was_taken_back_has_none() -> None:
    at = session(PEOPLE)
    moves(at, "C3", "D3")
    at.command("go", {"to": 1})
    moves(at, "E5")
    at.command("undo", {})
    assert variations(at)[1] == (1, None)
    at.command("undo", {})
    moves(at, "A1")
    assert variations(at)[1] == variation(0, "A1")


@pytest.mark.parametrize("to", [-1, 1, "1", None])
def test_a_way_that_there_is_not_is_refused(to: object) -> None:
    at = session(PEOPLE)
    with pytest.raises(GoError, match="expected the number of a variation, from 0 to 0, got"):
        at.command("variation", {"to": to})


def test_an_illegal_move_begins_no_other_way() -> None:
    at = session(PEOPLE)
    moves(at, "C3", "D3", "B2")
    at.command("go", {"to": 2})
    with pytest.raises(GoError, match="occupied"):
        moves(at, "C3")
    assert (snapshot(at).variation, len(snapshot(at).variations), len(snapshot(at).line)) == (0, 1, 3)
