"""The blocks of a network's trunk as torch modules: points [B, channels, H, W] in, the same shape out."""

from typing import assert_never, cast

import torch
from torch import Tensor, nn

from engine.nets.spec import (
    AttentionBlock,
    Block,
    FeedForwardBlock,
    GlobalPoolBlock,
    NestedBottleneckBlock,
    PostActivationBlock,
    ResidualBlock,
)
from engine.nets.torch_modules.layers import (
    Fusible,
    PointLinear,
    activation,
    broadcast,
    conv,
    fused,
    global_pool,
    linear,
    norm,
    scale,
    tensor,
)


def torch_block(block: Block) -> Fusible:
    """Return the block as a module."""
    match block:
        case ResidualBlock():
            return _Residual(block)
        case GlobalPoolBlock():
            return _GlobalPool(block)
        case NestedBottleneckBlock():
            return TorchNestedBottleneck(block)
        case AttentionBlock():
            return TorchAttention(block)
        case FeedForwardBlock():
            return TorchFeedForward(block)
        case PostActivationBlock():
            return _PostActivation(block)
        case _:
            assert_never(block)


class _Residual(Fusible):
    NORMS = (("norm1", "activation1"), ("norm2", "activation2"))

    def __init__(self, block: ResidualBlock) -> None:
        super().__init__()
        self.norm1, self.activation1, self.conv1 = norm(block.norm1), activation(block.activation1), conv(block.conv1)
        self.norm2, self.activation2, self.conv2 = norm(block.norm2), activation(block.activation2), conv(block.conv2)

    def forward(self, trunk: Tensor) -> Tensor:
        inner = self.conv1(self.activation1(self.norm1(trunk)))
        return trunk + cast(Tensor, self.conv2(self.activation2(self.norm2(inner))))

    def fuse(self) -> None:
        self.conv1, self.norm2 = fused(self.conv1, self.norm2)


class _GlobalPool(Fusible):
    NORMS = (("norm1", "activation1"), ("pool_norm", "pool_activation"), ("norm2", "activation2"))

    def __init__(self, block: GlobalPoolBlock) -> None:
        super().__init__()
        self.norm1, self.activation1, self.conv1 = norm(block.norm1), activation(block.activation1), conv(block.conv1)
        self.pool_conv, self.pool_norm = conv(block.pool_conv), norm(block.pool_norm)
        self.pool_activation, self.pool_bias = activation(block.pool_activation), linear(block.pool_bias)
        self.norm2, self.activation2, self.conv2 = norm(block.norm2), activation(block.activation2), conv(block.conv2)

    def forward(self, trunk: Tensor) -> Tensor:
        inner = self.activation1(self.norm1(trunk))
        pooled = global_pool(self.pool_activation(self.pool_norm(self.pool_conv(inner))))
        inner = self.conv1(inner)
        inner = inner + broadcast(self.pool_bias(pooled), inner)
        return trunk + cast(Tensor, self.conv2(self.activation2(self.norm2(inner))))

    def fuse(self) -> None:
        self.pool_conv, self.pool_norm = fused(self.pool_conv, self.pool_norm)
        scale(self.pool_bias, self.norm2)
        self.conv1, self.norm2 = fused(self.conv1, self.norm2)


class TorchNestedBottleneck(Fusible):
    """A `NestedBottleneckBlock`."""

    NORMS = (("norm1", "activation1"), ("norm2", "activation2"))

    def __init__(self, block: NestedBottleneckBlock) -> None:
        super().__init__()
        self.norm1, self.activation1, self.conv1 = norm(block.norm1), activation(block.activation1), conv(block.conv1)
        self.blocks = nn.ModuleList(torch_block(inner) for inner in block.blocks)
        self.norm2, self.activation2, self.conv2 = norm(block.norm2), activation(block.activation2), conv(block.conv2)

    def forward(self, trunk: Tensor) -> Tensor:
        inner = self.conv1(self.activation1(self.norm1(trunk)))
        for block in self.blocks:
            inner = block(inner)
        return trunk + cast(Tensor, self.conv2(self.activation2(self.norm2(inner))))

    def fuse(self) -> None:
        for block in self.blocks:
            cast(Fusible, block).fuse()


class _PostActivation(Fusible):
    NORMS = (("norm1", "activation1"),)

    def __init__(self, block: PostActivationBlock) -> None:
        super().__init__()
        self.conv1, self.norm1, self.activation1 = conv(block.conv1), norm(block.norm1), activation(block.activation1)
        self.conv2, self.norm2, self.activation2 = conv(block.conv2), norm(block.norm2), activation(block.activation2)

    def forward(self, trunk: Tensor) -> Tensor:
        inner = self.activation1(self.norm1(self.conv1(trunk)))
        return cast(Tensor, self.activation2(trunk + self.norm2(self.conv2(inner))))

    def fuse(self) -> None:
        self.conv1, self.norm1 = fused(self.conv1, self.norm1)
        self.conv2, self.norm2 = fused(self.conv2, self.norm2)


