"""The vector loops of transformers against numpy, on operands of every kind that this CPU has."""

import numpy as np
import pytest

from engine.native.jit import kernel
from engine.nets.kernels.code import ACTIVATIONS
from engine.nets.kernels.operands import FUSED_INTEGERS, LANES_OF, LONG_INTEGERS, ROUNDED
from engine.nets.kernels.packing import bits_of_bf16, bounds_of, in_pairs, in_panels, in_two_parts, panels_of
from engine.nets.kernels.rows import (
    GatedRows,
    PackedKeys,
    PackedValues,
    ScaledRows,
    SoftenedRows,
    TurnedRows,
    gate_rows,
    pack_keys,
    pack_values,
    scale_rows,
    soften_rows,
    turn_rows,
)
from engine.nets.kernels.vectors import Product
from engine.nets.layers import Activation
from tests.nets.kernels.lanes import NUMBERS, OF_INTEGERS, needs_lanes, needs_rounding
from tests.nets.kernels.test_tiles import from_bits, joined, rounded
from tests.nets.kernels.test_vectors import activated, multiply

pytestmark = needs_lanes
EXACT, NEAR = 1e-6, 2**-8
"""Relative errors of float32 and of bf16."""
OF_FUNCTIONS = [*NUMBERS, *(each for each in OF_INTEGERS if each != FUSED_INTEGERS)]
"""Operands to whose precision powers and activations are computed."""


@kernel
def scale(numbers: int, memory: np.ndarray, rows: ScaledRows) -> None:
    """Scale rows."""
    scale_rows(numbers, memory, memory, rows)


@kernel
def turn(numbers: int, memory: np.ndarray, rows: TurnedRows) -> None:
    """Turn rows."""
    turn_rows(numbers, memory, memory, rows)


@kernel
def soften(numbers: int, memory: np.ndarray, rows: SoftenedRows) -> None:
    """Compute a softmax."""
    soften_rows(numbers, memory, memory, rows)


@kernel
def gate(numbers: int, memory: np.ndarray, rows: GatedRows) -> None:
    """Compute activations and multiply them."""
    gate_rows(numbers, memory, memory, rows)


@kernel
def pack_some_keys(numbers: int, memory: np.ndarray, rows: PackedKeys) -> None:
    """Pack keys."""
    pack_keys(numbers, memory, memory, rows)


@kernel
def pack_some_values(numbers: int, memory: np.ndarray, rows: PackedValues) -> None:
    """Pack values."""
    pack_values(numbers, memory, memory, rows)


def lanes_of(numbers: int) -> int:
    """Return the floats in a vector."""
    return LANES_OF[numbers]


def operands(numbers: int, count: int) -> int:
    """Return the floats that take the place of operands."""
    return count // 2 if numbers == ROUNDED else count


def unpacked(numbers: int, floats: np.ndarray) -> np.ndarray:
    """Return operands as numbers."""
    return from_bits(np.ascontiguousarray(floats).view(np.uint16)) if numbers == ROUNDED else floats


def error(numbers: int) -> float:
    """Return the relative error of operands."""
    return NEAR if numbers == ROUNDED else EXACT


@pytest.mark.parametrize("numbers", NUMBERS)
def test_rows_are_scaled_one_by_one_or_alike(numbers: int) -> None:
    generator, width = np.random.default_rng(1), 3 * numbers
    points = generator.normal(size=(5, width)).astype(np.float32)
    factors = generator.normal(size=5).astype(np.float32)
    out = np.full((5, operands(numbers, width) + 3), 7.0, dtype=np.float32)
    memory, starts, views = joined(points=points, factors=factors, out=out)
    for stride, expected in ((1, points * factors[:, None]), (0, points * factors[0])):
        scale(
            numbers,
            memory,
            ScaledRows(stride=width, rows=5, channels=width, factor_stride=stride, out_stride=out.shape[1], **starts),
        )
        np.testing.assert_allclose(unpacked(numbers, views["out"][:, :-3]), expected, rtol=error(numbers))
        assert np.all(views["out"][:, -3:] == 7.0)


@pytest.mark.parametrize("numbers", NUMBERS)
def test_pairs_of_channels_are_rotated(numbers: int) -> None:
    generator, half = np.random.default_rng(2), 2 * lanes_of(numbers)
    points = generator.normal(size=(5, 2, half)).astype(np.float32)
    angles = generator.uniform(-9, 9, (5, half))
    turns = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    out = np.zeros((5, operands(numbers, 2 * half)), dtype=np.float32)
    memory, starts, views = joined(points=points, turns=turns, out=out)
    turn(numbers, memory, TurnedRows(stride=2 * half, rows=5, half=half, out_stride=out.shape[1], **starts))
    turned = (points[:, 0] + 1j * points[:, 1]) * np.exp(1j * angles)
    found = unpacked(numbers, views["out"]).reshape(5, 2, half)
    np.testing.assert_allclose(found, np.stack([turned.real, turned.imag], axis=1), rtol=error(numbers), atol=1e-6)


