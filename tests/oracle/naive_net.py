"""A network computed with plain loops over points in double precision, straight from its definition.

Slow and obvious: no framework, no folding, no batching, no im2col.
"""

import math

import numpy as np
from numpy.typing import NDArray

from engine.nets.spec import (
    Activation,
    Conv,
    GlobalPoolBlock,
    Linear,
    NetSpec,
    Norm,
    ResidualBlock,
    Score,
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


def normalize(layer: Norm, x: Doubles) -> Doubles:
    """Return x with every channel normalized."""
    result = np.empty_like(x)
    for channel in range(len(x)):
        scale = 1.0 if layer.scale is None else float(layer.scale[channel])
        bias = 0.0 if layer.bias is None else float(layer.bias[channel])
        deviation = math.sqrt(float(layer.variance[channel]) + layer.epsilon)
        result[channel] = (x[channel] - float(layer.mean[channel])) / deviation * scale + bias
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
    """Return the trunk after an ordinary block."""
    inner = convolve(block.conv1, activate(block.activation1, normalize(block.norm1, trunk)))
    return trunk + convolve(block.conv2, activate(block.activation2, normalize(block.norm2, inner)))


def pooling(block: GlobalPoolBlock, trunk: Doubles) -> Doubles:
    """Return the trunk after a global pooling block."""
    inner = activate(block.activation1, normalize(block.norm1, trunk))
    features = activate(block.pool_activation, normalize(block.pool_norm, convolve(block.pool_conv, inner)))
    inner = convolve(block.conv1, inner) + multiply(block.pool_bias, global_pool(features))[:, None, None]
    return trunk + convolve(block.conv2, activate(block.activation2, normalize(block.norm2, inner)))


def forward(spec: NetSpec, planes: Doubles, globals_: Doubles) -> dict[str, Doubles]:
    """Return the raw outputs for one position: policy [P, area + 1], result, score, ownership [area]."""
    trunk = convolve(spec.stem.conv, planes.astype(np.float64))
    if spec.stem.globals is not None:
        trunk = trunk + multiply(spec.stem.globals, globals_.astype(np.float64))[:, None, None]
    for block in spec.blocks:
        trunk = residual(block, trunk) if isinstance(block, ResidualBlock) else pooling(block, trunk)
    trunk = activate(spec.tip.activation, normalize(spec.tip.norm, trunk))

    head = spec.policy
    pooled = global_pool(activate(head.pool_activation, normalize(head.pool_norm, convolve(head.pool_conv, trunk))))
    points = convolve(head.conv1, trunk) + multiply(head.pool_bias, pooled)[:, None, None]
    points = convolve(head.conv2, activate(head.activation, normalize(head.norm, points)))
    if head.pass_hidden is not None:
        pooled = activate(head.pass_activation, multiply(head.pass_hidden, pooled))
    passing = multiply(head.pass_linear, pooled)
    policy = np.concatenate([points.reshape(len(points), -1), passing[:, None]], axis=1)

    value = spec.value
    features = activate(value.activation, normalize(value.norm, convolve(value.conv, trunk)))
    hidden = activate(value.hidden_activation, multiply(value.hidden, value_pool(features)))
    nothing = np.zeros(0)
    return {
        "policy": policy,
        "result": multiply(value.result, hidden),
        "score": nothing if value.score is None else multiply(value.score, hidden),
        "ownership": nothing if value.ownership is None else convolve(value.ownership, features).ravel(),
    }


def evaluate(
    spec: NetSpec, planes: Doubles, globals_: Doubles, legal: NDArray[np.bool_], no_result: bool
) -> tuple[Doubles, float, float, Doubles]:
    """Return (policy, value, score, ownership) for one position, as an evaluator reports them.

    no_result: the rules allow a game without a result.
    """
    outputs = forward(spec, planes, globals_)
    logits = outputs["policy"][0]
    best = max(float(logit) for logit, allowed in zip(logits, legal, strict=True) if allowed)
    weights = [math.exp(float(logit) - best) if allowed else 0.0 for logit, allowed in zip(logits, legal, strict=True)]
    policy = np.array(weights) / sum(weights)
    result, certain = [float(v) for v in outputs["result"]], 1.0
    if spec.value.meaning == "tanh":
        value = math.tanh(result[0])
    else:
        chances = [math.exp(v) for v in (result if no_result else result[:2])]
        value = (chances[0] - chances[1]) / sum(chances)
        certain = (chances[0] + chances[1]) / sum(chances)
    score = (
        float(outputs["score"][spec.value.scores.index(Score.LEAD)]) * spec.value.scales.lead * certain
        if spec.value.score
        else 0.0
    )
    return policy, value, score, np.tanh(outputs["ownership"])
