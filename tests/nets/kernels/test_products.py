"""The product of rows and a panel against numpy, whatever numbers it is made of; the bounds of panels."""

import numpy as np
import pytest

from engine.native.jit import kernel
from engine.nets.kernels.integer_rows import PANELS
from engine.nets.kernels.operands import LANES_OF, TILED
from engine.nets.kernels.packing import bounds_of, in_pairs
from engine.nets.kernels.products import Operands, Results, RightSide, multiply_operands, panel_bounds
from engine.nets.kernels.tiled_rows import TileUse, set_tiles
from engine.nets.kernels.vectors import WIDEST_PANEL
from tests.nets.kernels.lanes import LANES, OF_INTEGERS, needs_integers, needs_lanes, needs_tiles
from tests.nets.kernels.test_integer_rows import as_floats, in_rows_of_pairs
from tests.nets.kernels.test_tiles import bits_of_bf16, joined, rounded

ROWS, K = 7, 12


@kernel
def multiply_by_tiles(
    memory: np.ndarray, weights: np.ndarray, rows: Operands, right: RightSide, out: Results, adds: int
) -> None:
    """Multiply by tiles, which have to be set before."""
    set_tiles(TILED, memory, memory, TileUse(1))
    multiply_operands(TILED, memory, weights, rows, right, out, adds)
    set_tiles(TILED, memory, memory, TileUse(0))


@pytest.mark.parametrize("vectors", [1, 2, 5, 12, 33])
def test_panels_begin_and_end_where_their_weights_were_packed(vectors: int) -> None:
    for panels in range(1, vectors + 1):
        assert [panel_bounds(panel, panels, vectors) for panel in range(panels)] == bounds_of(vectors, panels)


@needs_lanes
@pytest.mark.parametrize("lanes", LANES)
def test_a_product_of_floats_equals_numpys(lanes: int) -> None:
    vectors = WIDEST_PANEL[lanes]
    generator, width = np.random.default_rng(lanes), vectors * lanes
    left = generator.normal(size=(ROWS, K)).astype(np.float32)
    right = generator.normal(size=(K, width)).astype(np.float32)
    memory, starts, views = joined(left=left, out=np.full((ROWS + 1, width + 3), 7.0, dtype=np.float32))
    rows, out = Operands(0, K, ROWS, 0), Results(starts["out"], width + 3, vectors)
    expected = np.matmul(left.astype(np.float64), right)
    for adds in (0, 1):
        multiply_operands(lanes, memory, right.ravel(), rows, RightSide(0, K, 0), out, adds)
        np.testing.assert_allclose(views["out"][:ROWS, :width], (adds + 1) * expected, atol=2e-5)
    assert np.all(views["out"][ROWS:] == 7.0)
    assert np.all(views["out"][:, width:] == 7.0)


@needs_tiles
@pytest.mark.parametrize("vectors", [1, 2, 5, 6])
@pytest.mark.parametrize("rows", [1, 15, 16, 17, 31, 32, 33, 64, 81])
def test_a_product_by_tiles_equals_that_of_the_rounded_numbers_and_writes_nothing_else(rows: int, vectors: int) -> None:
    generator, k, width = np.random.default_rng(rows), 96, vectors * 16
    left, right = rounded(generator.normal(size=(-(-rows // 16) * 16, k))), rounded(generator.normal(size=(k, width)))
    left[rows:] = np.nan
    pairs = bits_of_bf16(left).view(np.float32)
    memory, starts, views = joined(left=pairs, out=np.full((rows + 1, width + 3), 7.0, dtype=np.float32))
    operands, out = Operands(0, k // 2, rows, 0), Results(starts["out"], width + 3, vectors)
    expected = np.matmul(left[:rows].astype(np.float64), right)
    for adds in (0, 1):
        multiply_by_tiles(memory, in_pairs(right).ravel(), operands, RightSide(0, k // 2, 0), out, adds)
        np.testing.assert_allclose(views["out"][:rows, :width], (adds + 1) * expected, atol=1e-4)
    assert np.all(views["out"][rows:] == 7.0)
    assert np.all(views["out"][:, width:] == 7.0)


@needs_integers
@pytest.mark.parametrize("numbers", OF_INTEGERS)
def test_a_product_of_integers_is_exact_times_the_factors_of_its_rows_and_columns(numbers: int) -> None:
    lanes = LANES_OF[numbers]
    generator, width = np.random.default_rng(5), PANELS[lanes] * lanes
    left, right = generator.integers(-999, 1000, (ROWS, 2 * K)), generator.integers(-999, 1000, (2 * K, width))
    of_rows, of_columns = (generator.uniform(0.5, 2.0, size).astype(np.float32) for size in (ROWS, width))
    empty = np.full((ROWS + 1, width + 3), 7.0, dtype=np.float32)
    memory, starts, views = joined(left=as_floats(left), row_factors=of_rows, out=empty)
    weights = np.concatenate([in_rows_of_pairs(right).ravel(), of_columns])
    rows, out = Operands(0, K, ROWS, starts["row_factors"]), Results(starts["out"], width + 3, PANELS[lanes])
    expected = np.matmul(left, right) * of_rows[:, None].astype(np.float64) * of_columns
    for adds in (0, 1):
        multiply_operands(numbers, memory, weights, rows, RightSide(0, K, K * width), out, adds)
        np.testing.assert_allclose(views["out"][:ROWS, :width], (adds + 1) * expected, rtol=1e-6)
    assert np.all(views["out"][ROWS:] == 7.0)
    assert np.all(views["out"][:, width:] == 7.0)
