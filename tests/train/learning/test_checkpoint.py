"""Checkpoints: whole or not there, every tensor checked, the newest kept."""

import errno
import json
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from engine.train.learning.checkpoint import (  # noqa: E402
    CheckpointError,
    newest_checkpoint,
    open_checkpoint,
    restore,
    restore_module,
    save_checkpoint,
)


def net(seed: int) -> torch.nn.Module:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.Linear(4, 5))


def test_every_tensor_comes_back(tmp_path: Path) -> None:
    saved, other = net(1), net(2)
    save_checkpoint(tmp_path, 7, {"model": saved.state_dict()}, {"samples": 56}, keep=1)
    checkpoint = newest_checkpoint(tmp_path)
    assert checkpoint is not None
    assert (checkpoint.step, checkpoint.state["samples"]) == (7, 56)
    restore_module(other, checkpoint, "model")
    for name, tensor in saved.state_dict().items():
        assert torch.equal(other.state_dict()[name], tensor), name


def test_the_newest_stay(tmp_path: Path) -> None:
    for step in (5, 10, 15, 20):
        save_checkpoint(tmp_path, step, {"model": {"a": torch.zeros(1)}}, {}, keep=2)
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["step-00000015", "step-00000020"]


def test_one_that_was_not_finished_is_passed_over_and_cleared_away(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, 5, {"model": {"a": torch.zeros(1)}}, {}, keep=2)
    torn = tmp_path / "checkpoints" / "step-00000006.part"
    torn.mkdir()
    (torn / "model.safetensors").write_bytes(b"half")
    found = newest_checkpoint(tmp_path)
    assert found is not None
    assert found.step == 5
    save_checkpoint(tmp_path, 6, {"model": {"a": torch.ones(1)}}, {}, keep=2)
    assert not torn.exists()
    newest = newest_checkpoint(tmp_path)
    assert newest is not None
    assert newest.tensors("model")["a"].item() == 1.0


def test_an_error_of_writing_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*step-00000005\.part/model\.safetensors'"):
        save_checkpoint(tmp_path, 5, {"model": {"a": torch.zeros(1)}}, {}, keep=2)


def test_there_is_none_in_a_new_folder(tmp_path: Path) -> None:
    assert newest_checkpoint(tmp_path) is None


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        ({"a": torch.zeros(2, 3)}, r"model: b: missing tensor, expected \[4\]"),
        ({"a": torch.zeros(2, 3), "b": torch.zeros(4), "c": torch.zeros(1)}, "c: unknown tensor"),
        ({"a": torch.zeros(3, 2), "b": torch.zeros(4)}, r"a: expected torch.float32 \[2, 3\], got .*\[3, 2\]"),
        ({"a": torch.zeros(2, 3), "b": torch.zeros(4, dtype=torch.int64)}, r"b: .*got torch.int64 \[4\]"),
    ],
)
def test_a_tensor_that_does_not_fit_is_named_and_nothing_changes(stored: dict[str, torch.Tensor], text: str) -> None:
    wanted = {"a": torch.ones(2, 3), "b": torch.ones(4)}
    with pytest.raises(CheckpointError, match=text):
        restore(wanted, stored, "model")
    assert all((tensor == 1).all() for tensor in wanted.values())


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("state.json", "{", "state.json"),
        ("state.json", json.dumps({"format": "keima-checkpoint", "version": 99, "step": 1}), "expected format"),
        ("model.safetensors", "x" * 40, "model.safetensors"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, name: str, content: str, text: str) -> None:
    folder = save_checkpoint(tmp_path, 1, {"model": net(1).state_dict()}, {}, keep=1)
    (folder / name).write_text(content)
    with pytest.raises(CheckpointError, match=text):
        open_checkpoint(folder).tensors("model")


@pytest.mark.parametrize("name", ["state.json", "model.safetensors"])
def test_the_error_of_a_damaged_newest_checkpoint_names_an_older_one_to_go_on_from(tmp_path: Path, name: str) -> None:
    for step in (1, 2, 3):
        folder = save_checkpoint(tmp_path, step, {"model": net(1).state_dict()}, {}, keep=3)
    (folder / name).write_text("{")
    with pytest.raises(
        CheckpointError, match=f"{name}: .*; to go on from step-00000002, delete {re.escape(str(folder))}$"
    ):
        open_checkpoint(folder).tensors("model")
    for older in (1, 2):
        (tmp_path / f"checkpoints/step-{older:08d}").rename(tmp_path / f"{older}")
    with pytest.raises(CheckpointError, match=f"{name}: (?!.*to go on)"):
        open_checkpoint(folder).tensors("model")
