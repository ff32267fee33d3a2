"""A network computed with plain loops over points in double precision, straight from its definition.

Slow and obvious: no framework, no folding, no batching, no im2col.
"""

import math
import pickle
from hashlib import sha256
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from engine.nets.spec import (
    Activation,
    AttentionBlock,
    Block,
    Conv,
    DensePolicyHead,
    DenseValueHead,
    FeedForwardBlock,
    GlobalPoolBlock,
    Linear,
    NestedBottleneckBlock,
    NetSpec,
    Norm,
    PolicyHead,
    PostActivationBlock,
    ResidualBlock,
    RmsNorm,
    ValueHead,
)

Doubles = NDArray[np.float64]


def convolve(layer: Conv, x: Doubles) -> Doubles:
    """Return [out, H, W] of x [in, H, W]: each output point looks at its window, zero outside the board."""
    outputs, _, ky, kx = layer.weight.shape
    _, height, width = x.shape
    weight = layer.weight.astype(np.float64)
    result = np.zeros((outputs, height, width))
    for row in range(height):
        for column in range(width):
            for dy in range(ky):
                for dx in range(kx):
                    y, z = row + dy - ky // 2, column + dx - kx // 2
                    if 0 <= y < height and 0 <= z < width:
                        result[:, row, column] += weight[:, :, dy, dx] @ x[:, y, z]
    if layer.bias is not None:
        result += layer.bias[:, None, None]
    return result


def normalize(layer: Norm | RmsNorm, x: Doubles) -> Doubles:
    """Return x with every channel normalized."""
    if isinstance(layer, RmsNorm):
        return normalize_by_size(layer, x)
    result = np.empty_like(x)
    for channel in range(len(x)):
        scale = 1.0 if layer.scale is None else float(layer.scale[channel])
        bias = 0.0 if layer.bias is None else float(layer.bias[channel])
        deviation = math.sqrt(float(layer.variance[channel]) + layer.epsilon)
        result[channel] = (x[channel] - float(layer.mean[channel])) / deviation * scale + bias
    return result


def normalize_by_size(layer: RmsNorm, x: Doubles) -> Doubles:
    """Return x divided by the root of its mean square, at each point or over all of them."""
    result = np.empty_like(x)
    _, height, width = x.shape
    everywhere = float((x * x).sum()) / x.size
    for row in range(height):
        for column in range(width):
            here = x[:, row, column]
            square = everywhere if layer.spatial else float((here * here).sum()) / len(here)
            result[:, row, column] = here / math.sqrt(square + layer.epsilon) * layer.weight
            if layer.bias is not None:
                result[:, row, column] += layer.bias
    return result


def activate(kind: Activation, x: Doubles) -> Doubles:
    """Return the activation of every number."""
    formulas = {
        Activation.IDENTITY: lambda v: v,
        Activation.RELU: lambda v: max(v, 0.0),
        Activation.MISH: lambda v: v * math.tanh(math.log1p(math.exp(v))),
        Activation.SILU: lambda v: v / (1.0 + math.exp(-v)),
    }
    return np.array([formulas[kind](float(v)) for v in x.ravel()]).reshape(x.shape)


def multiply(layer: Linear, x: Doubles) -> Doubles:
    """Return x . weight + bias."""
    result = x @ layer.weight.astype(np.float64)
    return result if layer.bias is None else result + layer.bias


def global_pool(x: Doubles) -> Doubles:
    """Return [mean, scaled mean, maximum] of every channel."""
    size = math.sqrt(x.shape[1] * x.shape[2])
    means = [float(channel.sum()) / channel.size for channel in x]
    return np.array([*means, *(m * (size - 14) / 10 for m in means), *(float(channel.max()) for channel in x)])


def value_pool(x: Doubles) -> Doubles:
    """Return [mean, scaled mean, mean scaled quadratically] of every channel."""
    size = math.sqrt(x.shape[1] * x.shape[2])
    means = [float(channel.sum()) / channel.size for channel in x]
    quadratic = (size - 14) ** 2 / 100 - 0.1
    return np.array([*means, *(m * (size - 14) / 10 for m in means), *(m * quadratic for m in means)])


