"""Small networks of every shape that the spec can hold: every kind of block, head and layer is in one of them."""

from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

import numpy as np

from engine.encoders import ENCODERS
from engine.evaluation.positions import METADATA
from engine.nets.random import random_spec
from engine.nets.spec import (
    Activation,
    AttentionBlock,
    Block,
    Conv,
    DensePolicyHead,
    DenseValueHead,
    ErrorForm,
    FeedForwardBlock,
    GlobalPoolBlock,
    Linear,
    MetadataEncoder,
    NestedBottleneckBlock,
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
)

T = TypeVar("T")


def stirred(node: T, generator: np.random.Generator) -> T:
    """Return a network whose norms and biases are all nontrivial, as after training."""
    if isinstance(node, Norm):
        count = len(node.mean)
        return replace(
            node,
            mean=generator.normal(0, 0.3, count).astype(np.float32),
            variance=generator.uniform(0.5, 2.0, count).astype(np.float32),
            scale=generator.uniform(0.5, 1.5, count).astype(np.float32) if generator.random() < 0.7 else None,
            bias=generator.normal(0, 0.3, count).astype(np.float32) if generator.random() < 0.7 else None,
            epsilon=1e-3,
        )
    if isinstance(node, RmsNorm):
        bias = None if node.bias is None else generator.normal(0, 0.3, node.bias.shape).astype(np.float32)
        return replace(node, weight=generator.uniform(0.5, 1.5, node.weight.shape).astype(np.float32), bias=bias)
    if isinstance(node, Conv | Linear) and node.bias is not None:
        return replace(node, bias=generator.normal(0, 0.3, node.bias.shape).astype(np.float32))
    if isinstance(node, tuple):
        return tuple(stirred(child, generator) for child in node)  # type: ignore[return-value]
    if is_dataclass(node):
        return replace(node, **{f.name: stirred(getattr(node, f.name), generator) for f in fields(node)})  # type: ignore[type-var]
    return node


