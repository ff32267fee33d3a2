"""Creates networks with random weights, to start training from and for tests."""

from typing import Protocol

import numpy as np

from engine.nets.spec import (
    POOLS,
    Activation,
    Array,
    AttentionBlock,
    Block,
    Conv,
    DensePolicyHead,
    DenseValueHead,
    FeedForwardBlock,
    GlobalPoolBlock,
    Linear,
    NetSpec,
    Norm,
    PolicyHead,
    PostActivationBlock,
    ResidualBlock,
    RmsNorm,
    Score,
    Stem,
    Tip,
    ValueHead,
    ValueKind,
    validate,
)

_HEAD_WIDTH = 32
"""Channels of an attention head."""
_ROPE_BASE = 100.0
"""Ratio of the fastest rotation to that of the pair after the slowest one, the base of the geometric series."""


class InputFormat(Protocol):
    """The attributes of an encoder that determine a network's inputs."""

    @property
    def name(self) -> str:
        """The encoder's name."""

    @property
    def planes(self) -> int:
        """Input planes."""

    @property
    def globals(self) -> int:
        """Global inputs."""


# More than 8 parameters: keyword arguments with defaults, of which a caller names the few that matter to it.
def random_spec(
    blocks: int,
    channels: int,
    encoder: InputFormat,
    seed: int,
    *,
    transformer: bool = False,
    pool_every: int = 3,
    activation: Activation = Activation.RELU,
    value: ValueKind = ValueKind.TANH,
    scores: tuple[Score, ...] = (Score.LEAD,),
    ownership: bool = True,
    head_channels: int = 32,
    board_sizes: tuple[int, int] = (1, 25),
) -> NetSpec:
    """Return a network of Keima's default architecture, or a transformer; the same arguments give the same network.

    pool_every: each block number `pool_every` is a global pooling block; 0 for none.
    transformer: blocks are pairs of attention and SwiGLU (Shazeer 2020), each after a root mean square norm, without
        pooling. Attention heads have 32 channels, or all channels if these are no multiple of 32. Queries and keys are
        rotated by the row of their point in one half of their channels and by its column in the other (axial rotary
        embedding, Heo et al. 2024), so any board size can be used.
    Weights keep the variance of activations (He et al. 2015). The last convolution of a block is smaller by
    sqrt(blocks), and the last layers of the heads are small, so that the untrained policy is nearly uniform and the
    value nearly 0. Raises WeightsError if an attention head has an odd number of channels.
    """
    layers = Layers(np.random.default_rng(seed), activation)
    trunk: list[Block] = []
    for index in range(blocks):
        pools = pool_every > 0 and index % pool_every == pool_every - 1
        if transformer:
            trunk += [layers.attention(channels, blocks), layers.feed_forward(channels, blocks)]
        else:
            trunk.append(layers.pool_block(channels, blocks) if pools else layers.block(channels, blocks))
    globals_ = layers.linear(encoder.globals, channels, bias=False) if encoder.globals else None
    return validate(
        NetSpec(
            name=f"random-{'t' if transformer else 'b'}{blocks}c{channels}-{seed}",
            encoder=encoder.name,
            board_sizes=board_sizes,
            stem=Stem(layers.conv(encoder.planes, channels, 3), globals_),
            blocks=tuple(trunk),
            tip=Tip(layers.rms_norm(channels, bias=True) if transformer else layers.norm(channels), activation),
            policy=layers.policy(channels, head_channels),
            value=layers.value(channels, head_channels, value, scores, ownership),
            provenance={"made by": "random_spec", "seed": str(seed)},
        )
    )


