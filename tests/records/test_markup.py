"""Markup of records: what is read, and that it is written as it was read."""

from engine.records import markup
from engine.records.markup import Markup, MarkupReader
from engine.records.sgf import load_sgf, load_variations
from engine.records.sgf_writer import Variation, write_game
from engine.vertex import parse_sgf


def at(name: str) -> int:
    return parse_sgf(name, 9, 9)


def test_symbols_and_labels_are_read_with_their_position() -> None:
    record = load_sgf(b"(;SZ[9]TR[aa]LB[bb:A][cc:1\\:2];B[ee]SQ[ab:bc]CR[dd]MA[dd])")
    assert record.markup == {
        0: Markup({at("aa"): "TR"}, {at("bb"): "A", at("cc"): "1:2"}),
        1: Markup({at("ab"): "SQ", at("ac"): "SQ", at("bb"): "SQ", at("bc"): "SQ", at("dd"): "MA"}),
    }


def test_markup_that_is_not_on_the_board_is_left_out() -> None:
    record = load_sgf(b"(;SZ[9]TR[][zz][aa:bb:cc]LB[aa][aa:][zz:A];B[ee]LB[aa:%s])" % (b"x" * 99))
    assert record.markup == {1: Markup({}, {at("aa"): "x" * markup.LONGEST_LABEL})}


def test_points_are_read_up_to_a_limit() -> None:
    rectangle = b";B[]TR[aa:ss]"
    found = load_sgf(b"(;SZ[19]" + rectangle * 400 + b")").markup
    assert sum(len(each.symbols) for each in found.values()) < markup.MOST_POINTS + 361
    assert max(found) == -(-markup.MOST_POINTS // 361)


def test_markup_and_variations_are_written_as_they_were_read() -> None:
    text = b"(;SZ[9]LB[ii:A];B[ee]TR[ee](;W[cc]MA[aa]LB[ee:1\\:\\]])(;W[gg]CR[gg];B[aa]SQ[bb]))"
    main = load_sgf(text)
    others = [Variation(each.moves, each.comments, each.markup) for each in load_variations(text, main, 9)]
    written = write_game(main.game(), markup=main.markup, variations=others).encode()
    again = load_sgf(written)
    assert again.markup == main.markup
    assert [each.markup for each in load_variations(written, again, 9)] == [others[0].markup]


def test_a_game_with_a_variation_at_each_of_its_moves_is_written() -> None:
    # Deeper than Python's limit of recursion.
    passes = load_sgf(b"(;SZ[9]" + b";B[];W[]" * 1000 + b")").moves
    other = load_sgf(b"(;SZ[9];B[aa])").moves[0]
    lines = [Variation([*passes[:number], other], {}) for number in range(1, 2000)]
    text = write_game(load_sgf(b"(;SZ[9];B[])").game(), variations=[Variation(passes, {}), *lines])
    assert (text.count("B[aa]"), text.count("W[]")) == (1999, 1000)


def test_properties_that_are_not_understood_are_written_as_they_were_read() -> None:
    text = (
        b"(;SZ[9]ST[2]KGSDE[x\\]y]DD[];B[ee]BL[29.5]AR[aa:bb][cc:dd]SL[aa:cc](;W[cc]WL[3]OW[2]N[a name])(;W[gg]DM[1]))"
    )
    main = load_sgf(text)
    others = [Variation(each.moves, each.comments, each.markup) for each in load_variations(text, main, 9)]
    written = write_game(main.game(), markup=main.markup, variations=others).encode()
    for kept in (
        b"ST[2]",
        b"KGSDE[x\\]y]",
        b"DD[]",
        b"BL[29.5]",
        b"AR[aa:bb][cc:dd]",
        b"SL[aa:cc]",
        b"WL[3]",
        b"OW[2]",
    ):
        assert kept in written
    assert b"N[a name]" in written and b"DM[1]" in written
    assert load_sgf(written).markup == main.markup


def test_arrows_and_lines_have_two_ends_on_the_board() -> None:
    record = load_sgf(b"(;SZ[9]AR[aa:bb][aa][zz:aa]LN[aa:cc:dd][ii:ia])")
    found = MarkupReader(9, 9).lines(record.markup[0].others)
    assert found == [("AR", at("aa"), at("bb")), ("LN", at("ii"), at("ia"))]
