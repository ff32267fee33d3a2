"""Moves a batch of samples to the device as tensors; planes are transferred as bits and unpacked there."""

import numpy as np
import torch
from torch import Tensor

from engine.encoders import ENCODERS
from engine.errors import GoError
from engine.nets.spec import NetSpec
from engine.train.data.batches import Batch
from engine.train.data.samples import OWNERSHIP_SCALE, Samples
from engine.train.learning.loss import Targets


class TrainingError(GoError):
    """Raised for a training run that cannot start or continue; the text gives the reason."""


def check_samples(samples: Samples, spec: NetSpec) -> None:
    """Raise TrainingError unless a network can learn from samples of this encoder and board size."""
    if samples.encoder != spec.encoder:
        raise TrainingError(f"samples of encoder {samples.encoder}, but {spec.name} reads {spec.encoder}")
    smallest, largest = spec.board_sizes
    if not all(smallest <= side <= largest for side in (samples.width, samples.height)):
        size = f"{samples.width}x{samples.height}"
        raise TrainingError(f"samples of a {size} board, but {spec.name} supports sides from {smallest} to {largest}")


def to_device(batch: Batch, spec: NetSpec, device: torch.device) -> tuple[tuple[Tensor, Tensor], Targets]:
    """Return the inputs (planes [B, P, H, W] float32, channels last, and globals [B, G]) and the targets.

    Raises TrainingError on samples that do not fit the network.
    """
    samples = batch.samples
    check_samples(samples, spec)
    # Bits are a thirty-second of the float32 planes: less to copy to a GPU.
    bits = _sent(samples.planes, device)
    planes = unpacked_planes(bits, samples.height, samples.width, signed=ENCODERS[samples.encoder].signed)
    importance = batch.importance
    targets = Targets(
        policy=_sent(samples.policy, device).float(),
        reply=_sent(samples.reply, device).float(),
        outcome=_sent(samples.outcome, device),
        score=_sent(samples.score, device),
        ownership=_sent(samples.ownership, device).float() / OWNERSHIP_SCALE,
        weights=_sent(samples.weights, device),
        importance=_sent(np.ones(len(samples), np.float32) if importance is None else importance, device).float(),
    )
    return (planes, _sent(samples.globals, device)), targets


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


def _sent(array: np.ndarray, device: torch.device) -> Tensor:
    """Copy an array to the device as a tensor."""
    # Pinned memory lets the copy overlap with the step that is running.
    tensor = torch.from_numpy(np.require(array, requirements=["C", "W"]))
    return tensor if device.type == "cpu" else tensor.pin_memory().to(device, non_blocking=True)
