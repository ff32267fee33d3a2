"""Reads KataGo's network files, model versions 3 to 17.

A file consists of words separated by white space, optionally gzipped; its arrays are decimal numbers (`.txt`) or blocks
of binary floats (`.bin`). The file's name does not matter: its first array decides between the two.
"""

import os
import re
from types import MappingProxyType

from engine.nets.spec import (
    Activation,
    Block,
    ErrorForm,
    Linear,
    MetadataEncoder,
    NetSpec,
    PolicyHead,
    Scales,
    Score,
    Stem,
    Tip,
    ValueHead,
    ValueKind,
    validate,
)
from weights.bounds import MAX_CHANNELS
from weights.katago_blocks import BlockReader
from weights.katago_layers import LayerReader
from weights.token_reader import TokenReader, shown, tokens_of

OLDEST, NEWEST = 3, 17
# KataGo's networks are fully convolutional; 25 is the largest board of this program.
BOARD_SIZES = (1, 25)
METADATA_INPUTS = 192
_ENCODERS = {3: "katago-v3", 4: "katago-v3", 5: "katago-v4", 6: "katago-v5", 7: "katago-v6"}
LATEST_ENCODER = "katago-v7"
PASS_ALIVE_ENCODER = "katago-v7-alive"
_INPUTS = {"katago-v3": (22, 14), "katago-v4": (22, 14), "katago-v5": (13, 12), "katago-v6": (22, 16)}
LATEST_INPUTS = (22, 19)
SCALES = ("mean", "stdev", "lead", "variance_time", "value_error", "score_error")
SCORES = (Score.MEAN, Score.STDEV, Score.LEAD, Score.VARIANCE_TIME, Score.VALUE_ERROR, Score.SCORE_ERROR)
"""The score outputs since version 9."""
_START = re.compile(rb"\s*\S+\s+[0-9]{1,9}\s+[0-9]{1,9}\s+[0-9]{1,9}\s")


def scores_of(version: int) -> tuple[Score, ...]:
    """Return the meaning of each score output in a version."""
    if version <= 3:
        return (Score.BOARD_MEAN,)
    if version <= 7:
        return SCORES[:2]
    return (*SCORES[:3], Score.UNUSED) if version == 8 else SCORES


def error_form_of(version: int) -> ErrorForm:
    """Return the formula for short-term errors in a version; they exist since version 9."""
    if version <= 9:
        return ErrorForm.LINEAR
    return ErrorForm.ROOT if version <= 13 else ErrorForm.SQUARED


def looks_katago(start: bytes) -> bool:
    """True if an unpacked file that starts like this may be KataGo's: a name and three whole numbers."""
    return _START.match(start) is not None


def read(path: str | os.PathLike[str]) -> NetSpec:
    """Read the network of a file. Raises WeightsError with file, layer and offset, in one line."""
    with tokens_of(path) as tokens:
        return validate(_Model(tokens).net())


