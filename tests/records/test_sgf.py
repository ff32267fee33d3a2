"""Records: what is read, and what is refused and in which words."""

import bz2
import os
import random
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.board.layout import COLOR
from engine.color import BLACK, WHITE
from engine.errors import BadSgf
from engine.game import Game
from engine.records.sgf import iterate_sgfl, load_sgf, load_variations
from engine.records.sgf_source import MAX_BYTES, MAX_NODES
from engine.records.sgf_writer import write_game
from engine.rules import PRESETS, parse_rules
from engine.vertex import PASS, format_vertex, parse_vertex
from tests.shared import require_shared


def stones(game: Game, color: int) -> set[str]:
    """Return the GTP vertices that hold a color."""
    width, height = game.width, game.height
    names = [f"{column}{row}" for row in range(1, height + 1) for column in "ABCDEFGHJKLMNOPQRSTUVWXYZ"[:width]]
    return {name for name in names if game.color_at(parse_vertex(name, width, height)) == color}


def test_root_properties_are_read() -> None:
    record = load_sgf(b"(;GM[1]FF[4]SZ[9]KM[6.5]HA[2]RU[Japanese]RE[W+R]PB[A \\] B]PW[C]AB[cc][gg];W[ee];B[])")
    assert (record.width, record.height, record.komi, record.handicap) == (9, 9, 6.5, 2)
    assert (record.result, record.black, record.white) == ("W+R", "A ] B", "C")
    assert record.rules == PRESETS["japanese"]
    game = record.game()
    assert stones(game, BLACK) == {"C7", "G3"}
    assert stones(game, WHITE) == {"E5"}
    assert game.moves[1] == (BLACK, PASS)
    assert game.handicap == 2
    assert game.to_play == WHITE


@pytest.mark.parametrize(
    ("size", "expected"), [("", (19, 19)), ("SZ[7]", (7, 7)), ("SZ[9:13]", (9, 13)), ("SZ[ 25 ]", (25, 25))]
)
def test_board_size(size: str, expected: tuple[int, int]) -> None:
    record = load_sgf(f"(;{size};B[aa])".encode())
    assert (record.width, record.height) == expected


@pytest.mark.parametrize(
    ("number", "black", "white", "to_play"),
    [
        (1, set(), set(), BLACK),
        (2, {"A9"}, set(), WHITE),
        (3, {"A9"}, {"B9"}, BLACK),
        (99, {"A9", "C9"}, {"B9"}, WHITE),
        (None, {"A9", "C9"}, {"B9"}, WHITE),
    ],
)
def test_position_before_a_move(number: int | None, black: set[str], white: set[str], to_play: int) -> None:
    game = load_sgf(b"(;SZ[9];B[aa];W[ba];B[ca])").game(number)
    assert (stones(game, BLACK), stones(game, WHITE), game.to_play) == (black, white, to_play)


def test_given_rules_and_komi_stand_above_the_record() -> None:
    record = load_sgf(b"(;SZ[9]KM[0.5]RU[Japanese])")
    assert record.game().komi == 0.5
    game = record.game(rules=parse_rules("chinese"), komi=3.0)
    assert (game.komi, game.rules) == (3.0, PRESETS["chinese"])


def test_tt_is_a_pass_up_to_19x19_only() -> None:
    assert load_sgf(b"(;SZ[19];B[tt])").moves[0].vertex == PASS
    assert format_vertex(load_sgf(b"(;SZ[21];B[tt])").moves[0].vertex, 21, 21) == "U2"


def test_setup_in_a_later_node_before_any_move_is_setup() -> None:
    game = load_sgf(b"(;SZ[9]HA[2];AB[cc][gg];W[ee])").game()
    assert game.move_number == 1
    assert game.handicap == 2


def test_setup_after_a_move_changes_the_position_and_starts_anew() -> None:
    record = load_sgf(b"(;SZ[9];B[aa];W[bb];AE[aa]AW[aa]AB[cc]PL[W];W[dd])")
    game = record.game()
    assert (stones(game, BLACK), stones(game, WHITE)) == ({"C7"}, {"A9", "B8", "D6"})
    assert game.move_number == 1
    assert record.game(3).move_number == 0


