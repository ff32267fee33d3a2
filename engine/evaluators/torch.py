"""Evaluation by torch, on a GPU where there is one and otherwise on the CPU.

Owns the buffers between encoder and network and the reading of the network's outputs. On a CPU it
is the reference that faster backends are compared with.
"""

import logging
from typing import Literal, TypeAlias

import torch

from engine.evaluators.base import Attributes, Evaluation, PositionBatch
from engine.evaluators.network import can_end_without_result, check_board, encoder_for
from engine.nets.spec import NetSpec, Score, ValueHead, ValueKind
from engine.nets.torch_model import TorchModel, masked_softmax
from engine.rules import Rules

Precision: TypeAlias = Literal["fp32", "bf16"]

_LOG = logging.getLogger(__name__)
_PREFERRED = {"cpu": 16, "cuda": 256}
"""Positions a call at which throughput levels off."""
_TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


class TorchEvaluator:
    """Evaluates one network; buffers are made once a board size.

    device: "cpu", "cuda", or None for the best there is.
    max_batch: most positions a call; None for a default by device.
    threads: threads torch computes with, for the whole process; None leaves torch's setting.
    Raises WeightsError when the network does not fit its encoder.
    """

    def __init__(
        self,
        spec: NetSpec,
        precision: Precision = "fp32",
        device: str | None = None,
        *,
        max_batch: int | None = None,
        threads: int | None = None,
    ) -> None:
        if precision not in _TYPES:
            raise ValueError(f"unknown precision {precision!r}, expected one of {' '.join(_TYPES)}")
        if threads is not None:
            torch.set_num_threads(threads)
        self._spec, self._encoder = spec, encoder_for(spec)
        self._device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self._type = _TYPES[precision]
        self._model = TorchModel(spec).fused(self._type).to(self._device)
        preferred = _PREFERRED.get(self._device.type, 16)
        capacity = 4 * preferred if max_batch is None else max_batch
        self.attributes = Attributes(
            name=f"torch-{self._device.type}-{precision}",
            preferred_batch=min(preferred, capacity),
            max_batch=capacity,
            has_score=bool(spec.scores),
            has_ownership=spec.has_ownership,
        )
        self._size = (0, 0)
        _LOG.info("network %s on %s with %d threads", spec.name, self.attributes.name, torch.get_num_threads())

    def _resize(self, width: int, height: int) -> None:
        """Make the input buffers of one board size; the encoder writes into the tensors' own memory."""
        check_board(self._spec, width, height)
        capacity, pinned = self.attributes.max_batch, self._device.type == "cuda"
        shape = (capacity, self._encoder.planes, height, width)
        self._planes = torch.zeros(shape, dtype=torch.float32, pin_memory=pinned)
        self._globals = torch.zeros((capacity, self._encoder.globals), dtype=torch.float32, pin_memory=pinned)
        self._planes_view, self._globals_view = self._planes.numpy(), self._globals.numpy()
        self._size = (width, height)

    @torch.inference_mode()
    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the evaluation of rows 0..count-1.

        Raises ValueError when count exceeds `max_batch`, WeightsError on a board size that the
        network is not for.
        """
        if count > self.attributes.max_batch:
            raise ValueError(f"{count} positions exceed the batch of {self.attributes.max_batch}")
        if (positions.width, positions.height) != self._size:
            self._resize(positions.width, positions.height)
        self._encoder.encode(positions, count, self._planes_view, self._globals_view)
        planes = self._planes[:count].to(self._device, non_blocking=True)
        planes = planes.to(self._type, memory_format=torch.channels_last)
        outputs = self._model(planes, self._globals[:count].to(self._device, non_blocking=True))
        legal = torch.from_numpy(positions.legal)[:count].to(self._device)
        torch.from_numpy(out.policy)[:count] = masked_softmax(outputs.policy[:, 0], legal)
        value, certain = self._value(outputs.result, positions.rules)
        torch.from_numpy(out.value)[:count] = value
        head = self._spec.value
        assert isinstance(head, ValueHead)
        if self.attributes.has_score:
            score = outputs.score[:, head.scores.index(Score.LEAD)] * head.scales.lead * certain
            torch.from_numpy(out.score)[:count] = score
        if self.attributes.has_ownership:
            torch.from_numpy(out.ownership)[:count] = torch.tanh(outputs.ownership)

    def _value(self, result: torch.Tensor, rules: Rules) -> tuple[torch.Tensor, torch.Tensor | float]:
        """Return (value [B], probability [B] that the game has a result)."""
        head = self._spec.value
        assert isinstance(head, ValueHead)
        if head.meaning is ValueKind.TANH:
            return torch.tanh(result[:, 0]), 1.0
        logits = result if can_end_without_result(rules) else result[:, :2]
        chances = logits.softmax(dim=1)
        return chances[:, 0] - chances[:, 1], chances[:, 0] + chances[:, 1]

    def close(self) -> None:
        """Release the network's memory; the evaluator must not be used again."""
        del self._model
