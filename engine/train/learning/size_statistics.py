"""The statistics of batch norms for each board size, beside those of all batches that the norms themselves keep.

A batch has boards of one size, with which its norms learn. On another size the same channels have other means and
variances, so that a network computes best with those of the size that it plays on (docs/training.md has the figures).
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import cast

import torch
from torch import Tensor, nn

from engine.train.learning.checkpoint import CheckpointError, restore
from engine.train.learning.network import TrainableNet
from weights.sized import Size, text_of

_LEAST_SHARE = 0.01
"""Of the steps: a size with fewer has no statistics to rely on."""
_STEPS = "steps"


class SizeStatistics:
    """Averages of the means and variances that the norms of a network saw, by board size; for a net in training mode.

    decay: of the moving averages, which follow faster in the first batches of a size.
    """

    def __init__(self, net: TrainableNet, decay: float) -> None:
        self._norms = {
            name: each
            for name, each in net.named_modules()
            if isinstance(each, nn.BatchNorm2d) and each.training and name.startswith("model.")
        }
        self._decay = decay
        self._averages: dict[Size, list[Tensor]] = {}
        self._steps: dict[Size, int] = {}

    @contextmanager
    def noting(self, width: int, height: int) -> Iterator[None]:
        """Take the statistics of a batch of boards that is computed within."""
        if not self._norms:
            yield
            return
        running, momentum = _numbers(self._norms), next(iter(self._norms.values())).momentum
        assert momentum is not None
        before = [each.clone() for each in running]
        yield
        # A norm moves by `momentum` of the way to the batch's.
        found, size = torch._foreach_lerp(before, running, 1.0 / momentum), (width, height)
        steps = self._steps.get(size, 0)
        if steps == 0:
            self._averages[size] = list(found)
        else:
            share = 1.0 - min(self._decay, (1.0 + steps) / (10.0 + steps))
            torch._foreach_lerp_(self._averages[size], list(found), share)
        self._steps[size] = steps + 1

    def sizes(self) -> list[Size]:
        """Return the sizes with enough steps for statistics of their own; none if all batches had the same size."""
        enough = _LEAST_SHARE * sum(self._steps.values())
        return sorted(size for size, steps in self._steps.items() if steps >= enough) if len(self._steps) > 1 else []

    @contextmanager
    def used(self, net: TrainableNet, size: Size) -> Iterator[None]:
        """Let a network with the same norms have the statistics of a size within."""
        mine = _numbers({name: cast(nn.BatchNorm2d, net.get_submodule(name)) for name in self._norms})
        kept = [each.clone() for each in mine]
        torch._foreach_copy_(mine, self._averages[size])
        try:
            yield
        finally:
            torch._foreach_copy_(mine, kept)

    def tensors(self) -> dict[str, Tensor]:
        """Return all statistics by "size/norm.mean", "size/norm.variance" and "size/steps"."""
        return self._tensors({size: torch.tensor(steps) for size, steps in self._steps.items()})

    def restore(self, stored: Mapping[str, Tensor], file: str) -> None:
        """Take what `tensors` returned and a file had. Raises CheckpointError, naming the first mismatch."""
        names = sorted({name.partition("/")[0] for name in stored})
        if not all(re.fullmatch(r"\d+x\d+", name) for name in names):
            raise CheckpointError(f"{file}: expected statistics of board sizes, got {names}")
        sizes = [(int(width), int(height)) for width, height in (name.split("x") for name in names)]
        steps = {size: torch.zeros((), dtype=torch.int64) for size in sizes}
        self._averages = {size: [each.clone() for each in _numbers(self._norms)] for size in sizes}
        restore(self._tensors(steps), stored, file)
        self._steps = {size: int(number) for size, number in steps.items()}

    def _tensors(self, steps: Mapping[Size, Tensor]) -> dict[str, Tensor]:
        names = [f"{name}.{entry}" for entry in ("mean", "variance") for name in self._norms]
        found = {f"{text_of(size)}/{_STEPS}": number for size, number in steps.items()}
        for size, averages in self._averages.items():
            found |= {f"{text_of(size)}/{name}": each for name, each in zip(names, averages, strict=True)}
        return found


def _numbers(norms: Mapping[str, nn.BatchNorm2d]) -> list[Tensor]:
    """Return the running means, then the running variances."""
    return [cast(Tensor, each.running_mean) for each in norms.values()] + [
        cast(Tensor, each.running_var) for each in norms.values()
    ]