def random_agz_spec(blocks: int, channels: int, encoder: InputFormat, seed: int, size: int) -> NetSpec:
    """Return a network as in AlphaGo Zero for boards of one size: post-activation blocks, dense heads, tanh.

    Sizes are from Silver et al. 2017, Methods: 2 and 1 channels before the heads, 256 hidden units of the value.
    """
    layers = Layers(np.random.default_rng(seed), Activation.RELU)
    relu, area = Activation.RELU, size * size
    trunk = tuple(layers.post_activation_block(channels, blocks) for _ in range(blocks))
    globals_ = layers.linear(encoder.globals, channels, bias=False) if encoder.globals else None
    return validate(
        NetSpec(
            name=f"random-agz-b{blocks}c{channels}-{seed}",
            encoder=encoder.name,
            board_sizes=(size, size),
            stem=Stem(layers.conv(encoder.planes, channels, 3), globals_, norm=layers.norm(channels), activation=relu),
            blocks=trunk,
            tip=None,
            policy=DensePolicyHead(layers.conv(channels, 2, 1), layers.norm(2), layers.linear(2 * area, area + 1, 0.2)),
            value=DenseValueHead(
                layers.conv(channels, 1, 1), layers.norm(1), layers.linear(area, 256), layers.linear(256, 1, 0.1)
            ),
            provenance={"made by": "random_agz_spec", "seed": str(seed)},
        )
    )


def random_policy_head(channels: int, width: int, seed: int) -> PolicyHead:
    """Return a policy head for a trunk of `channels` whose policy is nearly uniform."""
    return Layers(np.random.default_rng(seed), Activation.RELU).policy(channels, width)


