"""The blocks of a network's trunk as nodes of an OpenVINO graph.

A trunk has one of two layouts: convolutions need points [B, channels, H, W], attention and feed forward need rows
[B, H * W, channels]. The layout changes only where the next block needs the other one.
"""

from dataclasses import dataclass
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from engine.nets.folding import after_norm, folded, global_pooled, scaled, times
from engine.nets.openvino_graph.layers import (
    activate,
    activate_vector,
    add_vector,
    channels_of,
    constant,
    convolve,
    global_pool,
    integers,
    multiply,
    normalize,
    points_as_rows,
    rows_as_points,
    split,
    unit_rows,
)
from engine.nets.openvino_graph.runtime import Node, ops
from engine.nets.spec import (
    Activation,
    Array,
    AttentionBlock,
    Block,
    FeedForwardBlock,
    GlobalPoolBlock,
    Linear,
    NestedBottleneckBlock,
    Norm,
    PostActivationBlock,
    ResidualBlock,
)

WIDENED = "widened"
"""Prefix of the names of the inputs of feed forward blocks, by which `quantization` finds them."""


@dataclass(frozen=True)
class Board:
    """The one board size of a model."""

    width: int
    height: int

    @property
    def area(self) -> int:
        """Points of the board."""
        return self.width * self.height


@dataclass(frozen=True)
class Trunk:
    """The values between two blocks, in one of two layouts."""

    board: Board
    node: Node
    in_rows: bool = False

    def points(self) -> Node:
        """Return [B, channels, H, W]."""
        return rows_as_points(self.node, self.board.width, self.board.height) if self.in_rows else self.node

    def rows(self) -> Node:
        """Return [B, area, channels]."""
        return self.node if self.in_rows else points_as_rows(self.node, self.board.width, self.board.height)


def add_block(trunk: Trunk, block: Block) -> Trunk:
    """Return the trunk after a block."""
    board = trunk.board
    if isinstance(block, AttentionBlock | FeedForwardBlock):
        rows = trunk.rows()
        inner = unit_rows(rows, block.norm)
        if isinstance(block, AttentionBlock):
            added = _attend(inner, block, board)
        else:
            inner.set_friendly_name(f"{WIDENED} {inner.get_friendly_name()}")
            added = _feed_forward(inner, block)
        return Trunk(board, ops.add(rows, added), in_rows=True)
    points = trunk.points()
    match block:
        case ResidualBlock():
            inner = _start(points, block.norm1, block.activation1)
            inner = activate(convolve(inner, folded(block.conv1, block.norm2)), block.activation2)
        case GlobalPoolBlock():
            inner = _pool(_start(points, block.norm1, block.activation1), block, board)
        case NestedBottleneckBlock():
            inner = _nest(_start(points, block.norm1, block.activation1), block, board)
        case PostActivationBlock():
            inner = activate(convolve(points, folded(block.conv1, block.norm1)), block.activation1)
            added = convolve(inner, folded(block.conv2, block.norm2))
            return Trunk(board, activate(ops.add(points, added), block.activation2))
        case _:
            assert_never(block)
    return Trunk(board, ops.add(points, convolve(inner, block.conv2)))


def _start(points: Node, norm: Norm, activation: Activation) -> Node:
    """Return the input of a block's first convolution."""
    return activate(normalize(points, norm), activation)


def _pool(inner: Node, block: GlobalPoolBlock, board: Board) -> Node:
    """Return the input of the last convolution of a global pooling block."""
    pooled = activate(convolve(inner, folded(block.pool_conv, block.pool_norm)), block.pool_activation)
    bias = scaled(global_pooled(block.pool_bias, board.area), block.norm2)
    regular = convolve(inner, folded(block.conv1, block.norm2))
    return activate(add_vector(regular, multiply(global_pool(pooled), bias)), block.activation2)


def _nest(inner: Node, block: NestedBottleneckBlock, board: Board) -> Node:
    """Return the input of the last convolution of a nested bottleneck."""
    if not block.blocks:
        return activate(convolve(inner, folded(block.conv1, block.norm2)), block.activation2)
    trunk = Trunk(board, convolve(inner, block.conv1))
    for each in block.blocks:
        trunk = add_block(trunk, each)
    return activate(normalize(trunk.points(), block.norm2), block.activation2)


