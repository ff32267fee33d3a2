"""Convolutions by tiles of bf16 and of bytes against sums in double precision of the same rounded numbers."""

import numpy as np
import pytest

from engine.native.jit import kernel
from engine.nets.kernels.code import ACTIVATIONS
from engine.nets.kernels.tiled_convolutions import (
    FACTORS,
    SUMS,
    RoundedRow,
    TiledConvolution,
    convolve_points,
    round_row,
)
from engine.nets.kernels.tiles import (
    BF16,
    DEPTH,
    FLOATS,
    IN_A_FLOAT,
    POINTS,
    SIGNED,
    TILE_ROWS,
    UNSIGNED,
    in_order_of_tiles,
    in_tiles,
)
from engine.nets.spec import Activation
from tests.nets.kernels.lanes import needs_tiles
from tests.nets.kernels.test_vectors import activated

LANES = 16
LIMITS = {UNSIGNED: (0, 255), SIGNED: (-128, 127)}
"""The smallest and the largest byte of a format."""
WRITTEN = [
    *((form, kind) for form in (FLOATS, BF16) for kind in ACTIVATIONS),
    *((UNSIGNED if kind is Activation.RELU else SIGNED, kind) for kind in ACTIVATIONS),
]
"""Formats in which points are written after an activation: after ReLU, and only then, bytes have no sign."""
SHAPES = [(1, 1, 1, 1), (2, 3, 2, 1), (3, 2, 3, 2), (1, 6, 7, 3)]


def bits_of_bf16(numbers: np.ndarray) -> np.ndarray:
    """Return numbers rounded to bf16, as whole numbers of 16 bits: the next number, of two as near the even one."""
    exact = numbers.astype(np.float32).view(np.uint32).astype(np.uint64)
    below, rest = exact >> 16, exact & 0xFFFF
    return (below + ((rest > 0x8000) | ((rest == 0x8000) & (below % 2 == 1)))).astype(np.uint16)


def from_bits(bits: np.ndarray) -> np.ndarray:
    """Return the numbers of bits of bf16."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def rounded(numbers: np.ndarray) -> np.ndarray:
    """Return numbers rounded to bf16."""
    return from_bits(bits_of_bf16(numbers))


@kernel
def convolve(memory: np.ndarray, weights: np.ndarray, convolution: TiledConvolution) -> None:
    """Convolve points."""
    convolve_points(LANES, memory, weights, convolution)


@kernel
def round_all(memory: np.ndarray, weights: np.ndarray, row: RoundedRow) -> None:
    """Round a row of points."""
    round_row(LANES, memory, weights, row)


def joined(**pieces: np.ndarray) -> tuple[np.ndarray, dict[str, int], dict[str, np.ndarray]]:
    """Return one flat array of float32 pieces, where each begins in it, and a view of each."""
    ends = np.cumsum([each.size for each in pieces.values()]).tolist()
    array = np.concatenate([each.ravel() for each in pieces.values()])
    starts = dict(zip(pieces, [0, *ends], strict=False))
    views = {name: array[starts[name] :][: each.size].reshape(each.shape) for name, each in pieces.items()}
    return array, starts, views


def test_weights_are_rounded_to_the_next_number_of_bf16_and_halves_to_even() -> None:
    below = np.arange(0x3F80, 0x3F80 + DEPTH, dtype=np.uint32) << 16
    matrix = np.stack([below + rest for rest in (0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF)], axis=1).view(np.float32)
    filled = np.zeros((1, DEPTH, DEPTH), dtype=np.float32)
    filled[0, :, : matrix.shape[1]] = matrix
    found = np.sort(in_tiles(filled).view(np.uint16))
    assert np.array_equal(found, np.sort(bits_of_bf16(filled).ravel()))


def test_tiles_lie_by_pairs_of_channels_of_the_result_and_hold_pairs_of_channels_of_points() -> None:
    parts, k, out = 2, 64, 96
    numbers = np.random.default_rng(1).normal(size=(parts, k, out))
    found = in_tiles(numbers).view(np.uint16).reshape(3, parts, 2, 2, 16, 16, 2)
    for part, inner, channel in np.ndindex(parts, k, out):
        tile = found[channel // 32, part, inner // 32, channel % 32 // 16]
        assert tile[inner % 32 // 2, channel % 16, inner % 2] == bits_of_bf16(numbers)[part, inner, channel]


def test_bytes_lie_in_tiles_by_four_channels_of_points() -> None:
    parts, k, out = 2, 128, 64
    numbers = np.random.default_rng(1).integers(-127, 128, (parts, k, out), dtype=np.int8)
    found = in_order_of_tiles(numbers).view(np.int8).reshape(2, parts, 2, 2, 16, 16, 4)
    for part, inner, channel in np.ndindex(parts, k, out):
        tile = found[channel // 32, part, inner // 64, channel % 32 // 16]
        assert tile[inner % 64 // 4, channel % 16, inner % 4] == numbers[part, inner, channel]


def in_format(points: np.ndarray, inverse: np.ndarray, form: int) -> np.ndarray:
    """Return numbers [points, channels] as they are in memory in a format: float32 [points, floats]."""
    if form == FLOATS:
        return points.astype(np.float32)
    if form == BF16:
        return bits_of_bf16(points).view(np.float32)
    lowest, largest = LIMITS[form]
    kind = np.uint8 if form == UNSIGNED else np.int8
    return np.clip(np.rint(points * inverse), lowest, largest).astype(kind).view(np.float32)


def from_format(memory: np.ndarray, form: int) -> np.ndarray:
    """Return the numbers of points in a format; bytes as whole numbers."""
    if form == FLOATS:
        return memory
    if form == BF16:
        return from_bits(memory.view(np.uint16))
    return memory.view(np.uint8 if form == UNSIGNED else np.int8).astype(np.float64)


@needs_tiles
@pytest.mark.parametrize("form", [BF16, UNSIGNED, SIGNED])
def test_rows_are_rounded_to_the_next_number_of_a_format(form: int) -> None:
    generator = np.random.default_rng(2)
    points = generator.normal(0, 100, (5, 32)).astype(np.float32)
    if form == UNSIGNED:
        points = np.abs(points)
    inverse, floats = generator.uniform(0.1, 2.0, 32).astype(np.float32), 32 // IN_A_FLOAT[form]
    memory, starts, views = joined(points=points, out=np.zeros((5, 24), dtype=np.float32), inverse=inverse)
    round_all(
        memory, memory, RoundedRow(points_stride=32, columns=5, channels=32, out_stride=24, format=form, **starts)
    )
    out = views["out"]
    assert out[:, :floats].tobytes() == in_format(points, inverse, form).tobytes()
    assert np.all(out[:, floats:] == 0.0)


def operands_of(
    form: int, left: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return points [points, k] and weights [parts, k, out] as they are rounded, and both as they are in memory."""
    if form == BF16:
        points, weights = rounded(left), rounded(right)
        return points, weights, bits_of_bf16(points).view(np.float32), in_tiles(weights)
    lowest, largest = LIMITS[form]
    points, weights = np.clip(np.rint(left * 100), lowest, largest), np.clip(np.rint(right * 200), -127, 127)
    kind = np.uint8 if form == UNSIGNED else np.int8
    stored = points.astype(kind).view(np.float32)
    return points, weights, stored, in_order_of_tiles(weights.astype(np.int8))


