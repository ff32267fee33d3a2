"""Replaces the parts of a model that PyTorch computes in many passes over memory, for inference on a GPU.

Products are fast there, so it counts how often the numbers between them are read and written: once for a norm and the
activation after it, the rotation of queries and keys, the product with a gate. Projections of the same points become
one product. `engine.nets.torch_modules.pointwise` has the functions. docs/performance.md has what that gains.
"""

from types import ModuleType
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.nets.spec import Activation
from engine.nets.torch_modules.blocks import TorchAttention, TorchFeedForward, angles
from engine.nets.torch_modules.layers import Fusible, TorchRmsNorm, kind_of
from engine.nets.torch_modules.model import TorchModel


def in_one_pass(model: TorchModel, functions: ModuleType) -> TorchModel:
    """Replace norms with the activations after them, attention and feed-forward blocks; return the model.

    functions: `pointwise`, or a module with the same functions. The model cannot be trained afterwards, and computes
    points in the memory format channels_last.
    """
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, TorchAttention):
                setattr(module, name, _Attention(child, functions))
            elif isinstance(child, TorchFeedForward):
                setattr(module, name, _FeedForward(child, functions))
    for module in model.modules():
        if isinstance(module, Fusible):
            for first, second in module.NORMS:
                _join(module, first, second, functions)
    return model


def _join(module: nn.Module, first: str, second: str, functions: ModuleType) -> None:
    """Replace a norm and an activation of a module by one module and an identity."""
    layer = getattr(module, first)
    if not isinstance(layer, nn.Identity):
        setattr(module, first, _norm(layer, kind_of(getattr(module, second)), functions))
        setattr(module, second, nn.Identity())


def _norm(layer: nn.Module, kind: Activation, functions: ModuleType) -> nn.Module:
    if isinstance(layer, TorchRmsNorm):
        return _Normalized(layer, kind, functions)
    return _Scaled(cast(nn.BatchNorm2d, layer), kind, functions)


class _Scaled(nn.Module):
    """A `Norm` and the activation after it."""

    def __init__(self, norm: nn.BatchNorm2d, kind: Activation, functions: ModuleType) -> None:
        super().__init__()
        self._kind, self._functions = kind, functions
        factors = norm.weight.detach() / torch.sqrt(cast(Tensor, norm.running_var) + norm.eps)
        offsets = norm.bias.detach() - cast(Tensor, norm.running_mean) * factors
        self.register_buffer("norm", torch.stack([factors, offsets]))

    def forward(self, points: Tensor) -> Tensor:
        rows = self._functions.scaled(_channels_last(points), self.norm, self._kind)
        return cast(Tensor, rows).permute(0, 3, 1, 2)


class _Normalized(nn.Module):
    """An `RmsNorm` and the activation after it."""

    def __init__(self, norm: TorchRmsNorm, kind: Activation, functions: ModuleType) -> None:
        super().__init__()
        self._kind, self._functions = kind, functions
        self._epsilon, self._is_spatial = norm.epsilon, len(norm.dimensions) > 1
        weight = norm.weight.detach()
        bias = torch.zeros_like(weight) if norm.bias is None else norm.bias.detach()
        self.register_buffer("norm", torch.stack([weight, bias]))

    def forward(self, points: Tensor) -> Tensor:
        normalized = self._functions.normalized
        rows = normalized(_channels_last(points), self.norm, self._epsilon, self._kind, spatial=self._is_spatial)
        return cast(Tensor, rows).permute(0, 3, 1, 2)


