"""Networks for single board sizes beside a network: how they replace those of an earlier one."""

from pathlib import Path

import pytest

from engine.encoders import ENCODERS
from engine.nets.random import random_spec
from engine.nets.spec import NetSpec
from weights import native, sized
from weights.sized import files_of, folder_of, packed, read_sized, write_packed, write_sized


def written(file: Path, seed: int, *sides: int) -> NetSpec:
    """Write a network with others for boards of some sides."""
    spec = random_spec(1, 4, ENCODERS["liberties"], seed, board_sizes=(5, 9))
    native.write(spec, file)
    write_sized(file, spec.name, {(side, side): spec for side in sides})
    return spec


@pytest.mark.parametrize("written_files", range(3))
def test_an_interrupted_replacement_leaves_a_whole_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written_files: int
) -> None:
    new, old = tmp_path / "new.safetensors", tmp_path / "old.safetensors"
    written(new, 1, 5, 7)
    name, before = written(old, 2, 7, 9).name, old.read_bytes()
    write, left = sized.write_atomically, iter(range(written_files))

    def killed(path: Path, content: bytes) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        write(path, content)

    monkeypatch.setattr(sized, "write_atomically", killed)
    with pytest.raises(KeyboardInterrupt):
        write_packed(packed(new), old)
    assert old.read_bytes() == before
    assert (9, 9) in read_sized(old, name), "a size that the new network has not is there until the end"
    monkeypatch.undo()
    write_packed(packed(new), old)
    assert old.read_bytes() == new.read_bytes()
    assert [path.name for path in files_of(old)] == ["5x5.safetensors", "7x7.safetensors"]


def test_networks_of_an_earlier_one_are_removed_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "net.safetensors"
    written(file, 1, 5, 7)
    (folder_of(file) / "extra.safetensors").write_bytes(b"somebody's")
    written(file, 2, 9)
    assert [path.name for path in files_of(file)] == ["9x9.safetensors"]
    assert (folder_of(file) / "extra.safetensors").exists()
