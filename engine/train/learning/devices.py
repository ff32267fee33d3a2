"""The devices of training: one for each process, with one process or several that torchrun started."""

import os
import warnings
from contextlib import AbstractContextManager
from typing import Any, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn

from engine.native.processor import instruction_sets
from engine.train.learning.device_batch import TrainingError
from engine.train.learning.train_config import TrainConfig

FAST_BF16 = {"amx-bf16", "avx512bf16"}
"""A CPU without any of these instruction sets is slower in bfloat16 than in float32."""


class Devices:
    """The device of this process, and its rank among the processes that train together.

    Several processes are started by torchrun (RANK, WORLD_SIZE, LOCAL_RANK in the environment) and communicate by NCCL
    between GPUs and by gloo between CPUs. Use as a context manager. Raises TrainingError if the device does not exist.
    """

    def __init__(self, config: TrainConfig) -> None:
        self.world, self.rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
        kind = config.device if config.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
        if kind == "cuda" and not torch.cuda.is_available():
            raise TrainingError("device: expected cpu or auto, because torch finds no GPU here, got cuda")
        local = int(os.environ.get("LOCAL_RANK", "0"))
        if kind == "cuda" and local >= torch.cuda.device_count():
            found = torch.cuda.device_count()
            raise TrainingError(f"device: expected at least {local + 1} GPUs for as many processes, got {found}")
        self.device = torch.device("cuda", local) if kind == "cuda" else torch.device("cpu")
        self.precision = config.precision if config.precision != "auto" else fast_precision(kind)
        self._joined = False
        if config.threads:
            torch.set_num_threads(config.threads)
        if kind == "cuda":
            torch.cuda.set_device(self.device)
            # TF32 for the products that autocast leaves in fp32.
            torch.set_float32_matmul_precision("high")

    def __enter__(self) -> "Devices":
        if self.world > 1 and not dist.is_initialized():
            dist.init_process_group("nccl" if self.device.type == "cuda" else "gloo")
            self._joined = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._joined:
            dist.destroy_process_group()

    @property
    def main(self) -> bool:
        """True in the one process that writes and reports."""
        return self.rank == 0

    def autocast(self) -> AbstractContextManager[Any]:
        """Return the context in which the forward pass runs."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16")

    def parallel(self, module: nn.Module) -> nn.Module:
        """Wrap a module so that gradients are averaged over all processes; a single process gets the module itself."""
        if self.world == 1:
            return module
        return nn.parallel.DistributedDataParallel(module)

    def wait(self) -> None:
        """Wait until all processes have called this."""
        if self.world > 1:
            dist.barrier()

    def largest(self, number: float) -> float:
        """Return the maximum of a number over all processes."""
        return self._reduced(number, dist.ReduceOp.MAX) if self.world > 1 else number

    def mean(self, number: float) -> float:
        """Return the mean of a number over all processes."""
        return self._reduced(number, dist.ReduceOp.SUM) / self.world if self.world > 1 else number

    def gathered(self, thing: object) -> list[Any]:
        """Return the objects of all processes, by rank."""
        if self.world == 1:
            return [thing]
        things: list[Any] = [None] * self.world
        dist.all_gather_object(things, thing)
        return things

    def _reduced(self, number: float, how: Any) -> float:
        held: Tensor = torch.tensor(number, dtype=torch.float64, device=self.device)
        dist.all_reduce(held, how)
        return float(held)


def gpus() -> int:
    """Return the number of NVIDIA's or AMD's GPUs that torch can use here."""
    return torch.cuda.device_count()


def compiled(net: nn.Module) -> nn.Module:
    """Return a network whose steps PyTorch compiles."""
    # Attention turns its vectors by complex products, which are not compiled.
    warnings.filterwarnings("ignore", "Torchinductor does not support code generation for complex")
    return cast(nn.Module, torch.compile(net, dynamic=False))


def fast_precision(kind: str) -> str:
    """Return the precision in which a device, "cuda" or "cpu", trains fastest on this machine."""
    if kind == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported() else "fp32"
    return "bf16" if FAST_BF16.intersection(instruction_sets()) else "fp32"
