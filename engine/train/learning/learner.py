"""The network in training with its optimizer, averaged weights and learning rate schedule."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from engine.nets.spec import NetSpec
from engine.train.learning.auxiliary import extra_heads
from engine.train.learning.checkpoint import Checkpoint, restore, restore_module
from engine.train.learning.devices import Devices
from engine.train.learning.input_ranges import InputRanges
from engine.train.learning.network import Predictions, TrainableNet
from engine.train.learning.schedule import Schedule
from engine.train.learning.size_statistics import SizeStatistics
from engine.train.learning.train_config import TrainConfig

_SIZES, _INPUTS = "sizes", "inputs"
_ENTRIES = {torch.optim.AdamW: ("exp_avg", "exp_avg_sq", "step"), torch.optim.SGD: ("momentum_buffer",)}


class Learner:
    """A network in training with its averaged weights, optimizer and schedule.

    Raises WeightsError on a network that cannot be trained.
    """

    def __init__(self, spec: NetSpec, config: TrainConfig, device: torch.device) -> None:
        net = TrainableNet(
            spec, freeze_trunk=config.freeze == "trunk", norms=config.norms, seed=config.seed, extra=extra_heads(config)
        )
        self.net: TrainableNet = net.to(device, memory_format=torch.channels_last).train()  # type: ignore[call-overload]
        self.average = Average(self.net, config.ema_decay)
        self.sizes = SizeStatistics(self.net, config.ema_decay)
        self.inputs = InputRanges(spec, frozen=config.freeze == "trunk")
        self.optimizer = make_optimizer(config, self.net)
        self.schedule = Schedule(config)
        self.parameters = [each for each in self.net.parameters() if each.requires_grad]

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of the next step."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """Return all tensors, grouped by the files of a checkpoint. The only other state is `schedule.factor`."""
        optimizer = optimizer_tensors(self.optimizer, self.net)
        found = {"model": self.net.state_dict(), "ema": self.average.net.state_dict(), "optimizer": optimizer}
        found |= {_INPUTS: self.inputs.tensors()}
        return found | ({_SIZES: self.sizes.tensors()} if self.sizes.tensors() else {})

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore the state from a checkpoint. Raises CheckpointError if a tensor does not fit."""
        restore_module(self.net, checkpoint, "model")
        restore_module(self.average.net, checkpoint, "ema")
        restore_optimizer(self.optimizer, self.net, checkpoint)
        if checkpoint.has(_SIZES):
            self.sizes.restore(checkpoint.tensors(_SIZES), f"{checkpoint.folder}/{_SIZES}.safetensors")
        ranges = checkpoint.tensors(_INPUTS) if checkpoint.has(_INPUTS) else None
        self.inputs.restore(ranges, f"{checkpoint.folder}/{_INPUTS}.safetensors")
        self.schedule.restore(checkpoint.state["rate_factor"])


class Average:
    """The exponential moving average of a network's weights and batch-norm statistics.

    net: a network with the averaged weights, in evaluation mode. The average follows faster in the first steps, so
    that the random initial weights are soon forgotten.
    """

    def __init__(self, net: TrainableNet, decay: float) -> None:
        self.net, self._decay = net.twin(), decay

    @torch.no_grad()
    def update(self, net: TrainableNet, step: int) -> None:
        """Add the weights after a step, counted from 0."""
        decay = min(self._decay, (1.0 + step) / (10.0 + step))
        mine, theirs = (list(_numbers(each)) for each in (self.net, net))
        # One call for all tensors: a loop would start a kernel for each.
        torch._foreach_lerp_(mine, theirs, 1.0 - decay)


def _numbers(net: nn.Module) -> Iterator[Tensor]:
    """Yield the parameters and floating-point buffers, but not batch norm's integer counters."""
    yield from (parameter.detach() for parameter in net.parameters())
    yield from (buffer for buffer in net.buffers() if buffer.is_floating_point())


def make_optimizer(config: TrainConfig, net: TrainableNet) -> torch.optim.Optimizer:
    """Return the configured optimizer for the trainable parameters of a network."""
    groups = net.parameter_groups(config.weight_decay)
    if config.optimizer == "adamw":
        return torch.optim.AdamW(groups, lr=config.learning_rate)
    nesterov = config.momentum > 0.0
    return torch.optim.SGD(groups, lr=config.learning_rate, momentum=config.momentum, nesterov=nesterov)


def optimizer_tensors(optimizer: torch.optim.Optimizer, net: nn.Module) -> dict[str, Tensor]:
    """Return an optimizer's tensors by "parameter.entry"; empty before the first step."""
    names: dict[Tensor, str] = {parameter: name for name, parameter in net.named_parameters()}
    return {
        f"{names[parameter]}.{entry}": value
        for parameter, entries in optimizer.state.items()
        for entry, value in entries.items()
        if isinstance(value, Tensor)
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, net: nn.Module, checkpoint: Checkpoint) -> None:
    """Restore a new optimizer's tensors. Raises CheckpointError if one is missing, unknown or does not fit."""
    # Optimizers create their tensors in the first step, so they are created here for `restore` to fill.
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            for entry in _ENTRIES[type(optimizer)]:
                blank = torch.zeros(()) if entry == "step" else torch.zeros_like(parameter)
                if entry != "momentum_buffer" or group["momentum"] > 0.0:
                    optimizer.state[parameter][entry] = blank
    file = f"{checkpoint.folder}/optimizer.safetensors"
    restore(optimizer_tensors(optimizer, net), checkpoint.tensors("optimizer"), file)


@torch.no_grad()
def policy_change(net: TrainableNet, inputs: tuple[Tensor, Tensor], before: Predictions, devices: Devices) -> float:
    """Return the mean over a batch of KL(policy before, policy after) in nats, in training mode."""
    with _statistics_kept(net), devices.autocast():
        after: Any = net(*inputs)
    old, new = (each.outputs.policy[:, 0].float().log_softmax(1) for each in (before, after))
    return float((old.exp() * (old - new)).sum(1).mean())


@contextmanager
def _statistics_kept(net: nn.Module) -> Iterator[None]:
    """Let batch norms use the batch's statistics without updating their running ones."""
    norms = [module for module in net.modules() if isinstance(module, nn.BatchNorm2d)]
    momenta = [module.momentum for module in norms]
    for module in norms:
        module.momentum = 0.0
    try:
        yield
    finally:
        for module, momentum in zip(norms, momenta, strict=True):
            module.momentum = momentum