def test_a_setup_that_changes_nothing_is_none() -> None:
    record = load_sgf(b"(;SZ[5]AB[ab];W[aa];B[ba];W[ca];B[cb];AE[ee]PL[W];W[dd]PL[B])")
    game = record.game()
    assert (len(game.moves), game.captured(WHITE)) == (5, 1)
    assert [setup.after for setup in record.setups] == [0, 4]


@pytest.mark.parametrize(
    ("text", "number", "to_play"),
    [
        (b"(;SZ[9];B[aa];W[bb];PL[W])", None, WHITE),
        (b"(;SZ[9];B[aa];W[bb];PL[B])", None, BLACK),
        (b"(;SZ[9];W[aa];B[bb];AB[ee])", 1, WHITE),
        (b"(;SZ[9];B[aa];W[bb];AW[ee])", None, BLACK),
        (b"(;SZ[9];B[aa];AB[ee];B[bb];W[cc])", 2, BLACK),
    ],
)
def test_who_is_to_move_after_a_record_or_before_it(text: bytes, number: int | None, to_play: int) -> None:
    assert load_sgf(text).game(number).to_play == to_play


def test_rectangles_of_points_are_read_from_any_corner() -> None:
    assert stones(load_sgf(b"(;SZ[9]AB[aa:bb][ci:ca]AE[cb:ci])").game(), BLACK) == {"A9", "B9", "A8", "B8", "C9"}


@pytest.mark.parametrize(
    ("text", "to_play"),
    [
        (b"(;SZ[9]PL[W])", WHITE),
        (b"(;SZ[9]PL[black]AB[aa][bb])", BLACK),
        (b"(;SZ[9]AB[aa][bb])", WHITE),
        (b"(;SZ[9]AB[aa]AW[bb])", BLACK),
        (b"(;SZ[9];W[aa])", WHITE),
    ],
)
def test_who_moves_first(text: bytes, to_play: int) -> None:
    assert load_sgf(text).game(1).to_play == to_play


