"""The vector loops against numpy, on vectors of every length that this CPU has."""

import numpy as np
import pytest

from engine.native.jit import kernel
from engine.nets.kernels.code import ACTIVATIONS
from engine.nets.kernels.operands import lanes_here
from engine.nets.kernels.vectors import WIDEST_PANEL, FinishedRow, Pool, Product, finish_row, multiply_rows, pool_points
from engine.nets.spec import Activation
from tests.nets.kernels.lanes import LANES, needs_lanes

pytestmark = needs_lanes


UNREAD = np.zeros(1, dtype=np.float32)


@kernel
def multiply(lanes: int, memory: np.ndarray, weights: np.ndarray, product: Product) -> None:
    """Multiply rows."""
    multiply_rows(lanes, memory, weights, product)


@kernel
def finish(lanes: int, memory: np.ndarray, weights: np.ndarray, row: FinishedRow) -> None:
    """Finish a row."""
    finish_row(lanes, memory, weights, row)


@kernel
def pool(lanes: int, memory: np.ndarray, weights: np.ndarray, points: Pool) -> None:
    """Pool points."""
    pool_points(lanes, memory, weights, points)


def finished(lanes: int, kind: Activation, row: np.ndarray, norm: np.ndarray) -> np.ndarray:
    """Return raw and post of a row, with row, vector and old as the thirds of `row` [3, columns, channels]."""
    _, columns, channels = row.shape
    size = columns * channels
    memory = np.concatenate([row.ravel(), np.zeros(2 * size, dtype=np.float32)])
    places = {"points": 0, "vector": size, "old": 2 * size, "raw": 3 * size, "post": 4 * size, "norm": 0}
    strides = dict.fromkeys(("points_stride", "old_stride", "raw_stride", "post_stride"), channels)
    shape = {"activation": ACTIVATIONS.index(kind), "columns": columns, "channels": channels}
    finish(lanes, memory, norm.ravel(), FinishedRow(**shape, **places, **strides))
    return memory[3 * size :].reshape(2, columns, channels)


PANELS = [(lanes, panel) for lanes in LANES for panel in range(1, WIDEST_PANEL[lanes] + 1)]


@pytest.mark.parametrize(("lanes", "panel"), PANELS)
@pytest.mark.parametrize(("rows", "parts", "k"), [(1, 1, 1), (2, 2, 9), (3, 1, 4), (4, 1, 1), (5, 3, 7), (15, 1, 50)])
def test_products_of_matrices_equal_numpys(lanes: int, panel: int, rows: int, parts: int, k: int) -> None:
    generator = np.random.default_rng(lanes + panel)
    left = generator.normal(size=(rows + parts - 1, k + 2)).astype(np.float32)
    right = generator.normal(size=(parts, k, panel * lanes)).astype(np.float32)
    memory = np.concatenate([left.ravel(), np.full(3 + rows * panel * lanes + 5, 7.0, dtype=np.float32)])
    out = memory[left.size :]
    product = Product(panel, 0, k + 2, rows, parts, k + 2, k, 0, left.size + 3, panel * lanes, 0)
    multiply(lanes, memory, right.ravel(), product)
    expected = sum(left[part : part + rows, :k].astype(np.float64) @ right[part] for part in range(parts))
    np.testing.assert_allclose(out[3:-5], expected.ravel(), atol=2e-5)
    multiply(lanes, memory, right.ravel(), product._replace(adds=1))
    np.testing.assert_allclose(out[3:-5], 2 * expected.ravel(), atol=4e-5)
    assert np.all(out[:3] == 7.0)
    assert np.all(out[-5:] == 7.0)


def activated(x: np.ndarray, kind: Activation) -> np.ndarray:
    """Return an activation in double precision, by definition."""
    match kind:
        case Activation.IDENTITY:
            return x
        case Activation.RELU:
            return np.maximum(x, 0.0)
        case Activation.MISH:
            return x * np.tanh(np.logaddexp(0.0, x))
        case Activation.SILU:
            return x * np.exp(-np.logaddexp(0.0, -x))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_rows_are_finished_as_defined(lanes: int, kind: Activation) -> None:
    generator, channels, columns = np.random.default_rng(3), 2 * lanes, 5
    row, vector, old = given = generator.normal(0, 8, (3, columns, channels)).astype(np.float32)
    norm = generator.normal(0, 1, (3, channels)).astype(np.float32)
    out = finished(lanes, kind, given, norm)
    raw = row + vector[0].astype(np.float64) + norm[0] + old
    np.testing.assert_allclose(out[0], raw, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(out[1], activated(raw * norm[1] + norm[2], kind), rtol=1e-6, atol=3e-5)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_activations_are_exact_to_single_precision_from_end_to_end(lanes: int, kind: Activation) -> None:
    ends = [0.0, -0.0, 20.0, -20.0, 87.0, -87.0, 100.0, -100.0, 1e3, -1e3, 1e6, -1e6]
    numbers = np.concatenate([np.linspace(-90.0, 90.0, 32 * lanes - len(ends)), ends]).astype(np.float32)
    norm = np.repeat(np.float32([0.0, 1.0, 0.0]), lanes)
    row = np.concatenate([numbers, np.zeros(2 * len(numbers), dtype=np.float32)])
    found = finished(lanes, kind, row.reshape(3, -1, lanes), norm)[1].ravel()
    np.testing.assert_allclose(found, activated(numbers.astype(np.float64), kind), rtol=1e-6, atol=1e-31)


@pytest.mark.parametrize("lanes", LANES)
def test_a_pool_holds_sums_and_maxima_of_the_points_on_the_board(lanes: int) -> None:
    points = np.random.default_rng(4).normal(-3, 1, (4, 6, lanes)).astype(np.float32)
    points[-1], points[:, -1] = 100.0, 100.0
    memory = np.concatenate([points.ravel(), np.zeros(2 * lanes, dtype=np.float32)])
    pool(lanes, memory, UNREAD, Pool(0, 6 * lanes, lanes, 3, 5, lanes, points.size))
    out = memory[points.size :]
    inside = points[:-1, :-1].reshape(-1, lanes)
    np.testing.assert_allclose(out, np.concatenate([inside.sum(0), inside.max(0)]), rtol=1e-5)


def test_the_longest_vectors_are_those_of_the_cpu() -> None:
    assert lanes_here() in WIDEST_PANEL
