"""Checkpoints of a training run, written atomically and without pickle.

checkpoints/step-NNNNNNNN/ contains model, ema, optimizer and inputs (their ranges) as safetensors, sizes (statistics of
norms by board size) if there are any, priorities of samples if losses decide what is drawn, and state.json with the
format version and everything that is not a tensor. A folder is written under a temporary name, synced, and renamed.
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from engine.errors import GoError
from engine.support.files import naming
from engine.support.json_text import json_text
from engine.train.data.batches import Priorities, below

FORMAT = "keima-checkpoint"
VERSION = 1
STATE_FILE = "state.json"
_PRIORITIES = "priorities"
Tensors = Mapping[str, Tensor]


class CheckpointError(GoError):
    """Raised for a checkpoint that cannot be used; the text has the file, the tensor, expected and actual values."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint on disk. state: the contents of state.json."""

    folder: Path
    step: int
    state: Mapping[str, Any]

    def tensors(self, part: str) -> dict[str, Tensor]:
        """Load the tensors of one file to the CPU. Raises CheckpointError."""
        path = self.folder / f"{part}.safetensors"
        try:
            return safetensors.torch.load_file(path)
        except (OSError, safetensors.SafetensorError) as error:
            raise _damaged(path, error) from error

    def has(self, part: str) -> bool:
        """Return whether there are tensors of a part that not every run has."""
        return (self.folder / f"{part}.safetensors").exists()

    def priorities(self, rank: int) -> Priorities:
        """Return the sampling weights of a process; empty if it had none. Raises CheckpointError."""
        if not self.has(_PRIORITIES):
            return {}
        stored = {name: tensor.numpy() for name, tensor in self.tensors(_PRIORITIES).items()}
        return below(stored, f"{rank}/")


def priority_tensors(priorities: Sequence[Priorities]) -> dict[str, dict[str, Tensor]]:
    """Return the sampling weights of each process, by rank, as a part of a checkpoint; no part if there are none."""
    tensors = {
        f"{rank}/{name}": torch.from_numpy(weights)
        for rank, each in enumerate(priorities)
        for name, weights in each.items()
    }
    return {_PRIORITIES: tensors} if tensors else {}


def save_checkpoint(run: Path, step: int, parts: Mapping[str, Tensors], state: Mapping[str, Any], keep: int) -> Path:
    """Write a checkpoint, delete all but the newest `keep`, and return its folder.

    parts: tensors by file name without suffix. state: JSON values.
    """
    parent = run / "checkpoints"
    folder, partial = parent / f"step-{step:08d}", parent / f"step-{step:08d}.part"
    # Left by a process that was killed while writing.
    for stale in parent.glob("step-*.part"):
        shutil.rmtree(stale)
    partial.mkdir(parents=True)
    for name, tensors in parts.items():
        held = {key: tensor.detach().to("cpu").contiguous() for key, tensor in tensors.items()}
        _write_synced(partial / f"{name}.safetensors", safetensors.torch.save(held))
    document = {"format": FORMAT, "version": VERSION, "step": step, **state}
    _write_synced(partial / STATE_FILE, json_text(document, indent=1).encode())
    # Synced before the rename: after a power failure a renamed folder must not have empty files.
    _sync_folder(partial)
    if folder.exists():
        shutil.rmtree(folder)
    partial.rename(folder)
    _sync_folder(parent)
    for old in _folders(run)[:-keep]:
        shutil.rmtree(old)
    return folder


def newest_checkpoint(run: Path) -> Checkpoint | None:
    """Return the newest checkpoint of a run, None if there is none. Raises CheckpointError if it is damaged."""
    folders = _folders(run)
    return open_checkpoint(folders[-1]) if folders else None


def open_checkpoint(folder: Path) -> Checkpoint:
    """Open the checkpoint in a folder. Raises CheckpointError."""
    path = folder / STATE_FILE
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from error
    found = (state.get("format"), state.get("version")) if isinstance(state, dict) else state
    if found != (FORMAT, VERSION):
        raise CheckpointError(f"{path}: expected format {FORMAT} {VERSION}, got {found}")
    return Checkpoint(folder, int(state["step"]), state)


def restore_module(module: nn.Module, checkpoint: Checkpoint, part: str) -> None:
    """Load all parameters and buffers of a module. Raises CheckpointError unless each exists and fits."""
    restore(module.state_dict(), checkpoint.tensors(part), f"{checkpoint.folder}/{part}.safetensors")


def restore(wanted: Tensors, stored: Tensors, file: str) -> None:
    """Copy stored tensors into those of the same names. Raises CheckpointError, naming the first mismatch."""
    # All are checked before any is copied, so that an error leaves the module unchanged.
    for name in sorted(wanted.keys() | stored.keys()):
        if name not in stored:
            raise CheckpointError(f"{file}: {name}: missing tensor, expected {list(wanted[name].shape)}")
        if name not in wanted:
            raise CheckpointError(f"{file}: {name}: unknown tensor, got {list(stored[name].shape)}")
        mine, theirs = wanted[name], stored[name]
        if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
            expected, got = (f"{each.dtype} {list(each.shape)}" for each in (mine, theirs))
            raise CheckpointError(f"{file}: {name}: expected {expected}, got {got}")
    with torch.no_grad():
        for name, tensor in wanted.items():
            tensor.copy_(stored[name])


def _folders(run: Path) -> list[Path]:
    """Return the folders of complete checkpoints, oldest first."""
    return sorted(path for path in (run / "checkpoints").glob("step-*") if path.suffix != ".part")


def _damaged(path: Path, error: Exception) -> CheckpointError:
    """Return the error for a file of a checkpoint that cannot be read; it names an older one to go on from."""
    # What cannot be read now may be whole.
    is_damaged = not isinstance(error, OSError) or isinstance(error, FileNotFoundError)
    older = [each for each in _folders(path.parent.parent.parent) if each < path.parent and is_damaged]
    advice = f"; to go on from {older[-1].name}, delete {path.parent}" if older else ""
    return CheckpointError(f"{path}: {error}{advice}")


def _write_synced(path: Path, data: bytes) -> None:
    with naming(path), path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    """Flush a folder's entries to disk, on systems that support it."""
    if os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
