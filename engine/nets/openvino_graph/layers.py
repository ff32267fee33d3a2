"""The layers of a network as nodes of an OpenVINO graph, in a form that its CPU plugin computes fast.

Points are [B, channels, H, W], rows [B, H * W, channels], vectors [B, channels].
"""

import numpy as np

from engine.nets.openvino_graph.runtime import Node, ops
from engine.nets.spec import Activation, Array, Conv, Linear, Norm, RmsNorm

_POINT_AXES = (2, 3)
_MISH_LINEAR = 20.0
"""From here on mish(x) is x in float32, and e^(2x) is still finite."""


def constant(array: Array) -> Node:
    """Return an array as a constant."""
    return ops.constant(np.ascontiguousarray(array, np.float32))


def integers(*values: int) -> Node:
    """Return integers as a constant: axes, shapes and lengths."""
    return ops.constant(np.array(values, np.int64))


def split(node: Node, axis: int, lengths: list[int]) -> list[Node]:
    """Return consecutive parts of a node along an axis."""
    return list(ops.variadic_split(node, ops.constant(axis), integers(*lengths)).outputs())


def convolve(points: Node, conv: Conv) -> Node:
    """Return the convolution of points."""
    # Equal padding on both sides: the sides of kernels are odd.
    pads = [side // 2 for side in conv.weight.shape[2:]]
    result = ops.convolution(points, constant(conv.weight), [1, 1], pads, pads, [1, 1])
    return result if conv.bias is None else ops.add(result, _per_channel(conv.bias))


def normalize(points: Node, norm: Norm) -> Node:
    """Return the norm of points."""
    k, b = norm.affine()
    return ops.add(ops.multiply(points, _per_channel(k)), _per_channel(b))


def _per_channel(array: Array) -> Node:
    return constant(array.reshape(1, -1, 1, 1))


def normalize_rows(rows: Node, norm: RmsNorm) -> Node:
    """Return the norm of rows, in the form that OpenVINO fuses into one kernel."""
    result = ops.multiply(unit_rows(rows, norm), constant(norm.weight))
    return result if norm.bias is None else ops.add(result, constant(norm.bias))


def unit_rows(rows: Node, norm: RmsNorm) -> Node:
    """Return the norm of rows without its factors and bias, for layers that `after_norm` returned."""
    axes = integers(1, 2) if norm.spatial else integers(-1)
    square = ops.reduce_mean(ops.power(rows, constant(np.array(2.0))), axes, True)
    root = ops.sqrt(ops.add(square, constant(np.array(norm.epsilon))))
    return ops.multiply(rows, ops.divide(constant(np.array(1.0)), root))


def multiply(vectors: Node, layer: Linear) -> Node:
    """Return [..., out] of vectors or rows [..., in]."""
    result = ops.matmul(vectors, constant(layer.weight), False, False)
    return result if layer.bias is None else ops.add(result, constant(layer.bias))


def activate(node: Node, kind: Activation) -> Node:
    """Return the activation of every number."""
    match kind:
        case Activation.IDENTITY:
            return node
        case Activation.RELU:
            return ops.relu(node)
        case Activation.MISH:
            return ops.mish(node)
        case Activation.SILU:
            return ops.swish(node)


def activate_vector(vectors: Node, kind: Activation) -> Node:
    """Return the activation of vectors or rows."""
    # Mish is written out: from batch 4 on OpenVINO fuses a chain of such layers into one kernel, and fails to compile
    # it with its own operation for Mish.
    if kind is not Activation.MISH:
        return activate(vectors, kind)
    power = ops.exp(ops.minimum(vectors, constant(np.array(_MISH_LINEAR))))
    ratio = ops.multiply(power, ops.add(power, constant(np.array(2.0))))  # tanh(log(1 + p)) = r / (r + 2)
    return ops.multiply(vectors, ops.divide(ratio, ops.add(ratio, constant(np.array(2.0)))))


def add_vector(points: Node, vector: Node) -> Node:
    """Return points with a vector [B, channels] added to every point."""
    return ops.add(points, ops.unsqueeze(vector, integers(*_POINT_AXES)))


def points_as_rows(points: Node, width: int, height: int) -> Node:
    """Turn [B, c, height, width] into [B, area, c]."""
    channels_last = ops.transpose(points, integers(0, 2, 3, 1))
    return ops.reshape(channels_last, integers(0, height * width, -1), True)


def rows_as_points(rows: Node, width: int, height: int) -> Node:
    """Turn [B, area, c] into [B, c, height, width]."""
    channels_last = ops.reshape(rows, integers(0, height, width, channels_of(rows)), True)
    return ops.transpose(channels_last, integers(0, 3, 1, 2))


def channels_of(rows: Node) -> int:
    """Return the length of the last axis."""
    return int(rows.get_output_shape(0)[-1] if hasattr(rows, "get_output_shape") else rows.get_shape()[-1])


def global_pool(points: Node) -> Node:
    """Return [mean, max] of points, [B, 2c], for a layer that `global_pooled` returned."""
    axes = integers(*_POINT_AXES)
    return ops.concat([ops.reduce_mean(points, axes, False), ops.reduce_max(points, axes, False)], 1)


def value_pool(points: Node) -> Node:
    """Return the mean of points, [B, c], for a layer that `value_pooled` returned."""
    return ops.reduce_mean(points, integers(*_POINT_AXES), False)