def error_of_powers(numbers: int) -> float:
    """Return the relative error of powers: of float32 that will be int16, 4e-6 and that of the exponent."""
    return 5e-6 if numbers in OF_INTEGERS else error(numbers)


@pytest.mark.parametrize("numbers", OF_FUNCTIONS)
@pytest.mark.parametrize("keys", [1, 2, 7, 8, 9, 16, 17, 81])
def test_softmax_is_of_the_keys_alone_and_of_scores_of_every_size(keys: int, numbers: int) -> None:
    generator, lanes = np.random.default_rng(keys), lanes_of(numbers)
    stride = -(-keys // lanes) * lanes
    scores = generator.normal(0, [[1], [30], [1e4], [0]], (4, stride)).astype(np.float32)
    scores[:, keys:] = np.nan
    out, factors = np.full((4, operands(numbers, stride)), 7.0, np.float32), np.zeros(4, np.float32)
    given = scores[:, :keys].copy()
    rooms = {"highest": np.zeros(4, np.float32), "totals": np.zeros((4, lanes), np.float32)}
    memory, starts, views = joined(scores=scores, out=out, factors=factors, **rooms)
    sizes = {"stride": stride, "rows": 4, "keys": keys, "out_stride": out.shape[1]}
    soften(numbers, memory, SoftenedRows(**sizes, **starts, begins=1, ends=1))
    powers = np.exp2((given - given.max(axis=1, keepdims=True)).astype(np.float64))
    found = unpacked(numbers, views["out"])
    np.testing.assert_allclose(found[:, :keys], powers, rtol=error_of_powers(numbers), atol=1e-37)
    of_sums = 2e-4 if numbers == ROUNDED else error_of_powers(numbers)
    np.testing.assert_allclose(views["factors"], 1.0 / powers.sum(axis=1), rtol=of_sums)
    assert np.all(found[:, keys:] < 1e-37)


@pytest.mark.parametrize("numbers", OF_FUNCTIONS)
@pytest.mark.parametrize("rows", [1, 3, 4, 6])
def test_a_softmax_of_keys_in_parts_is_that_of_all_of_them(rows: int, numbers: int) -> None:
    lanes = lanes_of(numbers)
    first, keys = 2 * lanes, 2 * lanes + 5
    stride = 3 * lanes
    # In the last row later keys exceed those before by more than float32 has powers of 2 for.
    scores = np.random.default_rng(rows).normal(0, 20, (rows, stride)).astype(np.float32)
    scores[-1, first] = 300.0
    out, factors = np.zeros((rows, operands(numbers, stride)), np.float32), np.zeros(rows, np.float32)
    given = scores[:, :keys].astype(np.float64)
    rooms = {"highest": np.zeros(rows, np.float32), "totals": np.zeros((rows, lanes), np.float32)}
    memory, starts, views = joined(scores=scores, out=out, factors=factors, **rooms)
    sizes = {"stride": stride, "rows": rows, "out_stride": out.shape[1]}
    soften(numbers, memory, SoftenedRows(**sizes, **starts, keys=first, begins=1, ends=0))
    rest = starts | {"scores": starts["scores"] + first, "out": starts["out"] + operands(numbers, first)}
    soften(numbers, memory, SoftenedRows(**sizes, **rest, keys=keys - first, begins=0, ends=1))
    powers = np.exp2(given - given.max(axis=1, keepdims=True))
    found = unpacked(numbers, views["out"])[:, :keys] * views["factors"][:, None]
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=2 * error_of_powers(numbers) + 2e-4, atol=1e-6)


@pytest.mark.parametrize("numbers", OF_FUNCTIONS)
@pytest.mark.parametrize("kind", ACTIVATIONS)
@pytest.mark.parametrize("is_gated", [0, 1])
def test_gates_and_activations_are_as_exact_as_operands_from_end_to_end(
    is_gated: int, kind: Activation, numbers: int
) -> None:
    channels, ends = 4 * lanes_of(numbers), [0.0, -0.0, 20.0, 90.0, -90.0, 1e3, -1e3, 1e6, -1e6]
    given = np.concatenate([np.linspace(-40.0, 40.0, 6 * channels - len(ends)), ends]).reshape(6, channels)
    points = np.concatenate([given, np.full_like(given, 0.5)], axis=1).astype(np.float32)
    out = np.full((6, operands(numbers, channels) + 3), 7.0, dtype=np.float32)
    memory, starts, views = joined(points=points, out=out)
    sizes = {"stride": 2 * channels, "rows": 6, "channels": channels, "out_stride": out.shape[1]}
    gate(numbers, memory, GatedRows(ACTIVATIONS.index(kind), is_gated, **sizes, **starts))
    expected = activated(points[:, :channels].astype(np.float64), kind) * (0.5 if is_gated else 1.0)
    rtol = 2**-13 if numbers == LONG_INTEGERS else error_of_powers(numbers)
    np.testing.assert_allclose(unpacked(numbers, views["out"][:, :-3]), expected, rtol=rtol, atol=1e-30)
    assert np.all(views["out"][:, -3:] == 7.0)


