"""Networks in int8 against plain loops in double precision that round the same numbers."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from engine.encoders import ENCODERS
from engine.nets.kernels.byte_ranges import measured_ranges
from engine.nets.kernels.byte_rounding import ByteRounding
from engine.nets.kernels.tiles import SIGNED, UNSIGNED
from engine.nets.random import random_spec
from engine.nets.rounding import MARGIN, Range
from engine.nets.spec import Activation, Block, Conv, GlobalPoolBlock, NestedBottleneckBlock, NetSpec, ResidualBlock
from tests.nets.examples import Draw, random_inputs
from tests.nets.kernels.lanes import needs_byte_tiles
from tests.nets.kernels.test_model import BYTES, FIELDS, Computer
from tests.nets.kernels.test_tiles import rounded as in_bf16
from tests.oracle import naive_net

LIMITS = {UNSIGNED: (0, 255), SIGNED: (-127, 127)}
HEIGHT, WIDTH, COUNT = 5, 6, 3


def network(activation: Activation, channels: int) -> NetSpec:
    """Return a network of two residual blocks with a pooling block between them, and a nested block."""
    spec = random_spec(3, channels, ENCODERS["liberties"], 7, pool_every=2, head_channels=6, activation=activation)
    draw = Draw(8, activation)
    inner = draw.nested(channels, 10, draw.residual(10), draw.pooling(10))
    return replace(spec, blocks=(*spec.blocks, inner))


def sites(blocks: tuple[Block, ...]) -> Iterator[tuple[tuple[Conv, ...], Activation]]:
    """Yield the convolutions that read the same points, and the activation before these, in the order of a network."""
    for block in blocks:
        match block:
            case ResidualBlock():
                yield (block.conv1,), block.activation1
            case GlobalPoolBlock():
                yield (block.pool_conv, block.conv1), block.activation1
            case NestedBottleneckBlock():
                yield (block.conv1,), block.activation1
                yield from sites(block.blocks)
            case _:
                raise AssertionError(f"{block} is not computed in int8")
        yield (block.conv2,), block.activation2


NETWORKS = {
    f"{activation.name} {channels}": network(activation, channels)
    for activation, channels in ((Activation.RELU, 12), (Activation.RELU, 33), (Activation.MISH, 20))
}


@needs_byte_tiles
@pytest.mark.parametrize("name", NETWORKS)
def test_ranges_are_those_of_what_the_convolutions_of_the_blocks_read(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, read = NETWORKS[name], dict[int, list[np.ndarray]]()
    original = naive_net.convolve

    def record(layer: Conv, x: np.ndarray) -> np.ndarray:
        read.setdefault(id(layer), []).append(x)
        return original(layer, x)

    monkeypatch.setattr(naive_net, "convolve", record)
    planes, globals_ = random_inputs(spec, HEIGHT, WIDTH, COUNT + 2)
    for row in range(len(planes)):
        naive_net.forward(spec, planes[row], globals_[row])
    for found, (readers, _) in zip(measured_ranges(spec, planes, globals_), sites(spec.blocks), strict=True):
        seen = np.stack(read[id(readers[0])])
        for name, reduced in (("lowest", np.min), ("largest", np.max), ("mean", np.mean)):
            np.testing.assert_allclose(getattr(found, name), reduced(seen, axis=(0, 2, 3)), atol=0.05, err_msg=name)


@needs_byte_tiles
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_in_int8_computes_with_rounded_numbers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = NETWORKS[name]
    computer = Computer(spec, HEIGHT, WIDTH, BYTES)
    ranges = measured_ranges(spec, *random_inputs(spec, HEIGHT, WIDTH, 16))
    roundings = {}
    for seen, (readers, activation) in zip(ranges, sites(spec.blocks), strict=True):
        form = UNSIGNED if activation is Activation.RELU else SIGNED
        roundings |= dict.fromkeys(map(id, readers), (ByteRounding.of(seen, readers, form), LIMITS[form]))
    original = naive_net.convolve

    def rounded(layer: Conv, x: np.ndarray) -> np.ndarray:
        if layer is spec.stem.conv:
            return original(replace(layer, weight=in_bf16(layer.weight)), x)
        if id(layer) not in roundings:
            return original(layer, x)
        rounding, limits = roundings[id(layer)]
        units = rounding.units[:, None, None].astype(np.float64)
        weights = rounding.weights(layer.weight)
        numbers = weights.numbers * weights.steps[:, None, None, None] / units
        lost = weights.lost if layer.bias is None else weights.lost + layer.bias
        return original(Conv(numbers, lost), np.clip(np.rint(x / units), *limits) * units)

    planes, globals_ = random_inputs(spec, HEIGHT, WIDTH, COUNT)
    found = computer(planes, globals_)
    exact = [naive_net.forward(spec, planes[row], globals_[row]) for row in range(COUNT)]
    monkeypatch.setattr(naive_net, "convolve", rounded)
    off = {"rounded": 0.0, "exact": 0.0}
    for row in range(COUNT):
        expected = naive_net.forward(spec, planes[row], globals_[row])
        for field in FIELDS:
            size = np.max(np.abs(expected[field]), initial=0.1)
            # The heads are bf16, and a number beside the middle of two bytes may become the other one.
            np.testing.assert_allclose(found[field][row], expected[field], atol=0.02 * size, err_msg=field)
            for name, values in (("rounded", expected), ("exact", exact[row])):
                off[name] += float((((found[field][row] - values[field]) / size) ** 2).sum())
    assert off["rounded"] < off["exact"] / 4


@pytest.mark.parametrize(("form", "most"), [(UNSIGNED, 255), (SIGNED, 127)])
def test_the_largest_number_of_a_range_with_its_margin_becomes_the_largest_byte(form: int, most: int) -> None:
    generator = np.random.default_rng(3)
    largest = generator.uniform(0.1, 5.0, 9).astype(np.float32)
    seen = Range(-0.5 * largest * (form == SIGNED), largest, 0.3 * largest)
    conv = Conv(generator.normal(0, 1, (4, 9, 3, 3)).astype(np.float32))
    rounding = ByteRounding.of(seen, [conv], form)
    assert (MARGIN * largest / rounding.units).max() == pytest.approx(most, rel=1e-5)
    rounded = rounding.weights(conv.weight)
    assert rounded.numbers.dtype == np.int8
    assert np.abs(rounded.numbers).max(axis=(1, 2, 3)).tolist() == [127] * 4
    weight = rounded.numbers * rounded.steps[:, None, None, None] / rounding.units[:, None, None]
    bound = rounded.steps[:, None, None, None] / rounding.units[:, None, None] / 2
    assert np.all(np.abs(weight - conv.weight) <= bound * 1.001)
    np.testing.assert_allclose(rounded.lost, (conv.weight - weight).sum(axis=(2, 3)) @ seen.mean, atol=1e-5)


def test_channels_that_were_never_anything_but_zero_are_rounded() -> None:
    zeros = np.zeros(3, dtype=np.float32)
    conv = Conv(np.zeros((2, 3, 1, 1), dtype=np.float32))
    rounding = ByteRounding.of(Range(zeros, zeros, zeros), [conv], UNSIGNED)
    rounded = rounding.weights(conv.weight)
    assert np.all(np.isfinite(rounding.units))
    assert np.all(rounding.units > 0.0)
    assert not rounded.numbers.any()
