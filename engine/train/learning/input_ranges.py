"""The values that each global input had in the batches of a run, and the network without those that never varied.

Self-play under one rule set, or records of one, never vary the inputs that name the rules. See
`engine.nets.constant_inputs`.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from engine.encoders import ENCODERS
from engine.encoders.katago import ON_BOARD
from engine.nets.constant_inputs import inputs_without_effect, without_inputs
from engine.nets.spec import SEED, NetSpec
from engine.train.learning.checkpoint import restore


class InputRanges:
    """The least and the greatest value of each global input so far, for a network in training.

    An input that earlier training gave weights counts as one that varied: they stay. So do all where the trunk is
    frozen.
    """

    def __init__(self, start: NetSpec, *, frozen: bool = False) -> None:
        inputs = start.globals if ON_BOARD in ENCODERS[start.encoder].plane_names else 0
        self._least, self._greatest = torch.full((inputs,), torch.inf), torch.full((inputs,), -torch.inf)
        if frozen or SEED not in start.provenance:
            known = torch.ones(inputs, dtype=torch.bool)
            if not frozen:
                known[[index for index in inputs_without_effect(start) if index < inputs]] = False
            self._mark_varied(known)

    def note(self, globals_: Tensor) -> None:
        """Take in a batch [B, globals, and more that are not global inputs] in the host's memory."""
        if len(self._least):
            values = globals_[:, : len(self._least)]
            torch.minimum(self._least, values.amin(0), out=self._least)
            torch.maximum(self._greatest, values.amax(0), out=self._greatest)

    def join(self, parts: Sequence[Mapping[str, Tensor]]) -> None:
        """Take in the ranges of all processes of a run, each as `tensors` returns them."""
        for part in parts:
            torch.minimum(self._least, part["least"], out=self._least)
            torch.maximum(self._greatest, part["greatest"], out=self._greatest)

    def without_constant(self, spec: NetSpec) -> NetSpec:
        """Return a network that takes each input which never varied for the value that it always had."""
        constant = torch.nonzero(self._least == self._greatest)[:, 0].tolist()
        if not constant:
            return spec
        values = {index: float(self._least[index]) for index in constant}
        return without_inputs(spec, values, ENCODERS[spec.encoder].plane_names.index(ON_BOARD))

    def tensors(self) -> dict[str, Tensor]:
        """Return the ranges as a part of a checkpoint."""
        return {"least": self._least, "greatest": self._greatest}

    def restore(self, stored: Mapping[str, Tensor] | None, file: str) -> None:
        """Take what `tensors` returned and a file had, or None from an older checkpoint. Raises CheckpointError."""
        if stored is None:
            self._mark_varied(torch.ones(len(self._least), dtype=torch.bool))
        else:
            restore(self.tensors(), stored, file)

    def _mark_varied(self, inputs: Tensor) -> None:
        """Let some inputs count as varied."""
        self._least[inputs], self._greatest[inputs] = -torch.inf, torch.inf
