"""Networks with convolutions in int8: against the same arithmetic in double precision, and against fp32."""

from dataclasses import replace

import numpy as np
import pytest

from engine.encoders import ENCODERS
from engine.nets.layers import Activation
from engine.nets.random import random_spec
from engine.nets.spec import Conv, FeedForwardBlock, Linear, NestedBottleneckBlock, NetSpec, ResidualBlock
from tests.nets.examples import EXAMPLES, Draw, stirred

pytest.importorskip("openvino", reason="openvino is not installed")

from engine.nets.openvino_graph.model import build_model
from engine.nets.openvino_graph.quantization import measured, quantize, two_byte_weights, weight_steps
from engine.nets.openvino_graph.runtime import Node, openvino
from engine.nets.rounding import INPUT_STEPS, Range, bounds, channel_scale, combined, rounded_weights

FP32 = {"INFERENCE_PRECISION_HINT": "f32"}
SIDE, COUNT = 7, 8


def network(activation: Activation = Activation.RELU, blocks: int = 2) -> NetSpec:
    """Return a network of a few blocks, wide enough to be rounded, with a pooling block."""
    spec = random_spec(blocks, 32, ENCODERS["liberties"], 3, pool_every=2, head_channels=8, activation=activation)
    return stirred(spec, np.random.default_rng(4))


def nested(activation: Activation) -> NetSpec:
    """Return a network of nested bottlenecks."""
    draw, spec = Draw(5, activation), network(activation)
    blocks = tuple(draw.nested(32, 16, draw.residual(16)) for _ in range(2))
    return replace(spec, blocks=stirred(blocks, np.random.default_rng(6)))


def inputs(spec: NetSpec, seed: int) -> dict[str, np.ndarray]:
    """Return random planes and globals."""
    generator = np.random.default_rng(seed)
    planes = (generator.random((COUNT, spec.planes, SIDE, SIDE)) < 0.3).astype(np.float32)
    return {"planes": planes, "globals": generator.normal(0, 0.5, (COUNT, spec.globals)).astype(np.float32)}


