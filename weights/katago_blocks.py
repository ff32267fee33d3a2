"""Reads the blocks of KataGo's network files, selected by the word with which each begins."""

from collections.abc import Callable

import numpy as np

from engine.nets.spec import (
    Array,
    AttentionBlock,
    Block,
    Conv,
    FeedForwardBlock,
    GlobalPoolBlock,
    NestedBottleneckBlock,
    ResidualBlock,
)
from weights.bounds import check_growth
from weights.katago_layers import LayerReader
from weights.token_reader import shown

# Limit of blocks in one network, including inner ones.
MAX_BLOCKS = 4096
# Limit of nesting: hostile files must not exhaust Python's stack.
MAX_DEPTH = 8
MAX_HEADS = 1024


class BlockReader:
    """Reads the blocks of one file."""

    def __init__(self, layers: LayerReader) -> None:
        self._layers, self._tokens = layers, layers.tokens
        self._left = MAX_BLOCKS
        self._depth = 0

    def count(self) -> int:
        """Return the number of blocks that the file declares."""
        count = self._tokens.integer("number of blocks", 1, self._left)
        # Counted before reading, so that nested counts cannot multiply.
        self._left -= count
        return count

    def block(self, channels: int) -> Block:
        """Return the next block, on a trunk of `channels`."""
        kind = self._tokens.word("the kind of a block")
        if kind not in _KINDS:
            raise self._tokens.error("unknown block", " or ".join(_KINDS), shown(kind), self._tokens.word_offset)
        self._layers.begin("a block")
        return _KINDS[kind](self, channels)

    def ordinary(self, channels: int) -> Block:
        """Read a residual block: norm, activation, convolution, twice."""
        read = self._layers
        norm1, activation1, conv1 = read.norm(channels), read.activation(), read.conv(channels)
        norm2, activation2 = read.norm(conv1.outputs), read.activation()
        return ResidualBlock(norm1, conv1, norm2, read.conv(conv1.outputs, channels), activation1, activation2)

    def dilated(self, channels: int) -> Block:
        """Read a residual block whose first convolution consists of an ordinary and a dilated one."""
        read = self._layers
        norm1, activation1 = read.norm(channels), read.activation()
        conv1 = _side_by_side(read.conv(channels), read.conv(channels))
        norm2, activation2 = read.norm(conv1.outputs), read.activation()
        return ResidualBlock(norm1, conv1, norm2, read.conv(conv1.outputs, channels), activation1, activation2)

    def global_pool(self, channels: int) -> Block:
        """Read a residual block that adds pooled features before the second norm."""
        read = self._layers
        norm1, activation1, conv1 = read.norm(channels), read.activation(), read.conv(channels)
        pool_conv = read.conv(channels)
        pool_norm, pool_activation = read.norm(pool_conv.outputs), read.activation()
        pool_bias = read.pooled_matmul(pool_conv.outputs, conv1.outputs)
        norm2, activation2 = read.norm(conv1.outputs), read.activation()
        conv2 = read.conv(conv1.outputs, channels)
        return GlobalPoolBlock(
            norm1, conv1, pool_conv, pool_norm, pool_bias, norm2, conv2, activation1, pool_activation, activation2
        )

    def nested(self, channels: int) -> Block:
        """Read a bottleneck: narrower blocks between two convolutions."""
        read = self._layers
        count = self.count()
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._tokens.error("too many levels of nested blocks", f"at most {MAX_DEPTH}", self._depth)
        norm1, activation1, conv1 = read.norm(channels), read.activation(), read.conv(channels)
        inner = tuple(self.block(conv1.outputs) for _ in range(count))
        self._depth -= 1
        norm2, activation2 = read.norm(conv1.outputs), read.activation()
        conv2 = read.conv(conv1.outputs, channels)
        return NestedBottleneckBlock(norm1, conv1, inner, norm2, conv2, activation1, activation2)

    def attention(self, channels: int) -> Block:
        """Read an attention block, with or without rotary embedding."""
        read = self._layers
        heads = self._tokens.integer("heads", 1, MAX_HEADS)
        kv_heads = self._tokens.integer("key heads", 1, heads)
        if heads % kv_heads != 0:
            raise self._tokens.error("bad key heads", f"a divisor of {heads}", kv_heads, self._tokens.word_offset)
        query_width, value_width = read.size("query width"), read.size("value width")
        turned, learned = read.flag("rope flag"), read.flag("learned rope flag")
        if turned and query_width % 2 != 0:
            raise self._tokens.error("bad query width", "an even number", query_width)
        return AttentionBlock(
            norm=read.block_rms_norm(channels),
            query=read.matmul(channels, heads * query_width),
            key=read.matmul(channels, kv_heads * query_width),
            value=read.matmul(channels, kv_heads * value_width),
            output=read.matmul(heads * value_width, channels),
            heads=heads,
            kv_heads=kv_heads,
            rope=self._rope(kv_heads, query_width // 2, learned) if turned else None,
        )

    def _rope(self, kv_heads: int, pairs: int, learned: bool) -> Array:
        """Return the rotation in radians for each column and row, [kv_heads, pairs, 2], as in `AttentionBlock`."""
        self._layers.begin("a rope")
        if learned:
            for what, size in (("key heads", kv_heads), ("pairs", pairs), ("directions", 2)):
                self._layers.size(what, size)
            return self._tokens.array("frequencies", kv_heads, pairs, 2)
        return fixed_rope(kv_heads, pairs, self._layers.positive("theta"))

    def feed_forward(self, channels: int) -> Block:
        """Read a feed-forward block: two matrices with a gate between them (SwiGLU)."""
        read = self._layers
        read.size("channels", channels)
        width = read.size("hidden channels")
        # Without a gate, no program defines the activation, so such files are refused.
        self._tokens.integer("gate flag", 1, 1)
        norm = read.block_rms_norm(channels)
        expand, gate = read.matmul(channels, width), read.matmul(channels, width)
        return FeedForwardBlock(norm, expand, read.matmul(width, channels), gate)


def fixed_rope(kv_heads: int, pairs: int, theta: float) -> Array:
    """Return KataGo's rotations that are not learned, as in `AttentionBlock`. theta: the base of their frequencies."""
    vertical = pairs // 2
    rope = np.zeros((pairs, 2), np.float32)
    # The first half of the pairs rotates with the row, the second with the column.
    for first, last, axis in ((0, vertical, 1), (vertical, pairs, 0)):
        exponents = 2.0 * np.arange(last - first, dtype=np.float32) / np.float32(pairs)
        rope[first:last, axis] = 1.0 / np.float32(theta) ** exponents.astype(np.float32)
    return np.tile(rope, (kv_heads, 1, 1))


def _side_by_side(first: Conv, second: Conv) -> Conv:
    """Return one convolution with the outputs of both, kernels centered and padded with zeros."""
    height = max(conv.weight.shape[2] for conv in (first, second))
    width = max(conv.weight.shape[3] for conv in (first, second))
    shape = first.outputs + second.outputs, first.weight.shape[1], height, width
    check_growth(shape, first.weight.size + second.weight.size, "convolutions side by side")
    parts = []
    for conv in (first, second):
        rows, columns = (height - conv.weight.shape[2]) // 2, (width - conv.weight.shape[3]) // 2
        parts.append(np.pad(conv.weight, ((0, 0), (0, 0), (rows, rows), (columns, columns))))
    return Conv(np.concatenate(parts))


_KINDS: dict[str, Callable[[BlockReader, int], Block]] = {
    "ordinary_block": BlockReader.ordinary,
    "dilated_block": BlockReader.dilated,
    "gpool_block": BlockReader.global_pool,
    "nested_bottleneck_block": BlockReader.nested,
    "transformer_attention_block": BlockReader.attention,
    "transformer_ffn_block": BlockReader.feed_forward,
}
