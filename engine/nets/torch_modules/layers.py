"""The layers of a `NetSpec` as torch modules, and the folding of norms into the convolutions before them.

Modules have copies of the spec's arrays. Points are [B, channels, H, W]. Convolutions and point-wise layers compute in
the precision of their weights; layers on vectors always compute in float32.
"""

from collections.abc import Mapping
from typing import ClassVar, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from engine.nets.spec import Activation, Conv, Linear, MetadataEncoder, Norm, RmsNorm


class Fusible(nn.Module):
    """A part of a network whose norms can be folded for inference.

    NORMS: names of its norms, each with that of the activation of its results.
    """

    NORMS: ClassVar[tuple[tuple[str, str], ...]] = ()

    def fuse(self) -> None:
        """Fold norms into the convolutions before them. The part cannot be trained afterwards."""
        raise NotImplementedError


class VectorLinear(nn.Linear):
    """A linear layer on a vector, computed in float32 even under autocast."""

    def forward(self, vector: Tensor) -> Tensor:
        """Return [B, outputs] of [B, inputs]."""
        if not torch.is_autocast_enabled(vector.device.type):
            return super().forward(vector)
        with torch.autocast(vector.device.type, enabled=False):
            return super().forward(vector.float())


class PointLinear(nn.Linear):
    """A linear layer on every point, computed in the precision of the convolutions."""


class TorchRmsNorm(nn.Module):
    """An `RmsNorm`, computed in float32 for inputs of any precision."""

    def __init__(self, layer: RmsNorm) -> None:
        super().__init__()
        self.epsilon, self.dimensions = layer.epsilon, (1, 2, 3) if layer.spatial else (1,)
        self.weight = nn.Parameter(tensor(layer.weight))
        self.bias = None if layer.bias is None else nn.Parameter(tensor(layer.bias))

    def forward(self, points: Tensor) -> Tensor:
        """Normalize points [B, channels, H, W]."""
        # Squares of bf16 or fp16 numbers lose too many digits, or overflow.
        x = points.float()
        x = x * torch.rsqrt(x.square().mean(dim=self.dimensions, keepdim=True) + self.epsilon)
        x = x * self.weight[:, None, None]
        if self.bias is not None:
            x = x + self.bias[:, None, None]
        return x.to(points.dtype)


class TorchMetadataEncoder(nn.Module):
    """A `MetadataEncoder`: [B, metadata] to [B, channels]."""

    def __init__(self, layer: MetadataEncoder) -> None:
        super().__init__()
        self.linear1, self.activation1 = linear(layer.linear1), activation(layer.activation1)
        self.linear2, self.activation2 = linear(layer.linear2), activation(layer.activation2)
        self.linear3 = linear(layer.linear3)

    def forward(self, metadata: Tensor) -> Tensor:
        """Return the vector that is added to every point of the trunk."""
        inner = self.activation2(self.linear2(self.activation1(self.linear1(metadata))))
        return cast(Tensor, self.linear3(inner))


def tensor(array: np.ndarray) -> Tensor:
    """Return a copy of an array."""
    return torch.from_numpy(np.array(array))


def conv(layer: Conv) -> nn.Module:
    """Return the convolution."""
    outputs, inputs, height, width = layer.weight.shape
    module = nn.Conv2d(inputs, outputs, (height, width), padding=(height // 2, width // 2), bias=layer.bias is not None)
    with torch.no_grad():
        module.weight.copy_(tensor(layer.weight))
        if layer.bias is not None and module.bias is not None:
            module.bias.copy_(tensor(layer.bias))
    return module


def linear(layer: Linear, kind: type[nn.Linear] = VectorLinear) -> nn.Module:
    """Return the linear layer: of a vector, or with `PointLinear` of every point."""
    inputs, outputs = layer.weight.shape
    module = kind(inputs, outputs, bias=layer.bias is not None)
    with torch.no_grad():
        module.weight.copy_(tensor(layer.weight.T))
        if layer.bias is not None:
            module.bias.copy_(tensor(layer.bias))
    return module


def norm(layer: Norm | RmsNorm) -> nn.Module:
    """Return the norm; a missing scale or bias of a `Norm` becomes 1 or 0."""
    if isinstance(layer, RmsNorm):
        return TorchRmsNorm(layer)
    module = nn.BatchNorm2d(len(layer.mean), eps=layer.epsilon)
    with torch.no_grad():
        cast(Tensor, module.running_mean).copy_(tensor(layer.mean))
        cast(Tensor, module.running_var).copy_(tensor(layer.variance))
        if layer.scale is not None:
            module.weight.copy_(tensor(layer.scale))
        if layer.bias is not None:
            module.bias.copy_(tensor(layer.bias))
    return module


_ACTIVATIONS: Mapping[Activation, type[nn.Module]] = {
    Activation.IDENTITY: nn.Identity,
    Activation.RELU: nn.ReLU,
    Activation.MISH: nn.Mish,
    Activation.SILU: nn.SiLU,
}


def activation(kind: Activation) -> nn.Module:
    """Return the activation."""
    return _ACTIVATIONS[kind]()


def kind_of(layer: nn.Module) -> Activation:
    """Return which activation a layer of `activation` is."""
    return next(kind for kind, each in _ACTIVATIONS.items() if type(layer) is each)


def global_pool(points: Tensor) -> Tensor:
    """Return [B, 3c] float32 of [B, c, H, W], see `engine.nets.spec`."""
    size = _size_term(points)
    mean = points.mean(dim=(2, 3), dtype=torch.float32)
    if torch.is_grad_enabled():
        # The gradient of amax looks for the points that equal the maximum, and in a compiled step in bf16 it finds
        # none. This one remembers the point, and on a CPU takes a quarter of the time.
        largest = nn.functional.adaptive_max_pool2d(points, 1).flatten(1)
    else:
        largest = points.amax(dim=(2, 3))
    return torch.cat([mean, mean * (size * 0.1), largest.float()], dim=1)


def value_pool(points: Tensor) -> Tensor:
    """Return [B, 3c] float32 of [B, c, H, W], see `engine.nets.spec`."""
    size = _size_term(points)
    mean = points.mean(dim=(2, 3), dtype=torch.float32)
    return torch.cat([mean, mean * (size * 0.1), mean * (size * size * 0.01 - 0.1)], dim=1)


def _size_term(points: Tensor) -> float:
    return float((points.shape[2] * points.shape[3]) ** 0.5 - 14.0)


def broadcast(vector: Tensor, points: Tensor) -> Tensor:
    """Return [B, c] as [B, c, 1, 1] in the type of the points it is added to."""
    return vector.to(points.dtype)[:, :, None, None]


def fused(convolution: nn.Module, batch_norm: nn.Module) -> tuple[nn.Module, nn.Module]:
    """Return one convolution for both, and an identity in place of the norm."""
    return fuse_conv_bn_eval(cast(nn.Conv2d, convolution), cast(nn.BatchNorm2d, batch_norm)), nn.Identity()


def scale(layer: nn.Module, batch_norm: nn.Module) -> None:
    """Scale a linear layer whose result is added before a norm by the norm's factor, so that the norm can be folded."""
    added, following = cast(nn.Linear, layer), cast(nn.BatchNorm2d, batch_norm)
    factor = following.weight / torch.sqrt(cast(Tensor, following.running_var) + following.eps)
    with torch.no_grad():
        added.weight.mul_(factor[:, None])
        if added.bias is not None:
            added.bias.mul_(factor)