def infer(model: "openvino.Model", given: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Return a model's outputs in order."""
    compiled = openvino.Core().compile_model(model, "CPU", FP32)
    results = compiled({port: given[port.get_any_name()] for port in compiled.inputs})
    return [results[port].copy() for port in compiled.outputs]


def ranges_of(spec: NetSpec, *seeds: int) -> list[Range]:
    """Return the ranges over one batch of random inputs a seed."""
    model = measured(build_model(spec, COUNT, SIDE, SIDE))
    return combined([infer(model, inputs(spec, seed)) for seed in seeds])


def rounded_model(spec: NetSpec) -> "openvino.Model":
    """Return the network's model in int8."""
    model = build_model(spec, COUNT, SIDE, SIDE)
    quantize(model, ranges_of(spec, 1, 2))
    return model


def is_rounded(node: Node) -> bool:
    """Return whether the weights of a convolution or product are bytes."""
    return node.input(1).get_source_output().get_node().get_type_name() == "Multiply"


def rounded_convolutions(model: "openvino.Model") -> list[bool]:
    """Return of each convolution of a model, in order, whether it is rounded."""
    return [is_rounded(node) for node in model.get_ordered_ops() if node.get_type_name() == "Convolution"]


def naive_convolution(points: np.ndarray, conv: Conv) -> np.ndarray:
    """Return [B, out, H, W] of [B, in, H, W] in double precision."""
    height, width = points.shape[2:]
    ky, kx = conv.weight.shape[2:]
    padded = np.pad(points, ((0, 0), (0, 0), (ky // 2, ky // 2), (kx // 2, kx // 2)))
    result = np.zeros((len(points), conv.outputs, height, width))
    for y in range(ky):
        for x in range(kx):
            seen = padded[:, :, y : y + height, x : x + width]
            result += np.einsum("bchw,oc->bohw", seen, conv.weight[:, :, y, x].astype(np.float64))
    return result if conv.bias is None else result + conv.bias.astype(np.float64)[:, None, None]


def naive_rounded(points: np.ndarray, conv: Conv, seen: Range, most: int = 127) -> np.ndarray:
    """Return the convolution of rounded points and weights, in whole steps, of a weight at most `most`."""
    scale = channel_scale(seen, [conv.weight]).astype(np.float64)[:, None, None]
    low, high = bounds(seen, scale.ravel().astype(np.float32))
    step = (high - low) / INPUT_STEPS
    whole = np.rint(np.clip(points / scale, low, high) / step)
    steps, weight_step = rounded_weights(conv.weight * scale.astype(np.float32), most)
    result = naive_convolution(whole, Conv(steps.astype(np.float32))) * (step * weight_step.reshape(-1, 1, 1))
    lost = np.einsum("ocyx,c->o", conv.weight - steps * weight_step / scale, seen.mean.astype(np.float64))
    return result + lost[:, None, None]


@pytest.mark.parametrize("activation", [Activation.RELU, Activation.MISH])
def test_a_convolution_is_computed_in_whole_steps(activation: Activation) -> None:
    from engine.nets.openvino_graph.layers import activate, convolve
    from engine.nets.openvino_graph.runtime import ops

    generator = np.random.default_rng(8)
    conv = Conv(generator.normal(0, 0.3, (16, 12, 3, 3)).astype(np.float32))
    points = generator.normal(0, 2, (COUNT, 12, SIDE, SIDE)).astype(np.float32)
    parameter = ops.parameter(list(points.shape), name="points")
    parameter.get_output_tensor(0).set_names({"points"})
    activated = activate(parameter, activation)
    model = openvino.Model([ops.result(activated), ops.result(convolve(activated, conv))], [parameter], "one")
    seen = combined([infer(measured(model), {"points": points})])
    quantize(model, seen)
    before, found = infer(model, {"points": points})
    expected = naive_rounded(before.astype(np.float64), conv, seen[0])
    exact = naive_convolution(before.astype(np.float64), conv)
    assert np.abs(found - exact).max() > 1e-3
    # A number on the border of two steps may be rounded to either.
    assert np.quantile(np.abs(found - expected), 0.99) < 1e-4
    assert np.abs(found - expected).max() < np.abs(found - exact).max()


def test_a_product_of_rows_that_widens_them_is_computed_in_whole_steps() -> None:
    from engine.nets.openvino_graph.blocks import WIDENED
    from engine.nets.openvino_graph.layers import activate, multiply
    from engine.nets.openvino_graph.runtime import ops

    generator = np.random.default_rng(8)
    layer = Linear(generator.normal(0, 0.3, (12, 40)).astype(np.float32))
    rows = generator.normal(0, 2, (COUNT, SIDE * SIDE, 12)).astype(np.float32)
    parameter = ops.parameter(list(rows.shape), name="rows")
    parameter.get_output_tensor(0).set_names({"rows"})
    activated = activate(parameter, Activation.SILU)
    activated.set_friendly_name(f"{WIDENED} one")
    model = openvino.Model([ops.result(activated), ops.result(multiply(activated, layer))], [parameter], "one")
    seen = combined([infer(measured(model), {"rows": rows})])
    quantize(model, seen)
    before, found = infer(model, {"rows": rows})
    conv = Conv(np.ascontiguousarray(layer.weight.T[:, :, None, None]))
    points = before.astype(np.float64).transpose(0, 2, 1)[..., None]
    expected, exact = (
        each[..., 0].transpose(0, 2, 1)
        for each in (
            naive_rounded(points, conv, seen[0], weight_steps(of_product=True)),
            naive_convolution(points, conv),
        )
    )
    assert np.abs(found - exact).max() > 1e-3
    assert np.quantile(np.abs(found - expected), 0.99) < 1e-4
    assert np.abs(found - expected).max() < np.abs(found - exact).max()


def test_of_the_products_of_a_transformer_the_first_of_feed_forward_are_rounded() -> None:
    spec = random_spec(3, 32, ENCODERS["liberties"], 3, transformer=True)
    rounded = [
        node.get_output_shape(0)[-1]
        for node in rounded_model(spec).get_ordered_ops()
        if node.get_type_name() == "MatMul" and is_rounded(node)
    ]
    widths = [block.expand.outputs for block in spec.blocks if isinstance(block, FeedForwardBlock)]
    assert len(widths) == 3
    assert rounded == [width for width in widths for _ in ("expand", "gate")]


@pytest.mark.parametrize(
    "spec",
    [
        network(),
        network(Activation.SILU),
        nested(Activation.MISH),
        random_spec(2, 32, ENCODERS["liberties"], 3, transformer=True),
    ],
    ids=["relu", "silu", "nested", "transformer"],
)
def test_rounding_changes_the_answers_a_little(spec: NetSpec) -> None:
    given = inputs(spec, 3)
    exact, rounded = (infer(model, given) for model in (build_model(spec, COUNT, SIDE, SIDE), rounded_model(spec)))
    for one, other in zip(exact, rounded, strict=True):
        assert 0 < np.abs(one - other).max() < 0.2 * np.abs(one - one.mean(axis=0)).max()


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_kind_of_network_can_be_rounded(name: str) -> None:
    spec = EXAMPLES[name]
    side = spec.board_sizes[1] if spec.board_sizes[0] == spec.board_sizes[1] else 5
    model = build_model(spec, 2, side, side)
    generator = np.random.default_rng(1)
    given = {port.get_any_name(): generator.random(tuple(port.shape)).astype(np.float32) for port in model.inputs}
    exact = infer(model, given)
    quantize(model, combined([infer(measured(model), given)]))
    for one, other in zip(exact, infer(model, given), strict=True):
        assert one.shape == other.shape
        assert np.abs(one - other).max() < 0.2 * max(1.0, np.abs(one).max())


def test_heads_stay_exact_and_all_other_convolutions_are_rounded() -> None:
    spec = network()
    rounded = rounded_convolutions(rounded_model(spec))
    trunk = sum(2 if isinstance(block, ResidualBlock) else 3 for block in spec.blocks)
    assert sum(rounded) == 1 + trunk
    assert rounded[0]
    assert len(rounded) - sum(rounded) == 5  # two, one and two of the heads
    assert not any(isinstance(block, NestedBottleneckBlock) for block in spec.blocks)


def stem_model(weight: np.ndarray) -> "openvino.Model":
    """Return a model of one convolution of planes."""
    from engine.nets.openvino_graph.layers import convolve
    from engine.nets.openvino_graph.runtime import ops

    parameter = ops.parameter([COUNT, weight.shape[1], SIDE, SIDE], name="planes")
    parameter.get_output_tensor(0).set_names({"planes"})
    return openvino.Model([ops.result(convolve(parameter, Conv(weight)))], [parameter], "stem")


def test_a_stem_of_zeros_and_ones_loses_next_to_nothing() -> None:
    generator = np.random.default_rng(9)
    weight = generator.normal(0, 0.3, (16, 6, 3, 3)).astype(np.float32)
    given = {"planes": (generator.random((COUNT, 6, SIDE, SIDE)) < 0.5).astype(np.float32)}
    model = stem_model(weight)
    quantize(model, combined([infer(measured(model), given)]))
    expected = naive_convolution(given["planes"], Conv(weight))
    assert rounded_convolutions(model) == [True]
    # Of nine times six weights each is off by 2^-14 of the largest, half of that at most.
    assert np.abs(infer(model, given)[0] - expected).max() < 54 * 2**-15 * np.abs(weight).max()


@pytest.mark.parametrize("outside", [-0.5, 1.5])
def test_a_stem_of_other_numbers_stays_exact(outside: float) -> None:
    weight = np.random.default_rng(9).normal(0, 0.3, (16, 6, 3, 3)).astype(np.float32)
    given = {"planes": np.full((COUNT, 6, SIDE, SIDE), outside, dtype=np.float32)}
    model = stem_model(weight)
    quantize(model, combined([infer(measured(model), given)]))
    assert rounded_convolutions(model) == [False]


def test_two_bytes_give_a_weight_to_one_part_in_thirty_thousand() -> None:
    weight = np.random.default_rng(2).normal(0, 1, (8, 5, 3, 3)).astype(np.float32)
    weight[3] = 0
    steps, step = two_byte_weights(weight)
    coarse, fine = steps[:, :5].astype(np.float64), steps[:, 5:].astype(np.float64)
    largest = np.abs(weight).max(axis=(1, 2, 3), keepdims=True)
    assert steps.dtype == np.int8
    assert (np.abs((127 * coarse + fine) * step - weight) <= largest / 32000).all()
    assert np.isfinite(step).all()


def test_measuring_leaves_the_model_as_it_is() -> None:
    spec = network()
    model = build_model(spec, COUNT, SIDE, SIDE)
    before = infer(model, inputs(spec, 1))
    measured(model)
    assert all(np.array_equal(*pair) for pair in zip(before, infer(model, inputs(spec, 1)), strict=True))


def test_ranges_are_those_of_all_batches_together() -> None:
    spec = network()
    one, two, both = ranges_of(spec, 1), ranges_of(spec, 2), ranges_of(spec, 1, 2)
    for first, second, all_ in zip(one, two, both, strict=True):
        assert np.array_equal(all_.lowest, np.minimum(first.lowest, second.lowest))
        assert np.array_equal(all_.largest, np.maximum(first.largest, second.largest))
        np.testing.assert_allclose(all_.mean, (first.mean + second.mean) / 2, rtol=1e-6)


def test_zero_is_exactly_a_step() -> None:
    seen = Range(np.array([-0.3, 0.0], np.float32), np.array([4.0, 2.0], np.float32), np.zeros(2, np.float32))
    low, high = bounds(seen, np.ones(2, np.float32))
    zero = -low / (high - low) * INPUT_STEPS
    assert abs(zero - round(zero)) < 1e-9
    assert low <= -0.3
    assert high >= 4.0
    assert bounds(Range(seen.lowest * 0, seen.largest, seen.mean), np.ones(2, np.float32))[0] == 0.0


def test_what_is_never_above_zero_has_steps_too() -> None:
    one = np.ones(1, np.float32)
    low, high = bounds(Range(-one, -one / 2, -one * 0.7), one)
    assert low <= -1.0
    assert 0.0 < high < 0.1


def test_channels_without_numbers_or_weights_have_finite_scales() -> None:
    nothing = np.zeros(3, np.float32)
    weight = np.zeros((4, 3, 3, 3), np.float32)
    scale = channel_scale(Range(nothing, nothing, nothing), [weight])
    steps, step = rounded_weights(weight)
    assert np.isfinite(scale).all()
    assert (scale > 0).all()
    assert np.isfinite(step).all()
    assert np.abs(steps).max() <= 127
