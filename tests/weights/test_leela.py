"""Leela Zero's files: read in their own order, bottom row first, and turned to Keima's."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.nets.spec import DenseValueHead, NetSpec, WeightsError, parameters
from tests.oracle.naive_net import forward
from tests.weights.made_files import LeelaFile
from weights.registry import format_of, load

Doubles = NDArray[np.float64]


def read(data: bytes, folder: Path) -> NetSpec:
    """Return the network of a file with these contents."""
    (folder / "net").write_bytes(data)
    return load(folder / "net")


class Leela:
    """Leela Zero's own arithmetic on the lines of a file, its rows from the bottom up."""

    def __init__(self, made: LeelaFile) -> None:
        self._lines = iter([line.astype(np.float64) for line in made.lines])
        self._made = made

    def group(self, x: Doubles) -> Doubles:
        """A convolution of 3x3 or 1x1 and its norm."""
        weights, biases, means, variances = (next(self._lines) for _ in range(4))
        side = 3 if len(weights) == 9 * len(biases) * len(x) else 1
        kernel = weights.reshape(len(biases), len(x), side, side)
        edge = side // 2
        padded = np.pad(x, ((0, 0), (edge, edge), (edge, edge)))
        height, width = x.shape[1:]
        result = np.zeros((len(biases), height, width))
        for y in range(side):
            for z in range(side):
                result += np.einsum("oi,iyx->oyx", kernel[:, :, y, z], padded[:, y : y + height, z : z + width])
        factor = 1.0 / np.sqrt(variances + 1e-5)
        return factor[:, None, None] * (result + (biases - means)[:, None, None])

    def dense(self, x: Doubles) -> Doubles:
        """A fully connected layer."""
        weights, biases = next(self._lines), next(self._lines)
        return weights.reshape(len(biases), len(x)) @ x + biases

    def evaluate(self, planes: Doubles) -> tuple[Doubles, float]:
        """Return the policy logits, pass last, and the value before tanh."""
        trunk = np.maximum(self.group(planes), 0.0)
        for _ in range(self._made.blocks):
            inner = np.maximum(self.group(trunk), 0.0)
            trunk = np.maximum(self.group(inner) + trunk, 0.0)
        policy = self.dense(np.maximum(self.group(trunk), 0.0).ravel())
        value = self.dense(np.maximum(self.dense(np.maximum(self.group(trunk), 0.0).ravel()), 0.0))
        return policy, float(value[0])


@pytest.mark.parametrize(("blocks", "filters", "side"), [(2, 3, 5), (0, 2, 4), (1, 5, 9)])
def test_a_board_upside_down_gets_leela_zeros_own_numbers(blocks: int, filters: int, side: int, tmp_path: Path) -> None:
    made = LeelaFile(blocks=blocks, filters=filters, side=side)
    spec = read(made.data, tmp_path)
    planes = np.random.default_rng(1).normal(size=(18, side, side))
    policy, value = Leela(made).evaluate(planes)
    found = forward(spec, planes[:, ::-1], np.zeros(0))
    assert np.allclose(found["policy"][0, :-1].reshape(side, side)[::-1].ravel(), policy[:-1], rtol=1e-5, atol=1e-6)
    assert np.isclose(found["policy"][0, -1], policy[-1], rtol=1e-5, atol=1e-6)
    assert np.isclose(found["result"][0], value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("version", [1, 2])
def test_the_second_version_speaks_of_black(version: int, tmp_path: Path) -> None:
    spec = read(LeelaFile(version).data, tmp_path)
    assert isinstance(spec.value, DenseValueHead)
    assert spec.value.black_view == (version == 2)
    assert (spec.format, spec.version, spec.encoder, spec.board_sizes) == ("leela", version, "leela", (5, 5))
    assert (spec.planes, spec.globals, len(spec.blocks), spec.channels) == (18, 0, 2, 3)
    assert spec.tip is None


@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b" \n"])
def test_lines_may_end_in_any_way(ends: bytes, tmp_path: Path) -> None:
    made = LeelaFile()
    for data in (made.data.replace(b"\n", ends), made.data.replace(b"\n", ends).rstrip()):
        for packed in (data, gzip.compress(data)):
            assert parameters(read(packed, tmp_path)) == sum(map(len, made.lines)) - 3 * 5 - 2 - 1
            assert format_of(tmp_path / "net").name == "Leela Zero network"


def lines_of(made: LeelaFile) -> list[bytes]:
    return made.data.split(b"\n")


def changed(index: int, line: bytes | None) -> bytes:
    """Return a file with a line replaced, or left out."""
    lines = lines_of(LeelaFile())
    lines[index : index + 1] = [] if line is None else [line]
    return b"\n".join(lines)


def start(index: int) -> int:
    """Return the byte at which a line begins."""
    return len(b"\n".join(lines_of(LeelaFile())[:index])) + 1


NO_LINE = changed(-2, None)
INCOMPLETE = "damaged or incomplete ({size:,} bytes): "
FAULTS = {
    "version": (changed(0, b"3"), 0, "line 1: {}: unknown version, expected 1 or 2, got 3"),
    "no number": (changed(3, b"0.5 x1 2"), start(3) + 4, "line 4: {}: bad numbers, expected a finite number, got x1"),
    "infinity": (changed(3, b"1 1e39 2"), start(3) + 2, "line 4: {}: bad numbers, expected a finite number, got 1e39"),
    "nan": (changed(3, b"nan 0 0"), start(3), "line 4: {}: bad numbers, expected a finite number, got nan"),
    "no line": (
        NO_LINE,
        len(NO_LINE),
        INCOMPLETE + "last line: {}: wrong number of lines, expected 19 + 8 * blocks, got 34",
    ),
    "a number too few": (
        changed(3, b"1 2"),
        start(3),
        INCOMPLETE + "line 4 (input convolution, means): {}: wrong number of numbers, expected 3, got 2",
    ),
    "negative variance": (
        changed(4, b"1 -2 3"),
        start(4),
        INCOMPLETE + "line 5 (input convolution, variances): {}: bad variances, expected >= 0, got -2.0",
    ),
    "no square board": (
        changed(26, b"1 2 3"),
        start(26),
        INCOMPLETE + "line 27 (policy biases): {}: wrong number of moves, "
        "expected N * N + 1 numbers for a board of 2 to 25 lines, got 3",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_faulty_file_gives_one_line_with_file_and_line(case: str, tmp_path: Path) -> None:
    data, offset, text = FAULTS[case]
    with pytest.raises(WeightsError) as caught:
        read(data, tmp_path)
    assert str(caught.value) == f"{tmp_path / 'net'}: {text.format(f'byte {offset}', size=len(data))}"


def test_what_the_norms_take_over_is_left_out(tmp_path: Path) -> None:
    made = LeelaFile()
    spec = read(made.data, tmp_path)
    assert spec.stem.conv.bias is None
    assert spec.stem.norm is not None
    assert np.array_equal(spec.stem.norm.mean, made.lines[2] - made.lines[1])
    assert spec.stem.norm.epsilon == 1e-5