def residual(block: ResidualBlock, trunk: Doubles) -> Doubles:
    """Return what an ordinary block adds."""
    inner = convolve(block.conv1, activate(block.activation1, normalize(block.norm1, trunk)))
    return convolve(block.conv2, activate(block.activation2, normalize(block.norm2, inner)))


def pooling(block: GlobalPoolBlock, trunk: Doubles) -> Doubles:
    """Return what a global pooling block adds."""
    inner = activate(block.activation1, normalize(block.norm1, trunk))
    features = activate(block.pool_activation, normalize(block.pool_norm, convolve(block.pool_conv, inner)))
    inner = convolve(block.conv1, inner) + multiply(block.pool_bias, global_pool(features))[:, None, None]
    return convolve(block.conv2, activate(block.activation2, normalize(block.norm2, inner)))


def nested(block: NestedBottleneckBlock, trunk: Doubles) -> Doubles:
    """Return what a nested bottleneck block adds."""
    inner = convolve(block.conv1, activate(block.activation1, normalize(block.norm1, trunk)))
    for each in block.blocks:
        inner = after_block(each, inner)
    return convolve(block.conv2, activate(block.activation2, normalize(block.norm2, inner)))


def rotate(block: AttentionBlock, vector: Doubles, kv_head: int, row: int, column: int) -> Doubles:
    """Return a query or key with its channel pairs turned by the angles of its point."""
    if block.rope is None:
        return vector
    result = vector.copy()
    for pair, (by_column, by_row) in enumerate(block.rope[kv_head].astype(np.float64)):
        turn = complex(math.cos(column * by_column + row * by_row), math.sin(column * by_column + row * by_row))
        turned = complex(vector[2 * pair], vector[2 * pair + 1]) * turn
        result[2 * pair], result[2 * pair + 1] = turned.real, turned.imag
    return result


def attention(block: AttentionBlock, trunk: Doubles) -> Doubles:
    """Return what an attention block adds."""
    channels, height, width = trunk.shape
    h = normalize(block.norm, trunk)
    points = [(row, column) for row in range(height) for column in range(width)]
    query_width, value_width = block.query_width, block.value_width
    mixed = {point: np.zeros(block.heads * value_width) for point in points}
    for head in range(block.heads):
        kv_head = head // (block.heads // block.kv_heads)
        queries, keys, values = {}, {}, {}
        for row, column in points:
            x = h[:, row, column]
            query = multiply(block.query, x)[head * query_width : (head + 1) * query_width]
            key = multiply(block.key, x)[kv_head * query_width : (kv_head + 1) * query_width]
            queries[row, column] = rotate(block, query, kv_head, row, column)
            keys[row, column] = rotate(block, key, kv_head, row, column)
            values[row, column] = multiply(block.value, x)[kv_head * value_width : (kv_head + 1) * value_width]
        for point in points:
            weights = [math.exp(float(queries[point] @ keys[other]) / math.sqrt(query_width)) for other in points]
            answer = sum(weight * values[other] for weight, other in zip(weights, points, strict=True)) / sum(weights)
            mixed[point][head * value_width : (head + 1) * value_width] = answer
    added = np.empty((channels, height, width))
    for row, column in points:
        added[:, row, column] = multiply(block.output, mixed[row, column])
    return added


def feed_forward(block: FeedForwardBlock, trunk: Doubles) -> Doubles:
    """Return what a feed forward block adds."""
    h, added = normalize(block.norm, trunk), np.empty_like(trunk)
    for row in range(trunk.shape[1]):
        for column in range(trunk.shape[2]):
            x = h[:, row, column]
            inner = activate(block.activation, multiply(block.expand, x))
            if block.gate is not None:
                inner = inner * multiply(block.gate, x)
            added[:, row, column] = multiply(block.contract, inner)
    return added


def post_activation(block: PostActivationBlock, trunk: Doubles) -> Doubles:
    """Return the trunk after a block of AlphaGo Zero."""
    inner = activate(block.activation1, normalize(block.norm1, convolve(block.conv1, trunk)))
    return activate(block.activation2, trunk + normalize(block.norm2, convolve(block.conv2, inner)))