@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize(("queries", "keys", "width"), [(1, 1, 1), (5, 9, 1), (13, 40, 2), (8, 100, 3)])
def test_packed_keys_and_values_are_the_right_sides_of_products(
    queries: int, keys: int, width: int, numbers: int
) -> None:
    generator, lanes = np.random.default_rng(keys), lanes_of(numbers)
    vectors, channels = -(-keys // lanes), width * max(numbers, lanes)
    panels = panels_of(vectors * lanes, lanes)
    rows = rounded(generator.normal(size=(vectors * lanes, channels)))
    left = rounded(generator.normal(size=(queries, channels)))
    floats = operands(numbers, channels)
    stored = [each if numbers != ROUNDED else bits_of_bf16(each).view(np.float32) for each in (rows, left)]
    packed = np.zeros(vectors * lanes * floats, dtype=np.float32)
    scores = np.zeros((queries, vectors * lanes), dtype=np.float32)
    memory, starts, views = joined(rows=stored[0], left=stored[1], packed=packed, scores=scores)
    for begin, end in bounds_of(vectors, panels):
        place = begin * lanes * floats
        arguments = PackedKeys(starts["rows"] + place, floats, end - begin, floats, starts["packed"] + place)
        pack_some_keys(numbers, memory, arguments)
        product = Product(
            end - begin,
            starts["left"],
            floats,
            queries,
            1,
            0,
            floats,
            starts["packed"] + place,
            starts["scores"] + begin * lanes,
            vectors * lanes,
            0,
        )
        multiply(numbers, memory, memory, product)
    np.testing.assert_allclose(views["scores"], left.astype(np.float64) @ rows.T, atol=1e-4)


@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("rows", [1, 2, 5, 8])
def test_packed_values_are_the_right_side_of_a_product(rows: int, numbers: int) -> None:
    generator, lanes = np.random.default_rng(rows), lanes_of(numbers)
    values = rounded(generator.normal(size=(rows, 2 * lanes)))
    chances = rounded(generator.normal(size=(3, rows + rows % 2)))
    left = bits_of_bf16(chances).view(np.float32) if numbers == ROUNDED else chances[:, :rows].copy()
    packed = np.full((rows + 1, 2 * lanes), 7.0, dtype=np.float32)
    memory, starts, views = joined(left=left, points=values, packed=packed, out=np.zeros((3, 2 * lanes), np.float32))
    pack_some_values(numbers, memory, PackedValues(rows, starts["points"], 2 * lanes, 2 * lanes, starts["packed"]))
    k = left.shape[1]
    product = Product(2, starts["left"], k, 3, 1, 0, k, starts["packed"], starts["out"], 2 * lanes, 0)
    multiply(numbers, memory, memory, product)
    np.testing.assert_allclose(views["out"], chances[:, :rows].astype(np.float64) @ values, atol=1e-5)
    assert np.all(views["packed"][k:] == 7.0)


@needs_rounding
@pytest.mark.parametrize(
    ("rows", "panel", "k"), [(1, 1, 1), (3, 2, 5), (13, 2, 8), (9, 3, 48), (7, 4, 3), (5, 5, 2), (6, 6, 48)]
)
def test_products_of_bf16_are_summed_in_float32(rows: int, panel: int, k: int) -> None:
    generator, width = np.random.default_rng(k), panel * 16
    left, right = rounded(generator.normal(size=(rows, 2 * k))), rounded(generator.normal(size=(2 * k, width)))
    pairs = bits_of_bf16(left).view(np.float32)
    memory, starts, views = joined(left=pairs, out=np.zeros((rows, width), dtype=np.float32))
    weights = in_panels(in_pairs(right)[None], width, 1, 16)
    multiply(ROUNDED, memory, weights, Product(panel, 0, k, rows, 1, 0, k, 0, starts["out"], width, 0))
    np.testing.assert_allclose(views["out"], left.astype(np.float64) @ right, atol=1e-4)


def test_matrices_of_an_odd_number_of_rows_are_filled_up_to_pairs() -> None:
    matrix = np.arange(15, dtype=np.float32).reshape(5, 3)
    pairs = from_bits(in_pairs(matrix).view(np.uint16)).reshape(3, 3, 2)
    assert np.array_equal(pairs[:2].transpose(0, 2, 1).reshape(4, 3), matrix[:4])
    assert np.array_equal(pairs[2], np.stack([matrix[4], np.zeros(3)], axis=1))


def test_two_numbers_of_bf16_are_256_times_as_near_as_one() -> None:
    numbers = np.random.default_rng(1).normal(size=(3, 50)).astype(np.float32)
    nearest, rest = in_two_parts(numbers)
    assert np.array_equal(nearest, (bits_of_bf16(nearest).astype(np.uint32) << 16).view(np.float32))
    assert np.array_equal(nearest + rest, numbers)
    both = nearest + in_two_parts(rest)[0]
    assert np.abs(nearest - numbers).max() <= np.abs(numbers).max() / 256
    assert np.abs(both - numbers).max() <= np.abs(numbers).max() / 256**2