@pytest.mark.parametrize(
    ("text", "komi", "warned"),
    [
        ("6,5", 6.5, False),
        ("-3.5", -3.5, False),
        ("", None, False),
        ("abc", None, True),
        ("nan", None, True),
        ("inf", None, True),
        ("1e9", None, True),
        ("375", 7.5, True),
        ("650", 6.5, True),
    ],
)
def test_komi(text: str, komi: float | None, warned: bool) -> None:
    record = load_sgf(f"(;KM[{text}])".encode())
    assert record.komi == komi
    assert bool(record.warnings) == warned


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("(;CA[UTF-8]PB[申旻埈])".encode(), "申旻埈"),
        ("(;PB[申旻埈])".encode(), "申旻埈"),
        (b"\xef\xbb\xbf" + "(;PB[申旻埈])".encode(), "申旻埈"),
        ("\ufeff(;PB[申旻埈])".encode("utf-16-le"), "申旻埈"),
        ("(;CA[GB2312]PB[古力])".encode("gbk"), "古力"),
        ("(;PB[古力])".encode("gbk"), "古力"),
        ("(;CA[Shift_JIS]PB[能表ソ])".encode("shift_jis"), "能表ソ"),
        ("(;CA[Big5]PB[許功蓋])".encode("big5"), "許功蓋"),
        ("(;PB[M\u00fcller])".encode("latin-1"), "M\u00fcller"),
        ("(;CA[UTF-8]PB[M\u00fcller])".encode("latin-1"), "M\u00fcller"),
        ("(;CA[foo]PB[M\u00fcller])".encode("latin-1"), "M\u00fcller"),
        ("(;CA[punycode]PB[M\u00fcller])".encode("latin-1"), "M\u00fcller"),
        ("(;CA[zlib]PB[M\u00fcller])".encode(), "M\u00fcller"),
        ("(;CA[Shift_JIS]PB[髙尾紳路])".encode("cp932"), "髙尾紳路"),
        ("(;PB[九段表])".encode("cp932"), "九段表"),
        ("(;CA[GB2312]PB[朱镕])".encode("gbk"), "朱镕"),
        ("(;PB[朱镕])".encode("gbk"), "朱镕"),
        ("(;CA[ISO-8859-1]PB[5 €])".encode("cp1252"), "5 €"),
        ("(;PB[Mü\u00dfig])".encode("latin-1"), "Mü\u00dfig"),
        ("(;PB[黑棋手]PW[白棋手]C[对局E])".encode().replace(b"E", b"<\xe3\x80?"), "黑棋手"),
        ("(;PB[黑棋手]PW[白棋手]C[对局E])".encode("gb18030").replace(b"E", b"\xe3\x80?"), "黑棋手"),
        (("(;CA[Shift_JIS]PB[九段表]C[%s])" % ("表" * 30)).encode("cp932").replace(b"C[\x95", b"C[\xff"), "九段表"),
    ],
)
def test_encodings(data: bytes, name: str) -> None:
    assert load_sgf(data).black == name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "no SGF data"),
        (b"hello (world)", "no SGF data"),
        (b"(;SZ[9]\n;B[aa];W[bb]C[never closed", "line 2: not valid SGF"),
        (b"(;SZ[9]\n;B[aa]\n;W[bb]]])", "line 3: not valid SGF"),
        (b"(;SZ[9];B)", "not valid SGF"),
        (b"(;GM[3])", "root: GM[3]: not a game of Go"),
        (b"(;SZ[26])", "root: SZ[26]: expected a size from 1x1 to 25x25"),
        (b"(;SZ[0])", "root: SZ[0]: expected a size from"),
        (b"(;SZ[-10])", "root: SZ[-10]: expected a board size such as 19 or 13:9"),
        (b"(;SZ[9:9:9])", "root: SZ[9:9:9]: expected a board size such as 19 or 13:9"),
        (b"(;SZ[9];B[aa];W[zz])", "move 2: W[zz]: SGF point"),
        (b"(;SZ[9];B[aa];W[Q16\n])", "move 2: W[Q16]: expected an SGF point"),
        (b"(;SZ[9];B[aa][bb])", "move 1: B: 2 moves in one node"),
        (b"(;SZ[9]AB[jj])", "setup after move 0: AB[jj]"),
        (b"(;SZ[9];B[aa];AW[a])", "setup after move 1: AW[a]"),
        (b"(;SZ[9]AB[aa:])", "setup after move 0: AB[aa:]"),
    ],
)
def test_malformed_records_are_refused_in_one_line(text: bytes, words: str) -> None:
    with pytest.raises(BadSgf) as caught:
        load_sgf(text, name="x.sgf")
    assert str(caught.value).startswith("x.sgf: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"(;SZ[9];B[aa];W[aa])", "x.sgf: move 2: W[aa]: illegal move A9: occupied"),
        (b"(;SZ[9]AB[ab][ba];W[aa])", "x.sgf: move 1: W[aa]: illegal move A9: suicide"),
        (b"(;SZ[9]AB[aa]AW[ab][ba])", "x.sgf: setup after move 0: AB/AW: A9: chain without liberties"),
    ],
)
def test_unplayable_records_name_the_move(text: bytes, words: str) -> None:
    record = load_sgf(text, name="x.sgf")
    with pytest.raises(BadSgf) as caught:
        record.game()
    assert str(caught.value) == words


def test_move_zero_is_refused() -> None:
    with pytest.raises(BadSgf, match="no move 0"):
        load_sgf(b"(;SZ[9])").game(0)


def test_superko_and_multi_stone_suicide_are_accepted_in_records() -> None:
    suicide = load_sgf(b"(;SZ[5]RU[Chinese]AB[ba]AW[ca][ab][bb];B[aa])").game()
    assert stones(suicide, BLACK) == set()


def test_variations_and_later_games_are_left_out() -> None:
    record = load_sgf(b"junk (;SZ[9];B[aa](;W[bb];B[cc](;W[dd])(;W[ee]))(;W[ff]))(;SZ[13])")
    assert [format_vertex(move.vertex, 9, 9) for move in record.moves] == ["A9", "B8", "C7", "D6"]


