"""Writes a network as a KataGo `.bin.gz` file with the same meaning in KataGo."""

import gzip
import os
import re
from pathlib import Path

import numpy as np

from engine.nets.spec import (
    Activation,
    Array,
    AttentionBlock,
    Block,
    Conv,
    FeedForwardBlock,
    GlobalPoolBlock,
    Linear,
    NestedBottleneckBlock,
    NetSpec,
    Norm,
    PolicyHead,
    ResidualBlock,
    RmsNorm,
    Scales,
    Stem,
    Tip,
    ValueHead,
)
from engine.support.files import write_atomically
from weights.katago import METADATA_INPUTS, PASS_ALIVE_ENCODER, SCALES
from weights.katago_form import katago_form
from weights.katago_layers import ACTIVATIONS, NAMED_ACTIVATIONS
from weights.token_reader import MARK

MAX_NAME = 96
_ACTIVATION_WORDS = {kind: word for word, kind in ACTIVATIONS.items()}
# KataGo reads this value only in training.
_TD_SCORE_SCALE = 20.0


def write(spec: NetSpec, path: str | os.PathLike[str]) -> None:
    """Write a network atomically.

    KataGo requires a file name that ends in `.bin.gz`. See `weights.katago_form` for what is preserved.
    Raises WeightsError if the network is inconsistent or does not fit KataGo's format, OSError if the file cannot be
    written.
    """
    write_atomically(Path(path), to_gzip(spec))


def to_gzip(spec: NetSpec) -> bytes:
    """Return the gzipped file of a network, identical for equal networks. Raises WeightsError."""
    # mtime=0: a time stamp would make equal networks differ.
    return gzip.compress(to_bytes(spec), mtime=0)


def to_bytes(spec: NetSpec) -> bytes:
    """Return the file before compression, identical for equal networks. Raises WeightsError."""
    form = katago_form(spec)
    return _Writer(form.version).net(form)


