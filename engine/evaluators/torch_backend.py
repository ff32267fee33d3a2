"""The torch backend: computes networks on a GPU if there is one, otherwise on the CPU.

On a CPU it is the reference that other backends are compared with, and computes in the caller's thread.
"""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import get_args

import torch
from torch import Tensor

from engine.evaluators.cuda_graphs import Graphs
from engine.evaluators.network import Precision, RawOutputs, Slot
from engine.nets.spec import NetSpec, parameters
from engine.nets.torch_modules import pointwise
from engine.nets.torch_modules.model import Outputs, TorchModel
from engine.nets.torch_modules.one_pass import in_one_pass
from weights.array_file import free_pages

_LOG = logging.getLogger(__name__)
_PREFERRED = {"cpu": 16, "cuda": 128, "xpu": 64, "mps": 32}
"""Positions of a slot from which on larger batches hardly raise throughput."""
_MAX_BATCH = {"cpu": 64, "cuda": 1536, "xpu": 512, "mps": 256}
_TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
ACCELERATORS = ("cuda", "xpu", "mps")
"""Torch's names of the kinds of GPUs: NVIDIA's and, by ROCm, AMD's; Intel's; Apple's."""
_GPU_SLOTS = 3
"""Two batches share the device, and the positions of a third are encoded meanwhile."""
_PREPARED = (1, 2, 4, 8, 16, 24, 32, 48, 64)
"""Batches that are recorded before they are needed: those that a search of one tree chooses."""


def accelerator() -> str | None:
    """Return the first of `ACCELERATORS` that torch can use here, or None."""
    modules = {"cuda": torch.cuda, "xpu": torch.xpu, "mps": torch.backends.mps}
    return next((name for name in ACCELERATORS if modules[name].is_available()), None)


@dataclass(eq=False)
class TorchSlot(Slot):
    """A slot and the tensors that share its memory. With CUDA the memory is pinned, and there are graphs."""

    inputs: tuple[Tensor, Tensor]
    results: Outputs
    graphs: Graphs | None = None


class TorchBackend:
    """Computes one network; see `engine.evaluators.network.Backend`. Buffers are allocated once for each board size.

    device: "cpu", one of `ACCELERATORS`, or None for a GPU if there is one.
    max_batch: most positions in a call; None for a default by device.
    threads: torch's CPU threads, for the whole process; None leaves torch's setting.
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
            raise ValueError(f"unknown precision {precision!r}, expected one of {' '.join(get_args(Precision))}")
        if threads is not None:
            torch.set_num_threads(threads)
        self._device = torch.device(device or accelerator() or "cpu")
        if precision == "fp32":
            # Else a GPU's convolutions would round their inputs to the 10 bits of TF32.
            torch.backends.cudnn.allow_tf32 = False
        self._type, self._spec = _TYPES[precision], spec
        self._model = _prepared(TorchModel(spec), self._type, self._device)
        free_pages(spec)
        preferred = _PREFERRED.get(self._device.type, 16)
        self.max_batch = _MAX_BATCH.get(self._device.type, 64) if max_batch is None else max_batch
        self.preferred_batch = min(preferred, self.max_batch)
        self.parallel = 1 if self._device.type == "cpu" else _GPU_SLOTS
        self.name = f"torch-{self._device.type}-{precision}"
        # One model for all board sizes; on a GPU it takes none of the process' memory.
        self.board_bytes = self.model_bytes = 4 * parameters(spec) if self._device.type == "cpu" else 0
        self._size, self._slots, self._lock = (0, 0), list[TorchSlot](), threading.Lock()
        self._preparing: threading.Thread | None = None
        self._is_closed = False
        _LOG.info("network %s on %s with %d threads", spec.name, self.name, torch.get_num_threads())

    def prepare(self, width: int, height: int) -> None:
        """Record the batches of a search in the background with CUDA; else torch has nothing to compile."""
        if self._device.type == "cuda":
            self._preparing = threading.Thread(target=self._record, args=(width, height), daemon=True)
            self._preparing.start()

    def _record(self, width: int, height: int) -> None:
        try:
            slots = self._slots_of(width, height)
            for count in _PREPARED:
                for slot in slots:
                    if self._is_closed or slots is not self._slots:
                        return
                    assert slot.graphs is not None
                    with torch.inference_mode():
                        slot.graphs.prepare(count)
        except (RuntimeError, MemoryError):
            _LOG.info("the first batches on %s will be slower", self.name, exc_info=True)

    def slots(self, width: int, height: int) -> Sequence[Slot]:
        """Return the slots of a board size: one on a CPU."""
        return self._slots_of(width, height)

    def _slots_of(self, width: int, height: int) -> list[TorchSlot]:
        with self._lock:
            if (width, height) != self._size:
                rows = -(-self.max_batch // self.parallel)
                self._slots = [self._slot(rows, width, height) for _ in range(self.parallel)]
                self._size = (width, height)
            return self._slots

    def _slot(self, rows: int, width: int, height: int) -> TorchSlot:
        spec, pinned, area = self._spec, self._device.type == "cuda", width * height

        def tensor(*shape: int) -> Tensor:
            return torch.zeros((rows, *shape), dtype=torch.float32, pin_memory=pinned)

        inputs = tensor(spec.planes, height, width), tensor(spec.globals + spec.metadata)
        results = Outputs(
            tensor(spec.policy.policies, area + 1),
            tensor(spec.value.result.outputs),
            tensor(len(spec.scores)),
            tensor(area if spec.has_ownership else 0),
        )
        planes, globals_ = (each.numpy() for each in inputs)
        outputs = RawOutputs(*(each.numpy() for each in results))
        slot = TorchSlot(planes, globals_, outputs, inputs, results)
        if pinned:
            slot.graphs = Graphs(partial(self._compute, inputs, results), rows, self._device)
        return slot

    @torch.inference_mode()
    def infer(self, slot: Slot, count: int) -> None:
        """Compute rows 0..count-1."""
        assert isinstance(slot, TorchSlot)
        if slot.graphs is None:
            self._compute(slot.inputs, slot.results, count)
        else:
            slot.graphs.run(count)

    def _compute(self, inputs: tuple[Tensor, Tensor], results: Outputs, count: int) -> None:
        """Compute the first rows; with CUDA without waiting for the results."""
        is_awaited = self._device.type == "cuda"
        planes, globals_ = (each[:count].to(self._device, non_blocking=is_awaited) for each in inputs)
        # The memory layout that torch recommends for convolutions.
        planes = planes.to(self._type, memory_format=torch.channels_last)
        for result, computed in zip(results, self._model(planes, globals_), strict=True):
            result[:count].copy_(computed, non_blocking=is_awaited)

    def close(self) -> None:
        """Release the network's memory; the backend must not be used again."""
        self._is_closed = True
        if self._preparing is not None:
            self._preparing.join()
        del self._model
        self._slots = []


def _prepared(model: TorchModel, kind: torch.dtype, device: torch.device) -> TorchModel:
    """Return a model for inference in a precision on a device."""
    functions = pointwise.kernels(device)
    if functions is None:
        return model.fused(kind).to(device)
    products = None if kind is torch.float32 else pointwise.products(device)
    return in_one_pass(model, functions, products).computing(kind).to(device)
