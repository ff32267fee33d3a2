"""KataGo's training rows: what Keima makes of them, what it writes for KataGo, and what is refused."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import keima
from engine.train.data.held_out import HELD_OUT
from engine.train.data.katago_npz import ENCODER, SIDE, read_npz, write_npz
from engine.train.data.samples import BadSamples, Samples, arrays_of, read_shard, write_shard
from tests.train.random_data import learnable_samples

AREA = SIDE * SIDE


def samples_of(size: int, count: int = 6, seed: int = 1) -> Samples:
    """Return random samples with whole owners, as KataGo stores them; a target without weight is unknown, that is 0."""
    made = learnable_samples(count, seed, ENCODER, size)
    bits = np.unpackbits(made.planes, axis=-1, count=made.area)
    bits[:, 0] = 1  # on the board
    weights = (np.random.default_rng(seed).random((count, 5)) < 0.7).astype(np.float32)
    weights[:, 4] = weights[:, 3]  # KataGo has one weight for score and owners
    known = weights[:, 3] > 0
    later = np.random.default_rng(seed).random((count, 3, 4), dtype=np.float32)
    later[0] = 0
    return made.with_arrays(
        {
            "planes": np.packbits(bits, axis=-1),
            "weights": weights,
            "score": np.where(known, made.score + np.float32(0.5), 0).astype(np.float32),
            "ownership": np.where(known[:, None], made.ownership, 0).astype(np.int8),
            "later": later,
            "ply": np.arange(count, dtype=np.int16),
            "game": np.random.default_rng(seed).integers(0, 1 << 63, count, dtype=np.uint64),
        }
    )


def rows_of(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as file:
        return {name: file[name] for name in file}


def changed(path: Path, target: Path, **arrays: Any) -> Path:
    """Write a file of rows with other arrays; None leaves one out."""
    kept = {name: array for name, array in (rows_of(path) | arrays).items() if array is not None}
    np.savez(target, allow_pickle=True, **kept)
    return target


@pytest.mark.parametrize("size", [5, 9, 19])
def test_samples_survive_being_rows_of_katago(size: int, tmp_path: Path) -> None:
    before = samples_of(size)
    write_npz(tmp_path / "rows.npz", [before])
    [after] = read_npz(tmp_path / "rows.npz")
    assert (after.width, after.height, after.encoder) == (size, size, ENCODER)
    for name, array in arrays_of(before).items():
        expected = array * (before.weights[:, 1:2] > 0) if name == "reply" else array
        found = getattr(after, name) * (before.weights[:, 1:2] > 0) if name == "reply" else getattr(after, name)
        np.testing.assert_allclose(found.astype(np.float64), expected.astype(np.float64), atol=1e-3, err_msg=name)


def test_boards_of_several_sizes_share_a_file_in_the_top_left_corner(tmp_path: Path) -> None:
    assert write_npz(tmp_path / "rows.npz", [samples_of(9), samples_of(13, 3)]) == 9
    rows = rows_of(tmp_path / "rows.npz")
    board = np.unpackbits(rows["binaryInputNCHWPacked"], axis=2, count=AREA).reshape(9, 22, SIDE, SIDE)
    assert board[0, 0, :9, :9].all() and board[0, 0].sum() == 81
    assert [(part.width, len(part)) for part in read_npz(tmp_path / "rows.npz")] == [(9, 6), (13, 3)]


@pytest.mark.parametrize(
    ("score", "places"),
    [(3.5, {424: 100}), (-0.5, {420: 100}), (0.0, {420: 50, 421: 50}), (2.25, {422: 25, 423: 75}), (900.0, {841: 100})],
)
def test_a_score_stands_between_its_two_nearest_half_points(
    score: float, places: dict[int, int], tmp_path: Path
) -> None:
    """Place p of 842 is the score p - 420.5 (KataGo's trainingwrite.cpp)."""
    one = samples_of(5, 1)
    weights = np.ones((1, 5), np.float32)
    write_npz(tmp_path / "rows.npz", [one.with_arrays({"score": np.array([score], np.float32), "weights": weights})])
    row = rows_of(tmp_path / "rows.npz")["scoreDistrN"][0]
    assert {int(place): int(row[place]) for place in np.nonzero(row)[0]} == places


def test_the_weight_of_a_row_multiplies_all_its_targets_and_missing_ones_have_none(tmp_path: Path) -> None:
    write_npz(tmp_path / "rows.npz", [samples_of(9, 2)])
    targets = rows_of(tmp_path / "rows.npz")["globalTargetsNC"]
    targets[:, [25, 26, 27, 28, 35]] = [[2.0, 1.0, 0.5, 0.0, 0.25], [1.0, 0.0, 1.0, 1.0, 1.0]]
    [found] = read_npz(changed(tmp_path / "rows.npz", tmp_path / "other.npz", globalTargetsNC=targets))
    assert found.weights.tolist() == [[2.0, 0.0, 1.5, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0, 1.0]]


def test_rows_of_older_versions_with_64_channels_are_read(tmp_path: Path) -> None:
    write_npz(tmp_path / "rows.npz", [samples_of(9)])
    targets = rows_of(tmp_path / "rows.npz")["globalTargetsNC"][:, :64]
    assert len(next(read_npz(changed(tmp_path / "rows.npz", tmp_path / "old.npz", globalTargetsNC=targets)))) == 6


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"scoreDistrN": None}, "scoreDistrN is missing"),
        ({"globalInputNC": np.zeros((6, 18), np.float32)}, "globalInputNC: expected 6x19, got 6x18"),
        ({"globalInputNC": np.zeros((6, 19))}, "globalInputNC: expected float32 of 2 dimensions, got float64 of 2"),
        ({"valueTargetsNCHW": np.int8(1)}, "valueTargetsNCHW: expected int8 of 4 dimensions, got int8 of 0"),
        ({"globalTargetsNC": np.zeros((6, 9), np.float32)}, "expected 64 channels or more"),
        ({"globalTargetsNC": np.array([[open]] * 6, dtype=object)}, "damaged or no file of NumPy"),
        ({"binaryInputNCHWPacked": np.zeros((6, 22, 46), np.uint8)}, "expected a rectangle of points"),
    ],
)
def test_files_that_are_no_rows_are_refused_and_nothing_is_unpickled(
    arrays: dict[str, Any], message: str, tmp_path: Path
) -> None:
    write_npz(tmp_path / "rows.npz", [samples_of(9)])
    with pytest.raises(BadSamples, match=message):
        list(read_npz(changed(tmp_path / "rows.npz", tmp_path / "bad.npz", **arrays)))


