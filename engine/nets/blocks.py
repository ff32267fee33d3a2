"""The blocks of a network's trunk. A block adds to the trunk t [channels, H, W], except `PostActivationBlock`.

A new kind of block is a dataclass here with its own `check`, part of `Block` and listed in `engine.nets.spec.KINDS`.
Everything that computes or describes networks must know it, too: CONTRIBUTING.md, "Add a kind of block", has the list.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from engine.nets.layers import Activation, Array, Conv, Linear, Norm, RmsNorm, WeightsError, expect_shape

POOLS = 3
"""Numbers that pooling over the points computes for each channel, see `engine.nets.spec`."""


@dataclass(frozen=True, eq=False)
class ResidualBlock:
    """t += conv2(act2(norm2(conv1(act1(norm1(t))))))."""

    norm1: Norm
    conv1: Conv
    norm2: Norm
    conv2: Conv
    activation1: Activation = Activation.RELU
    activation2: Activation = Activation.RELU

    def check(self, path: str, channels: int) -> None:
        """Raise WeightsError unless the layers fit each other and a trunk of `channels`."""
        self.norm1.check(f"{path}.norm1", channels)
        middle = self.conv1.check(f"{path}.conv1", channels)
        self.norm2.check(f"{path}.norm2", middle)
        self.conv2.check(f"{path}.conv2", middle, channels)


@dataclass(frozen=True, eq=False)
class GlobalPoolBlock:
    """h = act1(norm1(t)); r = conv1(h) + global_pool(pool_act(pool_norm(pool_conv(h)))) . pool_bias;
    t += conv2(act2(norm2(r)))."""

    norm1: Norm
    conv1: Conv
    pool_conv: Conv
    pool_norm: Norm
    pool_bias: Linear
    norm2: Norm
    conv2: Conv
    activation1: Activation = Activation.RELU
    pool_activation: Activation = Activation.RELU
    activation2: Activation = Activation.RELU

    def check(self, path: str, channels: int) -> None:
        """Raise WeightsError unless the layers fit each other and a trunk of `channels`."""
        self.norm1.check(f"{path}.norm1", channels)
        regular = self.conv1.check(f"{path}.conv1", channels)
        pooled = self.pool_conv.check(f"{path}.pool_conv", channels)
        self.pool_norm.check(f"{path}.pool_norm", pooled)
        self.pool_bias.check(f"{path}.pool_bias", POOLS * pooled, regular)
        self.norm2.check(f"{path}.norm2", regular)
        self.conv2.check(f"{path}.conv2", regular, channels)


@dataclass(frozen=True, eq=False)
class NestedBottleneckBlock:
    """u = conv1(act1(norm1(t))); the inner blocks on u; t += conv2(act2(norm2(u)))."""

    norm1: Norm
    conv1: Conv
    blocks: "tuple[Block, ...]"
    norm2: Norm
    conv2: Conv
    activation1: Activation = Activation.RELU
    activation2: Activation = Activation.RELU

    def check(self, path: str, channels: int) -> None:
        """Raise WeightsError unless the layers fit each other and a trunk of `channels`."""
        self.norm1.check(f"{path}.norm1", channels)
        width = self.conv1.check(f"{path}.conv1", channels)
        for index, block in enumerate(self.blocks):
            block.check(f"{path}.blocks.{index}", width)
        self.norm2.check(f"{path}.norm2", width)
        self.conv2.check(f"{path}.conv2", width, channels)


@dataclass(frozen=True, eq=False)
class AttentionBlock:
    """h = norm(t); t += output(attention of h), every point attending to every point (Vaswani et al. 2017).

    `heads` query heads share `kv_heads` heads of keys and values, in equal groups and in order. Scores are
    q . k / sqrt(query width); the softmax is over all points of the board.
    rope: [kv_heads, query width / 2, 2], radians per column and per row, or None. Before the product, the channel pair
        (2p, 2p + 1) of queries and keys is rotated by x * rope[p, 0] + y * rope[p, 1], with column x and row y counted
        from the top left corner (rotary embedding, Su et al. 2021).
    """

    norm: RmsNorm
    query: Linear
    key: Linear
    value: Linear
    output: Linear
    heads: int
    kv_heads: int
    rope: Array | None = None

    @property
    def query_width(self) -> int:
        """Channels of a query, and of a key, of one head."""
        return self.query.outputs // self.heads

    @property
    def value_width(self) -> int:
        """Channels of a value of one head."""
        return self.value.outputs // self.kv_heads

    def check(self, path: str, channels: int) -> None:
        """Raise WeightsError unless the layers fit each other and a trunk of `channels`."""
        self.norm.check(f"{path}.norm", channels)
        if not (1 <= self.kv_heads <= self.heads and self.heads % self.kv_heads == 0):
            raise WeightsError(
                "bad heads", layer=path, expected="heads a multiple of kv_heads", got=[self.heads, self.kv_heads]
            )
        queries = self.query.check(f"{path}.query", channels)
        values = self.value.check(f"{path}.value", channels)
        for name, width, heads in (("query", queries, self.heads), ("value", values, self.kv_heads)):
            if width % heads != 0:
                raise WeightsError("bad width", layer=f"{path}.{name}", expected=f"a multiple of {heads}", got=width)
        self.key.check(f"{path}.key", channels, self.query_width * self.kv_heads)
        self.output.check(f"{path}.output", self.value_width * self.heads, channels)
        if self.rope is not None:
            if self.query_width % 2 != 0:
                raise WeightsError("odd query width", layer=f"{path}.query", expected="even", got=self.query_width)
            expect_shape(f"{path}.rope", self.rope, (self.kv_heads, self.query_width // 2, 2))


@dataclass(frozen=True, eq=False)
class FeedForwardBlock:
    """h = norm(t); t += contract(act(expand(h)) * gate(h)) at each point; without a gate the factor is 1.

    With silu and a gate this is SwiGLU (Shazeer 2020).
    """

    norm: RmsNorm
    expand: Linear
    contract: Linear
    gate: Linear | None = None
    activation: Activation = Activation.SILU

    def check(self, path: str, channels: int) -> None:
        """Raise WeightsError unless the layers fit each other and a trunk of `channels`."""
        self.norm.check(f"{path}.norm", channels)
        width = self.expand.check(f"{path}.expand", channels)
        if self.gate is not None:
            self.gate.check(f"{path}.gate", channels, width)
        self.contract.check(f"{path}.contract", width, channels)


@dataclass(frozen=True, eq=False)
class PostActivationBlock:
    """t = act2(t + norm2(conv2(act1(norm1(conv1(t)))))), as in AlphaGo Zero and Leela Zero."""

    conv1: Conv
    norm1: Norm
    conv2: Conv
    norm2: Norm
    activation1: Activation = Activation.RELU
    activation2: Activation = Activation.RELU

    def check(self, path: str, channels: int) -> None:
        """Raise WeightsError unless the layers fit each other and a trunk of `channels`."""
        middle = self.conv1.check(f"{path}.conv1", channels)
        self.norm1.check(f"{path}.norm1", middle)
        self.conv2.check(f"{path}.conv2", middle, channels)
        self.norm2.check(f"{path}.norm2", channels)


Block: TypeAlias = (
    ResidualBlock | GlobalPoolBlock | NestedBottleneckBlock | AttentionBlock | FeedForwardBlock | PostActivationBlock
)


def all_blocks(blocks: "tuple[Block, ...]") -> "Iterator[Block]":
    """Yield blocks and, after each, those that are nested in it."""
    for block in blocks:
        yield block
        if isinstance(block, NestedBottleneckBlock):
            yield from all_blocks(block.blocks)
