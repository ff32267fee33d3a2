"""Reads Leela Zero's network files, versions 1 and 2 (ELF OpenGo): lines of numbers, optionally gzipped.

Leela Zero counts rows from the bottom of the board, Keima from the top. All kernels and dense layers are flipped here,
once, so no other code needs to know.
"""

import math
import os
import re
from types import MappingProxyType

import numpy as np

from engine.nets.spec import (
    MAX_SIDE,
    Activation,
    Array,
    Conv,
    DensePolicyHead,
    DenseValueHead,
    Linear,
    NetSpec,
    Norm,
    PostActivationBlock,
    Stem,
    WeightsError,
    validate,
)
from weights.token_reader import TokenReader, tokens_of

ENCODER = "leela"
PLANES = 18
EPSILON = 1e-5
VERSIONS = (1, 2)
_KERNEL = 3
# Lines of a convolution with its norm: weights, biases, means, variances.
_GROUP = 4
_HEAD_LINES = 14
MAX_BLOCKS = 256
# Most numbers of one line: a convolution between 512 channels has 9 * 2^18.
MAX_LINE = 1 << 22
_START = re.compile(rb"[0-9]{1,4}[ \t]*\r?\n\s*[-+.0-9][-+.0-9eE]*[ \t]")


def looks_leela(start: bytes) -> bool:
    """True if an unpacked file that starts like this may be Leela Zero's: a version, then a line of numbers."""
    return _START.match(start) is not None


def read(path: str | os.PathLike[str]) -> NetSpec:
    """Read the network of a file. Raises WeightsError with file, layer and offset, in one line."""
    with tokens_of(path) as tokens:
        tokens.layer = "line 1"
        version = float(tokens.line("versions", 1)[0])
        if version not in VERSIONS:
            raise tokens.error("unknown version", " or ".join(map(str, VERSIONS)), f"{version:g}", 0)
        return validate(_Lines(_lines(tokens), tokens.offset).net(int(version)))


def _lines(tokens: TokenReader) -> list[tuple[int, Array]]:
    """Return the offset and the numbers of each line after the first."""
    most = _GROUP * (1 + 2 * MAX_BLOCKS) + _HEAD_LINES
    lines: list[tuple[int, Array]] = []
    while not tokens.at_end():
        tokens.layer = f"line {len(lines) + 2}"
        if len(lines) == most:
            raise tokens.error("too many lines", f"at most {most + 1}", "more")
        lines.append((tokens.offset, tokens.line("numbers", MAX_LINE)))
    return lines


