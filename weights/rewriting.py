"""Rewrites single layers of a network without changing what the network computes.

Channels are added at the end. A constant channel has a convolution of zeros and a norm of bias 1.
"""

import math
from dataclasses import replace
from typing import TypeVar

import numpy as np

from engine.nets.spec import POOLS, Activation, Array, Conv, Linear, Norm, WeightsError

Layer = TypeVar("Layer", Conv, Linear)
CONSTANT = {
    Activation.IDENTITY: 1.0,
    Activation.RELU: 1.0,
    Activation.MISH: math.tanh(math.log1p(math.e)),
    Activation.SILU: 1.0 / (1.0 + math.exp(-1.0)),
}
"""The value of each activation at 1: the value of a constant channel."""


def refuse(layer: str, expected: object, got: object) -> WeightsError:
    """Return the error for something that KataGo's format cannot hold."""
    return WeightsError("KataGo's format cannot hold this", layer=layer, expected=expected, got=got)


def without_bias(layer: Layer) -> Layer:
    """Return the layer without its bias."""
    return replace(layer, bias=None)


def with_bias(layer: Linear) -> Linear:
    """Return the layer with a bias, zero if it had none."""
    return layer if layer.bias is not None else replace(layer, bias=np.zeros(layer.outputs, np.float32))


def absorbed(layer: Layer, norm: Norm) -> tuple[Layer, Norm]:
    """Return a layer without its bias, and the norm after it with the bias subtracted from its mean."""
    if layer.bias is None:
        return layer, norm
    return without_bias(layer), replace(norm, mean=norm.mean - layer.bias)


def more_outputs(conv: Conv, norm: Norm, count: int, bias: float) -> tuple[Conv, Norm]:
    """Return a convolution and its norm with more channels, whose value after the norm is `bias`."""
    if norm.bias is None and bias != 0.0:
        norm = replace(norm, bias=np.zeros_like(norm.mean))
    return (
        replace(conv, weight=_padded(conv.weight, 0, count)),
        replace(
            norm,
            mean=_padded(norm.mean, 0, count),
            variance=_padded(norm.variance, 0, count, 1.0),
            scale=None if norm.scale is None else _padded(norm.scale, 0, count, 1.0),
            bias=None if norm.bias is None else _padded(norm.bias, 0, count, bias),
        ),
    )


def more_inputs(conv: Conv, count: int) -> Conv:
    """Return a convolution that takes more channels and ignores them."""
    return replace(conv, weight=_padded(conv.weight, 1, count))


def more_input(conv: Conv, activation: Activation, bias: Array) -> Conv:
    """Replace a convolution's bias by an extra input channel that is constant before `activation`."""
    wider = more_inputs(conv, 1)
    rows, columns = conv.weight.shape[2:]
    wider.weight[:, -1, rows // 2, columns // 2] = bias / CONSTANT[activation]
    return without_bias(wider)


def more_terms(layer: Linear, inputs: int = 0, outputs: int = 0) -> Linear:
    """Return a layer with more inputs, which it ignores, and more outputs, which are 0."""
    bias = None if layer.bias is None else _padded(layer.bias, 0, outputs)
    return Linear(_padded(_padded(layer.weight, 0, inputs), 1, outputs), bias)


def more_pooled(layer: Linear, count: int) -> Linear:
    """Return a layer on a pool over more channels, which it ignores."""
    inputs, outputs = layer.weight.shape
    groups = layer.weight.reshape(POOLS, inputs // POOLS, outputs)
    return replace(layer, weight=_padded(groups, 1, count).reshape(inputs + POOLS * count, outputs))


def _padded(array: Array, axis: int, count: int, value: float = 0.0) -> Array:
    """Return an array with `count` more entries along an axis."""
    widths = [(0, count if each == axis else 0) for each in range(array.ndim)]
    return np.pad(array, widths, constant_values=np.float32(value))