def _feed_forward(rows: Node, block: FeedForwardBlock) -> Node:
    """Return the output of a feed forward block, without the trunk. rows: the result of `unit_rows`."""
    hidden = activate_vector(multiply(rows, after_norm(block.norm, block.expand)), block.activation)
    if block.gate is not None:
        hidden = ops.multiply(hidden, multiply(rows, after_norm(block.norm, block.gate)))
    return multiply(hidden, block.contract)


def _attend(rows: Node, block: AttentionBlock, board: Board) -> Node:
    """Return the output of an attention block, without the trunk. rows: the result of `unit_rows`."""
    # Query heads that share keys and values are stacked along the points, for one product. The scale is in the weights
    # of the queries, one operation less than in OpenVINO's own operation for attention. Written this way, keima-t7c96
    # is 1.11 (19x19) and 1.20 (9x9) times as fast in bf16 on a Zen 5.
    shared, group, area = block.kv_heads, block.heads // block.kv_heads, board.area
    to_query, to_key, to_value = (after_norm(block.norm, each) for each in (block.query, block.key, block.value))
    query = _turned_heads(rows, times(to_query, block.query_width**-0.5), block.heads, block, board)
    key = _turned_heads(rows, to_key, shared, block, board)
    value = _parted(multiply(rows, to_value), shared, area)
    if group > 1:
        query = ops.reshape(query, integers(0, shared, group * area, block.query_width), True)
    scores = ops.softmax(ops.matmul(query, key, False, True), -1)
    answers = ops.matmul(scores, value, False, False)
    if group > 1:
        answers = ops.reshape(answers, integers(0, block.heads, area, block.value_width), True)
    together = ops.transpose(answers, integers(0, 2, 1, 3))
    return multiply(ops.reshape(together, integers(0, area, -1), True), block.output)


def _parted(rows: Node, heads: int, area: int) -> Node:
    """Split heads: turn [B, area, heads * width] into [B, heads, area, width]."""
    parted = ops.reshape(rows, integers(0, area, heads, channels_of(rows) // heads), True)
    return ops.transpose(parted, integers(0, 2, 1, 3))


def _turned_heads(rows: Node, layer: Linear, heads: int, block: AttentionBlock, board: Board) -> Node:
    """Return queries or keys [B, heads, area, width], rotated by the position of their point (RoPE)."""
    # The channels are reordered: first the first channel of every pair, then the second ones. Products of queries and
    # keys stay the same, and the halves of a vector are rotated instead of neighbors. With the product by -1, OpenVINO
    # recognizes this pattern as its RoPE operation.
    if block.rope is None:
        return _parted(multiply(rows, layer), heads, board.area)
    order = np.arange(layer.outputs).reshape(heads, -1, 2).transpose(0, 2, 1).ravel()
    halves = Linear(layer.weight[:, order], None if layer.bias is None else layer.bias[order])
    parted = _parted(multiply(rows, halves), heads, board.area)
    angles = np.repeat(_angles(block.rope, board), heads // block.kv_heads, axis=0)
    half = angles.shape[-1]
    first, second = split(parted, 3, [half, half])
    cosine, sine = (constant(np.tile(turn, 2)[None]) for turn in (np.cos(angles), np.sin(angles)))
    swapped = ops.concat([ops.multiply(second, constant(np.array(-1.0))), first], -1)
    return ops.add(ops.multiply(parted, cosine), ops.multiply(swapped, sine))


def _angles(rope: Array, board: Board) -> NDArray[np.float64]:
    """Return the rotation of each pair of channels at each point, in radians: [kv_heads, area, pairs]."""
    y, x = np.divmod(np.arange(board.area), board.width)
    places = np.stack([x, y]).astype(np.float64)
    turns: NDArray[np.float64] = np.einsum("hpc,ca->hap", rope.astype(np.float64), places)
    return turns
