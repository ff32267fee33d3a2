"""Where game records come from: files of one game or many, lines, folders and archives."""

import bz2
import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from engine.errors import BadSgf
from engine.records.sgf import load_sgf
from engine.records.sgf_source import iterate_records


def archive_of(path: Path, files: dict[str, bytes]) -> Path:
    """Write files into a .zip or a tar archive, as the name of the path says."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as zipped:
            for name, data in files.items():
                zipped.writestr(name, data)
        return path
    packing = "" if path.suffix == ".tar" else path.suffix[1:]
    with tarfile.open(path, f"w:{packing}") as tarred:  # type: ignore[call-overload]
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tarred.addfile(member, io.BytesIO(data))
    return path


@pytest.mark.parametrize("suffix", ["zip", "tar", "tar.gz", "tar.bz2", "tar.xz"])
def test_records_are_found_in_folders_archives_and_numbered_lines(tmp_path: Path, suffix: str) -> None:
    files = {"b/1.sgf": b"(;B[aa])", "b/readme.txt": b"(;B[zz])", "b/2.sgfl.bz2": bz2.compress(b"(;B[bb])\n(;B[cc])\n")}
    packed = archive_of(tmp_path / f"x.{suffix}", files)
    folder = tmp_path / "folder" / "deep"
    folder.mkdir(parents=True)
    (folder / "z.sgf").write_bytes(b"(;B[dd])")
    (folder / "a.sgfl").write_bytes(b"(;B[ee])\n\n(;B[ff])")
    (folder / "notes").write_bytes(b"(;B[zz])")
    archive_of(folder / "y.zip", {"3.sgf": b"(;B[gg])"})
    found = dict(iterate_records([packed, folder.parent]))
    assert {name: data.strip() for name, data in found.items()} == {
        f"x.{suffix}/b/1.sgf": b"(;B[aa])",
        f"x.{suffix}/b/2.sgfl.bz2:000001": b"(;B[bb])",
        f"x.{suffix}/b/2.sgfl.bz2:000002": b"(;B[cc])",
        "a.sgfl:000001": b"(;B[ee])",
        "a.sgfl:000003": b"(;B[ff])",
        "y.zip/3.sgf": b"(;B[gg])",
        "z.sgf": b"(;B[dd])",
    }


@pytest.mark.parametrize("encoding", ["cp932", "utf-16"])
def test_every_game_of_a_file_is_found_whatever_its_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "x.SGF"
    path.write_bytes("(;CA[Shift_JIS]PB[髙田];B[aa]C[見る表])(;CA[Shift_JIS]PB[九段表];B[bb])".encode(encoding))
    found = [load_sgf(data) for _, data in iterate_records([tmp_path])]
    assert [(record.black, len(record.moves)) for record in found] == [("髙田", 1), ("九段表", 1)]


def test_every_game_of_a_file_is_found(tmp_path: Path) -> None:
    games = [b"(;C[(;\\]];B[aa](;W[bb])(;W[cc]))", b"(\n;B[dd])", b"(;B[ee]"]
    path = tmp_path / "x.sgf"
    path.write_bytes(b"words ( " + b" and ".join(games))
    found = list(iterate_records([path]))
    assert [name for name, _ in found] == ["x.sgf#1", "x.sgf#2", "x.sgf#3"]
    assert [data.removesuffix(b" and ") for _, data in found] == games
    path.write_bytes(games[0])
    assert list(iterate_records([path])) == [("x.sgf", games[0])]


@pytest.mark.parametrize("name", ["x.sgfl", "x.sgfl.bz2", "x.zip", "x.tar.gz"])
def test_the_first_game_of_lines_or_an_archive_is_loaded_by_its_path(tmp_path: Path, name: str) -> None:
    path, games = tmp_path / name, b"(;SZ[5];B[aa])\n(;SZ[7];B[bb])\n"
    if "sgfl" in name:
        path.write_bytes(bz2.compress(games) if name.endswith("bz2") else games)
    else:
        archive_of(path, {"readme.txt": b"(;SZ[9])", "games.sgfl": games})
    assert load_sgf(path).width == 5
    empty = tmp_path / f"empty-{name}"
    if "sgfl" in name:
        empty.write_bytes(bz2.compress(b"\n") if name.endswith("bz2") else b"\n")
    else:
        archive_of(empty, {"readme.txt": b"(;SZ[9])"})
    with pytest.raises(BadSgf, match=r"empty-.*: no SGF data found"):
        load_sgf(empty)


def test_files_that_cannot_be_read_are_reported_and_left_out(tmp_path: Path) -> None:
    files = {"1.sgf": b"(;B[aa])" * 99, "2.sgfl.bz2": b"no bzip2", "3.sgf": b"(;B[bb])"}
    whole = archive_of(tmp_path / "whole.zip", files)
    (tmp_path / "cut.tar.gz").write_bytes(gzip.compress(b"no tar", 1)[:-6])
    (tmp_path / "cut.zip").write_bytes(whole.read_bytes()[:-30])
    (tmp_path / "good.sgf").write_bytes(b"(;B[cc])")
    errors: list[str] = []
    found = [name for name, _ in iterate_records([tmp_path, tmp_path / "absent.sgf"], lambda e: errors.append(str(e)))]
    assert found == ["good.sgf", *(f"whole.zip/1.sgf#{number}" for number in range(1, 100)), "whole.zip/3.sgf"]
    places = [text.partition(": ")[0].rpartition("/")[2] for text in errors]
    assert places == ["cut.tar.gz", "cut.zip", "2.sgfl.bz2", "absent.sgf"]
    with pytest.raises(BadSgf, match="cut"):
        list(iterate_records([tmp_path]))


def test_positions_of_a_record_are_those_of_its_games() -> None:
    record = load_sgf(b"(;SZ[5]AB[aa]PL[W];W[bb];B[cc]AW[dd];W[ee])")
    boards = [game.board.copy() for game in record.positions()]
    assert len(boards) == 4
    for number, board in enumerate(boards, 1):
        assert np.array_equal(board, record.game(number).board)