def katago_name(name: str) -> str:
    """Convert a network's name to KataGo's rules: at most 96 letters, digits, hyphens and underscores."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", name)[:MAX_NAME] or "keima"


class _Writer:
    """Collects the words and arrays of one file; layers are named by their paths in the spec."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._parts: list[bytes] = []

    def net(self, spec: NetSpec) -> bytes:
        assert isinstance(spec.policy, PolicyHead)
        assert isinstance(spec.value, ValueHead)
        assert spec.tip is not None
        self._words(katago_name(spec.name), self._version, spec.planes, spec.globals)
        if self._version >= 13:
            self._scales(spec.value.scales)
        if self._version >= 15:
            self._words(int(spec.metadata > 0), int(spec.encoder == PASS_ALIVE_ENCODER), *[0] * 6)
        # Readers ignore these four widths: they inform people.
        self._words("trunk", len(spec.blocks), *[spec.channels] * 5)
        if self._version >= 15:
            self._words(int(isinstance(spec.tip.norm, RmsNorm)), *[0] * 5)
        self._stem(spec.stem)
        for index, block in enumerate(spec.blocks):
            self._block(f"blocks.{index}", block)
        self._tip(spec.tip)
        self._policy(spec.policy)
        self._value(spec.value)
        return b"".join(self._parts)

    def _words(self, *words: object) -> None:
        self._parts.append(" ".join(map(str, words)).encode("ascii") + b"\n")

    def _array(self, array: Array | None) -> None:
        if array is not None:
            # The format is little-endian on every machine.
            self._parts += [MARK, np.ascontiguousarray(array, "<f4").tobytes(), b"\n"]

    def _scales(self, scales: Scales) -> None:
        self._words(_TD_SCORE_SCALE, *(getattr(scales, name) for name in SCALES))

    def _conv(self, path: str, layer: Conv) -> None:
        outputs, inputs, height, width = layer.weight.shape
        self._words(path, height, width, inputs, outputs, 1, 1)
        # [out, in, y, x] to KataGo's [y, x, in, out].
        self._array(layer.weight.transpose(2, 3, 1, 0))

    def _matmul(self, path: str, layer: Linear) -> None:
        self._words(path, *layer.weight.shape)
        self._array(layer.weight)

    def _linear(self, path: str, layer: Linear) -> None:
        self._matmul(path, layer)
        self._words(f"{path}.bias", layer.outputs)
        self._array(layer.bias)

    def _norm(self, path: str, layer: Norm) -> None:
        flags = (int(layer.scale is not None), int(layer.bias is not None))
        self._words(path, len(layer.mean), layer.epsilon, *flags)
        for array in (layer.mean, layer.variance, layer.scale, layer.bias):
            self._array(array)

    def _rms_norm(self, path: str, layer: RmsNorm) -> None:
        self._words(path, len(layer.weight), layer.epsilon)
        self._array(layer.weight)

    def _activation(self, path: str, kind: Activation) -> None:
        self._words(path, *([_ACTIVATION_WORDS[kind]] if self._version >= NAMED_ACTIVATIONS else []))

    def _stem(self, stem: Stem) -> None:
        assert stem.globals is not None
        self._conv("stem.conv", stem.conv)
        self._matmul("stem.globals", stem.globals)
        if stem.metadata is not None:
            self._words("stem.metadata", METADATA_INPUTS)
            self._linear("stem.metadata.linear1", stem.metadata.linear1)
            self._activation("stem.metadata.activation1", stem.metadata.activation1)
            self._linear("stem.metadata.linear2", stem.metadata.linear2)
            self._activation("stem.metadata.activation2", stem.metadata.activation2)
            self._matmul("stem.metadata.linear3", stem.metadata.linear3)

    def _tip(self, tip: Tip) -> None:
        if isinstance(tip.norm, RmsNorm):
            self._words("tip.norm", len(tip.norm.weight), tip.norm.epsilon, int(tip.norm.spatial), 0)
            self._array(tip.norm.weight)
            self._array(tip.norm.bias)
        else:
            self._norm("tip.norm", tip.norm)
        self._activation("tip.activation", tip.activation)

    def _block(self, path: str, block: Block) -> None:
        match block:
            case ResidualBlock():
                self._words("ordinary_block", path)
                self._first_half(path, block)
                self._second_half(path, block)
            case GlobalPoolBlock():
                self._words("gpool_block", path)
                self._first_half(path, block)
                self._conv(f"{path}.pool_conv", block.pool_conv)
                self._norm(f"{path}.pool_norm", block.pool_norm)
                self._activation(f"{path}.pool_activation", block.pool_activation)
                self._matmul(f"{path}.pool_bias", block.pool_bias)
                self._second_half(path, block)
            case NestedBottleneckBlock():
                self._words("nested_bottleneck_block", path, len(block.blocks))
                self._first_half(path, block)
                for index, inner in enumerate(block.blocks):
                    self._block(f"{path}.blocks.{index}", inner)
                self._second_half(path, block)
            case AttentionBlock():
                self._attention(path, block)
            case FeedForwardBlock():
                self._feed_forward(path, block)
            case _:
                raise AssertionError(f"katago_form should have refused {type(block).__name__}")

    def _first_half(self, path: str, block: ResidualBlock | GlobalPoolBlock | NestedBottleneckBlock) -> None:
        self._norm(f"{path}.norm1", block.norm1)
        self._activation(f"{path}.activation1", block.activation1)
        self._conv(f"{path}.conv1", block.conv1)

    def _second_half(self, path: str, block: ResidualBlock | GlobalPoolBlock | NestedBottleneckBlock) -> None:
        self._norm(f"{path}.norm2", block.norm2)
        self._activation(f"{path}.activation2", block.activation2)
        self._conv(f"{path}.conv2", block.conv2)

    def _attention(self, path: str, block: AttentionBlock) -> None:
        turned = int(block.rope is not None)
        widths = (block.query_width, block.value_width)
        self._words("transformer_attention_block", path, block.heads, block.kv_heads, *widths, turned, turned)
        self._rms_norm(f"{path}.norm", block.norm)
        for name in ("query", "key", "value", "output"):
            self._matmul(f"{path}.{name}", getattr(block, name))
        if block.rope is not None:
            self._words(f"{path}.rope", *block.rope.shape)
            self._array(block.rope)

    def _feed_forward(self, path: str, block: FeedForwardBlock) -> None:
        assert block.gate is not None
        channels, width = block.expand.weight.shape
        self._words("transformer_ffn_block", path, channels, width, 1)
        self._rms_norm(f"{path}.norm", block.norm)
        self._matmul(f"{path}.expand", block.expand)
        self._matmul(f"{path}.gate", block.gate)
        self._matmul(f"{path}.contract", block.contract)

    def _policy(self, head: PolicyHead) -> None:
        self._words("policy", *([head.policies, 0, 0, 0] if self._version >= 17 else []))
        self._conv("policy.conv1", head.conv1)
        self._conv("policy.pool_conv", head.pool_conv)
        self._norm("policy.pool_norm", head.pool_norm)
        self._activation("policy.pool_activation", head.pool_activation)
        self._matmul("policy.pool_bias", head.pool_bias)
        self._norm("policy.norm", head.norm)
        self._activation("policy.activation", head.activation)
        self._conv("policy.conv2", head.conv2)
        if head.pass_hidden is not None:
            self._linear("policy.pass_hidden", head.pass_hidden)
            self._activation("policy.pass_activation", head.pass_activation)
        self._matmul("policy.pass_linear", head.pass_linear)

    def _value(self, head: ValueHead) -> None:
        assert head.score is not None
        assert head.ownership is not None
        self._words("value", *([0, 0, 0] if self._version >= 17 else []))
        self._conv("value.conv", head.conv)
        self._norm("value.norm", head.norm)
        self._activation("value.activation", head.activation)
        self._linear("value.hidden", head.hidden)
        self._activation("value.hidden_activation", head.hidden_activation)
        self._linear("value.result", head.result)
        self._linear("value.score", head.score)
        self._conv("value.ownership", head.ownership)