@needs_tiles
@pytest.mark.parametrize(("form", "kind"), WRITTEN)
@pytest.mark.parametrize("operands", [BF16, UNSIGNED, SIGNED])
@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize(("groups", "parts", "depth", "pairs"), SHAPES)
def test_points_are_convolved_and_finished(
    groups: int, parts: int, depth: int, pairs: int, adds: bool, operands: int, form: int, kind: Activation
) -> None:
    generator, points, channels = np.random.default_rng(groups + parts), groups * POINTS, pairs * DEPTH
    inner, stride = depth * TILE_ROWS * IN_A_FLOAT[operands], depth * TILE_ROWS + 16
    numbers = generator.normal(0, 1, (points + parts - 1, IN_A_FLOAT[operands] * stride))
    left, right, stored, in_weights_of = operands_of(
        operands, numbers, generator.normal(0, 0.3, (parts, inner, channels))
    )
    places = generator.permutation(points).astype(np.int32)
    places[generator.random(points) < 0.2] = -1
    spare = points
    vector = generator.normal(0, 1, channels).astype(np.float32)
    norm = generator.normal(0, 1, (FACTORS, channels)).astype(np.float32)
    norm[3:] = generator.uniform(0.0005, 0.002, channels), generator.uniform(5.0, 50.0, channels)
    old = generator.normal(0, 1, (points + 1, channels)).astype(np.float32)
    raw = np.full((points + 1, channels), 7.0, dtype=np.float32)
    post = np.full((points + 1, channels // IN_A_FLOAT[form]), 7.0, dtype=np.float32)
    room = np.zeros(SUMS, dtype=np.float32)
    memory, starts, views = joined(left=stored, sums=room, vector=vector, old=old, raw=raw, post=post)
    weights, in_weights, _ = joined(right=in_weights_of, places=places.view(np.float32), norm=norm)
    raw, post = views["raw"], views["post"]
    strides = {"left_stride": stride, "part_stride": stride, "old_stride": channels, "raw_stride": channels}
    shape = {"groups": groups, "parts": parts, "depth": depth, "pairs": pairs, "spare": spare}
    shape |= {"post_stride": post.shape[1], "adds": int(adds)}
    kinds = {"activation": ACTIVATIONS.index(kind), "format": form, "operands": operands}
    convolve(memory, weights, TiledConvolution(**kinds, **shape, **strides, **starts, **in_weights))
    sums = sum(left[part : part + points, :inner].astype(np.float64) @ right[part] for part in range(parts))
    wanted = (sums if operands == BF16 else sums * norm[3]) + vector + norm[0]
    is_kept = places >= 0
    expected = wanted[is_kept] + old[places[is_kept]] * adds
    if adds:
        np.testing.assert_allclose(raw[places[is_kept]], expected, atol=1e-4)
    else:
        assert np.all(raw == 7.0)
    finished = activated(expected * norm[1] + norm[2], kind)
    found = from_format(post[places[is_kept]], form)
    if form in LIMITS:
        lowest, largest = LIMITS[form]
        # A number between two integers may become either: the kernel computes in float32.
        np.testing.assert_allclose(found, np.clip(finished * norm[4], lowest, largest), atol=0.51)
    else:
        np.testing.assert_allclose(found, finished, rtol=2**-8 if form == BF16 else 1e-7, atol=1e-4)
    untouched = np.setdiff1d(np.arange(points), places)
    assert np.all(raw[untouched] == 7.0)
    assert np.all(post[untouched] == 7.0)
