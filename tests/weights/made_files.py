"""Small random network files of every format version, and the arrays that a reader must find in them.

Written from the formats' definitions, word by word, without the reader's or the writer's help.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
INPUTS = {3: (22, 14), 4: (22, 14), 5: (22, 14), 6: (13, 12), 7: (22, 16)}
SCORES = {3: 1, 4: 2, 5: 2, 6: 2, 7: 2, 8: 4}
KINDS = {
    "ordinary": 3,
    "dilated": 3,
    "gpool": 3,
    "nested": 3,
    "attention": 17,
    "learned attention": 17,
    "turned attention": 17,
    "ffn": 17,
}
"""Kinds of blocks by the first version that has them."""
CHECKPOINT = Path(__file__).with_name("hybrid.ckpt")
"""A checkpoint of KataGo's training: convolutions and a transformer with random weights, see test_katago_checkpoint."""


class KatagoFile:
    """A KataGo file: `data` as it is before gzip, `arrays` by their path in the spec, `scale` of each kind of score."""

    def __init__(
        self,
        version: int,
        *,
        binary: bool,
        kinds: Sequence[str] = ("ordinary", "gpool"),
        human: bool = False,
        rms: bool = False,
        policies: int = 2,
        alive: bool = False,
        seed: int = 0,
    ) -> None:
        self.version, self.binary = version, binary
        self.arrays: dict[str, Array] = {}
        self.ends: dict[str, int] = {}
        self._generator = np.random.default_rng(seed)
        self._data = bytearray()
        self._channels = 4
        planes, globals_ = INPUTS.get(version, (22, 19))
        self.words("made-net", version, planes, globals_)
        if version >= 13:
            self.words("20 21 22 23.5 41 0.5 31")
        if version >= 15:
            self.words(int(human), int(alive), "0 0 0 0 0 0")
        self.words("trunk", len(kinds), 4, 3, 3, 3, 2)
        if version >= 15:
            self.words(int(rms), "0 0 0 0 0")
        self.conv("stem.conv", planes, 4, 5)
        self.matrix("stem.globals", globals_, 4)
        if human:
            self.words("meta 192")
            self.linear("stem.metadata.linear1", 192, 3)
            self.activation()
            self.linear("stem.metadata.linear2", 3, 2)
            self.activation()
            self.matrix("stem.metadata.linear3", 2, 4)
        for index, kind in enumerate(kinds):
            self.block(f"blocks.{index}", kind, 4)
        self.tip(rms)
        self.policy_head(4 if version == 16 else policies if version == 17 else 2 if version >= 12 else 1)
        self.value_head(SCORES.get(version, 6))
        self.data = bytes(self._data)

    def words(self, *words: object) -> None:
        self._data += " ".join(map(str, words)).encode() + b"\n"

    def numbers(self, path: str, *shape: int, positive: bool = False) -> Array:
        values = self._generator.normal(0, 0.5, shape).astype(np.float32)
        values = np.abs(values) + np.float32(0.1) if positive else values
        if self.binary:
            self._data += b"@BIN@" + values.astype("<f4").tobytes() + b"\n"
        else:
            self.words(*(f"{each:.9g}" for each in values.ravel()))
        self.arrays[path], self.ends[path] = values, len(self._data)
        return values

    def conv(self, path: str, inputs: int, outputs: int, side: int = 3, dilation: int = 1) -> None:
        self.words(path, side, side, inputs, outputs, dilation, dilation)
        stored = self.numbers(f"{path}.weight", side, side, inputs, outputs)
        reach = (side - 1) * dilation + 1
        weight = np.zeros((outputs, inputs, reach, reach), np.float32)
        for y in range(side):
            for x in range(side):
                weight[:, :, y * dilation, x * dilation] = stored[y, x].T
        self.arrays[f"{path}.weight"] = weight

    def matrix(self, path: str, inputs: int, outputs: int) -> None:
        self.words(path, inputs, outputs)
        self.numbers(f"{path}.weight", inputs, outputs)

    def linear(self, path: str, inputs: int, outputs: int) -> None:
        self.matrix(path, inputs, outputs)
        self.words(f"{path}.bias", outputs)
        self.numbers(f"{path}.bias", outputs)

    def norm(self, path: str, channels: int) -> None:
        has_scale, has_bias = self._generator.integers(2), self._generator.integers(2)
        self.words(path, channels, 1e-3, has_scale, has_bias)
        self.numbers(f"{path}.mean", channels)
        self.numbers(f"{path}.variance", channels, positive=True)
        if has_scale:
            self.numbers(f"{path}.scale", channels)
        if has_bias:
            self.numbers(f"{path}.bias", channels)

    def rms_norm(self, path: str, channels: int) -> None:
        self.words(path, channels, 1e-6)
        self.numbers(f"{path}.weight", channels)

    def activation(self) -> None:
        self.words("act", "ACTIVATION_MISH" if self.version >= 11 else "")

    def block(self, path: str, kind: str, channels: int) -> None:
        if kind.endswith("attention"):
            self.attention(path, channels, turned=kind != "attention", learned=kind.startswith("learned"))
        elif kind == "ffn":
            self.words("transformer_ffn_block", path, channels, 5, 1)
            self.rms_norm(f"{path}.norm", channels)
            self.matrix(f"{path}.expand", channels, 5)
            self.matrix(f"{path}.gate", channels, 5)
            self.matrix(f"{path}.contract", 5, channels)
        else:
            count = [2] if kind == "nested" else []
            word = {"gpool": "gpool_block", "nested": "nested_bottleneck_block"}.get(kind, f"{kind}_block")
            self.words(word, path, *count)
            self.convolutional(path, kind, channels)

    def convolutional(self, path: str, kind: str, channels: int) -> None:
        width = 3
        self.norm(f"{path}.norm1", channels)
        self.activation()
        self.conv(f"{path}.conv1", channels, width, 1 if kind == "nested" else 3)
        if kind == "dilated":
            self.conv("second", channels, 2, 3, 2)
            first, second = self.arrays.pop(f"{path}.conv1.weight"), self.arrays.pop("second.weight")
            wide = np.zeros((5, channels, 5, 5), np.float32)
            wide[:3, :, 1:4, 1:4], wide[3:] = first, second
            self.arrays[f"{path}.conv1.weight"] = wide
            width = 5
        if kind == "gpool":
            self.conv(f"{path}.pool_conv", channels, 2)
            self.norm(f"{path}.pool_norm", 2)
            self.activation()
            self.matrix(f"{path}.pool_bias", 6, width)
        if kind == "nested":
            self.block(f"{path}.blocks.0", "gpool", width)
            self.block(f"{path}.blocks.1", "nested" if width < channels == 4 else "ordinary", width)
        self.norm(f"{path}.norm2", width)
        self.activation()
        self.conv(f"{path}.conv2", width, channels, 1 if kind == "nested" else 3)

    def attention(self, path: str, channels: int, *, turned: bool, learned: bool) -> None:
        heads, kv_heads, width, values = 4, 2, 6, 3
        self.words("transformer_attention_block", path, heads, kv_heads, width, values, int(turned), int(learned))
        self.rms_norm(f"{path}.norm", channels)
        self.matrix(f"{path}.query", channels, heads * width)
        self.matrix(f"{path}.key", channels, kv_heads * width)
        self.matrix(f"{path}.value", channels, kv_heads * values)
        self.matrix(f"{path}.output", heads * values, channels)
        if learned:
            self.words("rope", kv_heads, width // 2, 2)
            self.numbers(f"{path}.rope", kv_heads, width // 2, 2)
        elif turned:
            self.words("rope", 100.0)
            # Three pairs: one turns with the row, two with the column.
            table = [[0.0, 1.0], [1.0, 0.0], [100.0 ** (-2 / 3), 0.0]]
            self.arrays[f"{path}.rope"] = np.array([table, table], np.float32)

    def tip(self, rms: bool) -> None:
        if rms:
            self.words("tip", 4, 1e-6, 1, 0)
            self.numbers("tip.norm.weight", 4)
            self.numbers("tip.norm.bias", 4)
        else:
            self.norm("tip.norm", 4)
        self.activation()

    def policy_head(self, policies: int) -> None:
        self.words("policyhead", *([policies, 0, 0, 0] if self.version >= 17 else []))
        self.conv("policy.conv1", 4, 3, 1)
        self.conv("policy.pool_conv", 4, 2, 1)
        self.norm("policy.pool_norm", 2)
        self.activation()
        self.matrix("policy.pool_bias", 6, 3)
        self.norm("policy.norm", 3)
        self.activation()
        self.conv("policy.conv2", 3, policies, 1)
        if self.version >= 15:
            self.linear("policy.pass_hidden", 6, 3)
            self.activation()
        self.matrix("policy.pass_linear", 3 if self.version >= 15 else 6, policies)

    def value_head(self, scores: int) -> None:
        self.words("valuehead", *([0, 0, 0] if self.version >= 17 else []))
        self.conv("value.conv", 4, 2, 1)
        self.norm("value.norm", 2)
        self.activation()
        self.linear("value.hidden", 6, 5)
        self.activation()
        self.linear("value.result", 5, 3)
        self.linear("value.score", 5, scores)
        self.conv("value.ownership", 2, 1, 1)


class LeelaFile:
    """A Leela Zero file: `data` as it is before gzip, `lines` the numbers of each line after the first."""

    def __init__(self, version: int = 1, *, blocks: int = 2, filters: int = 3, side: int = 5, seed: int = 0) -> None:
        self.blocks, self.filters, self.side = blocks, filters, side
        self._generator = np.random.default_rng(seed)
        self.lines: list[Array] = []
        area = side * side
        self.group(18, filters, 3)
        for _ in range(2 * blocks):
            self.group(filters, filters, 3)
        self.group(filters, 2, 1)
        self.line((area + 1) * 2 * area)
        self.line(area + 1)
        self.group(filters, 1, 1)
        for count in (7 * area, 7, 7, 1):
            self.line(count)
        text = [" ".join(f"{each:.9g}" for each in line) for line in self.lines]
        self.data = "\n".join([str(version), *text, ""]).encode()

    def line(self, count: int, positive: bool = False) -> None:
        values = self._generator.normal(0, 0.4, count).astype(np.float32)
        self.lines.append(np.abs(values) + np.float32(0.2) if positive else values)

    def group(self, inputs: int, outputs: int, side: int) -> None:
        self.line(outputs * inputs * side * side)
        self.line(outputs)
        self.line(outputs)
        self.line(outputs, positive=True)
