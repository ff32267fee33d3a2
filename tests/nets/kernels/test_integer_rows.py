"""The loops in int16 against numpy: rounding, packing, and products that no number can overflow."""

import re

import numpy as np
import pytest

from engine.native.jit import kernel
from engine.native.processor import IS_X86
from engine.nets.kernels.code import WRITERS
from engine.nets.kernels.integer_rows import (
    LARGEST,
    LARGEST_SHARE,
    LARGEST_SUM,
    PANELS,
    IntegerProduct,
    IntegerRows,
    IntegerShares,
    IntegerValues,
    largest_of_keys,
    multiply_integers,
    pack_integer_values,
    round_rows,
    round_shares,
)
from engine.nets.kernels.operands import (
    FEATURES_OF_INTEGER_PRODUCTS,
    FEATURES_OF_INTEGERS,
    FUSED_INTEGERS,
    INTEGERS,
    LANES_OF,
    LONG_INTEGERS,
)
from engine.nets.kernels.packing import in_integers
from tests.nets.kernels.lanes import OF_INTEGERS, needs_integers
from tests.nets.kernels.test_arm64 import module_of, optimized
from tests.nets.kernels.test_tiles import joined

pytestmark = needs_integers
ROUNDING = [numbers for numbers in OF_INTEGERS if numbers in FEATURES_OF_INTEGERS]
"""Those of operands that are rounded."""
WIDTHS = [(numbers, panel) for numbers in OF_INTEGERS for panel in range(1, PANELS[LANES_OF[numbers]] + 1)]


@kernel
def multiply(numbers: int, memory: np.ndarray, weights: np.ndarray, product: IntegerProduct) -> None:
    """Multiply rows of integers."""
    multiply_integers(numbers, memory, weights, product)


@kernel
def rounding(numbers: int, memory: np.ndarray, rows: IntegerRows) -> None:
    """Round rows."""
    round_rows(numbers, memory, memory, rows)


@kernel
def share(numbers: int, memory: np.ndarray, shares: IntegerShares) -> None:
    """Round shares."""
    round_shares(numbers, memory, memory, shares)


@kernel
def pack(numbers: int, memory: np.ndarray, values: IntegerValues) -> None:
    """Pack values."""
    pack_integer_values(numbers, memory, memory, values)


def as_floats(integers: np.ndarray) -> np.ndarray:
    """Return int16 as they are stored: two in the place of a float32."""
    return np.ascontiguousarray(integers, dtype=np.int16).view(np.float32)


def as_integers(floats: np.ndarray) -> np.ndarray:
    """Return stored int16 as int64, for sums without overflow."""
    return np.ascontiguousarray(floats).view(np.int16).astype(np.int64)


def in_rows_of_pairs(integers: np.ndarray) -> np.ndarray:
    """Return a matrix [2 * pairs, out] of integers as the right side of a product [pairs, out]."""
    return as_floats(integers.reshape(-1, 2, integers.shape[1]).transpose(0, 2, 1))[:, :, 0]


@pytest.mark.parametrize(("numbers", "panel"), WIDTHS)
@pytest.mark.parametrize(("rows", "k"), [(1, 1), (2, 7), (3, 48), (5, 3), (6, 128), (9, 16), (13, 2), (24, 181)])
def test_products_are_exact_times_the_factors_of_their_row_and_column(
    rows: int, k: int, numbers: int, panel: int
) -> None:
    generator, width = np.random.default_rng(k), panel * LANES_OF[numbers]
    left, right = generator.integers(-999, 1000, (rows, 2 * k)), generator.integers(-999, 1000, (2 * k, width))
    of_rows, of_columns = (generator.uniform(0.5, 2.0, size).astype(np.float32) for size in (rows, width))
    out = np.full((rows + 1, width + 3), 7.0, dtype=np.float32)
    memory, starts, views = joined(left=as_floats(left), row_factors=of_rows, out=out)
    weights = np.concatenate([in_rows_of_pairs(right).ravel(), of_columns])
    product = IntegerProduct(
        panel=panel,
        left_stride=k,
        rows=rows,
        k=k,
        right=0,
        column_factors=2 * k * width // 2,
        out_stride=width + 3,
        adds=0,
        **starts,
    )
    multiply(numbers, memory, weights, product)
    expected = (left @ right) * of_rows[:, None].astype(np.float64) * of_columns
    np.testing.assert_allclose(views["out"][:rows, :width], expected, rtol=1e-6)
    multiply(numbers, memory, weights, product._replace(adds=1))
    np.testing.assert_allclose(views["out"][:rows, :width], 2 * expected, rtol=1e-6)
    assert np.all(views["out"][rows:] == 7.0)
    assert np.all(views["out"][:, width:] == 7.0)


@pytest.mark.parametrize("k", [1, 2, 33, 96, 256, 1024])
def test_no_sum_of_products_with_rounded_weights_exceeds_int32(k: int) -> None:
    matrix = np.random.default_rng(k).normal(size=(k, 20)).astype(np.float32)
    matrix[:, 1], matrix[:, 2], matrix[0, 3] = 1.0, 0.0, 1e6
    found = in_integers(matrix, LARGEST)
    integers = as_integers(found.numbers).reshape(-1, 20, 2).transpose(0, 2, 1).reshape(-1, 20)[:k]
    assert np.all(np.abs(integers).sum(axis=0) * LARGEST <= LARGEST_SUM)
    np.testing.assert_allclose(integers * found.steps.astype(np.float64), matrix, atol=found.steps.max() * 0.51)
    assert np.all(np.abs(integers * found.steps - matrix) <= 0.501 * found.steps)