class _Model:
    """Reads one file from its first word to its last."""

    def __init__(self, tokens: TokenReader) -> None:
        self._tokens = tokens
        self._name = shown(tokens.word("the network's name"))
        self._version = tokens.integer("model version", OLDEST, NEWEST)
        self._layers = LayerReader(tokens, self._version)
        self._blocks = BlockReader(self._layers)

    def net(self) -> NetSpec:
        """Read and return the network."""
        encoder = _ENCODERS.get(self._version, LATEST_ENCODER)
        planes, globals_ = _INPUTS.get(encoder, LATEST_INPUTS)
        self._tokens.integer("number of planes", planes, planes)
        self._tokens.integer("number of global inputs", globals_, globals_)
        scales = Scales()
        if self._version >= 13:
            self._layers.positive("td score scale")
            scales = Scales(**{name: self._layers.positive(f"{name} scale") for name in SCALES})
        human = False
        if self._version >= 15:
            human = self._layers.flag("metadata encoder version")
            if self._layers.flag("pass-alive flag"):
                encoder = PASS_ALIVE_ENCODER
            self._layers.reserved(6)
        stem, blocks, tip = self._trunk(planes, globals_, human)
        channels = stem.conv.outputs
        policy = self._policy(channels, human)
        value = self._value(channels, scales)
        # Data after the last layer means that a layer was read with wrong sizes.
        if not self._tokens.at_end():
            raise self._tokens.error("data after the last layer", "the end of the file", "more")
        return NetSpec(
            name=self._name,
            encoder=encoder,
            board_sizes=BOARD_SIZES,
            stem=stem,
            blocks=blocks,
            tip=tip,
            policy=policy,
            value=value,
            format="katago",
            version=self._version,
            provenance=MappingProxyType({"numbers": "binary" if self._tokens.binary else "text"}),
        )

    def _trunk(self, planes: int, globals_: int, human: bool) -> tuple[Stem, tuple[Block, ...], Tip]:
        read = self._layers
        read.begin("the trunk")
        count = self._blocks.count()
        channels = read.size("channels")
        # These four widths are redundant: each layer carries its own.
        for what in ("middle", "regular", "dilated", "pooled"):
            self._tokens.integer(f"{what} channels", 0, MAX_CHANNELS)
        rms = False
        if self._version >= 15:
            rms = read.flag("kind of norm")
            read.reserved(5)
        conv, inputs = read.conv(planes, channels), read.matmul(globals_, channels)
        stem = Stem(conv, inputs, self._metadata(channels) if human else None)
        blocks = tuple(self._blocks.block(channels) for _ in range(count))
        norm = read.tip_rms_norm(channels) if rms else read.norm(channels)
        return stem, blocks, Tip(norm, read.activation())

    def _metadata(self, channels: int) -> MetadataEncoder:
        read = self._layers
        read.begin("the metadata encoder")
        read.size("inputs", METADATA_INPUTS)
        linear1, activation1 = read.linear(METADATA_INPUTS), read.activation()
        linear2, activation2 = read.linear(linear1.outputs), read.activation()
        return MetadataEncoder(linear1, linear2, read.matmul(linear2.outputs, channels), activation1, activation2)

    def _policy(self, channels: int, human: bool) -> PolicyHead:
        read = self._layers
        read.begin("the policy head")
        policies = self._policies()
        conv1, pool_conv = read.conv(channels), read.conv(channels)
        width, pooled = conv1.outputs, pool_conv.outputs
        pool_norm, pool_activation = read.norm(pooled), read.activation()
        pool_bias = read.pooled_matmul(pooled, width)
        norm, activation = read.norm(width), read.activation()
        conv2 = read.conv(width, policies)
        hidden: Linear | None = None
        pass_activation = Activation.RELU
        if self._version >= 15:
            matrix = read.pooled_matmul(pooled, width)
            hidden, pass_activation = Linear(matrix.weight, read.bias(width)), read.activation()
            pass_linear = read.matmul(width, policies)
        else:
            pass_linear = read.pooled_matmul(pooled, policies)
        return PolicyHead(
            conv1=conv1,
            pool_conv=pool_conv,
            pool_norm=pool_norm,
            pool_bias=pool_bias,
            norm=norm,
            conv2=conv2,
            pass_linear=pass_linear,
            pass_hidden=hidden,
            pool_activation=pool_activation,
            activation=activation,
            pass_activation=pass_activation,
            # The optimistic policy is not used with networks that imitate people.
            optimistic=1 if policies > 1 and not human else 0,
        )

    def _policies(self) -> int:
        """Return the number of policy channels, from the file if it states it."""
        if self._version < 17:
            return 4 if self._version == 16 else 2 if self._version >= 12 else 1
        # Version 17 states the number; before, it follows from the version.
        policies = self._tokens.integer("policy channels", 2, 4)
        if policies == 3:
            raise self._tokens.error("bad policy channels", "2 or 4", policies, self._tokens.word_offset)
        self._layers.reserved(3)
        return policies

    def _value(self, channels: int, scales: Scales) -> ValueHead:
        read = self._layers
        read.begin("the value head")
        if self._version >= 17:
            read.reserved(3)
        scores = scores_of(self._version)
        conv = read.conv(channels)
        norm, activation = read.norm(conv.outputs), read.activation()
        pooled = read.pooled_matmul(conv.outputs)
        hidden, hidden_activation = Linear(pooled.weight, read.bias(pooled.outputs)), read.activation()
        result = read.linear(hidden.outputs, 3)
        score = read.linear(hidden.outputs, len(scores))
        return ValueHead(
            meaning=ValueKind.SOFTMAX,
            conv=conv,
            norm=norm,
            hidden=hidden,
            result=result,
            score=score,
            ownership=read.conv(conv.outputs, 1),
            activation=activation,
            hidden_activation=hidden_activation,
            scores=scores,
            scales=scales,
            error_form=error_form_of(self._version),
            no_result_always=self._version <= 3,
        )
