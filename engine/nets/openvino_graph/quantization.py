"""Rounds a model's convolutions to int8, written so that OpenVINO computes them with integers.

Also rounds the first products of feed forward blocks, as if they were 1x1 convolutions. The input of a convolution is
u = round(x / scale) in 0..255 with one scale for each input channel; the scales are multiplied into the weights, which
are rounded to -127..127 with one step for each output channel. OpenVINO's CPU plugin recognizes this pattern and
computes products of bytes, with the bias, the activation and the next rounding in the same kernel. Everything between
the convolutions, above all the sums of the trunk, stays float32.

The choices are by the mean error of g170-b6c96's winrate on 9x9: with one scale for all channels it is 0.0065; with
scales that divide the rounding between inputs and weights (Xiao et al. 2022, SmoothQuant) 0.0047; with the mean loss of
the weights added back 0.0042; with inputs clipped to 99.9 % of the values 0.041; with the stem rounded in the same way
0.0062; with the first layers of the heads rounded 0.0002 more, for 2 % more speed.

The inputs of the stem are planes of zeros and ones, so only its weights lose accuracy. They are stored in two bytes:
the stem reads every plane twice, once as 0 or 127 with the coarse bytes of the weights, and once as 0 or 1 with the
fine bytes. That is exact to 2^-14 of the largest weight.

A processor without VNNI adds two products of bytes in 16 bits, and cuts off what does not fit (vpmaddubsw): two inputs
of 255 with weights of 127 make 64,770, of 32,767 at most. That is why the stem's inputs are 127 at most; with 255 the
mean error of the winrate on AVX2, in 56 positions of real games on 9x9, was 0.047 (g170-b6c96) and 0.258 (keima-t7c96).
Inputs of convolutions seldom reach the limit together: with 127 steps of their weights the error is 0.0068, with 64
steps, where nothing is cut off, 0.0082. Inputs of products in a transformer do: 0.0174 with 127 steps, 0.0066 with 64.

In a transformer only the first products of feed forward blocks are rounded. Mean error of the winrate, Kullback-Leibler
divergence of the policy, and speed relative to fp32, with keima-t7c96, one thread of a Zen 5, positions of real games:

    rounded                     9x9                      19x19
    first of feed forward       0.008   0.0018   1.22    0.007   0.0039   1.13
    last of feed forward        0.014   0.0087   1.08    0.017   0.0223   1.07
    queries, keys, values       0.010   0.0020   1.07    0.022   0.0040   1.05
    what attention adds         0.007   0.0023   1.01    0.007   0.0056   1.01
    all to bf16 instead         0.006   0.0011           0.007   0.0022
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.native.processor import BYTE_PRODUCTS, instruction_sets
from engine.nets.openvino_graph.blocks import WIDENED
from engine.nets.openvino_graph.layers import constant, integers
from engine.nets.openvino_graph.model import TRUNK
from engine.nets.openvino_graph.runtime import Node, openvino, ops
from engine.nets.rounding import INPUT_STEPS, WEIGHT_STEPS, Range, bounds, channel_scale, rounded_weights
from engine.nets.spec import Array

_PRODUCT_STEPS_IN_16_BITS = 64
_INPUT, _CONVOLUTION, _PRODUCT = "Parameter", "Convolution", "MatMul"
"""OpenVINO's types of the nodes for inputs, convolutions and products of rows."""
_COARSE, _FINE = 127, 1
"""Value of a stone in the planes for the coarse and for the fine bytes of weights."""
_FEWEST_OUTPUTS = 8
"""Convolutions with fewer output channels are the last ones of heads, which are not rounded."""


class _Site(NamedTuple):
    """A node whose values are rounded, and the convolutions, or products of rows, that read it.

    is_input: whether it is the network's planes.
    """

    source: Node
    convolutions: list[Node]
    is_input: bool

    @property
    def channels(self) -> int:
        """The axis of the channels: 1 for points [B, channels, H, W], 2 for rows [B, area, channels]."""
        return 1 if len(self.source.get_shape()) == 4 else 2

    def per_channel(self, array: Array) -> Node:
        """Return a number for each channel as a constant that broadcasts with the node and with its convolutions."""
        shape = [1] * len(self.source.get_shape())
        shape[self.channels] = -1
        return constant(array.reshape(shape))


def measured(model: "openvino.Model", *, and_answers: bool = False) -> "openvino.Model":
    """Return a model whose outputs [3, channels] are the ranges of all nodes to round, in the order of `quantize`.

    The rows are lowest, largest and mean, over all points of a batch. and_answers: append the model's own outputs.
    """
    clone = model.clone()
    ranges = []
    for site in _sites(clone):
        axes = integers(*(axis for axis in range(len(site.source.get_shape())) if axis != site.channels))
        reduced = (reduce(site.source, axes, False) for reduce in (ops.reduce_min, ops.reduce_max, ops.reduce_mean))
        ranges.append(ops.result(ops.concat([ops.unsqueeze(each, integers(0)) for each in reduced], 0)))
    if and_answers:
        ranges += clone.get_results()
    return openvino.Model(ranges, clone.get_parameters(), model.get_friendly_name())


def channels_to_round(model: "openvino.Model") -> list[int]:
    """Return the number of channels of each node to round, in the order of `quantize`."""
    return [site.source.get_shape()[site.channels] for site in _sites(model)]