def test_cut_and_foreign_files_are_refused(tmp_path: Path) -> None:
    write_npz(tmp_path / "rows.npz", [samples_of(9)])
    (tmp_path / "cut.npz").write_bytes((tmp_path / "rows.npz").read_bytes()[:3000])
    (tmp_path / "text.npz").write_text("no archive", encoding="ascii")
    with zipfile.ZipFile(tmp_path / "zip.npz", "w") as archive:
        archive.writestr("globalInputNC.npy", b"nonsense")
    for name in ("cut", "text", "zip"):
        with pytest.raises(BadSamples):
            list(read_npz(tmp_path / f"{name}.npz"))


def test_other_encoders_have_no_rows(tmp_path: Path) -> None:
    with pytest.raises(BadSamples, match="are of encoder katago-v7"):
        write_npz(tmp_path / "rows.npz", [learnable_samples(2, 1)])


def test_the_command_converts_there_and_back(tmp_path: Path) -> None:
    rows, shards, back = tmp_path / "rows", tmp_path / "shards", tmp_path / "back"
    rows.mkdir()
    write_npz(rows / "a.npz", [samples_of(9)])
    write_npz(rows / "b.npz", [samples_of(9, seed=2), samples_of(19, 2)])
    run = CliRunner().invoke(keima.main, ["train", "convert", str(rows), "--out", str(shards)])
    assert run.exit_code == 0 and "14 rows of 2 files" in run.stdout, run.output
    assert {path.parent.name: len(read_shard(path)) for path in shards.rglob("*.safetensors")} == {
        "9x9": 12,
        "19x19": 2,
    }
    run = CliRunner().invoke(keima.main, ["train", "convert", str(shards), "--out", str(back)])
    assert run.exit_code == 0 and "14 rows of 2 files" in run.stdout, run.output
    assert sum(len(part) for path in back.glob("*.npz") for part in read_npz(path)) == 14


def test_rows_are_not_mixed_with_others_and_not_left_half_written(tmp_path: Path) -> None:
    shards, out = tmp_path / "shards", tmp_path / "out"

    def convert() -> Result:
        return CliRunner().invoke(keima.main, ["train", "convert", str(shards), "--out", str(out)])

    for name in ("x/9x9/s", "x-9x9/s"):
        (shards / name).parent.mkdir(parents=True)
        write_shard(shards / f"{name}.safetensors", samples_of(9), {})
    assert "would both become" in convert().output
    assert not list(out.glob("*.npz"))
    (shards / "x-9x9" / "s.safetensors").rename(shards / "z.safetensors")
    damaged = (shards / "z.safetensors").read_bytes()
    (shards / "z.safetensors").write_bytes(damaged[:-100])
    assert convert().exit_code == 1
    assert not list(out.glob("*.npz")), "none is left of a run that failed"
    (shards / "z.safetensors").write_bytes(damaged)
    write_shard(shards / "none.safetensors", samples_of(9)[:0], {})
    assert "12 rows of 3 files" in convert().stdout
    again = convert()
    assert again.exit_code == 1 and "already contains rows" in again.output


def test_held_out_samples_become_no_rows(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_shard(tmp_path / "in" / "s.safetensors", samples_of(9), {HELD_OUT: "yes"})
    run = CliRunner().invoke(keima.main, ["train", "convert", str(tmp_path / "in"), "--out", str(tmp_path / "out")])
    assert run.exit_code == 1 and "must not be trained on" in run.output
    assert not list((tmp_path / "out").glob("*.npz"))


def test_a_header_that_claims_more_than_the_file_has_allocates_nothing(tmp_path: Path) -> None:
    write_npz(tmp_path / "rows.npz", [samples_of(9)])
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (10**13, 19)})
    with zipfile.ZipFile(tmp_path / "rows.npz") as old, zipfile.ZipFile(tmp_path / "new.npz", "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, header.getvalue() + b"x" if name == "globalInputNC.npy" else data)
    with pytest.raises(BadSamples, match=r"globalInputNC\.npy: expected 760000000000128 bytes, got 129"):
        list(read_npz(tmp_path / "new.npz"))


def test_a_directory_with_neither_is_refused(tmp_path: Path) -> None:
    run = CliRunner().invoke(keima.main, ["train", "convert", str(tmp_path), "--out", str(tmp_path / "out")])
    assert run.exit_code == 1 and "neither rows of KataGo" in run.output