class TorchAttention(Fusible):
    """An `AttentionBlock`."""

    def __init__(self, block: AttentionBlock) -> None:
        super().__init__()
        self.heads, self.kv_heads = block.heads, block.kv_heads
        self.norm = norm(block.norm)
        self.query, self.key = linear(block.query, PointLinear), linear(block.key, PointLinear)
        self.value, self.output = linear(block.value, PointLinear), linear(block.output, PointLinear)
        self.rope = None if block.rope is None else nn.Parameter(tensor(block.rope))

    def forward(self, trunk: Tensor) -> Tensor:
        height, width = trunk.shape[2:]
        points = _as_vectors(self.norm(trunk))
        query = self.query(points).unflatten(2, (self.heads, -1))
        key = self.key(points).unflatten(2, (self.kv_heads, -1))
        value = self.value(points).unflatten(2, (self.kv_heads, -1))
        group = self.heads // self.kv_heads
        if self.rope is not None:
            turned = angles(self.rope, height, width)
            query, key = _turned(query, turned.repeat_interleave(group, dim=1)), _turned(key, turned)
        query, key, value = (each.transpose(1, 2) for each in (query, key, value))  # [B, heads, area, width of one]
        mixed = _mixed(query, key, value, grouped=group > 1).transpose(1, 2).flatten(2)
        return trunk + _as_points(self.output(mixed), trunk)

    def fuse(self) -> None:
        """Do nothing: there is no norm after a convolution."""


class TorchFeedForward(Fusible):
    """A `FeedForwardBlock`."""

    def __init__(self, block: FeedForwardBlock) -> None:
        super().__init__()
        self.norm, self.activation = norm(block.norm), activation(block.activation)
        self.expand, self.contract = linear(block.expand, PointLinear), linear(block.contract, PointLinear)
        self.gate = None if block.gate is None else linear(block.gate, PointLinear)

    def forward(self, trunk: Tensor) -> Tensor:
        points = _as_vectors(self.norm(trunk))
        inner = self.activation(self.expand(points))
        if self.gate is not None:
            inner = inner * self.gate(points)
        return trunk + _as_points(self.contract(inner), trunk)

    def fuse(self) -> None:
        """Do nothing: there is no norm after a convolution."""


def _mixed(query: Tensor, key: Tensor, value: Tensor, *, grouped: bool) -> Tensor:
    """Return the attention's means of the values, [B, heads, area, width of one]; grouped: fewer keys than queries."""
    if query.device.type == "cpu" and torch.is_grad_enabled():
        # In bf16 the gradient takes 4.6 times as long as in fp32 on 9x9, 1.6 times on 19x19 (PyTorch 2.13, AMX).
        with torch.autocast("cpu", enabled=False):
            queries, keys, values = query.float(), key.float(), value.float()
            return nn.functional.scaled_dot_product_attention(queries, keys, values, enable_gqa=grouped)
    return nn.functional.scaled_dot_product_attention(query, key, value, enable_gqa=grouped)


def _as_vectors(points: Tensor) -> Tensor:
    """Return [B, c, H, W] as [B, area, c]."""
    return points.flatten(2).transpose(1, 2)


def _as_points(vectors: Tensor, like: Tensor) -> Tensor:
    """Return [B, area, c] as [B, c, H, W]."""
    return vectors.transpose(1, 2).reshape(like.shape)


def angles(rope: Tensor, height: int, width: int) -> Tensor:
    """Return the rotation of each channel pair at each point, in radians: [area, kv_heads, pairs] float32."""
    rows = torch.arange(height, device=rope.device, dtype=torch.float32).repeat_interleave(width)
    columns = torch.arange(width, device=rope.device, dtype=torch.float32).repeat(height)
    return columns[:, None, None] * rope[..., 0] + rows[:, None, None] * rope[..., 1]


def _turned(vectors: Tensor, angles: Tensor) -> Tensor:
    """Rotate the channel pairs of [B, area, heads, 2 * pairs] by angles [area, heads, pairs], in float32."""
    # As complex numbers: forward and backward take less than half the time of products and sums of cosines and sines.
    pairs = torch.view_as_complex(vectors.float().reshape(*vectors.shape[:3], -1, 2))
    turned = torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles))
    return turned.flatten(3).to(vectors.dtype)
