"""A `NetSpec` as a torch module, to compute with and to train.

Owns the arithmetic of every kind of layer in torch; knows no encoder, no legality and no rules.
Module names follow the spec's paths. Planes come in NCHW.
"""

from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from engine.nets.spec import (
    Activation,
    Block,
    Conv,
    GlobalPoolBlock,
    Linear,
    NetSpec,
    Norm,
    PolicyHead,
    ResidualBlock,
    ValueHead,
)


class Outputs(NamedTuple):
    """Raw outputs for B positions from the view of the side to move; all float32.

    policy: [B, policies, area + 1] logits, pass last. result: [B, 1..3] before tanh or softmax.
    score: [B, scores]. ownership: [B, area] before tanh. The last two are empty [B, 0] when the
    network has no such head.
    """

    policy: Tensor
    result: Tensor
    score: Tensor
    ownership: Tensor


class TorchModel(nn.Module):
    """The network; weights are copies of the spec's."""

    def __init__(self, spec: NetSpec) -> None:
        super().__init__()
        self.stem = _conv(spec.stem.conv)
        self.stem_globals = None if spec.stem.globals is None else _linear(spec.stem.globals)
        self.blocks = nn.ModuleList(_block(block) for block in spec.blocks)
        self.tip_norm = _norm(spec.tip.norm)
        self.tip_activation = _activation(spec.tip.activation)
        self.policy = _Policy(spec.policy)
        self.value = _Value(spec.value)

    def forward(self, planes: Tensor, globals_: Tensor) -> Outputs:
        """Compute all heads; planes [B, planes, H, W] in the model's own precision, globals_ [B, globals] float32."""
        trunk = self.stem(planes)
        if self.stem_globals is not None:
            trunk = trunk + _broadcast(self.stem_globals(globals_), trunk)
        for block in self.blocks:
            trunk = block(trunk)
        trunk = self.tip_activation(self.tip_norm(trunk))
        return Outputs(self.policy(trunk), *self.value(trunk))

    def fused(self, dtype: torch.dtype) -> "TorchModel":
        """Prepare for inference and return self: norms that follow a convolution are folded into it.

        Convolutions then compute in `dtype`; pooled vectors, what follows them, and all outputs stay
        float32. The model can no longer be trained.
        """
        self.eval()
        for part in (*self.blocks, self.policy, self.value):
            cast(_Fusible, part).fuse()
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.BatchNorm2d):
                module.to(dtype=dtype)
        return self.requires_grad_(False).to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


class _Fusible(nn.Module):
    def fuse(self) -> None:
        """Fold norms into the convolutions before them."""
        raise NotImplementedError


class _Residual(_Fusible):
    def __init__(self, block: ResidualBlock) -> None:
        super().__init__()
        self.norm1, self.activation1, self.conv1 = (
            _norm(block.norm1),
            _activation(block.activation1),
            _conv(block.conv1),
        )
        self.norm2, self.activation2, self.conv2 = (
            _norm(block.norm2),
            _activation(block.activation2),
            _conv(block.conv2),
        )

    def forward(self, trunk: Tensor) -> Tensor:
        inner = self.conv1(self.activation1(self.norm1(trunk)))
        return trunk + cast(Tensor, self.conv2(self.activation2(self.norm2(inner))))

    def fuse(self) -> None:
        self.conv1, self.norm2 = _fuse(self.conv1, self.norm2)


class _GlobalPool(_Fusible):
    def __init__(self, block: GlobalPoolBlock) -> None:
        super().__init__()
        self.norm1, self.activation1, self.conv1 = (
            _norm(block.norm1),
            _activation(block.activation1),
            _conv(block.conv1),
        )
        self.pool_conv, self.pool_norm = _conv(block.pool_conv), _norm(block.pool_norm)
        self.pool_activation, self.pool_bias = _activation(block.pool_activation), _linear(block.pool_bias)
        self.norm2, self.activation2, self.conv2 = (
            _norm(block.norm2),
            _activation(block.activation2),
            _conv(block.conv2),
        )

    def forward(self, trunk: Tensor) -> Tensor:
        inner = self.activation1(self.norm1(trunk))
        pooled = global_pool(self.pool_activation(self.pool_norm(self.pool_conv(inner))))
        inner = self.conv1(inner)
        inner = inner + _broadcast(self.pool_bias(pooled), inner)
        return trunk + cast(Tensor, self.conv2(self.activation2(self.norm2(inner))))

    def fuse(self) -> None:
        self.pool_conv, self.pool_norm = _fuse(self.pool_conv, self.pool_norm)
        _scale(self.pool_bias, self.norm2)
        self.conv1, self.norm2 = _fuse(self.conv1, self.norm2)


class _Policy(_Fusible):
    def __init__(self, head: PolicyHead) -> None:
        super().__init__()
        self.conv1, self.norm, self.activation = _conv(head.conv1), _norm(head.norm), _activation(head.activation)
        self.pool_conv, self.pool_norm = _conv(head.pool_conv), _norm(head.pool_norm)
        self.pool_activation, self.pool_bias = _activation(head.pool_activation), _linear(head.pool_bias)
        self.conv2, self.pass_linear = _conv(head.conv2), _linear(head.pass_linear)
        self.pass_hidden = None if head.pass_hidden is None else _linear(head.pass_hidden)
        self.pass_activation = _activation(head.pass_activation)

    def forward(self, trunk: Tensor) -> Tensor:
        pooled = global_pool(self.pool_activation(self.pool_norm(self.pool_conv(trunk))))
        points = self.conv1(trunk)
        points = points + _broadcast(self.pool_bias(pooled), points)
        points = self.conv2(self.activation(self.norm(points))).float().flatten(2)
        if self.pass_hidden is not None:
            pooled = self.pass_activation(self.pass_hidden(pooled))
        return torch.cat([points, self.pass_linear(pooled).unsqueeze(2)], dim=2)

    def fuse(self) -> None:
        self.pool_conv, self.pool_norm = _fuse(self.pool_conv, self.pool_norm)
        _scale(self.pool_bias, self.norm)
        self.conv1, self.norm = _fuse(self.conv1, self.norm)