class _Lines:
    """Hands out the arrays of a file in order; errors mention the line."""

    def __init__(self, lines: list[tuple[int, Array]], length: int) -> None:
        """lines: offset and numbers of each. length: of the unpacked file, in bytes."""
        self._offsets = [offset for offset, _ in lines]
        self._lines = [numbers for _, numbers in lines]
        self._length = length
        self._taken = 0

    def net(self, version: int) -> NetSpec:
        """Build and return the network."""
        blocks, rest = divmod(len(self._lines) - _GROUP - _HEAD_LINES, 2 * _GROUP)
        if blocks < 0 or rest:
            raise WeightsError(
                "wrong number of lines",
                layer="last line",
                offset=self._length,
                expected="19 + 8 * blocks",
                got=len(self._lines) + 1,
                damaged=True,
            )
        channels = len(self._lines[1])
        conv, norm = self._group("input convolution", PLANES, _KERNEL)
        stem = Stem(conv, norm=norm, activation=Activation.RELU)
        trunk = tuple(self._block(f"block {index + 1}", channels) for index in range(blocks))
        policy, side = self._policy(channels)
        return NetSpec(
            name=f"leela-b{blocks}c{channels}",
            encoder=ENCODER,
            board_sizes=(side, side),
            stem=stem,
            blocks=trunk,
            tip=None,
            policy=policy,
            value=self._value(channels, side, black_view=version == 2),
            format="leela",
            version=version,
            provenance=MappingProxyType({"numbers": "text"}),
        )

    def _block(self, name: str, channels: int) -> PostActivationBlock:
        conv1, norm1 = self._group(f"{name}, first convolution", channels, _KERNEL, channels)
        conv2, norm2 = self._group(f"{name}, second convolution", channels, _KERNEL, channels)
        return PostActivationBlock(conv1, norm1, conv2, norm2)

    def _policy(self, channels: int) -> tuple[DensePolicyHead, int]:
        """Return the policy head and the side of its board."""
        conv, norm = self._group("policy convolution", channels, 1)
        moves = len(self._lines[self._taken + 1])
        side = math.isqrt(moves - 1)
        if side * side + 1 != moves or not 2 <= side <= MAX_SIDE:
            wanted = f"N * N + 1 numbers for a board of 2 to {MAX_SIDE} lines"
            raise self._error("policy biases", "wrong number of moves", wanted, moves, self._taken + 1)
        width = conv.outputs
        weight = self._take("policy weights", moves, width * side * side)
        # Both the output rows and the input rows of the dense layer are flipped.
        points = weight[:-1].reshape(side, side, width, side, side)[::-1, :, :, ::-1]
        weight = np.concatenate([points.reshape(moves - 1, -1), _flipped(weight[-1:], width, side)])
        bias = self._take("policy biases", moves)
        bias = np.concatenate([bias[:-1].reshape(side, side)[::-1].ravel(), bias[-1:]])
        return DensePolicyHead(conv, norm, Linear(np.ascontiguousarray(weight.T), bias)), side

    def _value(self, channels: int, side: int, *, black_view: bool) -> DenseValueHead:
        conv, norm = self._group("value convolution", channels, 1)
        hidden = len(self._lines[self._taken + 1])
        weight = _flipped(self._take("value weights", hidden, conv.outputs * side * side), conv.outputs, side)
        layer = Linear(np.ascontiguousarray(weight.T), self._take("value biases", hidden))
        result = Linear(self._take("result weights", hidden, 1), self._take("result bias", 1))
        return DenseValueHead(conv, norm, layer, result, black_view=black_view)

    def _group(self, name: str, inputs: int, kernel: int, outputs: int | None = None) -> tuple[Conv, Norm]:
        """Return a convolution and its norm; the convolution's bias is subtracted from the norm's mean."""
        count = len(self._lines[self._taken + 1]) if outputs is None else outputs
        weight = self._take(f"{name}, weights", count, inputs, kernel, kernel)
        bias = self._take(f"{name}, biases", count)
        mean = self._take(f"{name}, means", count)
        variance = self._take(f"{name}, variances", count)
        if float(variance.min()) < 0.0:
            raise self._error(f"{name}, variances", "bad variances", ">= 0", variance.min(), self._taken - 1)
        # Flipped along the rows only: Leela Zero's columns have our order.
        return Conv(np.ascontiguousarray(weight[:, :, ::-1])), Norm(mean - bias, variance, epsilon=EPSILON)

    def _take(self, name: str, *shape: int) -> Array:
        """Return the next line as an array of the given shape."""
        values = self._lines[self._taken]
        if len(values) != math.prod(shape):
            raise self._error(name, "wrong number of numbers", math.prod(shape), len(values), self._taken)
        self._taken += 1
        return values.reshape(shape)

    def _error(self, name: str, message: str, expected: object, got: object, index: int) -> WeightsError:
        layer, offset = f"line {index + 2} ({name})", self._offsets[index]
        # Damaged, because the lines of a network that was written whole fit together.
        return WeightsError(message, layer=layer, offset=offset, expected=expected, got=got, damaged=True)


def _flipped(weight: Array, width: int, side: int) -> Array:
    """Return weights [out, width * points] with the rows of the board in reverse order."""
    turned = weight.reshape(-1, width, side, side)[:, :, ::-1]
    return turned.reshape(len(weight), -1)