def quantize(model: "openvino.Model", ranges: Sequence[Range]) -> None:
    """Round the convolutions of a model in place. ranges: of their inputs, as measured."""
    for site, seen in zip(_sites(model), ranges, strict=True):
        if site.is_input:
            _quantize_stem(site, seen)
            continue
        weights = [_weights_of(each) for each in site.convolutions]
        most = weight_steps(of_product=site.convolutions[0].get_type_name() == _PRODUCT)
        scale = channel_scale(seen, weights)
        low, high = bounds(seen, scale)
        limits = [site.per_channel(each * scale) for each in (low, high)]
        ends = [constant(np.array(each)) for each in (low, high)]
        rounded = ops.fake_quantize(site.source, *limits, *ends, INPUT_STEPS + 1)
        for convolution, weight in zip(site.convolutions, weights, strict=True):
            steps, step = rounded_weights(weight * scale[:, None, None], most)
            lost = (weight - steps * step / scale[:, None, None]).sum(axis=(2, 3)) @ seen.mean
            readers = convolution.output(0).get_target_inputs()
            convolution.input(0).replace_source_output(rounded.output(0))
            _replace_weights(convolution, steps, step)
            mended = ops.add(convolution, site.per_channel(lost))
            for reader in readers:
                reader.replace_source_output(mended.output(0))
    model.validate_nodes_and_infer_types()


def _quantize_stem(site: _Site, seen: Range) -> None:
    """Round the convolutions of planes with values in [0, 1]; others are not changed."""
    if seen.lowest.min() < 0.0 or seen.largest.max() > 1.0:
        return
    planes = len(seen.mean)
    high = np.repeat(np.array([INPUT_STEPS / _COARSE, INPUT_STEPS / _FINE], dtype=np.float32), planes).reshape(
        1, -1, 1, 1
    )
    ends = [constant(np.array(each, dtype=np.float32)) for each in (0.0, INPUT_STEPS)]
    twice = ops.concat([site.source, site.source], 1)
    rounded = ops.fake_quantize(twice, constant(0 * high), constant(high), *ends, INPUT_STEPS + 1)
    for convolution in site.convolutions:
        steps, step = two_byte_weights(_weights_of(convolution))
        convolution.input(0).replace_source_output(rounded.output(0))
        _replace_weights(convolution, steps, step)


def weight_steps(*, of_product: bool) -> int:
    """Return the largest step of a weight. of_product: of a product of rows, see the top of this file."""
    cuts_off = BYTE_PRODUCTS.isdisjoint(instruction_sets())
    return _PRODUCT_STEPS_IN_16_BITS if of_product and cuts_off else WEIGHT_STEPS


def two_byte_weights(weight: Array) -> tuple[np.ndarray, Array]:
    """Return the coarse and the fine bytes [out, 2 in, ky, kx] of weights, and the step [out, 1, 1, 1] of both."""
    step = np.maximum(np.abs(weight).max(axis=(1, 2, 3), keepdims=True), 1e-12) / (WEIGHT_STEPS * _COARSE)
    coarse = np.rint(weight / (step * _COARSE))
    fine = np.rint((weight / step - _COARSE * coarse) / _FINE)
    return np.concatenate([coarse, fine], axis=1).astype(np.int8), step.astype(np.float32)


def _sites(model: "openvino.Model") -> list[_Site]:
    """Return the nodes to round, in the order of the model."""
    sites: dict[tuple[str, int], _Site] = {}
    for convolution in model.get_ordered_ops():
        if convolution.get_type_name() in (_CONVOLUTION, _PRODUCT) and _is_rounded(convolution):
            source = convolution.input(0).get_source_output()
            node = source.get_node()
            new = _Site(source, [], node.get_type_name() == _INPUT)
            site = sites.setdefault((node.get_friendly_name(), source.get_index()), new)
            site.convolutions.append(convolution)
    return list(sites.values())


def _is_rounded(convolution: Node) -> bool:
    """Whether a convolution, or product of rows, takes much work and loses little by being rounded."""
    seen = convolution.input(0).get_source_output().get_node().get_friendly_name()
    if convolution.get_type_name() == _PRODUCT:
        return bool(seen.startswith(WIDENED))
    # Not the heads' first layers, which read the trunk's output: they are little work, and errors count more there.
    return bool(seen != TRUNK) and _weights_of(convolution).shape[0] >= _FEWEST_OUTPUTS


def _weights_of(convolution: Node) -> Array:
    """Return the weights of a convolution as [out, in, ky, kx]; those of a product as [out, in, 1, 1]."""
    weights = np.array(convolution.input(1).get_source_output().get_node().data, dtype=np.float32)
    return weights.T[:, :, None, None] if convolution.get_type_name() == _PRODUCT else weights


def _replace_weights(convolution: Node, steps: np.ndarray, step: Array) -> None:
    """Replace the weights of a convolution by steps * step. steps: [out, in, ky, kx] int8. step: [out, 1, 1, 1]."""
    if convolution.get_type_name() == _PRODUCT:
        steps, step = np.ascontiguousarray(steps[:, :, 0, 0].T), step.ravel()
    weights = ops.multiply(ops.convert(ops.constant(steps), "f32"), constant(step))
    convolution.input(1).replace_source_output(weights.output(0))