class _Attention(nn.Module):
    """An attention block. It adds to the points that it is given, in place."""

    def __init__(self, block: TorchAttention, functions: ModuleType) -> None:
        super().__init__()
        self.heads, self.kv_heads, self._functions = block.heads, block.kv_heads, functions
        self.norm = _norm(block.norm, Activation.IDENTITY, functions)
        self.project = _joined(block.query, block.key, block.value)
        self._widths = [cast(nn.Linear, each).out_features for each in (block.query, block.key, block.value)]
        self.output, self.rope = block.output, block.rope
        self._turns: dict[tuple[int, int], tuple[Tensor, Tensor]] = {}

    def forward(self, trunk: Tensor) -> Tensor:
        batch, _, height, width = trunk.shape
        points = _rows(self.norm(trunk))
        joint = self.project(points)
        if self.rope is not None:
            self._functions.turn(joint, *self._angles(height, width))
        counts = self.heads, self.kv_heads, self.kv_heads
        split = zip(joint.view(batch, height * width, -1).split(self._widths, dim=2), counts, strict=True)
        # [B, heads, area, width of one]
        query, key, value = (each.unflatten(2, (count, -1)).transpose(1, 2) for each, count in split)
        grouped = self.heads != self.kv_heads
        mixed = functional.scaled_dot_product_attention(query, key, value, enable_gqa=grouped)
        return _added(trunk, mixed.transpose(1, 2).reshape(len(points), -1), self.output)

    def _angles(self, height: int, width: int) -> tuple[Tensor, Tensor]:
        """Return the cosines and sines of the rotations of queries, then keys, at each point: [area, pairs]."""
        found = self._turns.get((height, width))
        if found is None:
            turned = angles(cast(Tensor, self.rope), height, width)
            queries = turned.repeat_interleave(self.heads // self.kv_heads, dim=1)
            joint = torch.cat([queries, turned], dim=1).flatten(1)
            found = self._turns[height, width] = joint.cos(), joint.sin()
        return found


class _FeedForward(nn.Module):
    """A feed-forward block. It adds to the points that it is given, in place."""

    def __init__(self, block: TorchFeedForward, functions: ModuleType) -> None:
        super().__init__()
        self._functions, self._kind, self._is_gated = functions, kind_of(block.activation), block.gate is not None
        self.norm, self.activation = _norm(block.norm, Activation.IDENTITY, functions), block.activation
        self.expand = block.expand if block.gate is None else _joined(block.expand, block.gate)
        self.contract = block.contract

    def forward(self, trunk: Tensor) -> Tensor:
        inner = self.expand(_rows(self.norm(trunk)))
        inner = self._functions.gated(inner, self._kind) if self._is_gated else self.activation(inner)
        return _added(trunk, inner, self.contract)


def _joined(*layers: nn.Module) -> nn.Linear:
    """Return one layer that computes the outputs of all layers, one after the other."""
    given = [cast(nn.Linear, each) for each in layers]
    has_bias = any(each.bias is not None for each in given)
    joint = type(given[0])(given[0].in_features, sum(each.out_features for each in given), bias=has_bias)
    with torch.no_grad():
        joint.weight.copy_(torch.cat([each.weight for each in given]))
        if has_bias:
            none = [torch.zeros(each.out_features) if each.bias is None else each.bias.detach() for each in given]
            joint.bias.copy_(torch.cat(none))
    return joint


def _channels_last(points: Tensor) -> Tensor:
    """Return [B, c, H, W] as contiguous [B, H, W, c]; a view if the memory format is channels_last."""
    return points.permute(0, 2, 3, 1).contiguous()


def _rows(points: Tensor) -> Tensor:
    """Return [B, c, H, W] as [B * area, c]."""
    return _channels_last(points).flatten(0, 2)


def _added(trunk: Tensor, rows: Tensor, layer: nn.Module) -> Tensor:
    """Add a layer's outputs of rows [B * area, ...] to the trunk and return it."""
    linear = cast(nn.Linear, layer)
    if not trunk.is_contiguous(memory_format=torch.channels_last):
        trunk = trunk.contiguous(memory_format=torch.channels_last)
    target = trunk.permute(0, 2, 3, 1).flatten(0, 2)
    target.addmm_(rows, linear.weight.t())
    return trunk if linear.bias is None else trunk.add_(linear.bias[:, None, None])