def test_record_cut_off_between_moves_is_read_with_a_warning() -> None:
    record = load_sgf(b"(;SZ[9];B[aa];W[bb]\n")
    assert len(record.moves) == 2
    assert "cut off" in record.warnings[0]


@pytest.mark.parametrize("encoding", ["cp932", "gb18030", "cp950"])
def test_no_move_is_lost_to_a_character_that_ends_in_a_backslash(encoding: str) -> None:
    name = {"cp932": "髙田表", "gb18030": "朱誠", "cp950": "許功"}[encoding]
    charset = {"cp932": "Shift_JIS", "gb18030": "GB2312", "cp950": "Big5"}[encoding]
    record = load_sgf(f"(;CA[{charset}]PB[{name}]PW[x];B[aa]C[{name}];W[bb];B[cc])".encode(encoding))
    assert (record.black, record.white, len(record.moves), record.warnings) == (name, "x", 3, ())


@pytest.mark.timeout(120)
def test_what_is_never_closed_is_looked_through_once() -> None:
    # Takes 0.2 s; to look for the end of each again would take some minutes.
    with pytest.raises(BadSgf):
        load_sgf(b"(;GM[1]C" + b"[" * 3_000_000)


def test_deep_nesting_neither_crashes_nor_hangs() -> None:
    record = load_sgf(b"(;SZ[9]" + b"(;B[aa]" + b"(;C[x]" * 9_000 + b")" * 9_002)
    assert len(record.moves) == 1
    with pytest.raises(BadSgf, match="more than"):
        load_sgf(b"(;" * 1_000_000)


def test_moves_after_what_was_meant_as_text_are_not_lost_in_silence() -> None:
    record = b"(;SZ[9]\nGC[a penalty (=6 [points])]\nUS[x]\n;B[aa];W[bb])"
    with pytest.raises(BadSgf, match="line 2: the game ends without a move, and moves follow"):
        load_sgf(record)
    assert len(load_sgf(record.replace(b"points]", b"points\\]")).moves) == 2
    record = load_sgf(b"(;SZ[9];B[aa]C[a (=6 [points])];W[bb])")
    assert (len(record.moves), record.warnings) == (1, ("moves after the end of the game are ignored",))


@pytest.mark.parametrize(
    "after", ["(;SZ[9];B[aa])", "&nbsp;", ";a comment", ";(;SZ[9];B[aa])", "</pre>&quot;x[1]&quot;"]
)
def test_other_text_after_a_game_without_moves_does_no_harm(after: str) -> None:
    record = load_sgf(b"(;SZ[9]AB[aa])" + after.encode())
    assert (record.moves, record.warnings) == ((), ())


def test_endless_records_are_refused() -> None:
    with pytest.raises(BadSgf, match=f"more than {MAX_NODES} moves"):
        load_sgf(b"(;SZ[9]" + b";B[]" * (MAX_NODES + 1) + b")")
    with pytest.raises(BadSgf, match="values"):
        load_sgf(b"(;SZ[9]AB" + b"[aa]" * 600_000 + b")")
    with pytest.raises(BadSgf, match="setup after move 0: AE: more than 100000 stones"):
        load_sgf(b"(;SZ[25]" + b";AE[aa:yy]" * 1_000 + b")")


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSgf, match="no such file"):
        load_sgf(tmp_path / "absent.sgf")
    with pytest.raises(BadSgf, match="a folder, not a file"):
        load_sgf(tmp_path)
    with pytest.raises(BadSgf, match="not a regular file"):
        load_sgf(Path(os.devnull))
    large = tmp_path / "large.sgf"
    with large.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(BadSgf, match="larger than 64 MiB"):
        load_sgf(large)


