"""The tree of variations, and what a page changes in the record: comments, markup, names."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from engine.apps.web.counting import counted
from engine.apps.web.game_state import LONGEST_NOTE
from engine.apps.web.records import read_tree
from engine.apps.web.view import view
from engine.errors import BadSgf, GoError
from engine.records.markup import Markup
from engine.records.sgf import Record, load_sgf, load_variations
from engine.records.sgf_source import iterate_records
from engine.rules import CHINESE
from tests.apps.web.sessions import MIXED, PEOPLE, moves, session, snapshot, task, vertex
from tests.shared import require_shared

TREE = b"(;SZ[9];B[ee](;W[cc];B[gg](;W[gc])(;W[cg]C[a comment]))(;W[gg];B[cc])(;W[hh]))"


def test_the_view_draws_each_line_with_the_moves_that_only_it_has() -> None:
    at = session(PEOPLE)
    at.open(TREE)
    assert [(each["from"], each["parent"], each["colors"]) for each in view(snapshot(at))["variations"]] == [
        (0, 0, "bwbw"),
        (3, 0, "W"),
        (1, 0, "wb"),
        (1, 0, "w"),
    ]


def test_the_moves_after_a_position_begin_with_that_of_the_line_shown() -> None:
    at = session(PEOPLE)
    at.open(TREE)
    at.command("go", {"to": 1})
    assert view(snapshot(at))["following"] == ["C7", "G3", "H2"]
    at.command("go", {"to": 1, "variation": 3})
    assert view(snapshot(at))["following"] == ["H2", "C7", "G3"]


def test_a_position_of_another_line_is_shown_at_once() -> None:
    at = session(PEOPLE)
    at.open(TREE)
    at.command("go", {"to": 3, "variation": 2})
    now = snapshot(at)
    assert (now.variation, now.game.move_number, now.game.color_at(now.line[2].vertex)) == (2, 3, now.line[2].color)


@pytest.mark.parametrize("fields", [{"to": 1, "variation": 4}, {"to": 1, "variation": "1"}, {"variation": 1}])
def test_a_position_that_there_is_not_is_refused(fields: dict[str, Any]) -> None:
    at = session(PEOPLE)
    at.open(TREE)
    with pytest.raises(GoError, match="expected the number of a"):
        at.command("go", fields)
    assert (snapshot(at).variation, snapshot(at).game.move_number) == (0, 4)


def test_up_and_down_go_from_line_to_line_and_stay_at_the_move_where_it_has_one_of_its_own() -> None:
    at = session(PEOPLE)
    at.open(TREE)
    at.command("go", {"to": 2})
    seen = []
    for step in (1, 1, 1, 1, -1, -1, -1, -1):
        at.command("variation", {"by": step})
        seen.append((snapshot(at).variation, snapshot(at).game.move_number))
    assert seen == [(1, 4), (2, 3), (3, 2), (3, 2), (2, 2), (1, 4), (0, 4), (0, 4)]


def test_a_move_in_an_opened_record_makes_a_variation_and_nothing_is_lost() -> None:
    at = session(PEOPLE)
    at.open(b"(;SZ[5]RE[B+R];B[aa]C[first];W[bb])")
    at.command("go", {"to": 1})
    moves(at, "E5", "E4")
    now = snapshot(at)
    assert [each.colors for each in now.variations] == ["Bw", "wb"]
    told = at.record()[0]
    assert "".join(told.split()).endswith("B[aa]C[first](;W[bb])(;W[ea];B[eb]))")
    assert load_sgf(told.encode()).result == "B+R"


def test_of_a_file_with_several_games_the_first_is_shown_and_the_others_are_counted() -> None:
    at = session(PEOPLE)
    at.open(b"(;SZ[5]PB[One];B[aa])(;SZ[7]PB[Two];B[dd])\n(;SZ[9])")
    assert (snapshot(at).info["PB"], snapshot(at).notice.more_games) == ("One", 2)
    at.open(b"(;SZ[5]PB[One](;B[aa])(;B[bb]))")
    assert snapshot(at).notice.more_games == 0


def test_a_record_of_more_variations_than_can_be_shown_says_how_many_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.apps.web.records.MOST_VARIATIONS", 2)
    at = session(PEOPLE)
    at.open(b"(;SZ[5]RU[AGA](;B[aa])(;B[bb])(;B[cc]))")
    assert snapshot(at).notice.left_out == 1
    assert len(snapshot(at).variations) == 2


@pytest.mark.parametrize("cut_off", [False, True], ids=["whole", "without its last parenthesis"])
def test_variations_beyond_the_nodes_of_a_tree_and_those_that_cannot_be_read_are_counted(
    monkeypatch: pytest.MonkeyPatch, cut_off: bool
) -> None:
    monkeypatch.setattr("engine.records.sgf_source.MAX_NODES", 6)
    text = b"(;SZ[5]RU[AGA]C[(;W[aa\\])];B[aa](;W[bb](;B[cc])(;B[zz]))(;W[dd];B[ee](;W[ab])(;W[ac]))(;W[ba]))"
    at = session(PEOPLE)
    at.open(text[: len(text) - cut_off])
    assert len(snapshot(at).variations) + snapshot(at).notice.left_out == 5


def test_comments_markup_and_names_are_changed_and_saved(tmp_path: Path) -> None:
    at = session(PEOPLE, tmp_path)
    moves(at, "C3")
    at.command("edit", {"note": " a good move \n"})
    at.command("mark", {"at": "C3", "mark": "TR"})
    at.command("mark", {"at": "D4", "mark": "letter"})
    for mark in ("MA", "MA", "number", "number"):
        at.command("mark", {"at": "E5", "mark": mark})
    at.command("edit", {"PB": "Ann", "PW": "Ben", "BR": "3k", "EV": "Club night"})
    now = snapshot(at)
    assert (now.note, now.symbols, now.labels) == ("a good move", {vertex("C3"): "TR"}, {vertex("D4"): "A"})
    [saved] = tmp_path.iterdir()
    record = load_sgf(saved)
    assert record.comments == {1: "a good move"}
    assert record.markup == {1: Markup({vertex("C3"): "TR"}, {vertex("D4"): "A"})}
    assert (record.black, record.white, record.about["BR"], record.about["EV"]) == ("Ann", "Ben", "3k", "Club night")
    at.command("edit", {"BR": ""})
    assert "BR" not in load_sgf(saved).about
    again = session(PEOPLE)
    again.open(saved.read_bytes())
    assert (snapshot(again).note, snapshot(again).labels) == ("a good move", {vertex("D4"): "A"})
    assert snapshot(again).info["PB"] == "Ann"


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("edit", {"note": "x" * (LONGEST_NOTE + 1)}, "note: expected a text of at most"),
        ("edit", {"PB": 7}, "PB: expected a text"),
        ("edit", {"AB": "aa"}, "got AB"),
        ("edit", {"note": "late", "game": 0}, "another game is open"),
        ("mark", {"at": "C3", "mark": "XX"}, "expected TR, SQ, CR, MA, letter, number, got 'XX'"),
        ("mark", {"at": "C3", "mark": ["TR"]}, "expected TR"),
        ("mark", {"at": "C3"}, "expected TR"),
        ("mark", {"at": "pass", "mark": "letter"}, "expected a point, got pass"),
    ],
)
def test_what_cannot_be_written_is_refused(name: str, fields: dict[str, Any], message: str) -> None:
    at = session(PEOPLE)
    moves(at, "C3")
    before = at.record()[0]
    with pytest.raises(GoError, match=message):
        at.command(name, fields)
    assert at.record()[0] == before


def test_labels_are_the_letters_and_numbers_that_the_position_has_not() -> None:
    at = session(PEOPLE)
    for point, kind in (("A1", "letter"), ("A2", "letter"), ("A3", "number"), ("A1", "letter"), ("A4", "letter")):
        at.command("mark", {"at": point, "mark": kind})
    assert snapshot(at).labels == {vertex("A2"): "B", vertex("A3"): "1", vertex("A4"): "A"}


def test_dead_stones_stay_marked_while_other_positions_are_shown() -> None:
    at = session(PEOPLE)
    moves(at, "C3", "D3", "pass", "pass")
    at.position_counted(task(at), counted(snapshot(at).game))
    at.command("dead", {"at": "D3"})
    marked = snapshot(at).shown.count
    at.command("go", {"to": 1})
    assert snapshot(at).shown.count is None
    at.command("go", {"to": 4})
    assert snapshot(at).shown.count == marked
    assert snapshot(at).is_proposed


def test_a_count_that_waits_for_agreement_is_saved_as_the_result(tmp_path: Path) -> None:
    at = session(PEOPLE, tmp_path)
    moves(at, "C3", "D3", "pass", "pass")
    at.position_counted(task(at), counted(snapshot(at).game))
    [saved] = tmp_path.iterdir()
    assert load_sgf(saved).result == "W+7.5"
    at.command("dead", {"at": "D3"})
    assert load_sgf(saved).result == "B+17.5"
    assert snapshot(at).result is None


def test_a_new_game_begun_by_mistake_is_taken_back() -> None:
    at = session(PEOPLE)
    moves(at, "C3", "D3")
    at.command("new", {"size": 9})
    assert (snapshot(at).game.width, snapshot(at).may_undo) == (9, True)
    at.command("undo", {})
    now = snapshot(at)
    assert (now.game.width, len(now.line), now.settings.width) == (5, 2, 5)
    at.command("undo", {})
    at.command("undo", {})
    with pytest.raises(GoError, match="there is no move to take back"):
        at.command("undo", {})


def test_the_game_before_an_opened_record_and_the_record_take_turns() -> None:
    at = session(PEOPLE)
    moves(at, "C3")
    assert not snapshot(at).has_previous
    at.open(TREE)
    for width in (5, 9, 5):
        at.command("previous", {})
        assert snapshot(at).game.width == width


def test_a_comment_belongs_to_the_position_where_the_writing_began() -> None:
    at = session(PEOPLE)
    at.open(TREE)
    at.command("edit", {"note": "early", "variation": 2, "to": 3})
    assert snapshot(at).note == ""
    at.command("go", {"variation": 2, "to": 3})
    assert snapshot(at).note == "early"
    with pytest.raises(GoError, match="expected the number of a move, got 4"):
        at.command("edit", {"note": "late", "variation": 2, "to": 4})


def test_a_comment_that_comes_late_does_not_get_into_the_next_game() -> None:
    at = session(PEOPLE)
    moves(at, "C3")
    first = snapshot(at).open_game
    at.command("edit", {"note": "early", "game": first})
    at.open(b"(;SZ[5];B[aa]C[theirs])")
    assert snapshot(at).open_game != first
    with pytest.raises(GoError, match="another game is open"):
        at.command("edit", {"note": "late", "game": first})
    assert snapshot(at).note == "theirs"
    at.command("previous", {})
    at.command("edit", {"note": "late", "game": first})
    assert snapshot(at).note == "late"


def test_a_new_game_that_the_engine_began_is_taken_back() -> None:
    at = session(MIXED)
    moves(at, "C3")
    at.command("new", {"black": "engine", "white": "person"})
    at.engine_moved(task(at), vertex("D4"))
    at.command("undo", {})
    assert [move.vertex for move in snapshot(at).line] == [vertex("C3")]


def markup_of(data: bytes, record: Record) -> set[tuple[str, object]]:
    """Return all markup and kept properties of a record and its variations, wherever they stand."""
    lines = [record, *load_variations(data, record, 99)]
    found = [markup for line in lines for markup in line.markup.values()]
    symbols = [("symbol", each) for markup in found for each in markup.symbols.items()]
    labels = [("label", each) for markup in found for each in markup.labels.items()]
    others = [(key, each) for markup in found for key in markup.others for each in markup.others[key]]
    return {*symbols, *labels, *others}


def test_records_of_other_programs_that_are_opened_and_saved_keep_every_property() -> None:
    kept = 0
    found = iterate_records([require_shared("problems/sgf_files.tar.xz")], broken=lambda _: None)
    for name, data in islice(found, 0, None, 8):
        if len(data) > 10_000:
            continue
        try:
            before, _, notice = read_tree(data, CHINESE)
        except BadSgf:
            continue
        if notice.left_out:
            continue
        at = session(PEOPLE)
        at.open(data)
        saved = at.record()[0].encode()
        after, _, _ = read_tree(saved, CHINESE)
        setups = [[each.after for each in record.setups if each.stones] for record in (before, after)]
        assert (after.moves, setups[1]) == (before.moves, setups[0]), name
        assert markup_of(data, before) - markup_of(saved, after) == set(), name
        kept += 1
    assert kept > 25
