"""Comments and variations are added to a record; everything else stays as it was."""

from engine.color import BLACK, WHITE
from engine.game import Move
from engine.records.sgf import load_sgf, load_variations
from engine.records.sgf_editor import RecordEditor
from engine.vertex import format_sgf, parse_sgf


def edited(text: str, comments: dict[int, str], variations: dict[int, str]) -> str:
    """Return a record with comments, and variations as alternating moves from White or Black."""
    data = text.encode()
    record = load_sgf(data)
    editor = RecordEditor(data, record)
    for number, comment in comments.items():
        editor.comment(number, comment)
    for number, moves in variations.items():
        first = record.moves[number - 1].color
        colors = (first, BLACK + WHITE - first)
        line = [Move(colors[place % 2], parse_sgf(move, 9, 9)) for place, move in enumerate(moves.split())]
        editor.add_variation(number, line, "Better")
    return editor.text()


def lines_of(text: str) -> list[str]:
    """Return the lines of play besides the main one, as SGF points."""
    data = text.encode()
    width = 9
    return [
        " ".join(
            "abcdefghi"[move.vertex % (width + 1) - 1] + "abcdefghi"[move.vertex // (width + 1) - 1]
            for move in each.moves
        )
        for each in load_variations(data, load_sgf(data), 100)
    ]


def test_a_comment_is_added_after_the_record_s_own() -> None:
    found = load_sgf(edited("(;SZ[9];B[ee]C[Mine];W[cc])", {1: "Yours ] \\", 2: "New"}, {}).encode())
    assert dict(found.comments) == {1: "Mine\n\nYours ] \\", 2: "New"}


def test_moves_of_both_colors_in_a_node_keep_their_order() -> None:
    text = edited("(;SZ[9];W[gc]B[cg]C[Both];W[ee]B[dd])", {1: "First", 4: "Last"}, {3: "ff gg"})
    found = load_sgf(text.encode())
    assert [(move.color, format_sgf(move.vertex, 9)) for move in found.moves] == [
        (WHITE, "gc"),
        (BLACK, "cg"),
        (WHITE, "ee"),
        (BLACK, "dd"),
    ]
    assert dict(found.comments) == {1: "First", 2: "Both", 4: "Last"}
    assert lines_of(text) == ["gc cg ff gg"]


def test_a_variation_begins_instead_of_its_move() -> None:
    text = edited("(;SZ[9];B[ee];W[cc];B[gg])", {}, {1: "dd ff", 3: "hh"})
    assert [move.vertex for move in load_sgf(text.encode()).moves] == [
        parse_sgf(each, 9, 9) for each in ("ee", "cc", "gg")
    ]
    assert sorted(lines_of(text)) == ["dd ff", "ee cc hh"]


def test_a_move_in_the_root_gets_a_node_of_its_own_for_its_variation() -> None:
    text = edited("(;SZ[9]PB[Me]B[ee]C[Mine];W[cc];B[gg])", {1: "Bad"}, {1: "dd ff"})
    found = load_sgf(text.encode())
    assert [format_sgf(move.vertex, 9) for move in found.moves] == ["ee", "cc", "gg"]
    assert (found.black, found.comments[1]) == ("Me", "Mine\n\nBad")
    assert lines_of(text) == ["dd ff"]


def test_variations_of_the_record_stay_beside_the_new_one() -> None:
    text = edited("(;SZ[9];B[ee](;W[cc];B[gg])(;W[gc]C[Old](;B[dd])(;B[ff])))", {}, {2: "ge gg"})
    assert sorted(lines_of(text)) == ["ee gc dd", "ee gc ff", "ee ge gg"]
    assert "C[Old]" in text


def test_markup_setup_and_unknown_properties_stay() -> None:
    original = "(;SZ[9]FF[4]XY[a][b]AB[aa]TR[aa];B[ee]LB[ee:1]BL[30];AE[aa]AW[bb];W[cc]MA[cc])"
    text = edited(original, {2: "Here"}, {2: "dd"})
    for part in ("XY[a][b]", "TR[aa]", "LB[ee:1]", "BL[30]", "AW[bb]", "AE[aa]", "MA[cc]"):
        assert part in text
    one, other = load_sgf(original.encode()), load_sgf(text.encode())
    assert (one.moves, one.setups, one.markup) == (other.moves, other.setups, other.markup)
    [variation] = load_variations(text.encode(), other, 9)
    assert variation.setups == other.setups


def test_stones_set_up_in_the_node_of_a_move_are_in_its_variation() -> None:
    text = edited("(;SZ[9];B[ee];AB[aa]W[cc])", {}, {2: "dd"})
    [variation] = load_variations(text.encode(), load_sgf(text.encode()), 9)
    assert [setup.after for setup in variation.setups] == [1]


def test_records_in_other_encodings_become_utf_8() -> None:
    data = "(;SZ[9]CA[GB2312]PB[\u8fde\u7b11];B[ee])".encode("gb2312")
    editor = RecordEditor(data, load_sgf(data))
    editor.comment(1, "\u00e4")
    found = load_sgf(editor.text().encode())
    assert (found.black, found.comments[1]) == ("\u8fde\u7b11", "\u00e4")


def test_of_a_damaged_tree_the_main_line_is_kept() -> None:
    text = edited("(;SZ[9];B[ee];W[cc]", {2: "Still here"}, {})
    found = load_sgf(text.encode())
    assert (len(found.moves), found.comments[2]) == (2, "Still here")
