"""Networks of the shapes that people use, with random weights: for measuring speed and comparing programs.

The shapes are KataGo's (`python/katago/train/modelconfigs.py`, and the files of the run g170 for the oldest ones). The
weights keep the variance of activations, so that every number stays finite in float32 and in bf16.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from engine.nets.random import InputFormat, Layers
from engine.nets.spec import (
    POOLS,
    Activation,
    Block,
    Linear,
    MetadataEncoder,
    NestedBottleneckBlock,
    NetSpec,
    PolicyHead,
    Score,
    Stem,
    Tip,
    ValueHead,
    ValueKind,
    validate,
)

_SCORES_OF_8 = (Score.MEAN, Score.STDEV, Score.LEAD, Score.VARIANCE_TIME)
_SCORES_OF_15 = (*_SCORES_OF_8, Score.VALUE_ERROR, Score.SCORE_ERROR)
_LOGITS, _RESULTS = 1.0, 0.5
"""Gain of the last layers: policies and winrates differ between positions as those of trained networks do."""


class Shape(NamedTuple):
    """The sizes of a network, as KataGo's configurations have them.

    pooling: the blocks, from 1, of which the (first inner) convolution pools `pooled` channels. inner: channels of
    nested bottlenecks, or None for plain blocks. feed_forward: hidden channels of nested transformer blocks, or None
    for nested convolutions. stem: side of the first convolution. policy, value, hidden: channels of the policy head,
    the value head and its hidden layer. recent: whether the heads are those of version 15, with mish. people: inputs
    about the players, for networks that imitate people (KataGo's suffix "-meta").
    """

    blocks: int
    channels: int
    pooling: tuple[int, ...]
    pooled: int
    policy: int
    value: int
    hidden: int
    inner: int | None = None
    feed_forward: int | None = None
    stem: int = 3
    recent: bool = True
    people: int = 0


SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "b6c96": Shape(6, 96, (3, 5), 32, 32, 32, 64, stem=5, recent=False),
        "b15c192": Shape(15, 192, (7, 12), 64, 32, 32, 96, stem=5, recent=False),
        "b20c256": Shape(20, 256, (7, 12, 17), 64, 48, 48, 112, stem=5, recent=False),
        "b40c256": Shape(40, 256, tuple(range(6, 40, 5)), 64, 48, 96, 128, stem=5, recent=False),
        "b18c384nbt": Shape(18, 384, tuple(range(3, 18, 3)), 64, 48, 96, 128, inner=192),
        # KataGo's b18c384nbt with the suffix -meta, whatever the other suffixes: they change training, not the file.
        "b18c384nbt-humanv0": Shape(18, 384, tuple(range(3, 18, 3)), 64, 48, 96, 128, inner=192, people=192),
        "b28c512nbt": Shape(28, 512, tuple(range(3, 28, 3)), 64, 64, 128, 144, inner=256),
        "b10c384h6nbttflrs": Shape(10, 384, (), 48, 48, 96, 96, inner=192, feed_forward=512),
    }
)


def shaped_spec(name: str, encoder: InputFormat, seed: int = 1) -> NetSpec:
    """Return a network of one of `SHAPES` with random weights; the same arguments give the same network."""
    shape = SHAPES[name]
    layers = Layers(np.random.default_rng(seed), Activation.MISH if shape.recent else Activation.RELU)
    stem = Stem(
        layers.conv(encoder.planes, shape.channels, shape.stem),
        layers.linear(encoder.globals, shape.channels, bias=False),
        _people(layers, shape) if shape.people else None,
    )
    return validate(
        NetSpec(
            name=f"random-{name}-{seed}",
            encoder=encoder.name,
            board_sizes=(2, 19),
            stem=stem,
            blocks=tuple(_block(layers, shape, number) for number in range(1, shape.blocks + 1)),
            tip=Tip(layers.norm(shape.channels), layers.activation),
            policy=_policy(layers, shape),
            value=_value(layers, shape),
            provenance={"made by": "shaped_spec", "seed": str(seed)},
        )
    )


def _block(layers: Layers, shape: Shape, number: int) -> Block:
    """Return block number `number`, from 1."""
    blocks, inner = shape.blocks, shape.inner
    if inner is None:
        if number in shape.pooling:
            return layers.pool_block(shape.channels, blocks, shape.pooled)
        return layers.block(shape.channels, blocks)
    within: tuple[Block, ...]
    if shape.feed_forward is not None:
        within = tuple(
            block
            for _ in range(2)
            for block in (layers.attention(inner, 2), layers.feed_forward(inner, 2, shape.feed_forward))
        )
    else:
        pools = number in shape.pooling
        first = layers.pool_block(inner, 2, shape.pooled) if pools else layers.block(inner, 2)
        within = (first, layers.block(inner, 2))
    return NestedBottleneckBlock(
        norm1=layers.norm(shape.channels),
        conv1=layers.conv(shape.channels, inner, 1),
        blocks=within,
        norm2=layers.norm(inner),
        conv2=layers.conv(inner, shape.channels, 1, blocks**-0.5),
        activation1=layers.activation,
        activation2=layers.activation,
    )


def _people(layers: Layers, shape: Shape) -> MetadataEncoder:
    return MetadataEncoder(
        layers.linear(shape.people, shape.channels),
        layers.linear(shape.channels, shape.channels),
        layers.linear(shape.channels, shape.channels, bias=False),
        layers.activation,
        layers.activation,
    )


def _policy(layers: Layers, shape: Shape) -> PolicyHead:
    width, policies = shape.policy, 2 if shape.recent else 1
    head = layers.policy(shape.channels, width)
    pooled = POOLS * width
    if not shape.recent:
        return replace(
            head,
            conv2=layers.conv(width, policies, 1, _LOGITS),
            pass_linear=layers.linear(pooled, policies, _LOGITS, bias=False),
        )
    return replace(
        head,
        conv2=layers.conv(width, policies, 1, _LOGITS),
        pass_hidden=layers.linear(pooled, width),
        pass_activation=layers.activation,
        pass_linear=layers.linear(width, policies, _LOGITS, bias=False),
        # Networks that imitate people have the second policy, too, and it is not used.
        optimistic=0 if shape.people else 1,
    )


def _value(layers: Layers, shape: Shape) -> ValueHead:
    scores = _SCORES_OF_15 if shape.recent else _SCORES_OF_8

    def last(outputs: int) -> Linear:
        return layers.linear(shape.hidden, outputs, _RESULTS)

    head = layers.value(shape.channels, shape.value, ValueKind.SOFTMAX, (), ownership=True)
    return replace(
        head,
        hidden=layers.linear(POOLS * shape.value, shape.hidden),
        result=last(3),
        score=last(len(scores)),
        scores=scores,
    )
