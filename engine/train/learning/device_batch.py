"""Moves a batch of samples to the device as tensors, and the losses of the samples back to their source.

Planes are transferred as bits and unpacked on the device. No step waits for the device.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.encoders import ENCODERS
from engine.errors import GoError
from engine.nets.spec import NetSpec
from engine.train.data.batches import Batch, Source
from engine.train.data.players import metadata_of
from engine.train.data.samples import Samples
from engine.train.data.targets import OWNERSHIP_SCALE
from engine.train.learning.loss import Targets

_FIELDS = ("planes", "globals", "policy", "reply", "outcome", "score", "ownership", "weights", "later")


class TrainingError(GoError):
    """Raised for a training run that cannot start or continue; the text gives the reason."""


def check_samples(samples: Samples, spec: NetSpec) -> None:
    """Raise TrainingError unless a network can learn from samples of this encoder and board size."""
    if samples.encoder != spec.encoder:
        raise TrainingError(f"samples of encoder {samples.encoder}, but {spec.name} reads {spec.encoder}")
    if spec.metadata and not samples.players.any(axis=1).all():
        raise TrainingError(f"samples without the players' ranks, but {spec.name} imitates people")
    smallest, largest = spec.board_sizes
    if not all(smallest <= side <= largest for side in (samples.width, samples.height)):
        size = f"{samples.width}x{samples.height}"
        raise TrainingError(f"samples of a {size} board, but {spec.name} supports sides from {smallest} to {largest}")


@dataclass(frozen=True)
class HostBatch:
    """A batch as tensors in the host's memory, which is pinned if they go to a GPU, and ready to be copied.

    indices: see `engine.train.data.batches.Batch`.
    """

    width: int
    height: int
    signed: bool
    tensors: Mapping[str, Tensor]
    indices: NDArray[np.int64] | None
    device: torch.device

    def __len__(self) -> int:
        return len(self.tensors["planes"])

    def to_device(self) -> tuple[tuple[Tensor, Tensor], Targets]:
        """Return inputs and targets: planes [B, P, H, W] float32, channels last, and globals [B, G + metadata]."""
        # The copies from pinned memory overlap with the step that is running.
        sent = {name: tensor.to(self.device, non_blocking=True) for name, tensor in self.tensors.items()}
        planes = unpacked_planes(sent["planes"], self.height, self.width, signed=self.signed)
        targets = Targets(
            policy=sent["policy"].float(),
            reply=sent["reply"].float(),
            outcome=sent["outcome"],
            score=sent["score"],
            ownership=sent["ownership"].float() / OWNERSHIP_SCALE,
            weights=sent["weights"],
            later=sent["later"],
            importance=sent["importance"].float(),
        )
        return (planes, sent["globals"]), targets


def host_batch(batch: Batch, spec: NetSpec, device: torch.device) -> HostBatch:
    """Return a batch as tensors from which it is copied to a device. Pins memory, so that it belongs in a thread.

    Raises TrainingError on samples that do not fit the network.
    """
    samples = batch.samples
    check_samples(samples, spec)
    # Planes stay bits, a thirty-second of the float32 planes: less to copy to a GPU.
    arrays = {name: getattr(samples, name) for name in _FIELDS}
    if spec.metadata:
        metadata = metadata_of(samples.players, samples.width, samples.height)
        arrays["globals"] = np.concatenate([samples.globals, metadata], axis=1)
    arrays["importance"] = np.ones(len(samples), np.float32) if batch.importance is None else batch.importance
    tensors = {name: torch.from_numpy(np.require(each, requirements=["C", "W"])) for name, each in arrays.items()}
    if device.type == "cuda":
        # A new thread would pin with the first GPU, which another process may train on.
        with torch.cuda.device(device):
            tensors = {name: tensor.pin_memory() for name, tensor in tensors.items()}
    signed = ENCODERS[samples.encoder].signed
    return HostBatch(samples.width, samples.height, signed, tensors, batch.indices, device)


def unpacked_planes(bits: Tensor, height: int, width: int, *, signed: bool) -> Tensor:
    """Unpack bits [B, P, ceil(area / 8)] uint8, highest bit first, to planes [B, P, H, W] float32.

    signed: the second half of the planes marks where the input is -1.
    """
    # torch has no unpackbits.
    shifts = torch.arange(7, -1, -1, dtype=torch.uint8, device=bits.device)
    planes = (bits.unsqueeze(3) >> shifts).bitwise_and_(1).flatten(2)[:, :, : height * width]
    planes = planes.reshape(*planes.shape[:2], height, width).float()
    if signed:
        ones, minus_ones = planes.chunk(2, dim=1)
        planes = ones - minus_ones
    return planes.contiguous(memory_format=torch.channels_last)


class LossReports:
    """Reports the losses of each batch to a source, after the next batch or when `flush` is called."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._waiting: tuple[NDArray[np.int64], Tensor, torch.cuda.Event | None] | None = None

    def add(self, indices: NDArray[np.int64], losses: Tensor) -> None:
        """Start to copy the losses [B] of a step from the device, and report those of the step before."""
        copied, done = losses.to("cpu", non_blocking=True), None
        if losses.device.type == "cuda":
            done = torch.cuda.Event()  # type: ignore[no-untyped-call]
            done.record()
        self.flush()
        self._waiting = indices, copied, done

    def flush(self) -> None:
        """Report what has not been reported."""
        if self._waiting is None:
            return
        indices, losses, done = self._waiting
        if done is not None:
            done.synchronize()
        self._source.update(indices, losses.numpy())
        self._waiting = None