class Layers:
    """Creates layers with weights from one random generator.

    A parameter `blocks` is the number of blocks of the trunk, to which a block adds a part of this size.
    """

    def __init__(self, generator: np.random.Generator, activation: Activation) -> None:
        self.generator, self.activation = generator, activation

    def _normal(self, shape: tuple[int, ...], deviation: float) -> Array:
        return (self.generator.standard_normal(shape) * deviation).astype(np.float32)

    def conv(self, inputs: int, outputs: int, size: int, gain: float = 1.0) -> Conv:
        """Return a convolution that keeps the variance of activations, times gain squared."""
        return Conv(self._normal((outputs, inputs, size, size), gain * np.sqrt(2.0 / (inputs * size * size))))

    def linear(self, inputs: int, outputs: int, gain: float = 1.0, bias: bool = True) -> Linear:
        """Return a matrix that keeps the variance of activations, times gain squared."""
        weight = self._normal((inputs, outputs), gain * np.sqrt(2.0 / inputs))
        return Linear(weight, np.zeros(outputs, np.float32) if bias else None)

    def norm(self, channels: int) -> Norm:
        """Return a norm that changes nothing."""
        zeros, ones = np.zeros(channels, np.float32), np.ones(channels, np.float32)
        return Norm(mean=zeros, variance=ones, scale=ones.copy(), bias=zeros.copy())

    def block(self, channels: int, blocks: int) -> ResidualBlock:
        """Return a residual block for a trunk of `blocks` blocks."""
        return ResidualBlock(
            norm1=self.norm(channels),
            conv1=self.conv(channels, channels, 3),
            norm2=self.norm(channels),
            conv2=self.conv(channels, channels, 3, blocks**-0.5),
            activation1=self.activation,
            activation2=self.activation,
        )

    def rms_norm(self, channels: int, bias: bool = False) -> RmsNorm:
        """Return a root mean square norm without weights."""
        return RmsNorm(np.ones(channels, np.float32), np.zeros(channels, np.float32) if bias else None)

    def attention(self, channels: int, blocks: int) -> AttentionBlock:
        """Return attention with heads of 32 channels, rotated by row and column."""
        heads = channels // _HEAD_WIDTH if channels % _HEAD_WIDTH == 0 else 1
        query, key, value = (self.linear(channels, channels, 0.5**0.5, bias=False) for _ in range(3))
        return AttentionBlock(
            norm=self.rms_norm(channels),
            query=query,
            key=key,
            value=value,
            output=self.linear(channels, channels, (4 * blocks) ** -0.5, bias=False),
            heads=heads,
            kv_heads=heads,
            rope=_axial_rope(heads, channels // heads // 2),
        )

    def feed_forward(self, channels: int, blocks: int, width: int | None = None) -> FeedForwardBlock:
        """Return SwiGLU with `width` hidden channels."""
        # Two thirds of the 4 * channels of a block without a gate: with the gate the number of weights is the same.
        width = round(8 * channels / 3) if width is None else width
        return FeedForwardBlock(
            norm=self.rms_norm(channels),
            expand=self.linear(channels, width, bias=False),
            contract=self.linear(width, channels, (2 * blocks) ** -0.5, bias=False),
            gate=self.linear(channels, width, bias=False),
        )

    def post_activation_block(self, channels: int, blocks: int) -> PostActivationBlock:
        """Return a block of AlphaGo Zero for a trunk of `blocks` blocks."""
        return PostActivationBlock(
            conv1=self.conv(channels, channels, 3),
            norm1=self.norm(channels),
            conv2=self.conv(channels, channels, 3, blocks**-0.5),
            norm2=self.norm(channels),
            activation1=self.activation,
            activation2=self.activation,
        )

    def pool_block(self, channels: int, blocks: int, pooled: int | None = None) -> GlobalPoolBlock:
        """Return a global pooling block with `pooled` pooled channels."""
        # Not more work than another block: a third of the channels is pooled instead of passed on.
        pooled = max(1, channels // 3) if pooled is None else pooled
        regular = max(1, channels - pooled)
        return GlobalPoolBlock(
            norm1=self.norm(channels),
            conv1=self.conv(channels, regular, 3),
            pool_conv=self.conv(channels, pooled, 3),
            pool_norm=self.norm(pooled),
            pool_bias=self.linear(POOLS * pooled, regular, 0.5, bias=False),
            norm2=self.norm(regular),
            conv2=self.conv(regular, channels, 3, blocks**-0.5),
            activation1=self.activation,
            pool_activation=self.activation,
            activation2=self.activation,
        )

    def policy(self, channels: int, width: int) -> PolicyHead:
        """Return a policy head of `width` channels, whose policy is nearly uniform."""
        return PolicyHead(
            conv1=self.conv(channels, width, 1),
            pool_conv=self.conv(channels, width, 1),
            pool_norm=self.norm(width),
            pool_bias=self.linear(POOLS * width, width, 0.5, bias=False),
            norm=self.norm(width),
            conv2=self.conv(width, 1, 1, 0.2),
            pass_linear=self.linear(POOLS * width, 1, 0.2),
            pool_activation=self.activation,
            activation=self.activation,
        )

    def value(
        self, channels: int, width: int, meaning: ValueKind, scores: tuple[Score, ...], ownership: bool
    ) -> ValueHead:
        """Return a value head of `width` channels, whose value is nearly 0."""
        hidden = 2 * width
        return ValueHead(
            meaning=meaning,
            conv=self.conv(channels, width, 1),
            norm=self.norm(width),
            hidden=self.linear(POOLS * width, hidden),
            result=self.linear(hidden, 1 if meaning is ValueKind.TANH else 3, 0.1),
            score=self.linear(hidden, len(scores), 0.1) if scores else None,
            scores=scores,
            ownership=self.conv(width, 1, 1, 0.1) if ownership else None,
            activation=self.activation,
            hidden_activation=self.activation,
        )


def _axial_rope(heads: int, pairs: int) -> Array:
    """Return rotations [heads, pairs, 2] per column and row; the first half of the pairs rotate by row only."""
    half = (pairs + 1) // 2
    speeds = _ROPE_BASE ** -(np.arange(pairs) % half / half)
    by_row = np.arange(pairs) < half
    turns = np.stack([np.where(by_row, 0.0, speeds), np.where(by_row, speeds, 0.0)], axis=1)
    return np.tile(turns.astype(np.float32), (heads, 1, 1))