@pytest.mark.skipif(not IS_X86, reason="its functions are made on x86-64 only")
@pytest.mark.parametrize(
    ("numbers", "expected"), [(INTEGERS, "vpmaddwd"), (FUSED_INTEGERS, "vpdpwssd"), (LONG_INTEGERS, "vpdpwssd")]
)
def test_llvm_keeps_the_instruction_that_products_are_written_with(numbers: int, expected: str) -> None:
    write = next(each for each, _ in WRITERS if each.__name__ == "_multiply_integers")
    text = module_of(write, numbers, FEATURES_OF_INTEGER_PRODUCTS[numbers])
    module, machine = optimized(text, "x86_64-unknown-linux-gnu", "x86-64-v3")
    found = re.findall(r"\bvp(?:maddwd|dpwssd)\b", machine.emit_assembly(module))
    assert set(found) == {expected}


@pytest.mark.parametrize("width", [1, 8, 32, 70, 256])
def test_no_score_of_a_query_and_a_key_exceeds_int32(width: int) -> None:
    assert 0 < largest_of_keys(width) <= LARGEST
    assert width * LARGEST * largest_of_keys(width) <= LARGEST_SUM


@pytest.mark.parametrize("numbers", ROUNDING)
@pytest.mark.parametrize("largest", [LARGEST, LARGEST_SHARE, 1000])
def test_rows_are_rounded_so_that_their_largest_number_uses_all_bits(largest: int, numbers: int) -> None:
    width = 3 * LANES_OF[numbers]
    points = np.random.default_rng(1).normal(0, [[1], [1e-6], [1e6], [0], [3]], (5, width)).astype(np.float32)
    factors = np.float32([1, 2, 3, 4, 5])
    out = np.full((5, points.shape[1] // 2 + 3), 7.0, dtype=np.float32)
    memory, starts, views = joined(points=points, factors=factors, out=out)
    rows = IntegerRows(stride=width, rows=5, channels=width, largest=largest, out_stride=out.shape[1], **starts)
    rounding(numbers, memory, rows)
    found, steps = as_integers(views["out"][:, :-3].copy()), np.abs(points).max(axis=1) / largest
    assert list(np.abs(found).max(axis=1)) == [largest, largest, largest, 0, largest]
    assert np.all(np.abs(found * steps[:, None] - points) <= 0.501 * steps[:, None])
    np.testing.assert_allclose(views["factors"], factors * steps, rtol=1e-6, atol=1e-29)
    assert np.all(views["out"][:, -3:] == 7.0)


@pytest.mark.parametrize("numbers", ROUNDING)
@pytest.mark.parametrize("keys", [1, 8, 9, 16, 17, 81, 361])
def test_shares_are_rounded_and_add_up_to_one(keys: int, numbers: int) -> None:
    stride = -(-keys // LANES_OF[numbers]) * LANES_OF[numbers]
    powers = np.exp2(-np.random.default_rng(keys).exponential(6, (3, stride))).astype(np.float32)
    powers[:, keys:] = 2.0**-126
    factors = (1.0 / powers[:, :keys].sum(axis=1)).astype(np.float32)
    memory, starts, views = joined(points=powers, factors=factors, out=np.zeros((3, stride // 2), np.float32))
    share(numbers, memory, IntegerShares(stride=stride, rows=3, keys=keys, out_stride=stride // 2, **starts))
    found = as_integers(views["out"])
    np.testing.assert_allclose(found / LARGEST_SHARE, powers * factors[:, None], atol=0.51 / LARGEST_SHARE)
    assert np.all(found[:, keys:] == 0)
    assert np.all(found.sum(axis=1) * LARGEST_SHARE <= LARGEST_SUM)
    np.testing.assert_allclose(views["factors"], 1.0 / LARGEST_SHARE, rtol=1e-6)


@pytest.mark.parametrize("numbers", ROUNDING)
@pytest.mark.parametrize("rows", [1, 2, 5, 8])
def test_values_are_packed_in_pairs_of_rows_with_a_step_for_each_channel(rows: int, numbers: int) -> None:
    width, pairs = 2 * LANES_OF[numbers], -(-rows // 2)
    points = np.random.default_rng(rows).normal(0, 3, (rows, width)).astype(np.float32)
    points[:, 1] = 0.0
    out = np.full((pairs + 1, width), 7.0, dtype=np.float32)
    memory, starts, views = joined(points=points, factors=np.zeros(width, np.float32), out=out)
    pack(numbers, memory, IntegerValues(stride=width, rows=rows, channels=width, **starts))
    found = as_integers(views["out"][:pairs]).reshape(pairs, width, 2).transpose(0, 2, 1).reshape(-1, width)
    steps = np.abs(points).max(axis=0) / LARGEST_SHARE
    np.testing.assert_allclose(views["factors"], steps, rtol=1e-6, atol=1e-30)
    assert np.all(np.abs(found[:rows] * steps - points) <= 0.501 * steps)
    assert np.all(found[rows:] == 0)
    assert np.all(views["out"][pairs:] == 7.0)
