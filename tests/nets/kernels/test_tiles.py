"""Convolutions by tiles of bf16 against sums in double precision of the same rounded numbers."""

import numpy as np
import pytest

from engine.native.jit import kernel
from engine.nets.kernels.code import ACTIVATIONS
from engine.nets.kernels.tiles import (
    DEPTH,
    POINTS,
    SUMS,
    RoundedRow,
    TiledConvolution,
    convolve_points,
    in_tiles,
    round_row,
)
from engine.nets.spec import Activation
from tests.nets.kernels.lanes import needs_tiles
from tests.nets.kernels.test_vectors import activated

LANES = 16
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


@needs_tiles
def test_rows_are_rounded_to_the_next_number_of_bf16() -> None:
    points = np.random.default_rng(2).normal(0, 100, (5, 32)).astype(np.float32)
    memory, starts, views = joined(points=points, out=np.zeros((5, 24), dtype=np.float32))
    round_all(memory, memory, RoundedRow(points_stride=32, columns=5, channels=32, out_stride=24, **starts))
    out = views["out"]
    assert np.array_equal(out[:, :16].copy().view(np.uint16), bits_of_bf16(points))
    assert np.all(out[:, 16:] == 0.0)


@needs_tiles
@pytest.mark.parametrize("kind", ACTIVATIONS)
@pytest.mark.parametrize("is_rounded", [False, True])
@pytest.mark.parametrize(("groups", "parts", "depth", "pairs"), SHAPES)
def test_points_are_convolved_and_finished(
    groups: int, parts: int, depth: int, pairs: int, is_rounded: bool, kind: Activation
) -> None:
    generator, points, channels = np.random.default_rng(groups + parts), groups * POINTS, pairs * DEPTH
    inner, stride = depth * DEPTH, depth * DEPTH // 2 + 16
    left = rounded(generator.normal(0, 1, (points + parts - 1, 2 * stride)))
    right = rounded(generator.normal(0, 0.3, (parts, inner, channels)))
    places = generator.permutation(points).astype(np.int32)
    places[generator.random(points) < 0.2] = -1
    spare = points
    vector = generator.normal(0, 1, channels).astype(np.float32)
    norm = generator.normal(0, 1, (3, channels)).astype(np.float32)
    old = generator.normal(0, 1, (points + 1, channels)).astype(np.float32)
    raw = np.full((points + 1, channels), 7.0, dtype=np.float32)
    post = np.full((points + 1, channels // 2 if is_rounded else channels), 7.0, dtype=np.float32)
    bits, room = bits_of_bf16(left).view(np.float32), np.zeros(SUMS, dtype=np.float32)
    memory, starts, views = joined(left=bits, sums=room, vector=vector, old=old, raw=raw, post=post)
    weights, in_weights, _ = joined(right=in_tiles(right), places=places.view(np.float32), norm=norm)
    raw, post = views["raw"], views["post"]
    strides = {"left_stride": stride, "part_stride": stride, "old_stride": channels, "raw_stride": channels}
    shape = {
        "groups": groups,
        "parts": parts,
        "depth": depth,
        "pairs": pairs,
        "spare": spare,
        "post_stride": post.shape[1],
    }
    kinds = {"activation": ACTIVATIONS.index(kind), "rounded": int(is_rounded)}
    convolve(memory, weights, TiledConvolution(**kinds, **shape, **strides, **starts, **in_weights))
    sums = sum(left[part : part + points, :inner].astype(np.float64) @ right[part] for part in range(parts))
    wanted = sums + vector + norm[0]
    is_kept = places >= 0
    expected = wanted[is_kept] + old[places[is_kept]]
    np.testing.assert_allclose(raw[places[is_kept]], expected, atol=1e-4)
    finished = activated(raw[places[is_kept]].astype(np.float64) * norm[1] + norm[2], kind)
    if is_rounded:
        numbers = from_bits(post.view(np.uint16)[places[is_kept]])
        np.testing.assert_allclose(numbers, finished, rtol=2**-8, atol=1e-4)
    else:
        np.testing.assert_allclose(post[places[is_kept]], finished, atol=1e-4)
    untouched = np.setdiff1d(np.arange(points), places)
    assert np.all(raw[untouched] == 7.0)
    assert np.all(post[untouched] == 7.0)
