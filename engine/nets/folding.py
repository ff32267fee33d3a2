"""Layers that do another's work too: whatever is constant on a board of one size is multiplied into the weights.

A norm's factors go into the layer before or after it, a pooled mean's scale into the layer that sees it.
"""

import math

import numpy as np

from engine.nets.spec import POOLS, Array, Conv, Linear, Norm, RmsNorm


def folded(conv: Conv, norm: Norm | None) -> Conv:
    """Return a convolution and the norm after it as one convolution."""
    if norm is None:
        return conv
    k, b = norm.affine()
    return Conv(conv.weight * k[:, None, None, None], b if conv.bias is None else b + k * conv.bias)


def times(layer: Linear, factor: float | Array) -> Linear:
    """Return a layer whose numbers are so many times as large, all or each of them."""
    return Linear(layer.weight * factor, None if layer.bias is None else layer.bias * factor)


def scaled(layer: Linear, norm: Norm | None) -> Linear:
    """Return a layer whose numbers are added to points before a norm that has been folded away."""
    return layer if norm is None else times(layer, norm.affine()[0])


def after_norm(norm: RmsNorm, layer: Linear) -> Linear:
    """Return a norm's factors and bias and the layer after it as one layer.

    Not for speed: in bf16 the factor and the weight would both be rounded. keima-t7c96's winrate on 19x19 is off by
    0.0069 on average instead of 0.0145 by that, other transformers' about as much as before.
    """
    weight = layer.weight * norm.weight[:, None]
    if norm.bias is None:
        return Linear(weight, layer.bias)
    bias = norm.bias @ layer.weight
    return Linear(weight, bias if layer.bias is None else bias + layer.bias)


def global_pooled(layer: Linear, area: int) -> Linear:
    """Return a layer of a global pool as one of [mean, max]: the third part is a constant times the mean."""
    size = math.sqrt(area) - 14.0
    mean, scaled_mean, largest = _pools(layer)
    return Linear(np.concatenate([mean + scaled_mean * (size / 10.0), largest]).astype(np.float32), layer.bias)


def value_pooled(layer: Linear, area: int) -> Linear:
    """Return a layer of a value pool as one of the mean, of which all its parts are multiples."""
    size = math.sqrt(area) - 14.0
    mean, scaled_mean, quadratic = _pools(layer)
    weight = mean + scaled_mean * (size / 10.0) + quadratic * (size * size / 100.0 - 0.1)
    return Linear(weight.astype(np.float32), layer.bias)


def _pools(layer: Linear) -> list[np.ndarray]:
    """Return the weights of the parts of a pooled vector, in double precision."""
    return np.split(layer.weight.astype(np.float64), POOLS)
