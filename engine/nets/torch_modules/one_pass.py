"""Replaces the parts of a model that PyTorch computes in many passes over memory, for inference on a GPU.

Products are fast there, so it counts how often the numbers between them are read and written: once for a norm and the
activation after it, the rotation of queries and keys, the product with a gate. Projections of the same points become
one product; with numbers of 16 bits, whole blocks of a transformer become one or two kernels.
`engine.nets.torch_modules.pointwise` has the functions. docs/performance.md has what that gains.
"""

from types import ModuleType
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.nets.spec import Activation
from engine.nets.torch_modules.blocks import TorchAttention, TorchFeedForward, TorchNestedBottleneck, angles
from engine.nets.torch_modules.layers import Fusible, PointLinear, TorchRmsNorm, kind_of
from engine.nets.torch_modules.model import TorchModel


def in_one_pass(model: TorchModel, functions: ModuleType, products: ModuleType | None = None) -> TorchModel:
    """Replace norms with the activations after them, attention and feed-forward blocks; return the model.

    functions: `pointwise`, or a module with the same functions. products: `triton_products`, for numbers of 16 bits, or
    None. The model cannot be trained afterwards, and computes points in the memory format channels_last.
    """
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, TorchAttention):
                setattr(module, name, _attention(child, functions, products))
            elif isinstance(child, TorchFeedForward):
                setattr(module, name, _feed_forward(child, functions, products))
    for module in model.modules():
        if isinstance(module, Fusible):
            for first, second in module.NORMS:
                _join(module, first, second, functions)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, TorchNestedBottleneck) and cast(nn.Conv2d, child.conv2).kernel_size == (1, 1):
                setattr(module, name, _NestedBottleneck(child))
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
        self._turns: dict[tuple[int, int], Tensor] = {}

    def forward(self, trunk: Tensor) -> Tensor:
        height, width = trunk.shape[2:]
        joint = self.project(_rows(self.norm(trunk)))
        if self.rope is not None:
            self._functions.turn(joint, *self._angles(height, width))
        counts = self.heads, self.kv_heads, self.kv_heads
        split = zip(joint.view(len(trunk), height * width, -1).split(self._widths, dim=2), counts, strict=True)
        # [B, heads, area, width of one]
        query, key, value = (each.unflatten(2, (count, -1)).transpose(1, 2) for each, count in split)
        grouped = self.heads != self.kv_heads
        mixed = functional.scaled_dot_product_attention(query, key, value, enable_gqa=grouped)
        return _added(trunk, mixed.transpose(1, 2).reshape(len(joint), -1), self.output)

    def _angles(self, height: int, width: int) -> Tensor:
        """Return the cosines and sines of the rotations of queries, then keys, at each point: [2, area, pairs]."""
        found = self._turns.get((height, width))
        if found is None:
            turned = angles(cast(Tensor, self.rope), height, width)
            queries = turned.repeat_interleave(self.heads // self.kv_heads, dim=1)
            joint = torch.cat([queries, turned], dim=1).flatten(1)
            found = self._turns[height, width] = torch.stack([joint.cos(), joint.sin()])
        return found


class _FusedAttention(_Attention):
    """An attention block by two kernels and a product."""

    def __init__(self, block: TorchAttention, functions: ModuleType, products: ModuleType) -> None:
        super().__init__(block, functions)
        self._products, self._epsilon = products, cast(TorchRmsNorm, block.norm).epsilon
        self.project, self.offsets = _with_norm(self.project, cast(TorchRmsNorm, block.norm))
        del self.norm

    def forward(self, trunk: Tensor) -> Tensor:
        height, width = trunk.shape[2:]
        turns = None if self.rope is None else self._angles(height, width)
        joint = self._products.projected(_rows(trunk), self.project.weight, self._epsilon, self.offsets, turns)
        mixed = self._products.attended(joint, height * width, self.heads, self.kv_heads)
        return _added(trunk, mixed, self.output)


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


class _FusedFeedForward(nn.Module):
    """A feed-forward block by one kernel. It adds to the points that it is given, in place."""

    def __init__(self, block: TorchFeedForward, products: ModuleType) -> None:
        super().__init__()
        self._products, self._kind = products, kind_of(block.activation)
        norm = cast(TorchRmsNorm, block.norm)
        self.expand, self.offsets = _with_norm(_in_turn(block.expand, block.gate), norm)
        self._epsilon, self.contract = norm.epsilon, cast(nn.Linear, block.contract)

    def forward(self, trunk: Tensor) -> Tensor:
        trunk = _in_channels_last(trunk)
        rows, contract = _rows(trunk), self.contract
        self._products.feed(rows, self.expand.weight, contract.weight, self._epsilon, self._kind, self.offsets)
        return trunk if contract.bias is None else trunk.add_(contract.bias[:, None, None])


def _attention(block: TorchAttention, functions: ModuleType, products: ModuleType | None) -> nn.Module:
    outputs = [cast(nn.Linear, each).out_features for each in (block.query, block.key, block.value)]
    width = outputs[0] // block.heads
    if (
        products is not None
        and _is_of_points(block.norm)
        and outputs[1] == outputs[2]
        and products.can_project(cast(nn.Linear, block.query).in_features, sum(outputs))
        and products.can_attend(width)
    ):
        return _FusedAttention(block, functions, products)
    return _Attention(block, functions)


def _feed_forward(block: TorchFeedForward, functions: ModuleType, products: ModuleType | None) -> nn.Module:
    expand = cast(nn.Linear, block.expand)
    if (
        products is not None
        and _is_of_points(block.norm)
        and products.can_feed(expand.in_features, expand.out_features)
    ):
        return _FusedFeedForward(block, products)
    return _FeedForward(block, functions)


def _is_of_points(norm: nn.Module) -> bool:
    """Return whether a norm is a root mean square of each point by itself."""
    return isinstance(norm, TorchRmsNorm) and len(norm.dimensions) == 1


class _NestedBottleneck(nn.Module):
    """A nested bottleneck whose last convolution is of single points. It adds to its points in place."""

    def __init__(self, block: TorchNestedBottleneck) -> None:
        super().__init__()
        self.before = nn.Sequential(block.norm1, block.activation1, block.conv1, *block.blocks)
        self.after = nn.Sequential(block.norm2, block.activation2)
        last = cast(nn.Conv2d, block.conv2)
        self.output = PointLinear(last.in_channels, last.out_channels, bias=last.bias is not None)
        with torch.no_grad():
            self.output.weight.copy_(last.weight[:, :, 0, 0])
            if last.bias is not None:
                self.output.bias.copy_(last.bias)

    def forward(self, trunk: Tensor) -> Tensor:
        return _added(trunk, _rows(self.after(self.before(trunk))), self.output)


def _in_turn(expand: nn.Module, gate: nn.Module | None) -> nn.Linear:
    """Return one layer with each hidden channel and its gate next to each other."""
    joined = _joined(expand) if gate is None else _joined(expand, gate)
    if gate is not None:
        with torch.no_grad():
            for each in joined.parameters():
                each.copy_(torch.stack(each.chunk(2), dim=1).flatten(0, 1))
    return joined


def _with_norm(layer: nn.Linear, norm: TorchRmsNorm) -> tuple[nn.Linear, Tensor | None]:
    """Return a layer of rows that are only divided by their root mean square, and its offsets if it has any."""
    weight, bias = layer.weight.detach(), layer.bias
    offsets = torch.zeros(len(weight)) if bias is None else bias.detach()
    if norm.bias is not None:
        offsets = offsets + weight @ norm.bias.detach()
    folded = type(layer)(layer.in_features, layer.out_features, bias=False)
    with torch.no_grad():
        folded.weight.copy_(weight * norm.weight.detach())
    return folded, nn.Buffer(offsets) if offsets.any() else None


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
    trunk = _in_channels_last(trunk)
    _rows(trunk).addmm_(rows, linear.weight.t())
    return trunk if linear.bias is None else trunk.add_(linear.bias[:, None, None])


def _in_channels_last(points: Tensor) -> Tensor:
    """Return points in this memory format, in which `_rows` is a view of them."""
    return points.contiguous(memory_format=torch.channels_last)