def after_block(block: Block, trunk: Doubles) -> Doubles:
    """Return the trunk after a block."""
    match block:
        case ResidualBlock():
            return trunk + residual(block, trunk)
        case GlobalPoolBlock():
            return trunk + pooling(block, trunk)
        case NestedBottleneckBlock():
            return trunk + nested(block, trunk)
        case AttentionBlock():
            return trunk + attention(block, trunk)
        case FeedForwardBlock():
            return trunk + feed_forward(block, trunk)
        case PostActivationBlock():
            return post_activation(block, trunk)
        case _:
            assert_never(block)


def stem(spec: NetSpec, planes: Doubles, globals_: Doubles) -> Doubles:
    """Return the trunk before the first block."""
    layer = spec.stem
    trunk = convolve(layer.conv, planes.astype(np.float64))
    if layer.globals is not None:
        trunk = trunk + multiply(layer.globals, globals_[: spec.globals].astype(np.float64))[:, None, None]
    if layer.metadata is not None:
        who = layer.metadata
        inner = activate(who.activation1, multiply(who.linear1, globals_[spec.globals :].astype(np.float64)))
        inner = activate(who.activation2, multiply(who.linear2, inner))
        trunk = trunk + multiply(who.linear3, inner)[:, None, None]
    return trunk if layer.norm is None else activate(layer.activation, normalize(layer.norm, trunk))


def policy(head: PolicyHead | DensePolicyHead, trunk: Doubles) -> Doubles:
    """Return the logits [P, area + 1]."""
    if isinstance(head, DensePolicyHead):
        features = activate(head.activation, normalize(head.norm, convolve(head.conv, trunk)))
        flat = features.ravel()
        if head.hidden is not None:
            flat = activate(head.hidden_activation, multiply(head.hidden, flat))
        return multiply(head.linear, flat)[None, :]
    pooled = global_pool(activate(head.pool_activation, normalize(head.pool_norm, convolve(head.pool_conv, trunk))))
    points = convolve(head.conv1, trunk) + multiply(head.pool_bias, pooled)[:, None, None]
    points = convolve(head.conv2, activate(head.activation, normalize(head.norm, points)))
    if head.pass_hidden is not None:
        pooled = activate(head.pass_activation, multiply(head.pass_hidden, pooled))
    passing = multiply(head.pass_linear, pooled)
    return np.concatenate([points.reshape(len(points), -1), passing[:, None]], axis=1)


def value(head: ValueHead | DenseValueHead, trunk: Doubles) -> dict[str, Doubles]:
    """Return result, score and ownership [area], the last two empty where the network has none."""
    features = activate(head.activation, normalize(head.norm, convolve(head.conv, trunk)))
    dense = isinstance(head, DenseValueHead)
    pooled = features.ravel() if dense else value_pool(features)
    hidden = activate(head.hidden_activation, multiply(head.hidden, pooled))
    outputs = {"result": multiply(head.result, hidden), "score": np.zeros(0), "ownership": np.zeros(0)}
    if isinstance(head, ValueHead) and head.score is not None:
        outputs["score"] = multiply(head.score, hidden)
    if isinstance(head, ValueHead) and head.ownership is not None:
        outputs["ownership"] = convolve(head.ownership, features).ravel()
    return outputs


def forward(spec: NetSpec, planes: Doubles, globals_: Doubles) -> dict[str, Doubles]:
    """Return the raw outputs for one position: policy [P, area + 1], result, score, ownership [area].

    globals_: the global inputs and, after them, the metadata.
    """
    trunk = stem(spec, planes, globals_)
    for block in spec.blocks:
        trunk = after_block(block, trunk)
    if spec.tip is not None:
        trunk = activate(spec.tip.activation, normalize(spec.tip.norm, trunk))
    return {"policy": policy(spec.policy, trunk)} | value(spec.value, trunk)


_REMEMBERED: dict[bytes, dict[str, Doubles]] = {}


def remembered(spec: NetSpec, planes: Doubles, globals_: Doubles) -> dict[str, Doubles]:
    """Return what `forward` does, computed once for all kernels that are compared with it one after the other."""
    key = sha256(pickle.dumps((spec, planes, globals_))).digest()
    if key not in _REMEMBERED:
        # A test compares two rows at most.
        for old in list(_REMEMBERED)[:-1]:
            del _REMEMBERED[old]
        _REMEMBERED[key] = forward(spec, planes, globals_)
    return _REMEMBERED[key]