class Draw:
    """Draws layers, with biases, from one stream of random numbers."""

    def __init__(self, seed: int, activation: Activation = Activation.RELU) -> None:
        self._generator, self.activation = np.random.default_rng(seed), activation

    def array(self, *shape: int, inputs: int) -> np.ndarray:
        return self._generator.normal(0, inputs**-0.5, shape).astype(np.float32)

    def conv(self, inputs: int, outputs: int, size: int = 3) -> Conv:
        return Conv(self.array(outputs, inputs, size, size, inputs=inputs * size * size))

    def linear(self, inputs: int, outputs: int) -> Linear:
        return Linear(self.array(inputs, outputs, inputs=inputs), self.array(outputs, inputs=4))

    def norm(self, channels: int) -> Norm:
        return Norm(np.zeros(channels, np.float32), np.ones(channels, np.float32))

    def rms_norm(self, channels: int, *, spatial: bool = False, bias: bool = False) -> RmsNorm:
        zeros, ones = np.zeros(channels, np.float32), np.ones(channels, np.float32)
        return RmsNorm(ones, zeros if bias else None, spatial=spatial)

    def residual(self, channels: int) -> ResidualBlock:
        convs = self.conv(channels, channels), self.conv(channels, channels)
        act = self.activation
        return ResidualBlock(self.norm(channels), convs[0], self.norm(channels), convs[1], act, act)

    def pooling(self, channels: int) -> GlobalPoolBlock:
        convs = self.conv(channels, 3), self.conv(channels, 2)
        norms, bias = (self.norm(channels), self.norm(2), self.norm(3)), self.linear(6, 3)
        act = self.activation
        return GlobalPoolBlock(norms[0], *convs, norms[1], bias, norms[2], self.conv(3, channels), act, act, act)

    def nested(self, channels: int, width: int, *blocks: Block) -> NestedBottleneckBlock:
        convs, norms = (
            (self.conv(channels, width, 1), self.conv(width, channels, 1)),
            (self.norm(channels), self.norm(width)),
        )
        return NestedBottleneckBlock(norms[0], convs[0], blocks, norms[1], convs[1], self.activation, self.activation)

    def attention(
        self, channels: int, heads: int, kv_heads: int, widths: tuple[int, int], rope: bool
    ) -> AttentionBlock:
        query, value = widths
        return AttentionBlock(
            norm=self.rms_norm(channels),
            query=self.linear(channels, heads * query),
            key=self.linear(channels, kv_heads * query),
            value=self.linear(channels, kv_heads * value),
            output=self.linear(heads * value, channels),
            heads=heads,
            kv_heads=kv_heads,
            rope=self.array(kv_heads, query // 2, 2, inputs=1) if rope else None,
        )

    def feed_forward(self, channels: int, width: int, gate: bool) -> FeedForwardBlock:
        return FeedForwardBlock(
            self.rms_norm(channels, bias=True),
            self.linear(channels, width),
            self.linear(width, channels),
            self.linear(channels, width) if gate else None,
            Activation.SILU if gate else Activation.MISH,
        )

    def post_activation(self, channels: int) -> PostActivationBlock:
        convs, act = (self.conv(channels, channels), self.conv(channels, channels)), self.activation
        return PostActivationBlock(convs[0], self.norm(channels), convs[1], self.norm(channels), act, act)

    def metadata(self, channels: int) -> MetadataEncoder:
        linears = self.linear(METADATA, 6), self.linear(6, 5), self.linear(5, channels)
        return MetadataEncoder(*linears, Activation.MISH, Activation.SILU)

    def scored(self, head: ValueHead, scores: tuple[Score, ...]) -> ValueHead:
        return replace(head, scores=scores, score=self.linear(head.hidden.outputs, len(scores)))


ALL_SCORES = (Score.MEAN, Score.STDEV, Score.LEAD, Score.VARIANCE_TIME, Score.VALUE_ERROR, Score.SCORE_ERROR)


def plain(encoder: str, channels: int, seed: int, meaning: ValueKind = ValueKind.SOFTMAX) -> NetSpec:
    """Return a network of one ordinary block to change something in."""
    return random_spec(1, channels, ENCODERS[encoder], seed, pool_every=0, head_channels=3, value=meaning)


def transformer() -> NetSpec:
    """Return KataGo's kind of transformer: shared kv heads, turned channel pairs, a norm over the whole board."""
    draw, spec = Draw(11), plain("liberties", 6, 11)
    blocks = (draw.attention(6, 4, 2, (6, 3), rope=True), draw.feed_forward(6, 9, gate=True), draw.residual(6))
    tip = Tip(draw.rms_norm(6, spatial=True, bias=True), Activation.SILU)
    value = replace(draw.scored(spec.value, ALL_SCORES), error_form=ErrorForm.ROOT)
    return replace(spec, blocks=blocks, tip=tip, value=value)


def plain_attention() -> NetSpec:
    """Return a transformer without the extras, and the scores of KataGo's version 8."""
    draw, spec = Draw(12), plain("oneplane", 4, 12)
    blocks = (draw.attention(4, 2, 2, (3, 3), rope=False), draw.feed_forward(4, 5, gate=False))
    value = draw.scored(spec.value, (Score.MEAN, Score.STDEV, Score.LEAD, Score.UNUSED))
    return replace(spec, blocks=blocks, tip=Tip(draw.rms_norm(4), Activation.IDENTITY), value=value)


def nested() -> NetSpec:
    """Return nested bottlenecks in one another, with every kind of block inside."""
    draw, spec = Draw(13, Activation.MISH), hidden_pass(plain("liberties", 6, 13))
    inner = draw.nested(4, 3, draw.residual(3))
    kinds = draw.pooling(4), draw.attention(4, 2, 1, (2, 2), rope=True), draw.feed_forward(4, 6, gate=True), inner
    value = replace(draw.scored(spec.value, ALL_SCORES[::-1]), error_form=ErrorForm.LINEAR)
    return replace(spec, blocks=(draw.nested(6, 4, *kinds), draw.pooling(6)), value=value)


def leela(black_view: bool) -> NetSpec:
    """Return a network of Leela Zero's shape, for 5x5 only."""
    draw, spec = Draw(14), plain("agz", 4, 14, ValueKind.TANH)
    return replace(
        spec,
        board_sizes=(5, 5),
        stem=Stem(spec.stem.conv, norm=draw.norm(4), activation=Activation.RELU),
        blocks=(draw.post_activation(4), draw.post_activation(4)),
        tip=None,
        policy=DensePolicyHead(draw.conv(4, 2, 1), draw.norm(2), draw.linear(50, 26)),
        value=DenseValueHead(
            draw.conv(4, 1, 1), draw.norm(1), draw.linear(25, 7), draw.linear(7, 1), black_view=black_view
        ),
    )


def plain_dense() -> NetSpec:
    """Return a network of the shape of a plain Keras network: a hidden layer before its moves."""
    draw, spec = Draw(17), leela(black_view=False)
    head = DensePolicyHead(draw.conv(4, 2, 1), draw.norm(2), draw.linear(9, 26), hidden=draw.linear(50, 9))
    return replace(spec, policy=head)


def human(norm: bool) -> NetSpec:
    """Return a network that is told who plays, and the scores of KataGo's versions 4 to 7."""
    draw, spec = Draw(15, Activation.MISH), plain("liberties", 5, 15)
    stem = replace(spec.stem, metadata=draw.metadata(5))
    if norm:
        stem = replace(stem, norm=draw.norm(5), activation=Activation.SILU)
    return replace(spec, stem=stem, value=draw.scored(spec.value, (Score.MEAN, Score.STDEV)))


def version_3() -> NetSpec:
    """Return the value head of KataGo's version 3."""
    draw, spec = Draw(16), plain("oneplane", 4, 16)
    return replace(spec, value=replace(draw.scored(spec.value, (Score.BOARD_MEAN,)), no_result_always=True))


def hidden_pass(spec: NetSpec) -> NetSpec:
    """Return the network with a hidden layer before the pass logit, and two policy channels."""
    head = spec.policy
    assert isinstance(head, PolicyHead)
    generator = np.random.default_rng(7)
    pooled = head.pass_linear.weight.shape[0]
    width = head.conv1.outputs

    def normal(*shape: int) -> np.ndarray:
        return generator.normal(0, 0.2, shape).astype(np.float32)

    policy = replace(
        head,
        conv2=Conv(normal(2, width, 1, 1), normal(2)),
        pass_hidden=Linear(normal(pooled, 5), normal(5)),
        pass_activation=Activation.MISH,
        pass_linear=Linear(normal(5, 2)),
        optimistic=1,
    )
    return replace(spec, policy=policy)


def random_inputs(spec: NetSpec, height: int, width: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random planes and globals, the latter with metadata."""
    generator = np.random.default_rng(height * 100 + width)
    planes = (generator.random((count, spec.planes, height, width)) < 0.3).astype(np.float32)
    return planes, generator.normal(0, 0.5, (count, spec.globals + spec.metadata)).astype(np.float32)


def example_specs() -> dict[str, NetSpec]:
    """Return networks by what they exercise."""
    generator = np.random.default_rng(1)
    plain_tanh = random_spec(2, 6, ENCODERS["agz"], 1, pool_every=0, scores=(), ownership=False, head_channels=4)
    pools = random_spec(3, 7, ENCODERS["liberties"], 2, pool_every=2, head_channels=5, activation=Activation.MISH)
    softmax = random_spec(1, 5, ENCODERS["liberties"], 3, value=ValueKind.SOFTMAX, activation=Activation.SILU)
    tiny = random_spec(0, 1, ENCODERS["oneplane"], 4, head_channels=1)
    hidden = hidden_pass(random_spec(1, 4, ENCODERS["oneplane"], 5, head_channels=3))
    return {
        "plain tanh": stirred(plain_tanh, generator),
        "pooling mish": stirred(pools, generator),
        "softmax silu": stirred(softmax, generator),
        "no blocks, one channel": stirred(tiny, generator),
        "hidden pass, two policies": stirred(hidden, generator),
        "transformer": stirred(transformer(), generator),
        "plain attention": stirred(plain_attention(), generator),
        "nested": stirred(nested(), generator),
        "leela": stirred(leela(False), generator),
        "leela, black's view": stirred(leela(True), generator),
        "human": stirred(human(False), generator),
        "human, stem norm": stirred(human(True), generator),
        "version 3": stirred(version_3(), generator),
        "hidden dense policy": stirred(plain_dense(), generator),
    }


EXAMPLES = example_specs()
