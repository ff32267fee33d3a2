"""Openings are the first moves of records, each position once, in an order that the seed decides."""

import bz2
from pathlib import Path

import pytest

from engine.match.errors import MatchError
from engine.match.openings import OpeningBook, read_openings
from engine.rules import TROMP_TAYLOR, parse_rules
from engine.vertex import format_vertex
from tests.shared import require_shared

COMMON = ";B[cc];W[gc];B[gg];W[cg]"


def write(folder: Path, *records: str, size: str = "9") -> Path:
    """Write records, each given by its moves, one to a file, and return the folder."""
    for number, moves in enumerate(records, 1):
        (folder / f"{number}.sgf").write_text(f"(;SZ[{size}]{moves})")
    return folder


def book(*sources: Path, moves: int | None = 4, seed: int = 0, count: int = 99) -> OpeningBook:
    """Return the openings on 9x9 of the given sources."""
    return read_openings(sources, 9, 9, TROMP_TAYLOR, moves=moves, seed=seed, count=count)


def shown(openings: OpeningBook) -> list[str]:
    """Return the moves of each opening, in order of the records' names."""
    named = sorted(openings.openings, key=lambda opening: opening.name)
    return [" ".join(format_vertex(move.vertex, 9, 9) for move in opening.moves) for opening in named]


def test_an_opening_is_the_first_moves_of_a_record(tmp_path: Path) -> None:
    folder = write(tmp_path, COMMON + ";B[ee]", ";B[ee];W[ce];B[ec];W[eg]")
    assert shown(book(folder)) == ["C7 G7 G3 C3", "E5 C5 E7 E3"]
    assert shown(book(folder, moves=2)) == ["C7 G7", "E5 C5"]
    assert shown(book(folder, moves=None)) == ["C7 G7 G3 C3 E5", "E5 C5 E7 E3"]


def test_equal_positions_are_one_opening_whatever_the_order_and_the_symmetry(tmp_path: Path) -> None:
    other_order = ";B[gg];W[cg];B[cc];W[gc]"
    turned = ";B[cg];W[cc];B[gc];W[gg]"
    colors_changed = ";B[gc];W[cc];B[cg];W[gg]"
    different = ";B[cc];W[gg];B[gc];W[cg]"
    folder = write(tmp_path, COMMON, other_order, turned, colors_changed, different)
    assert len(book(folder).openings) == 2


@pytest.mark.parametrize("seed", [0, 1])
def test_the_seed_decides_the_order_and_a_longer_match_appends(tmp_path: Path, seed: int) -> None:
    folder = write(tmp_path, *(f";B[e{c}];W[a{c}]" for c in "abcde"))
    whole = book(folder, moves=2, seed=seed)
    assert whole == book(folder, moves=2, seed=seed)
    assert whole.openings != book(folder, moves=2, seed=seed + 1).openings
    for count in (1, 3):
        part = book(folder, moves=2, seed=seed, count=count)
        assert part.openings == whole.openings[:count]
        assert part.to_json() == whole.to_json()


def test_other_records_give_another_digest(tmp_path: Path) -> None:
    folder = write(tmp_path, COMMON)
    before = book(folder).to_json()
    write(folder, COMMON, ";B[ee];W[ce];B[ec];W[eg]")
    assert book(folder).to_json() != before


def test_files_folders_and_collections_are_sources(tmp_path: Path) -> None:
    folder = write(tmp_path, COMMON)
    lines = "".join(f"(;SZ[9];B[e{c}];W[a{c}];B[bb];W[hh])\n" for c in "abc").encode()
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "plain.sgfl").write_bytes(lines)
    (tmp_path / "packed.sgfl.bz2").write_bytes(bz2.compress(lines))
    (tmp_path / "notes.txt").write_text("no record")
    assert [opening.name for opening in book(folder / "1.sgf").openings] == ["1.sgf"]
    packed = book(tmp_path / "packed.sgfl.bz2")
    assert sorted(opening.name for opening in packed.openings) == [f"packed.sgfl.bz2:00000{n}" for n in (1, 2, 3)]
    assert len(book(folder).openings) == 4
    assert len(book(folder / "1.sgf", tmp_path / "packed.sgfl.bz2").openings) == 4


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ("(;SZ[19]" + COMMON + ")", "of another board size"),
        ("(;SZ[9];B[cc])", "too short"),
        ("(;SZ[9]HA[2]AB[cc][gg];W[ee];B[gc];W[ec];B[ce])", "with handicap or setup stones"),
        ("(;SZ[9];W[cc];B[gc];W[gg];B[cg])", "with a pass or without alternating colors from Black"),
        ("(;SZ[9];B[cc];W[];B[gg];W[cg])", "with a pass or without alternating colors from Black"),
        ("(;SZ[9];B[cc];W[cc];B[gg];W[cg])", "with a move that the rules forbid"),
        ("(;SZ[9];B[??])", "not readable"),
    ],
)
def test_records_that_give_no_opening_are_left_out(tmp_path: Path, record: str, reason: str) -> None:
    (tmp_path / "bad.sgf").write_text(record)
    with pytest.raises(MatchError, match=f"none of 1 records can be used: 1 {reason}"):
        book(tmp_path)
    write(tmp_path, COMMON)
    assert [opening.name for opening in book(tmp_path).openings] == ["1.sgf"]


def test_whole_records_are_no_openings_where_they_are_whole_games(tmp_path: Path) -> None:
    points = [f"{column}{row}" for row in "abcde" for column in "abcdefghi"]
    folder = write(tmp_path, "".join(f";{'BW'[i % 2]}[{point}]" for i, point in enumerate(points[:41])))
    with pytest.raises(MatchError, match="1 too long to be whole openings"):
        book(folder, moves=None)
    assert len(book(folder, moves=40).openings) == 1


def test_the_rules_of_the_match_judge_an_opening(tmp_path: Path) -> None:
    suicide = ";B[ab];W[ii];B[bb];W[ih];B[cb];W[aa];B[ca];W[ba]"
    folder = write(tmp_path, suicide)
    assert len(read_openings([folder], 9, 9, parse_rules("tromp-taylor"), moves=8, seed=0, count=1).openings) == 1
    with pytest.raises(MatchError, match="with a move that the rules forbid"):
        read_openings([folder], 9, 9, parse_rules("chinese"), moves=8, seed=0, count=1)


def test_sources_that_hold_nothing_are_errors(tmp_path: Path) -> None:
    with pytest.raises(MatchError, match="none of 0 records can be used"):
        book(tmp_path)
    with pytest.raises(MatchError, match=r"openings: .*no such file"):
        book(tmp_path / "absent.sgf")


def test_too_few_openings_are_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, COMMON)
    assert len(book(tmp_path, count=2).openings) == 1
    assert "1 different openings for 2 pairs of games" in caplog.text


def test_strong_games_give_different_openings() -> None:
    source = require_shared("games/strong9.sgfl.bz2")
    openings = read_openings([source], 9, 9, TROMP_TAYLOR, moves=6, seed=1, count=100)
    assert len({opening.moves for opening in openings.openings}) == 100
    assert all(len(opening.moves) == 6 for opening in openings.openings)
