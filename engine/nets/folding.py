"""Folds constant factors into the weights of neighboring layers, for inference on boards of one size.

The factors of a norm go into the layer before or after it, the scale of a pooled mean into the layer that reads it.
"""

import math

import numpy as np

from engine.nets.spec import POOLS, Array, Conv, Linear, Norm, RmsNorm


def folded(conv: Conv, norm: Norm | None) -> Conv:
    """Return one convolution that is equal to `conv` followed by `norm`."""
    if norm is None:
        return conv
    k, b = norm.affine()
    return Conv(conv.weight * k[:, None, None, None], b if conv.bias is None else b + k * conv.bias)


def times(layer: Linear, factor: float | Array) -> Linear:
    """Return a layer whose outputs are multiplied by `factor`: one number, or one for each output."""
    return Linear(layer.weight * factor, None if layer.bias is None else layer.bias * factor)


def scaled(layer: Linear, norm: Norm | None) -> Linear:
    """Scale a layer whose outputs are added to points before `norm`, which is folded into a convolution."""
    return layer if norm is None else times(layer, norm.affine()[0])


def after_norm(norm: RmsNorm, layer: Linear) -> Linear:
    """Return one layer that is equal to a norm's factors and bias followed by `layer`."""
    # For accuracy, not for speed: in bf16 both the factor and the weight would be rounded. This way the mean error of
    # keima-t7c96's winrate on 19x19 is 0.0069 instead of 0.0145; other transformers' errors hardly change.
    weight = layer.weight * norm.weight[:, None]
    if norm.bias is None:
        return Linear(weight, layer.bias)
    bias = norm.bias @ layer.weight
    return Linear(weight, bias if layer.bias is None else bias + layer.bias)


def global_pooled(layer: Linear, area: int) -> Linear:
    """Turn a layer of a global pool into one of [mean, max]; the part in between is a constant times the mean."""
    size = math.sqrt(area) - 14.0
    mean, scaled_mean, largest = _pools(layer)
    return Linear(np.concatenate([mean + scaled_mean * (size / 10.0), largest]).astype(np.float32), layer.bias)


def value_pooled(layer: Linear, area: int) -> Linear:
    """Turn a layer of a value pool into one of the mean alone; all three parts are multiples of it."""
    size = math.sqrt(area) - 14.0
    mean, scaled_mean, quadratic = _pools(layer)
    weight = mean + scaled_mean * (size / 10.0) + quadratic * (size * size / 100.0 - 0.1)
    return Linear(weight.astype(np.float32), layer.bias)


def _pools(layer: Linear) -> list[np.ndarray]:
    """Return the weights for each part of a pooled vector, as float64."""
    return np.split(layer.weight.astype(np.float64), POOLS)