class _Value(_Fusible):
    def __init__(self, head: ValueHead) -> None:
        super().__init__()
        self.conv, self.norm, self.activation = _conv(head.conv), _norm(head.norm), _activation(head.activation)
        self.hidden, self.hidden_activation = _linear(head.hidden), _activation(head.hidden_activation)
        self.result = _linear(head.result)
        self.score = None if head.score is None else _linear(head.score)
        self.ownership = None if head.ownership is None else _conv(head.ownership)

    def forward(self, trunk: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        points = self.activation(self.norm(self.conv(trunk)))
        hidden = self.hidden_activation(self.hidden(value_pool(points)))
        nothing = hidden.new_empty((len(hidden), 0))
        score = nothing if self.score is None else self.score(hidden)
        ownership = nothing if self.ownership is None else self.ownership(points).float().flatten(1)
        return self.result(hidden), score, ownership

    def fuse(self) -> None:
        self.conv, self.norm = _fuse(self.conv, self.norm)


def global_pool(points: Tensor) -> Tensor:
    """Return [B, 3c] float32 of [B, c, H, W], see `engine.nets.spec`."""
    size = _size_term(points)
    mean = points.mean(dim=(2, 3), dtype=torch.float32)
    return torch.cat([mean, mean * (size * 0.1), points.amax(dim=(2, 3)).float()], dim=1)


def value_pool(points: Tensor) -> Tensor:
    """Return [B, 3c] float32 of [B, c, H, W], see `engine.nets.spec`."""
    size = _size_term(points)
    mean = points.mean(dim=(2, 3), dtype=torch.float32)
    return torch.cat([mean, mean * (size * 0.1), mean * (size * size * 0.01 - 0.1)], dim=1)


def _size_term(points: Tensor) -> float:
    return float((points.shape[2] * points.shape[3]) ** 0.5 - 14.0)


def _broadcast(vector: Tensor, points: Tensor) -> Tensor:
    """Return [B, c] as [B, c, 1, 1] in the type of the points it is added to."""
    return vector.to(points.dtype)[:, :, None, None]


def _fuse(conv: nn.Module, norm: nn.Module) -> tuple[nn.Module, nn.Module]:
    return fuse_conv_bn_eval(cast(nn.Conv2d, conv), cast(nn.BatchNorm2d, norm)), nn.Identity()


def _scale(linear: nn.Module, norm: nn.Module) -> None:
    """Multiply a layer that is added before a norm by the norm's factor, so that the norm can be folded."""
    layer, batch_norm = cast(nn.Linear, linear), cast(nn.BatchNorm2d, norm)
    factor = batch_norm.weight / torch.sqrt(cast(Tensor, batch_norm.running_var) + batch_norm.eps)
    with torch.no_grad():
        layer.weight.mul_(factor[:, None])
        if layer.bias is not None:
            layer.bias.mul_(factor)


def _block(block: Block) -> nn.Module:
    match block:
        case ResidualBlock():
            return _Residual(block)
        case GlobalPoolBlock():
            return _GlobalPool(block)


def _tensor(array: np.ndarray) -> Tensor:
    return torch.from_numpy(np.array(array))


def _conv(layer: Conv) -> nn.Module:
    outputs, inputs, height, width = layer.weight.shape
    module = nn.Conv2d(inputs, outputs, (height, width), padding=(height // 2, width // 2), bias=layer.bias is not None)
    with torch.no_grad():
        module.weight.copy_(_tensor(layer.weight))
        if layer.bias is not None and module.bias is not None:
            module.bias.copy_(_tensor(layer.bias))
    return module


def _linear(layer: Linear) -> nn.Module:
    inputs, outputs = layer.weight.shape
    module = nn.Linear(inputs, outputs, bias=layer.bias is not None)
    with torch.no_grad():
        module.weight.copy_(_tensor(layer.weight.T))
        if layer.bias is not None:
            module.bias.copy_(_tensor(layer.bias))
    return module


def _norm(layer: Norm) -> nn.Module:
    """Return the norm; a missing scale or bias becomes 1 or 0."""
    module = nn.BatchNorm2d(len(layer.mean), eps=layer.epsilon)
    with torch.no_grad():
        cast(Tensor, module.running_mean).copy_(_tensor(layer.mean))
        cast(Tensor, module.running_var).copy_(_tensor(layer.variance))
        if layer.scale is not None:
            module.weight.copy_(_tensor(layer.scale))
        if layer.bias is not None:
            module.bias.copy_(_tensor(layer.bias))
    return module


def _activation(kind: Activation) -> nn.Module:
    match kind:
        case Activation.IDENTITY:
            return nn.Identity()
        case Activation.RELU:
            return nn.ReLU()
        case Activation.MISH:
            return nn.Mish()
        case Activation.SILU:
            return nn.SiLU()


def masked_softmax(logits: Tensor, legal: Tensor) -> Tensor:
    """Return probabilities over the legal entries: exactly 0 elsewhere, whatever the logits' sign.

    logits: [B, n] float32; legal: [B, n] bool with at least one True a row.
    """
    return logits.masked_fill(~legal, -torch.inf).softmax(dim=1)