def test_sgfl_yields_one_game_a_line(tmp_path: Path) -> None:
    text = b"(;SZ[9];B[aa])\n\n(;SZ[13])\n"
    plain, packed, broken = tmp_path / "a.sgfl", tmp_path / "a.sgfl.bz2", tmp_path / "b.sgfl.bz2"
    plain.write_bytes(text)
    packed.write_bytes(bz2.compress(text))
    broken.write_bytes(bz2.compress(text)[:-5])
    for path in (plain, packed):
        assert [load_sgf(line).width for line in iterate_sgfl(path)] == [9, 13]
    for path in (broken, tmp_path / "absent.sgfl"):
        with pytest.raises(BadSgf, match="cannot be read"):
            list(iterate_sgfl(path))


def peak_memory() -> int:
    """Return the largest resident size of this process so far, in bytes."""
    resource = pytest.importorskip("resource")
    kibibytes: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kibibytes << 10


def test_every_collected_file_is_read_or_refused() -> None:
    archive = require_shared("problems/sgf_files.tar.xz")
    read = refused = 0
    before = peak_memory()
    with tarfile.open(archive) as tar:
        for member in tar:
            file = tar.extractfile(member) if member.isfile() else None
            if file is None:
                continue
            try:
                game = load_sgf(file.read(), name=member.name).game()
                again = load_sgf(write_game(game).encode(), name=member.name).game()
                assert again.moves == game.moves, member.name
                # A record has no place for prisoners of moves before stones that are set up.
                assert (again.board[COLOR] == game.board[COLOR]).all(), member.name
                read += 1
            except BadSgf as error:
                assert "\n" not in str(error)
                refused += 1
    grown = peak_memory() - before
    print(f"read {read}, refused {refused}, memory grown by {grown >> 20} MiB")
    assert read + refused == 1103
    assert read > 1050
    assert grown < 200 << 20


SAMPLE = (
    "(;GM[1]FF[4]CA[UTF-8]SZ[9]KM[6.5]RU[Chinese]AB[cc][gg:hh]AW[aa]"
    ";B[dd]C[x \\] y];W[];PL[B]AE[cc];B[ee](;W[ff])(;W[gf]))"
)
PIECES = ["(", ")", ";", "[", "]", "\\", ":", "B", "W", "AB", "AE", "SZ", "[aa]", "[zz]", "CA[gbk]"]
PIECES += ["\u7530", "\xff", "\x00", "\n"]


def check_any_bytes(data: bytes) -> None:
    """Read bytes as a record: it works, or is refused in one line."""
    try:
        record = load_sgf(data, name="fuzz")
        game = record.game()
        assert len(load_variations(data, record, 10)) <= 10
    except BadSgf as error:
        assert str(error).startswith("fuzz: ")
        assert "\n" not in str(error)
        return
    again = load_sgf(write_game(game).encode()).game()
    assert (again.moves, again.to_play) == (game.moves, game.to_play)
    assert (again.board == game.board).all()


def mutated(generator: random.Random) -> bytes:
    """Return the sample with some pieces put in, taken out or doubled, in a random encoding."""
    text = SAMPLE
    for _ in range(generator.randrange(1, 6)):
        start = generator.randrange(len(text) + 1)
        end = min(len(text), start + generator.randrange(8))
        text = text[:start] + generator.choice([*PIECES, text[start:end] * 2]) + text[generator.choice([start, end]) :]
    return text.encode(generator.choice(["utf-8", "latin-1", "gbk", "utf-16"]), "replace")


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    check_any_bytes(data)
    check_any_bytes(b"(;" + data)


def test_damaged_records_are_read_or_refused() -> None:
    generator = random.Random(1)
    for _ in range(500):
        check_any_bytes(mutated(generator))


@pytest.mark.slow
def test_fuzz_damaged_records() -> None:
    generator = random.Random()
    for _ in range(100_000):
        data = mutated(generator)
        try:
            check_any_bytes(data)
        except Exception as error:
            raise AssertionError(f"{data!r}") from error


def test_more_places_of_setup_stones_than_anybody_needs_are_refused() -> None:
    with pytest.raises(BadSgf, match="more than 1000 setups"):
        load_sgf(b"(;SZ[5];B[aa]" + b";AB[bb];AE[bb]" * 501 + b")")
